// SPDX-License-Identifier: Apache-2.0
// The grid of a Mosaic kernel (custom call `tpu_custom_call`: Pallas kernels, and some that XLA writes
// itself) from
// the MLIR in its backend_config: bytecode or text.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/hlo/module.h"
#include "sim/plan/grid.h"
#include "sim/plan/window_map.h"

namespace spillway::plan {

/// One operand or result of the custom call.
struct MosaicWindow {
  enum class Kind : std::uint8_t {
    kWindow,   ///< Moved by the pipeline, window by window.
    kWhole,    ///< Moved once before the first step (scalars for SMEM).
    kManual    ///< Stays in HBM; the kernel moves parts of it with DMAs of its own, which are not known.
  };
  Kind kind = Kind::kWindow;
  std::vector<std::int64_t> bounds;             ///< Elements.
  std::shared_ptr<const WindowMap> map;         ///< Window in elements at a grid step; null unless kWindow.
  int buffers = 2;
};

struct MosaicGrid {
  std::vector<std::int64_t> iteration_bounds;   ///< Outermost first.
  std::vector<MosaicWindow> windows;            ///< Operands, then results.
  std::string assumption;                       ///< What of it depends on data; empty: nothing.
  Bytes scratch_bytes = 0;                      ///< VMEM besides the windows.
};

/// Empty if `kernel` is no Mosaic call, or its body cannot be read: unknown layout, a grid known only at run
/// time, an index function with operations that are not scalar arithmetic.
std::optional<MosaicGrid> MosaicGridOf(const hlo::Instruction& kernel);
/// The same for a body of MLIR bytecode or text that stands elsewhere.
std::optional<MosaicGrid> MosaicGridFrom(const std::string& body, const hlo::Instruction& kernel);

/// The domain whose dimensions are the grid's block indices.
Grid GridOfMosaic(const MosaicGrid& mosaic);
/// Cuts `total` tiles into equal parts, one a step of `grid`.
std::shared_ptr<const WindowMap> MakePartsMap(const Grid& grid, std::int64_t total);

}  // namespace spillway::plan
