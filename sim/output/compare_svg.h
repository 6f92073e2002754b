// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/output/run_data.h"

namespace spillway::output {

/// A picture of several runs on one time axis: for each its kernels, where its core waits, and its HBM read and write
/// rates. Self-contained SVG, deterministic bytes. REQUIRES: at least one run.
std::string CompareSvg(const std::vector<std::pair<std::string, RunData>>& runs);

}  // namespace spillway::output
