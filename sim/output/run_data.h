// SPDX-License-Identifier: Apache-2.0
// What every writer takes and the reader of a run directory gives back.
#pragma once

#include <string>
#include <vector>

#include "sim/timeline/summary.h"
#include "sim/timeline/timeline.h"

namespace spillway::output {

struct RunData {
  timeline::Summary summary;
  timeline::Timeline timeline;
};

/// One file of a result, in memory: writers make bytes, `files.h` puts them on disk.
struct OutputFile {
  std::string path;  ///< Relative to the output directory, '/' between folders.
  std::string contents;
};

}  // namespace spillway::output
