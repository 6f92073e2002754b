// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/grid.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace spillway::plan {
namespace {

constexpr std::int64_t kMaxSteps = std::int64_t{1} << 40;

std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return b <= 0 ? 0 : (a + b - 1) / b; }

const hlo::Shape& ArrayShape(const hlo::Shape& shape) {
  return shape.IsTuple() && !shape.elements.empty() ? shape.elements[0] : shape;
}

/// Windows along the dimensions of one array.
struct Windows {
  hlo::Dims elements;   ///< Logical dimension -> window length.
  hlo::Dims trips;      ///< Logical dimension -> windows.
  int unit_rows = 0;
};

/// Bounds count tiles in memory order, major first.
std::optional<Windows> WindowsOf(const hlo::Shape& shape, const std::vector<std::int64_t>& bounds, bool eight_rows) {
  if (!shape.IsArray() || bounds.size() != shape.dimensions.size()) return std::nullopt;
  hlo::TileGrid grid = hlo::GridOf(shape);
  hlo::Dims order = PhysicalOrder(shape);
  Windows windows;
  windows.elements.resize(shape.rank(), 1);
  windows.trips.resize(shape.rank(), 1);
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    std::int64_t d = order[i];
    std::int64_t tile = grid.tile[d];
    bool second_minor = bounds.size() >= 2 && i + 2 == bounds.size();
    if (second_minor) {
      if (eight_rows && tile > 8) tile = 8;
      windows.unit_rows = static_cast<int>(tile);
    }
    if (bounds[i] <= 0 || bounds[i] > kMaxSteps / std::max<std::int64_t>(tile, 1)) return std::nullopt;
    windows.elements[d] = bounds[i] * tile;
    windows.trips[d] = std::max<std::int64_t>(CeilDiv(CeilDiv(shape.dimensions[d], tile), bounds[i]), 1);
  }
  return windows;
}

struct LoopDim {
  int dim = 0;
  std::int64_t window = 1, trips = 1;
};

/// A way to read the compiler's bounds: the domain and its loops, outermost first.
struct Candidate {
  int anchor = -1;
  std::vector<LoopDim> loops;
  int unit_rows = 0;
};
/// Takes candidates in order until it answers true.
using Visitor = std::function<bool(Candidate)>;

/// A grid if the trips of `loops`, in that order, are the compiler's iteration bounds.
std::optional<Grid> Match(const std::vector<LoopDim>& loops, const std::vector<std::int64_t>& bounds) {
  if (loops.size() != bounds.size()) return std::nullopt;
  Grid grid;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    if (loops[i].trips != bounds[i]) return std::nullopt;
    if (bounds[i] < 1 || grid.steps > kMaxSteps / bounds[i]) return std::nullopt;
    grid.steps *= bounds[i];
    if (bounds[i] > 1) grid.axes.push_back({loops[i].dim, loops[i].window, loops[i].trips});
  }
  return grid;
}

/// Nothing if `order` names a dimension that does not exist.
std::vector<LoopDim> Pick(const std::vector<LoopDim>& all, const std::vector<int>& order) {
  std::vector<LoopDim> loops;
  for (int i : order) {
    if (i < 0 || i >= static_cast<int>(all.size())) return {};
    loops.push_back(all[i]);
  }
  return loops;
}

