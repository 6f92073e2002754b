// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "sim/config/sweep_config.h"

namespace spillway::sweep {

/// `sweep` as a sweep file that gives the identical list of points; each value is commented with the file and
/// line or the option it came from.
std::string ResolvedSweep(const config::SweepConfig& sweep);

}  // namespace spillway::sweep
