// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/plan/streamed_kernel.h"

namespace spillway::plan {
namespace {

using hlo::Opcode;

constexpr std::int64_t kLanes = 128;
constexpr double kSustained = 0.9;   ///< Share of peak bandwidth that the estimate counts on.
constexpr std::int64_t kMaxSteps = std::int64_t{1} << 24;

bool InHbm(const hlo::Shape& shape, const config::ChipConfig& chip) {
  return shape.IsArray() && shape.rank() > 0 &&
         chip.SpaceKind(shape.has_layout ? shape.layout.memory_space : 0) == config::MemoryKind::kHbm;
}

bool Contains(const std::vector<int>& list, int value) { return std::find(list.begin(), list.end(), value) != list.end(); }

bool IsContraction(const StreamNode& node) {
  return node.parameter < 0 && (node.like->opcode == Opcode::kDot || node.like->opcode == Opcode::kConvolution);
}

std::int64_t VmemSpace(const config::ChipConfig& chip) {
  for (const auto& [space, kind] : chip.memory_spaces) {
    if (kind == config::MemoryKind::kVmem) return space;
  }
  return 1;
}

/// Work of a running maximum and sum and of rescaling what has been added up, once a tile.
compute::KernelCost RescaleCost(const StreamGraph& graph, const Tiling& tiling, const config::ChipConfig& chip) {
  compute::KernelCost none;
  std::int64_t tiles = tiling.axes.empty() ? 1 : tiling.axes.back().trips;
  if (!tiling.online || tiles <= 1 || tiling.carry.sums.empty()) return none;
  std::int64_t vmem = VmemSpace(chip);
  hlo::Computation body;
  hlo::Instruction fusion;
  std::deque<hlo::Instruction> outside;
  std::deque<std::string> names;
  auto add = [&](Opcode opcode, const hlo::Shape& shape, std::initializer_list<const hlo::Instruction*> operands) {
    hlo::Instruction made;
    made.opcode = opcode;
    made.opcode_name = hlo::OpcodeName(opcode);
    names.push_back(fmt::format("r{}", body.instructions.size()));
    made.name = names.back();
    made.shape = shape;
    made.operands.assign(operands.begin(), operands.end());
    made.parent = &body;
    if (opcode == Opcode::kParameter) {
      made.parameter_number = static_cast<std::int64_t>(outside.size());
      outside.push_back(made);
    }
    body.instructions.push_back(std::move(made));
    if (opcode == Opcode::kParameter) {
      body.parameters.push_back(&body.instructions.back());
      fusion.operands.push_back(&outside.back());
    }
    return &body.instructions.back();
  };
  auto carried = [&](const hlo::Dims& dims, bool statistic) {
    hlo::Shape shape;
    shape.type = hlo::ElementType::kF32;
    shape.dimensions.push_back(tiles);
    shape.dimensions.insert(shape.dimensions.end(), dims.begin(), dims.end());
    // A number a row is kept in a register row, as kernels do: it meets row after row of the result.
    if (statistic) shape.dimensions.push_back(kLanes);
    shape = hlo::WithImpliedTiles(shape);
    shape.layout.memory_space = vmem;
    return shape;
  };
  std::vector<const hlo::Instruction*> results;
  for (std::size_t i = 0; i < tiling.carry.sums.size(); ++i) {
    hlo::Shape row = carried(graph.nodes[tiling.carry.sums[i]].shape.dimensions, true);
    const auto* newest = add(Opcode::kMaximum, row, {add(Opcode::kParameter, row, {}), add(Opcode::kParameter, row, {})});
    const auto* shift = add(Opcode::kSubtract, row, {newest->operands[0], newest});
    const auto* factor = add(Opcode::kExp, row, {shift});
    const auto* scaled = add(Opcode::kMultiply, row, {factor, add(Opcode::kParameter, row, {})});
    results.push_back(add(Opcode::kAdd, row, {scaled, newest}));
  }
  for (int product : tiling.carry.products) {
    hlo::Shape shape = carried(graph.nodes[product].shape.dimensions, false);
    const auto* before = add(Opcode::kParameter, shape, {});
    const auto* tile = add(Opcode::kParameter, shape, {});
    results.push_back(add(Opcode::kAdd, shape, {add(Opcode::kMultiply, shape, {before, tile}), tile}));
  }
  hlo::Shape tuple;
  tuple.type = hlo::ElementType::kTuple;
  for (const auto* result : results) tuple.elements.push_back(result->shape);
  auto* root = add(Opcode::kTuple, tuple, {});
  root->operands.assign(results.begin(), results.end());
  root->is_root = true;
  body.root = root;
  fusion.opcode = Opcode::kFusion;
  fusion.opcode_name = hlo::OpcodeName(Opcode::kFusion);
  fusion.name = "rescale";
  fusion.shape = tuple;
  fusion.called.push_back(&body);
  return compute::CostOf(fusion, chip, 1);
}

/// The tiles of `domain` as the compiler states windows: the compute model counts with them how often operands are
/// pushed into the matrix unit again.
std::string WindowConfigOf(const StreamGraph& graph, const Tiling& tiling, int domain) {
  if (domain < 0) return "";
  const StreamNode& node = graph.nodes[domain];
  hlo::TileGrid grid = hlo::GridOf(node.shape);
  std::string bounds, trips;
  for (int i = node.shape.rank() - 1; i >= 0; --i) {
    std::int64_t d = node.shape.MinorDimension(i), length = node.shape.dimensions[d];
    for (const StreamAxis& axis : tiling.axes) {
      if (axis.dim_class == node.classes[d]) length = std::min(length, axis.tile);
    }
    std::int64_t tile = std::max<std::int64_t>(grid.tile[d], 1);
    bounds += fmt::format("{}\"{}\"", bounds.empty() ? "" : ",", (length + tile - 1) / tile);
  }
  for (const StreamAxis& axis : tiling.axes) trips += fmt::format("{}\"{}\"", trips.empty() ? "" : ",", axis.trips);
  return fmt::format("{{\"window_config\":{{\"kernel_window_bounds\":[],\"output_window_bounds\":[{}],\"input_window_bounds\":[],"
                     "\"iteration_bounds\":[{}]}}}}", bounds, trips);
}

compute::KernelCost CostOfTiling(const StreamGraph& graph, const Tiling& tiling, const config::ChipConfig& chip, std::int64_t steps) {
  compute::KernelCost cost;
  for (const std::shared_ptr<const MergedFusion>& phase : tiling.phases) {
    hlo::Instruction fusion = phase->fusion;
    std::string windows = WindowConfigOf(graph, tiling, phase->domain);
    if (!windows.empty()) fusion.attributes.push_back({"backend_config", windows});
    compute::KernelCost part = compute::CostOf(fusion, chip, steps);
    bool first = phase == tiling.phases.front();
    cost.total_cycles += part.total_cycles - (first ? 0 : part.prologue_cycles);
    if (first) cost.prologue_cycles = part.prologue_cycles;
    cost.use.vload += part.use.vload;
    cost.use.vstore += part.use.vstore;
    cost.error_band = std::max(cost.error_band, part.error_band);
    if (part.unmodelled && !cost.unmodelled) cost.why = part.why;
    cost.unmodelled = cost.unmodelled || part.unmodelled;
  }
  compute::KernelCost rescale = RescaleCost(graph, tiling, chip);
  cost.total_cycles += std::max<Cycles>(rescale.total_cycles - rescale.prologue_cycles, 0);
  cost.use.vload += rescale.use.vload;
  cost.use.vstore += rescale.use.vstore;
  cost.op_class = "streamed";
  return cost;
}

class Search {
 public:
  Search(const StreamGraph& graph, const config::ChipConfig& chip, Bytes vmem, const WantedTiles& wanted, const std::string& name)
      : graph_(graph), chip_(chip), vmem_(vmem), wanted_(wanted), name_(name) {}

