// SPDX-License-Identifier: Apache-2.0
// The directory that `run -o DIR` writes and `export`, `report`, `compare` read.
#pragma once

#include <string>
#include <vector>

#include "sim/base/result.h"
#include "sim/output/files.h"
#include "sim/output/run_data.h"

namespace spillway::output {

struct RunDirectoryOptions {
  /// Formats of export.h to write besides summary.json and the CSV tables.
  std::vector<std::string> formats = {"perfetto"};
  /// More files, such as config.resolved.yaml.
  std::vector<OutputFile> extra_files;
};

/// The files of a run directory. Errors: an unknown format.
Result<std::vector<OutputFile>> RunDirectoryFiles(const RunData& run, const RunDirectoryOptions& options);

/// Writes them (see WriteFiles). Files of an earlier run that this one does not write (a trace in a
/// format not asked for) are removed, so that a directory never mixes two runs; foreign files stay.
Status WriteRunDirectory(const std::string& dir, const RunData& run, const RunDirectoryOptions& options = {});

/// Reads a run directory back without loss of what the writers need. A summary without tables (no timeline
/// recorded) gives an empty timeline. Errors: no such directory, no summary.json, anything malformed.
Result<RunData> ReadRunDirectory(const std::string& dir);

}  // namespace spillway::output
