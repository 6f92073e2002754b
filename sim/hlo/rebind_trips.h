// SPDX-License-Identifier: Apache-2.0
// Loops whose trip count is the number of blocks of a dimension.
#pragma once

#include <vector>

#include "sim/hlo/rebind_rules.h"

namespace spillway::hlo {

struct RebindLoop {
  const Instruction* loop = nullptr;
  const Instruction* constant = nullptr;  ///< The limit in the condition; null: not found.
  std::int64_t trips = 0;
  int unknown = -1;   ///< Of the solver.
  bool tied = false;  ///< A sliced dimension says how often the loop runs.
};

/// Adds an unknown for every loop whose trips are known, and for every dimension that the loop walks block by
/// block with its own counter the relation dimension = trips x block. Call before solving.
std::vector<RebindLoop> RelateLoops(const Module& module, DimRules& rules);

}  // namespace spillway::hlo