  std::optional<Tiling> Run(std::string& why) {
    if (!Axes(why)) return std::nullopt;
    std::vector<Tiling> tilings = {Tiling()};
    for (int dim_class : parallel_) tilings = Extend(tilings, dim_class);
    std::optional<Tiling> best;
    bool cut_inner = std::any_of(wanted_.begin(), wanted_.end(), [&](const auto& w) { return w.first == inner_; });
    if (!cut_inner) best = Best(tilings);
    if (inner_ >= 0) {
      std::optional<Tiling> inner = Best(Extend(tilings, inner_));
      if (inner && (!best || inner->estimate_ps < best->estimate_ps)) best = inner;
    }
    if (!best) {
      why = fmt::format("no tile fits: the smallest takes {} of VMEM, {} are free{}", FormatBytes(smallest_), FormatBytes(vmem_),
                        inner_ < 0 && !inner_why_.empty() ? "; " + inner_why_ : std::string());
    }
    return best;
  }

 private:
  /// The largest array that would no longer cross HBM says which loops there are.
  bool Axes(std::string& why) {
    Bytes most = 0;
    for (const std::vector<int>* nodes : {&graph_.boundaries, &graph_.shared}) {
      for (int node : *nodes) {
        Bytes bytes = hlo::AllocatedBytes(graph_.nodes[node].shape);
        if (bytes > most) largest_ = node;
        most = std::max(most, bytes);
      }
    }
    // One kernel by itself: the largest array that it reads or writes.
    for (std::size_t n = 0; n < graph_.nodes.size() && graph_.single; ++n) {
      Bytes bytes = hlo::AllocatedBytes(graph_.nodes[n].shape);
      if (bytes > most && (graph_.nodes[n].parameter >= 0 || IsOutput(static_cast<int>(n)))) largest_ = static_cast<int>(n);
      if (largest_ == static_cast<int>(n)) most = bytes;
    }
    if (largest_ < 0) {
      why = "nothing passes from one of these kernels to the next";
      return false;
    }
    const hlo::Shape& shape = graph_.nodes[largest_].shape;
    for (int i = shape.rank() - 1; i >= 0; --i) {
      int dim_class = graph_.nodes[largest_].classes[shape.MinorDimension(i)];
      if (graph_.class_size[dim_class] <= 1) continue;
      if (!graph_.class_fixed[dim_class].empty()) {
        if (why.empty()) why = graph_.class_fixed[dim_class];
        continue;
      }
      if (Summed(dim_class)) {
        Carry carry = CarryOver(graph_, dim_class);
        if (!carry.possible) inner_why_ = carry.why;
        if (carry.possible && (inner_ < 0 || graph_.class_size[dim_class] > graph_.class_size[inner_])) {
          inner_ = dim_class;
          carry_ = carry;
        }
      } else if (std::string again = Again(dim_class); !again.empty()) {
        why = again;
      } else {
        parallel_.push_back(dim_class);
      }
    }
    if (parallel_.empty() && inner_ < 0) {
      if (!inner_why_.empty()) why = inner_why_;
      if (why.empty()) why = fmt::format("'{}' has no dimension that all these kernels walk together", graph_.nodes[largest_].like->name);
      return false;
    }
    return true;
  }