/// Orders in which the compiler nests the loops of a convolution (numbers index result dimensions,
/// then input features, then kernel spatial dimensions).
std::vector<std::vector<int>> ConvolutionOrders(const hlo::Instruction& conv) {
  int rank = conv.shape.rank();
  auto labels = hlo::ConvolutionOf(conv);
  if (!labels) return {};
  int feature = static_cast<int>(labels->output_feature), batch = static_cast<int>(labels->output_batch);
  std::vector<int> spatial, taps;
  for (std::size_t s = 0; s < labels->output_spatial.size(); ++s) {
    spatial.push_back(static_cast<int>(labels->output_spatial[s]));
    taps.push_back(rank + 1 + static_cast<int>(s));
  }
  auto join = [](std::initializer_list<std::vector<int>> parts) {
    std::vector<int> all;
    for (const std::vector<int>& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  };
  std::vector<int> outer = {feature, batch}, contraction = {rank};
  auto window = hlo::WindowOf(conv);
  bool batched = window && !spatial.empty();
  for (const hlo::WindowDimension& w : window.value_or(std::vector<hlo::WindowDimension>())) {
    batched = batched && IsBatchLike(w.size, w.stride, w.base_dilation);
  }
  if (batched) return {join({spatial, outer, taps, contraction}), join({outer, spatial, contraction, taps})};
  return {join({outer, spatial, contraction, taps}), join({outer, spatial, taps, contraction})};
}

bool VisitConvolution(const FusedGraph& graph, int anchor, const hlo::WindowConfig& config, const Visitor& visit) {
  const hlo::Instruction& conv = *graph.nodes[anchor].instruction;
  if (conv.operands.size() < 2) return false;
  auto labels = hlo::ConvolutionOf(conv);
  hlo::Dims contraction = ContractionSizes(conv);
  if (!labels || contraction.empty()) return false;
  for (bool eight : {false, true}) {
    auto output = WindowsOf(conv.shape, config.output_bounds, eight);
    if (!output) return false;
    std::vector<LoopDim> all;
    for (int d = 0; d < conv.shape.rank(); ++d) all.push_back({d, output->elements[d], output->trips[d]});
    for (std::size_t c = 0; c < contraction.size(); ++c) {
      all.push_back({conv.shape.rank() + static_cast<int>(c), contraction[c], 1});
    }
    std::int64_t feature = labels->input_feature;
    auto input = WindowsOf(conv.operands[0]->shape, config.input_bounds, eight);
    if (input && feature >= 0 && feature < static_cast<std::int64_t>(input->elements.size())) {
      all[conv.shape.rank()].window = input->elements[feature];
      all[conv.shape.rank()].trips = input->trips[feature];
    }
    for (const std::vector<int>& order : ConvolutionOrders(conv)) {
      if (visit({anchor, Pick(all, order), output->unit_rows})) return true;
    }
  }
  return false;
}

/// A reduce-window that runs on the matrix unit is nested like a convolution whose two minor
/// dimensions in memory are its feature and batch.
bool VisitReduceWindow(const FusedGraph& graph, int anchor, const hlo::WindowConfig& config, const Visitor& visit) {
  const hlo::Shape& shape = ArrayShape(graph.nodes[anchor].shape());
  auto output = WindowsOf(shape, config.output_bounds, false);
  if (!output || shape.rank() < 2) return false;
  hlo::Dims order = PhysicalOrder(shape);
  std::rotate(order.begin(), order.end() - 2, order.end());
  std::vector<LoopDim> loops;
  for (std::int64_t d : order) loops.push_back({static_cast<int>(d), output->elements[d], output->trips[d]});
  while (loops.size() < config.iteration_bounds.size()) loops.push_back({0, output->elements[0], 1});
  return visit({anchor, std::move(loops), output->unit_rows});
}

bool VisitLoop(const FusedGraph& graph, int anchor, const hlo::WindowConfig& config, const Visitor& visit) {
  const hlo::Shape& shape = ArrayShape(graph.nodes[anchor].shape());
  for (bool eight : {false, true}) {
    auto output = WindowsOf(shape, config.output_bounds, eight);
    if (!output) return false;
    std::vector<LoopDim> loops;
    for (std::int64_t d : PhysicalOrder(shape)) {
      loops.push_back({static_cast<int>(d), output->elements[d], output->trips[d]});
    }
    if (visit({anchor, std::move(loops), output->unit_rows})) return true;
  }
  return false;
}

bool IsMatmul(const GraphNode& node) {
  return !node.nested && (node.instruction->opcode == hlo::Opcode::kConvolution ||
                          node.instruction->opcode == hlo::Opcode::kDot);
}

/// The contraction nearest to the results; -1 if none.
int MatmulAnchor(const FusedGraph& graph) {
  for (int n = static_cast<int>(graph.nodes.size()) - 1; n >= 0; --n) {
    if (IsMatmul(graph.nodes[n])) return n;
  }
  return -1;
}

int ReduceWindowAnchor(const FusedGraph& graph) {
  for (int n = static_cast<int>(graph.nodes.size()) - 1; n >= 0; --n) {
    if (!graph.nodes[n].nested && graph.nodes[n].depth == 0 &&
        graph.nodes[n].instruction->opcode == hlo::Opcode::kReduceWindow) {
      return n;
    }
  }
  return -1;
}

/// Iteration spaces of a loop kernel: its results, else what a reduction or an update in place on
/// the way to a result runs over.
std::vector<int> LoopAnchors(const FusedGraph& graph) {
  std::vector<int> anchors(graph.outputs.begin(), graph.outputs.end());
  for (int n = static_cast<int>(graph.nodes.size()) - 1; n >= 0; --n) {
    const GraphNode& node = graph.nodes[n];
    if (node.nested || node.parameter >= 0 || node.operands.empty()) continue;
    if (node.instruction->opcode == hlo::Opcode::kReduce) anchors.push_back(node.operands[0]);
    if (node.instruction->opcode == hlo::Opcode::kDynamicUpdateSlice && node.operands.size() > 1) {
      anchors.push_back(node.operands[1]);
    }
  }
  return anchors;
}

hlo::Dims DomainSizes(const FusedGraph& graph, int anchor) {
  const hlo::Instruction& instruction = *graph.nodes[anchor].instruction;
  hlo::Dims sizes = ArrayShape(instruction.shape).dimensions;
  if (!graph.nodes[anchor].nested && graph.nodes[anchor].parameter < 0) {
    for (std::int64_t size : ContractionSizes(instruction)) sizes.push_back(size);
  }
  return sizes;
}

/// All readings of the bounds, the likely ones first. Which there are depends on the graph, not on sizes.
void VisitCandidates(const FusedGraph& graph, const hlo::WindowConfig& config, const Visitor& visit) {
  if (config.output_bounds.empty()) return;
  if (!config.kernel_bounds.empty()) {
    int window = ReduceWindowAnchor(graph);
    if (window >= 0 && VisitReduceWindow(graph, window, config, visit)) return;
    int matmul = MatmulAnchor(graph);
    if (matmul >= 0 && graph.nodes[matmul].instruction->opcode == hlo::Opcode::kConvolution &&
        VisitConvolution(graph, matmul, config, visit)) {
      return;
    }
  }
  for (int anchor : LoopAnchors(graph)) {
    if (VisitLoop(graph, anchor, config, visit)) return;
  }
}

/// Bounds in tiles of `shape` for windows that were stated in tiles of `from`: as long as they were, but no
/// longer than the array.
void Clip(const hlo::Shape& from, const hlo::Shape& shape, std::vector<std::int64_t>& bounds) {
  if (!shape.IsArray() || bounds.size() != shape.dimensions.size() || from.rank() != shape.rank()) return;
  hlo::TileGrid grid = hlo::GridOf(shape), before = hlo::GridOf(from);
  hlo::Dims order = PhysicalOrder(shape);
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    // Bounds of tall tiles may count eight rows each.
    bool rows = bounds.size() >= 2 && i + 2 == bounds.size();
    std::int64_t unit = rows ? std::min<std::int64_t>(grid.tile[order[i]], 8) : grid.tile[order[i]];
    if (before.tile[order[i]] != grid.tile[order[i]] && bounds[i] <= kMaxSteps / before.tile[order[i]]) {
      bounds[i] = CeilDiv(bounds[i] * before.tile[order[i]], grid.tile[order[i]]);
    }
    bounds[i] = std::max<std::int64_t>(std::min(bounds[i], CeilDiv(shape.dimensions[order[i]], unit)), 1);
  }
}

