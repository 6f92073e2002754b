// SPDX-License-Identifier: Apache-2.0
// The output formats by name.
#pragma once

#include <string>
#include <vector>

#include "sim/base/result.h"
#include "sim/output/run_data.h"

namespace spillway::output {

struct Format {
  std::string name;                ///< As in `--format` and `export --format`.
  std::string description;         ///< One line for `list formats`.
  std::vector<std::string> files;  ///< Relative paths that it writes.
};

/// All formats, in the order of `list formats`.
const std::vector<Format>& Formats();

/// The files of one format. Deterministic: the same run gives the same bytes.
/// Errors: an unknown format, with a suggestion.
Result<std::vector<OutputFile>> RenderFormat(const std::string& format, const RunData& run);

/// Renders and writes into `out_dir` (see WriteFiles).
Status Export(const std::string& format, const RunData& run, const std::string& out_dir);

}  // namespace spillway::output
