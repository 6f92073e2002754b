// SPDX-License-Identifier: Apache-2.0
// The plan `streamed`: chains of kernels as one kernel, tile by tile; what passed between them exists as tiles in VMEM only.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/plan/planner.h"

namespace spillway::plan {

/// A chain that was looked at.
struct StreamedGroup {
  std::vector<std::string> ops;     ///< Kernels of the dump, in order.
  std::string name;                 ///< Of the merged kernel.
  bool streamed = false;
  std::string why;                  ///< If not: one sentence.
  std::string tiling;               ///< If so: tiles, what is held, what is carried.
  Bytes hbm_bytes_before = 0, hbm_bytes = 0;   ///< Of one execution.
  Bytes reread_bytes = 0;           ///< Part of hbm_bytes: operands fetched again for other tiles.
};

struct StreamedRequest {
  std::string name;                 ///< Of the merged kernel; empty: made from its ops.
  std::vector<std::string> ops;     ///< Kernels that shall run as one.
  /// Tile lengths: (value, dimension) -> length, where the value is one of the module's, made or read by the group.
  struct Tile {
    std::string value;
    int dimension = 0;
    std::int64_t length = 1;
  };
  std::vector<Tile> tiles;
};

/// Merges the chains of `requests`, or, if there are none, whichever chains of consecutive kernels win: fewer HBM bytes
/// and a lower estimated time. Grids, tiles and what is held in VMEM come from a search under vmem.scoped_limit
/// (and under vmem.usable, beside what lives). A dimension that is summed over is cut only if the sum can be carried
/// (streamed_carry.h); softmax between two products is rewritten to its online form, and the rescaling work counts.
/// Errors: a request that cannot be met, with the reason. `report` (may be null) tells of every chain.
Result<Program> PlanStreamed(const PlanInputs& inputs, const std::vector<StreamedRequest>& requests, Diagnostics& warnings,
                             std::vector<StreamedGroup>* report = nullptr);

}  // namespace spillway::plan