Grid Finish(const FusedGraph& graph, Grid grid, int anchor, const hlo::WindowConfig& config) {
  grid.anchor = anchor;
  grid.sizes = DomainSizes(graph, anchor);
  grid.slots = config.buffering_level > 0 ? static_cast<int>(std::min<std::int64_t>(config.buffering_level, 64)) : 2;
  grid.from_dump = true;
  return grid;
}

}  // namespace

Box Grid::BoxAt(std::int64_t step) const {
  Box box = FullBox(sizes);
  for (int a = static_cast<int>(axes.size()) - 1; a >= 0; --a) {
    const GridAxis& axis = axes[a];
    std::int64_t index = step % axis.trips;
    step /= axis.trips;
    std::int64_t lo = std::min(index * axis.window, sizes[axis.dim]);
    box[axis.dim] = {lo, std::min(lo + axis.window, sizes[axis.dim])};
  }
  return box;
}

std::optional<Grid> GridFromDump(const FusedGraph& graph, const hlo::WindowConfig& config) {
  std::optional<Grid> found;
  if (config.iteration_bounds.empty()) return found;
  VisitCandidates(graph, config, [&](const Candidate& candidate) {
    auto grid = Match(candidate.loops, config.iteration_bounds);
    if (!grid) return false;
    grid->unit_rows = candidate.unit_rows;
    found = Finish(graph, std::move(*grid), candidate.anchor, config);
    return true;
  });
  return found;
}

