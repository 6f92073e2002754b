// SPDX-License-Identifier: Apache-2.0
// The grid of a Mosaic kernel (custom call `tpu_custom_call`) from the MLIR text in its
// backend_config.
#pragma once

#include <optional>
#include <vector>

#include "sim/hlo/module.h"
#include "sim/plan/grid.h"

namespace spillway::plan {

/// One operand or result: its window in elements, and for each dimension what its block index is: a
/// grid axis, or a constant.
struct MosaicWindow {
  struct Index {
    int axis = -1;                ///< Grid axis, outermost first; -1: `constant`.
    std::int64_t constant = 0;
  };
  std::vector<std::int64_t> bounds;
  std::vector<Index> index;
};

struct MosaicGrid {
  std::vector<std::int64_t> iteration_bounds;   ///< Outermost first.
  std::vector<MosaicWindow> windows;            ///< Operands, then results.
};

/// Empty if `kernel` is no Mosaic call, its body is MLIR bytecode (no reader yet), or an index map
/// is more than grid indices and constants.
std::optional<MosaicGrid> MosaicGridOf(const hlo::Instruction& kernel);

/// The domain whose dimensions are the grid's block indices.
Grid GridOfMosaic(const MosaicGrid& mosaic);
/// Window of an array of `sizes` along that domain.
Path PathOf(const MosaicWindow& window, const hlo::Dims& sizes);

}  // namespace spillway::plan
