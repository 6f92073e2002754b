// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "sim/output/run_data.h"

namespace spillway::output {

/// A value change dump (IEEE 1364) for gtkwave, 1 ps: per track a `busy` wire and how many slices are
/// `active`, for the core also `compute` and `wait`; per counter a real. Deterministic bytes.
std::string Vcd(const RunData& run);

}  // namespace spillway::output