  bool IsOutput(int node) const {
    return std::any_of(graph_.outputs.begin(), graph_.outputs.end(), [&](const StreamOutput& output) { return output.node == node; });
  }

  bool Summed(int dim_class) const {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (Contains(graph_.ReducedBy(static_cast<int>(n)), dim_class)) return true;
    }
    return false;
  }

  /// What a loop over the class would compute again for every tile.
  std::string Again(int dim_class) const {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const StreamNode& node = graph_.nodes[n];
      bool works = IsContraction(node) || (node.parameter < 0 && node.like->opcode == Opcode::kReduce);
      if (works && !graph_.Carries(static_cast<int>(n), dim_class)) {
        return fmt::format("'{}' would be computed again for every tile", node.like->name);
      }
    }
    return "";
  }

  bool InLanes(int dim_class) const {
    for (const StreamNode& node : graph_.nodes) {
      const hlo::Shape& shape = node.shape;
      if (shape.rank() > 0 && node.classes[shape.MinorDimension(0)] == dim_class && shape.rank() > 1) return true;
    }
    return false;
  }
  bool InRows(int dim_class) const {
    for (const StreamNode& node : graph_.nodes) {
      const hlo::Shape& shape = node.shape;
      for (int i = 0; i < std::min(2, shape.rank()); ++i) {
        if (node.classes[shape.MinorDimension(i)] == dim_class) return true;
      }
    }
    return false;
  }

