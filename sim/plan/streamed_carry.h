// SPDX-License-Identifier: Apache-2.0
// Whether a dimension that something sums over can be walked in tiles, and what has to be carried from tile to tile.
#pragma once

#include <string>
#include <vector>

#include "sim/plan/streamed_graph.h"

namespace spillway::plan {

struct Carry {
  bool possible = true;
  std::string why;                  ///< If not possible: what needs the whole dimension.
  bool online = false;              ///< By the online-softmax rewrite: running maximum and sum, rescaled when the maximum moves.
  std::vector<int> accumulators;    ///< Reductions and contractions over the dimension: their results are carried.
  std::vector<int> maxima, sums;    ///< Online: of those, the running maximum and the running sum.
  std::vector<int> divisions;       ///< Online: divisions by the sum, which move behind the contraction.
  std::vector<int> products;        ///< Online: contractions of the weights, which are rescaled.
};

/// A sum may be carried if nothing that still has the dimension depends on it; exp(x - max(x)), its sum and its
/// products may be carried if only contractions over the dimension use them (softmax times values).
Carry CarryOver(const StreamGraph& graph, int dim_class);

}  // namespace spillway::plan
