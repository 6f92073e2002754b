// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "sim/output/run_data.h"

namespace spillway::output {

struct GnuplotFiles {
  std::string data;  ///< timeline.dat: one block (`index`) for the lanes, then one a counter that has points.
  std::string script;  ///< timeline.gp: `gnuplot timeline.gp` writes timeline.svg.
};
GnuplotFiles Gnuplot(const RunData& run);

}  // namespace spillway::output