  std::vector<std::int64_t> Lengths(int dim_class) const {
    std::int64_t size = graph_.class_size[dim_class];
    for (const auto& [wanted, length] : wanted_) {
      if (wanted == dim_class) return {std::min(length, size)};
    }
    if (graph_.single) return {size};
    if (!InRows(dim_class)) return {1};
    std::vector<std::int64_t> lengths;
    for (std::int64_t length = InLanes(dim_class) ? kLanes : 32; length < size; length *= 2) lengths.push_back(length);
    lengths.push_back(size);
    return lengths;
  }

  std::vector<Tiling> Extend(const std::vector<Tiling>& tilings, int dim_class) const {
    std::vector<Tiling> longer;
    for (const Tiling& tiling : tilings) {
      for (std::int64_t length : Lengths(dim_class)) {
        Tiling next = tiling;
        std::int64_t size = graph_.class_size[dim_class];
        next.axes.push_back({dim_class, length, (size + length - 1) / std::max<std::int64_t>(length, 1)});
        if (dim_class == inner_) {
          next.online = carry_.online;
          next.carry = carry_;
        }
        longer.push_back(std::move(next));
      }
    }
    return longer;
  }

  std::optional<Tiling> Best(const std::vector<Tiling>& tilings) {
    std::optional<Tiling> best;
    for (const Tiling& tiling : tilings) {
      for (bool hold : {false, true}) {
        Tiling candidate = tiling;
        candidate.held.assign(graph_.parameters.size(), hold);
        if (!Estimate(candidate)) continue;
        if (!best || candidate.estimate_ps < best->estimate_ps) best = candidate;
      }
    }
    return best;
  }

  std::int64_t TileOf(const Tiling& tiling, int dim_class) const {
    for (const StreamAxis& axis : tiling.axes) {
      if (axis.dim_class == dim_class) return axis.tile;
    }
    return graph_.class_size[dim_class];
  }

  Bytes TileBytes(const Tiling& tiling, int node, bool wide) const {
    hlo::Shape shape = graph_.nodes[node].shape;
    for (int d = 0; d < shape.rank(); ++d) {
      shape.dimensions[d] = std::min(shape.dimensions[d], TileOf(tiling, graph_.nodes[node].classes[d]));
    }
    if (wide && hlo::ElementBits(shape.type) < 32) {
      shape.type = hlo::ElementType::kF32;
      shape.layout.tiles.clear();
      shape = hlo::WithImpliedTiles(shape);
    }
    return hlo::AllocatedBytes(shape);
  }

  /// Windows of one array: how often one is moved, and whether it ever changes.
  struct Visits {
    std::int64_t fetches = 1;
    bool moves = false;
  };
  Visits VisitsOf(const Tiling& tiling, const std::vector<int>& classes) const {
    Visits visits;
    std::int64_t product = 1;
    for (const StreamAxis& axis : tiling.axes) {
      product *= axis.trips;
      if (axis.trips > 1 && Contains(classes, axis.dim_class)) {
        visits.fetches = product;
        visits.moves = true;
      }
    }
    return visits;
  }

  const std::shared_ptr<const MergedFusion>& Fusion(bool online) {
    std::shared_ptr<const MergedFusion>& fusion = fusions_[online];
    if (fusion == nullptr) {
      fusion = WriteFusion(graph_, online ? &carry_ : nullptr, name_);
      phases_[online] = WritePhases(graph_, online ? &carry_ : nullptr, VmemSpace(chip_));
    }
    return fusion;
  }

