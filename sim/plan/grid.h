// SPDX-License-Identifier: Apache-2.0
// The grid of a kernel: its iteration domain, cut into windows, in loop order.
#pragma once

#include <optional>
#include <string>
#include <set>
#include <vector>

#include "sim/hlo/attributes.h"
#include "sim/plan/fused_graph.h"

namespace spillway::plan {

/// One loop of the grid.
struct GridAxis {
  int dim = 0;               ///< Domain dimension.
  std::int64_t window = 1;   ///< Elements a step.
  std::int64_t trips = 1;
};

struct Grid {
  int anchor = -1;                 ///< Node of the FusedGraph whose result is the domain.
  hlo::Dims sizes;                 ///< Domain dimensions; contraction dimensions last.
  std::vector<GridAxis> axes;      ///< Outermost first.
  std::int64_t steps = 1;
  int slots = 2;                   ///< Buffers of a stream whose window moves.
  int unit_rows = 0;               ///< Second-minor length of the tiles that bounds count; 0 if 1-D.
  bool from_dump = false;          ///< Windows are the compiler's own.
  Box BoxAt(std::int64_t step) const;
};

/// The grid that `window_config` states. Loop order: dot: output-minor, output-major, contraction;
/// batch dimensions outermost; a convolution's spatial dimensions follow; loop fusions: memory
/// order, major outermost. Empty if there is no window_config or it fits no iteration space of
/// the kernel (the planner then uses a grid of its own and says so).
std::optional<Grid> GridFromDump(const FusedGraph& graph, const hlo::WindowConfig& config);

/// The windows of a kernel whose shapes were rewritten (`from` before, `to` after, the same instruction): they keep
/// their size, or shrink with an array that is smaller, and iteration_bounds count them anew. Empty if
/// GridFromDump finds no grid for `from`.
std::optional<hlo::WindowConfig> RebindWindows(const FusedGraph& from, const hlo::WindowConfig& config,
                                               const FusedGraph& to);

/// A domain without windows (one step): the anchor the planner's own tiler starts from.
Grid WholeGrid(const FusedGraph& graph);

/// Halves the outermost window that can still be cut: along the most major dimension of the anchor's
/// result in memory, or for a contraction its longest; never one of `keep`. The dimension that was cut; -1 if
/// nothing is left to cut.
int CutGrid(const FusedGraph& graph, Grid& grid, const std::set<int>& keep = {});

}  // namespace spillway::plan
