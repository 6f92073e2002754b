// SPDX-License-Identifier: Apache-2.0
// Dots and convolutions on the systolic arrays.
#pragma once

#include <optional>

#include "sim/compute/features.h"
#include "sim/compute/windows.h"

namespace spillway::compute {

/// A dot or convolution as batch x [rows, contraction] x [contraction, lanes].
struct MatmulShape {
  double batch = 1, rows = 1, lanes = 1, contraction = 1;
  double taps = 1;                 ///< Window positions merged into `contraction`.
  int lanes_dim = -1;              ///< Dimension of the result that lies in lanes; -1: none.
  std::vector<int> row_dims;       ///< Dimensions of the result that are streamed.
  bool swapped = false;            ///< The left operand is the one held in the array.
  bool streamed_transposed = false, held_transposed = false;
};

/// Empty if the instruction has no usable dimension numbers.
std::optional<MatmulShape> MatmulShapeOf(const hlo::Instruction& instruction);

/// Rows of one matmul instruction and passes over the array for its element types and operand_precision.
struct MatmulKind {
  const char* type = "bf16";       ///< Key of core.matmul_cycles.
  double rows = 16, passes = 1;
};
MatmulKind MatmulKindOf(const hlo::Instruction& instruction);

/// How often each operand is read again because the other one's windows move.
struct MatmulVisits {
  double left = 1, right = 1;
};

/// Adds "matmul.<type>" (instructions), "push", "pop" … to `features`.
MatmulVisits CountMatmul(const hlo::Instruction& instruction, const MatrixShape& mxu, const Windows& windows,
                         KernelFeatures& features);

}  // namespace spillway::compute