  /// VMEM that tiles of intermediates take: what crossed HBM before, what goes in and out of the matrix unit, sums.
  Bytes Intermediates(const Tiling& tiling) const {
    std::vector<char> counted(graph_.nodes.size(), 0);
    Bytes total = 0;
    auto count = [&](int node, bool wide) {
      if (graph_.nodes[node].parameter >= 0 || counted[node]) return;
      counted[node] = 1;
      total += TileBytes(tiling, node, wide);
    };
    for (int node : tiling.carry.accumulators) count(node, true);
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!IsContraction(graph_.nodes[n])) continue;
      count(static_cast<int>(n), true);
      for (int operand : graph_.nodes[n].operands) count(operand, false);
    }
    for (int node : graph_.boundaries) count(node, false);
    return total;
  }

  bool Estimate(Tiling& tiling) {
    std::int64_t steps = 1;
    for (const StreamAxis& axis : tiling.axes) {
      if (axis.trips > kMaxSteps / steps) return false;
      steps *= axis.trips;
    }
    Bytes vmem = Intermediates(tiling), moved = 0, first = 0, last = 0;
    tiling.again_bytes = 0;
    tiling.again.clear();
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const StreamNode& node = graph_.nodes[n];
      if (node.parameter < 0) continue;
      if (!InHbm(node.shape, chip_)) {
        tiling.held[static_cast<std::size_t>(node.parameter)] = false;
        continue;
      }
      Visits visits = VisitsOf(tiling, node.classes);
      Bytes whole = hlo::AllocatedBytes(node.shape), window = TileBytes(tiling, static_cast<int>(n), false);
      // Only what would be fetched several times is worth holding.
      bool again = visits.moves && visits.fetches * window > whole;
      char& held = tiling.held[static_cast<std::size_t>(node.parameter)];
      held = held && again;
      vmem += held ? whole : window * (visits.moves ? 2 : 1);
      moved += held ? whole : window * visits.fetches;
      if (again && !held) {
        tiling.again_bytes += window * visits.fetches - whole;
        tiling.again += fmt::format("{}{} {} times", tiling.again.empty() ? "" : ", ", node.like->name, window * visits.fetches / whole);
      }
      first += held ? whole : window;
    }
    for (const StreamOutput& output : graph_.outputs) {
      const hlo::Shape& all = output.maker->shape;
      const hlo::Shape& shape = output.element < 0 ? all : all.elements[static_cast<std::size_t>(output.element)];
      if (!InHbm(shape, chip_)) continue;
      Visits visits = VisitsOf(tiling, graph_.nodes[output.node].classes);
      Bytes window = TileBytes(tiling, output.node, false);
      vmem += window * (visits.moves ? 2 : 1);
      moved += window * visits.fetches;
      last = std::max(last, window);
    }
    if (smallest_ == 0 || vmem < smallest_) smallest_ = vmem;
    if (vmem > vmem_) return false;
    tiling.scoped_vmem = vmem;
    tiling.hbm_bytes = moved;
    tiling.fusion = Fusion(tiling.online);
    tiling.phases = phases_[tiling.online];
    double cycles = static_cast<double>(CostOfTiling(graph_, tiling, chip_, steps).total_cycles);
    double compute = cycles * 1e12 / std::max(chip_.core.clock_hz, 1.0) / static_cast<double>(steps);
    double rate = std::max(chip_.hbm.PeakBytesPerSecond() * kSustained / 1e12, 1e-9);
    double transfer = static_cast<double>(moved - first) / rate / static_cast<double>(steps);
    double latency = static_cast<double>(chip_.dma.read_latency);
    // Two slots: two steps take at least transfer, latency and compute one after the other.
    double step = std::max({compute, transfer, transfer > 0 ? (transfer + latency + compute) / 2 : 0.0});
    tiling.estimate_ps = step * static_cast<double>(steps) + static_cast<double>(first + last) / rate + latency +
                         static_cast<double>(chip_.dma.write_latency);
    return true;
  }

  const StreamGraph& graph_;
  const config::ChipConfig& chip_;
  Bytes vmem_;
  const WantedTiles& wanted_;
  std::string name_;
  int largest_ = -1, inner_ = -1;
  std::string inner_why_;
  Carry carry_;
  std::vector<int> parallel_;
  Bytes smallest_ = 0;
  std::shared_ptr<const MergedFusion> fusions_[2];
  std::vector<std::shared_ptr<const MergedFusion>> phases_[2];
};