std::optional<hlo::WindowConfig> RebindWindows(const FusedGraph& from, const hlo::WindowConfig& config,
                                               const FusedGraph& to) {
  int index = -1, at = 0, anchor = -1;
  VisitCandidates(from, config, [&](const Candidate& candidate) {
    anchor = candidate.anchor;
    index = Match(candidate.loops, config.iteration_bounds) ? at : -1;
    ++at;
    return index >= 0;
  });
  if (index < 0 || anchor >= static_cast<int>(to.nodes.size())) return std::nullopt;
  hlo::WindowConfig result = config;
  const hlo::Instruction& domain = *to.nodes[anchor].instruction;
  const hlo::Instruction& before = *from.nodes[anchor].instruction;
  Clip(ArrayShape(before.shape), ArrayShape(domain.shape), result.output_bounds);
  if (!config.kernel_bounds.empty() && IsMatmul(to.nodes[anchor]) && domain.operands.size() >= 2 &&
      before.operands.size() >= 2) {
    Clip(before.operands[0]->shape, domain.operands[0]->shape, result.input_bounds);
    Clip(before.operands[1]->shape, domain.operands[1]->shape, result.kernel_bounds);
  }
  result.iteration_bounds.clear();
  at = 0;
  VisitCandidates(to, result, [&](const Candidate& candidate) {
    if (at++ != index || candidate.anchor != anchor) return at > index;
    for (const LoopDim& loop : candidate.loops) result.iteration_bounds.push_back(loop.trips);
    return true;
  });
  if (result.iteration_bounds.size() != config.iteration_bounds.size()) return std::nullopt;
  return result;
}

Grid WholeGrid(const FusedGraph& graph) {
  Grid grid;
  int matmul = MatmulAnchor(graph);
  int best = matmul;
  if (best < 0) {
    // In-place updates run over the update, reductions over what they reduce.
    for (int anchor : LoopAnchors(graph)) {
      bool update = false, bigger = false;   // Of equal size (a sum over a dimension of length 1): what is summed.
      for (const GraphNode& node : graph.nodes) {
        if (node.nested || node.operands.size() < 2) continue;
        update = update || (node.instruction->opcode == hlo::Opcode::kDynamicUpdateSlice && node.operands[1] == anchor);
      }
      if (best >= 0) {
        const hlo::Shape& shape = ArrayShape(graph.nodes[anchor].shape());
        const hlo::Shape& other = ArrayShape(graph.nodes[best].shape());
        bigger = std::make_pair(shape.ElementCount(), shape.rank()) > std::make_pair(other.ElementCount(), other.rank());
      }
      if (best < 0 || update || bigger) best = anchor;
      if (update) break;
    }
  }
  grid.anchor = best;
  if (best >= 0) grid.sizes = DomainSizes(graph, best);
  return grid;
}

int CutGrid(const FusedGraph& graph, Grid& grid, const std::set<int>& keep) {
  if (grid.anchor < 0) return -1;
  const hlo::Shape& shape = ArrayShape(graph.nodes[grid.anchor].shape());
  hlo::TileGrid tiles = hlo::GridOf(shape);
  hlo::Dims order = PhysicalOrder(shape);
  if (grid.sizes.size() > shape.dimensions.size()) {
    // A contraction re-reads its operands: windows near square move least.
    auto window_of = [&](std::int64_t d) {
      for (const GridAxis& a : grid.axes) {
        if (a.dim == d) return a.window;
      }
      return shape.dimensions[d];
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return window_of(a) > window_of(b); });
  }
  for (std::int64_t d : order) {
    auto axis = std::find_if(grid.axes.begin(), grid.axes.end(), [&](const GridAxis& a) { return a.dim == d; });
    std::int64_t window = axis == grid.axes.end() ? shape.dimensions[d] : axis->window;
    std::int64_t count = CeilDiv(window, tiles.tile[d]);
    if (count <= 1 || keep.count(static_cast<int>(d)) != 0) continue;
    window = CeilDiv(count, 2) * tiles.tile[d];
    if (axis == grid.axes.end()) {
      grid.axes.push_back({static_cast<int>(d), window, 1});
      axis = grid.axes.end() - 1;
    }
    axis->window = window;
    axis->trips = CeilDiv(shape.dimensions[d], window);
    grid.steps = 1;
    for (const GridAxis& a : grid.axes) grid.steps *= a.trips;
    return static_cast<int>(d);
  }
  return -1;
}

}  // namespace spillway::plan
