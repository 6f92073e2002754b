// SPDX-License-Identifier: Apache-2.0
// What the body of a Mosaic kernel computes, counted from its MLIR in the units of the slot tables.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "sim/hlo/module.h"

namespace spillway::compute {

/// Sums over all grid steps. Keys as in docs/compute-model.md (core.op_slots): registers of 1024 elements
/// unless that page says otherwise.
struct MosaicWork {
  std::map<std::string, double> counts;
  double steps = 1;
  bool matmul = false, reduces = false;
  std::string why;              ///< First thing without a model; empty: all of the body is known.
};

/// Walks the kernel's function over its grid: branches on grid indices and loops with known bounds count as
/// often as
/// they run (each step up to 2^14 of them, beyond that a sample). Loads that nothing uses are left out, as
/// the
/// compiler does. A branch that depends on data counts as taken. `array_rows` and `array_columns`: sides of
/// the
/// systolic array. Empty if the body is no bytecode that can be read.
std::optional<MosaicWork> MosaicWorkOf(const hlo::Instruction& kernel, double array_rows, double array_columns);

}  // namespace spillway::compute