/// Window of an array along the loops of a tiling.
Path WindowPath(const StreamNode& node, const Tiling& tiling, bool whole) {
  Transform step;
  for (int d = 0; d < node.shape.rank(); ++d) {
    AffineDim dim;
    dim.size = node.shape.dimensions[d];
    for (std::size_t a = 0; a < tiling.axes.size() && !whole; ++a) {
      if (tiling.axes[a].dim_class == node.classes[d]) dim.source = static_cast<int>(a);
    }
    step.dims.push_back(dim);
  }
  return {step};
}

Location At(const std::vector<Location>& locations, std::size_t index) {
  return index < locations.size() ? locations[index] : Location();
}

}  // namespace

std::optional<Tiling> SearchTiling(const StreamGraph& graph, const config::ChipConfig& chip, Bytes vmem,
                                   const WantedTiles& wanted, const std::string& name, std::string& why) {
  return Search(graph, chip, vmem, wanted, name).Run(why);
}

std::string DescribeTiling(const StreamGraph& graph, const Tiling& tiling) {
  std::string text;
  for (const StreamAxis& axis : tiling.axes) {
    text += fmt::format("{}{} of {}", text.empty() ? "tiles of " : " x ", axis.tile, graph.class_size[axis.dim_class]);
  }
  std::string held;
  for (std::size_t p = 0; p < tiling.held.size(); ++p) {
    if (tiling.held[p]) held += fmt::format("{}{}", held.empty() ? "" : ", ", graph.parameters[p]->name);
  }
  if (!held.empty()) text += fmt::format("; held in VMEM: {}", held);
  if (!tiling.again.empty()) text += fmt::format("; read again: {}", tiling.again);
  std::int64_t inner = tiling.axes.empty() ? 1 : tiling.axes.back().trips;
  if (tiling.online) {
    text += inner > 1 ? fmt::format("; online softmax: maximum and sum carried over {} tiles, results rescaled", inner)
                      : std::string("; softmax over whole rows, divided after the product");
  }
  return text;
}

Kernel BuildStreamedKernel(const StreamGraph& graph, const Tiling& tiling, const KernelInputs& inputs) {
  Kernel kernel;
  for (std::size_t a = 0; a < tiling.axes.size(); ++a) {
    const StreamAxis& axis = tiling.axes[a];
    kernel.grid.sizes.push_back(graph.class_size[axis.dim_class]);
    if (axis.trips > 1) kernel.grid.axes.push_back({static_cast<int>(a), axis.tile, axis.trips});
    kernel.grid.steps *= axis.trips;
  }
  kernel.grid.slots = 2;
  auto add = [&](const StreamNode& node, const hlo::Shape& shape, bool output, int index, const Location& place, bool whole) {
    if (!InHbm(shape, *inputs.chip)) return;
    Stream stream;
    stream.output = output;
    stream.index = index;
    stream.buffer = place.buffer;
    stream.address = place.address;
    stream.view = ViewOf(shape);
    stream.flow.paths.push_back(WindowPath(node, tiling, whole));
    FitStream(stream, kernel.grid);
    kernel.streams.push_back(std::move(stream));
  };
  for (const StreamNode& node : graph.nodes) {
    if (node.parameter < 0) continue;
    auto number = static_cast<std::size_t>(node.parameter);
    add(node, node.shape, false, node.parameter, At(inputs.operands, number), tiling.held[number] != 0);
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const StreamOutput& output = graph.outputs[i];
    const hlo::Shape& all = output.maker->shape;
    const hlo::Shape& shape = output.element < 0 ? all : all.elements[static_cast<std::size_t>(output.element)];
    add(graph.nodes[output.node], shape, true, static_cast<int>(i), At(inputs.results, i), false);
  }
  kernel.cost = CostOfTiling(graph, tiling, *inputs.chip, kernel.grid.steps);
  kernel.scoped_vmem = tiling.scoped_vmem;
  kernel.unmodelled = kernel.cost.unmodelled;
  kernel.why = kernel.cost.why;
  return kernel;
}

}  // namespace spillway::plan
