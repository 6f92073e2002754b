// SPDX-License-Identifier: Apache-2.0
// How the compiler's windows cut a kernel: steps, and how often parts of it are computed again.
#pragma once

#include <vector>

#include "sim/hlo/attributes.h"
#include "sim/hlo/shape.h"

namespace spillway::compute {

struct Windows {
  bool stated = false;            ///< The instruction has a window_config that fits `domain`.
  double steps = 1;
  double coverage = 1;            ///< A ragged last window is computed whole: covered / real tiles.
  std::vector<double> trips;      ///< By logical dimension of the domain.
};

/// `domain`: the shape whose tiles the output bounds count.
Windows WindowsOver(const hlo::Shape& domain, const hlo::WindowConfig& config);

/// The window sees all of a dimension of this length from everywhere: a reduction whose result is spread again.
bool SeesAll(const hlo::WindowDimension& window, double length);

}  // namespace spillway::compute
