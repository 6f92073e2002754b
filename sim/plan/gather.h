// SPDX-License-Identifier: Apache-2.0
// A kernel that reads rows of an operand at positions given by data.
#pragma once

#include <optional>

#include "sim/plan/stream.h"

namespace spillway::plan {

struct GatherAccess {
  int parameter = -1;               ///< Operand that is gathered from.
  std::int64_t rows = 0;            ///< Index vectors.
  std::int64_t rows_per_step = 0;   ///< As the compiler states, else 256.
  hlo::Dims slice_sizes;
};

/// The gather of a kernel whose operand is read straight from a parameter; empty if there is none.
std::optional<GatherAccess> FindGather(const FusedGraph& graph, const hlo::Instruction& kernel);

/// Steps of `rows_per_step` rows over the most major result dimension.
Grid GatherGrid(const FusedGraph& graph, const GatherAccess& gather);

/// One descriptor a row: the sublanes of the row where it spans the lanes of the array, whole tiles
/// where the position in the lane dimension is data too. The rows' places are unknown: they are
/// spread over the operand by a fixed mixing function.
void FitGather(Stream& stream, const GatherAccess& gather, const hlo::Shape& shape, std::int64_t steps);

}  // namespace spillway::plan
