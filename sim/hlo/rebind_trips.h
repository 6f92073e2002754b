// SPDX-License-Identifier: Apache-2.0
// Loops whose trip count is the number of blocks of a dimension.
#pragma once

#include <string>
#include <vector>

#include "sim/hlo/rebind_rules.h"

namespace spillway::hlo {

struct RebindLoop {
  const Instruction* loop = nullptr;
  const Instruction* constant = nullptr;  ///< The limit in the condition; null: not found.
  std::int64_t trips = 0;                 ///< 0: not known.
  int unknown = -1;   ///< Of the solver.
  bool tied = false;  ///< A sliced dimension says how often the loop runs.
};

/// After solving: a loop that runs once may run more often for another size, and one whose trips nothing ties to a size
/// that changes may still depend on it. The first is an error, the second goes to `assumptions`.
/// Errors too: trips that equal a size that changes and yet follow from nothing.
Diagnostics CheckLoops(const Module& module, DimRules& rules, const std::vector<RebindLoop>& loops,
                       std::vector<std::string>& assumptions);

/// Adds an unknown for every loop, and for every dimension that the loop walks block by
/// block with its own counter the relation dimension = trips x block. Call before solving.
std::vector<RebindLoop> RelateLoops(const Module& module, DimRules& rules);

}  // namespace spillway::hlo
