// SPDX-License-Identifier: Apache-2.0
// The body of a Mosaic kernel (custom call `tpu_custom_call`): MLIR in its backend_config.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/hlo/mlir.h"
#include "sim/hlo/module.h"

namespace spillway::hlo {

/// Bytes of `custom_call_config.body`: MLIR text or bytecode. Empty if there is none.
std::optional<std::string> MosaicBytesOf(const Instruction& kernel);

/// What the kernel's main function says about itself.
struct MosaicBody {
  /// One operand or result that moves in windows.
  struct Window {
    int argument = -1;                        ///< Value number of its buffer in the main function.
    /// Elements, one a dimension; empty: not windowed (the kernel moves it itself).
    std::vector<std::int64_t> bounds;
    std::string transform;                    ///< Name of the index function.
    bool element_offsets = false;             ///< The function gives elements, not blocks.
    int buffers = 2;
  };
  MlirModule module;
  std::vector<std::int64_t> iteration_bounds; ///< Outermost first; empty: one step.
  std::vector<std::string> dimension_semantics;
  std::int64_t scalar_prefetch = 0;           ///< Leading operands that lie in SMEM as a whole.
  std::vector<Window> windows;                ///< Operands after those, then results.
  std::vector<int> indices;                   ///< Value numbers of the grid indices.
  std::vector<int> scratch;                   ///< Value numbers of the scratch buffers.

  const MlirOperation* Function(std::string_view name) const;
  /// The kernel itself: the first function that states a grid or scratch operands.
  const MlirOperation* Main() const;
  /// "vmem", "smem", "any", "hbm", "semaphore_mem", …; "vmem" if not stated.
  std::string MemorySpaceOf(int value) const;
  /// Bytes of the scratch buffers in VMEM, unpadded.
  std::int64_t ScratchBytes() const;
};

/// Empty if `kernel` is no Mosaic call, its body is no bytecode that can be read, has a grid that is
/// known only at run time, or is not laid out as Mosaic kernels are. Op names come without the
/// `stable_mosaic.` prefix.
std::optional<MosaicBody> MosaicBodyOf(const Instruction& kernel);
std::optional<MosaicBody> MosaicBodyFrom(std::string_view bytecode);

}  // namespace spillway::hlo
