// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/kernel.h"

#include <algorithm>
#include <set>

#include "sim/hlo/attributes.h"
#include "sim/plan/gather.h"
#include "sim/plan/mosaic.h"

namespace spillway::plan {
namespace {

constexpr Bytes kDefaultScopedLimit = 16 * kMiB;
constexpr Bytes kMaxWindow = 4 * kMiB;
constexpr Bytes kMaxSlots = 6;             ///< The deepest buffering that any dump states.
constexpr Bytes kLinearWindow = 2 * kMiB;
constexpr double kMuchMore = 1.25;         ///< A cut that moves so much more is made only if no other is left.

bool InHbm(const hlo::Shape& shape, const config::ChipConfig& chip) {
  return shape.IsArray() && chip.SpaceKind(shape.has_layout ? shape.layout.memory_space : 0) ==
                                config::MemoryKind::kHbm;
}

Location At(const std::vector<Location>& locations, int index) {
  return index < static_cast<int>(locations.size()) ? locations[index] : Location();
}

class Builder {
 public:
  explicit Builder(const KernelInputs& inputs) : inputs_(inputs), instruction_(*inputs.instruction) {}

  Kernel Build() {
    graph_ = FlattenKernel(instruction_);
    config_ = hlo::BackendConfigOf(instruction_);
    for (const hlo::ScopedMemory& memory : config_ ? config_->used_scoped_memory : std::vector<hlo::ScopedMemory>()) {
      if (inputs_.chip->SpaceKind(memory.memory_space) == config::MemoryKind::kVmem) stated_scoped_ += memory.size;
    }
    std::optional<Grid> grid;
    if (config_ && config_->window) grid = GridFromDump(graph_, *config_->window);
    if (auto mosaic = MosaicGridOf(instruction_)) {
      MosaicStreams(*mosaic);
    } else if (grid) {
      kernel_.grid = *grid;
      MakeStreams();
      if (config_->window->buffering_level <= 0) InferSlots();
    } else {
      OwnGrid();
    }
    if (inexact_) Blame("an operand is read in a way that the planner does not follow");
    kernel_.cost = compute::CostOf(instruction_, *inputs_.chip, kernel_.grid.steps);
    if (kernel_.cost.unmodelled) Blame(kernel_.cost.why);
    kernel_.scoped_vmem = stated_scoped_ > 0 ? stated_scoped_ : WindowVmem();
    return std::move(kernel_);
  }

 private:
  void Blame(const std::string& why) {
    kernel_.unmodelled = true;
    if (kernel_.why.empty()) kernel_.why = why;
  }

  Bytes Limit() const {
    return inputs_.chip->vmem.scoped_limit > 0 ? inputs_.chip->vmem.scoped_limit : kDefaultScopedLimit;
  }
  Bytes Budget() const { return stated_scoped_ > 0 ? std::min(stated_scoped_, Limit()) : Limit() / 2; }

  Bytes WindowVmem() const {
    Bytes total = 0;
    Box first = kernel_.grid.BoxAt(0);
    for (const Stream& stream : kernel_.streams) total += stream.slots * stream.WindowBytes(first);
    return total + mosaic_scratch_;
  }

  /// Older dumps do not state the buffering of a loop kernel, but its VMEM: as many slots as fill it.
  void InferSlots() {
    const hlo::WindowConfig& window = *config_->window;
    if (stated_scoped_ <= 0 || !window.input_bounds.empty() || !window.kernel_bounds.empty()) return;
    Bytes moving = 0, fixed = 0;
    Box first = kernel_.grid.BoxAt(0);
    for (const Stream& stream : kernel_.streams) (stream.moves ? moving : fixed) += stream.WindowBytes(first);
    if (moving <= 0) return;
    kernel_.grid.slots = static_cast<int>(std::clamp<Bytes>((stated_scoped_ - fixed) / moving, 2, kMaxSlots));
    MakeStreams();
  }

  Bytes LargestMovable() const {
    Bytes largest = 0;
    Box first = kernel_.grid.BoxAt(0);
    for (const Stream& stream : kernel_.streams) largest = std::max(largest, stream.WindowBytes(first));
    return largest;
  }

  bool IsContraction() const {
    if (kernel_.grid.anchor < 0) return false;
    const hlo::Shape& shape = graph_.nodes[kernel_.grid.anchor].shape();
    const hlo::Shape& array = shape.IsTuple() && !shape.elements.empty() ? shape.elements[0] : shape;
    return kernel_.grid.sizes.size() > array.dimensions.size();
  }

  /// Bytes that the windows of all steps move, by their first one. A relayout whose result is cut across the tiles of its
  /// operand fetches these again for every window.
  double Moved() const {
    double total = 0;
    const Box first = kernel_.grid.BoxAt(0);
    for (const Stream& stream : kernel_.streams) {
      std::int64_t inner = kernel_.grid.steps;
      double fetches = 1, visits = 1;
      for (const GridAxis& axis : kernel_.grid.axes) {
        inner /= std::max<std::int64_t>(axis.trips, 1);
        visits *= static_cast<double>(axis.trips);
        if (axis.trips > 1 && stream.TilesAt(kernel_.grid.BoxAt(inner)) != stream.TilesAt(first)) fetches = visits;
      }
      total += fetches * static_cast<double>(stream.WindowBytes(first));
    }
    return total;
  }

  /// Puts the newest loop where windows are fetched again least: outside those along which an operand stays the same.
  void NestNewest() {
    const std::vector<GridAxis> axes = kernel_.grid.axes;
    std::vector<GridAxis> best = axes;
    double least = Moved();
    for (std::size_t place = 0; place + 1 < axes.size(); ++place) {
      kernel_.grid.axes = axes;
      std::rotate(kernel_.grid.axes.begin() + static_cast<std::ptrdiff_t>(place), kernel_.grid.axes.end() - 1, kernel_.grid.axes.end());
      MakeStreams();
      if (Moved() >= least) continue;
      least = Moved();
      best = kernel_.grid.axes;
    }
    kernel_.grid.axes = best;
    MakeStreams();
  }

  /// No windows in the dump: cut the domain until its double-buffered windows fit.
  void OwnGrid() {
    kernel_.grid = WholeGrid(graph_);
    if (auto gather = FindGather(graph_, instruction_)) {
      kernel_.grid = GatherGrid(graph_, *gather);
      gather_ = gather;
      MakeStreams();
      return;
    }
    MakeStreams();
    if (inexact_ || instruction_.opcode == hlo::Opcode::kCustomCall) return LinearStreams();
    for (int i = 0; i < 200; ++i) {
      Bytes total = WindowVmem(), largest = LargestMovable();
      if (total <= Budget() && largest <= kMaxWindow) return;
      Grid before = kernel_.grid;
      const double moved = Moved();
      int cut = CutGrid(graph_, kernel_.grid, costly_);
      bool only = cut < 0;   // Whatever it costs: nothing else is left.
      if (only) cut = CutGrid(graph_, kernel_.grid);
      if (cut < 0) return;
      MakeStreams();
      if (!IsContraction() && Moved() > moved && kernel_.grid.axes.size() > before.axes.size()) NestNewest();
      if (!only && !IsContraction() && Moved() > kMuchMore * moved) {
        costly_.insert(cut);
        kernel_.grid = before;
        MakeStreams();
        continue;
      }
      // Cutting a dimension that no large stream follows only costs steps.
      if (LargestMovable() >= largest && WindowVmem() >= total && kernel_.grid.axes.size() > before.axes.size()) {
        useless_ = useless_ + 1;
        if (useless_ > 3) return;
      }
    }
  }

  /// A Mosaic kernel states grid and windows of its own.
  void MosaicStreams(const MosaicGrid& mosaic) {
    kernel_.grid = GridOfMosaic(mosaic);
    mosaic_scratch_ = mosaic.scratch_bytes;
    if (!mosaic.assumption.empty()) Blame(mosaic.assumption);
    for (int i = 0; i < static_cast<int>(instruction_.operands.size()); ++i) {
      OperandFlow flow;
      flow.parameter = i;
      flow.flow = FlowOf(mosaic.windows[i], instruction_.operands[i]->shape);
      std::size_t before = kernel_.streams.size();
      AddOperand(std::move(flow));
      if (kernel_.streams.size() > before) FitMosaic(mosaic.windows[i], kernel_.streams.back());
    }
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      const MosaicWindow& window = mosaic.windows[instruction_.operands.size() + graph_.output_elements[i]];
      ResultFlow flow;
      flow.output = static_cast<int>(i);
      flow.flow = FlowOf(window, *graph_.output_shapes[i]);
      std::size_t before = kernel_.streams.size();
      AddResult(std::move(flow));
      if (kernel_.streams.size() > before) FitMosaic(window, kernel_.streams.back());
    }
  }

  static Flow FlowOf(const MosaicWindow& window, const hlo::Shape& shape) {
    Flow flow;
    flow.map = window.map;
    flow.paths.push_back({Whole(shape.dimensions)});
    return flow;
  }

  void FitMosaic(const MosaicWindow& window, Stream& stream) {
    if (window.kind == MosaicWindow::Kind::kManual) {
      Blame(std::string(stream.output ? "result " : "operand ") + std::to_string(stream.index) +
            " is moved by the kernel's own DMAs: taken as streamed once, in equal parts");
      std::int64_t total = 1;
      for (std::int64_t count : stream.view.count) total *= count;
      stream.view.order.assign(1, 0);
      stream.view.tile.assign(1, 1);
      stream.view.count.assign(1, total);
      stream.flow.map = MakePartsMap(kernel_.grid, total);
      FitStream(stream, kernel_.grid);
    }
    stream.slots = std::min(stream.slots, std::max(window.buffers, 1));
  }

  /// An op whose access is unknown: every operand and result once, front to back, in equal parts.
  void LinearStreams() {
    Blame("how " + std::string(instruction_.opcode_name) + " walks its operands is unknown: each is streamed once");
    Bytes largest = LargestMovable();
    std::int64_t steps = std::clamp<std::int64_t>((largest + kLinearWindow - 1) / kLinearWindow, 1, 4096);
    kernel_.grid.axes.assign(steps > 1 ? 1 : 0, GridAxis{0, 1, steps});
    kernel_.grid.sizes.assign(1, steps);
    kernel_.grid.steps = steps;
    kernel_.grid.slots = 2;
    for (Stream& stream : kernel_.streams) {
      std::int64_t total = 1;
      for (std::int64_t count : stream.view.count) total *= count;
      AffineDim part;
      part.source = 0;
      part.size = total;
      part.mul = (total + steps - 1) / steps;
      part.extra = std::max<std::int64_t>(part.mul - 1, 0);
      Transform step;
      step.dims.push_back(part);
      stream.view.order.assign(1, 0);
      stream.view.tile.assign(1, 1);
      stream.view.count.assign(1, total);
      stream.flow.paths.assign(1, Path{step});
      FitStream(stream, kernel_.grid);
    }
  }

  void MakeStreams() {
    kernel_.streams.clear();
    inexact_ = false;
    if (kernel_.grid.anchor < 0) return WholeStreams();
    KernelFlows flows = FlowsFrom(graph_, kernel_.grid.anchor);
    for (OperandFlow& flow : flows.operands) AddOperand(std::move(flow));
    for (ResultFlow& flow : flows.results) AddResult(std::move(flow));
  }

  /// An op of which nothing is known: every operand and result once, whole.
  void WholeStreams() {
    for (int i = 0; i < static_cast<int>(instruction_.operands.size()); ++i) {
      OperandFlow flow;
      flow.parameter = i;
      flow.flow.paths.push_back({Whole(instruction_.operands[i]->shape.dimensions)});
      AddOperand(std::move(flow));
    }
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      ResultFlow flow;
      flow.output = static_cast<int>(i);
      flow.flow.paths.push_back({Whole(graph_.output_shapes[i]->dimensions)});
      AddResult(std::move(flow));
    }
  }

  void AddOperand(OperandFlow flow) {
    const hlo::Shape& shape = instruction_.operands[flow.parameter]->shape;
    // A scalar reaches the kernel through SMEM: the program has loaded it before.
    if (!InHbm(shape, *inputs_.chip) || shape.rank() == 0) return;
    Stream stream;
    stream.index = flow.parameter;
    Location place = At(inputs_.operands, flow.parameter);
    stream.buffer = place.buffer;
    stream.address = place.address;
    stream.view = ViewOf(shape);
    stream.flow = std::move(flow.flow);
    bool gathered = gather_ && gather_->parameter == stream.index;
    if (!stream.flow.exact && !gathered) inexact_ = true;
    if (gather_ && gather_->parameter == stream.index) FitGather(stream, *gather_, shape, kernel_.grid.steps);
    Finish(std::move(stream), shape);
  }

  void AddResult(ResultFlow flow) {
    const hlo::Shape& shape = *graph_.output_shapes[flow.output];
    if (!InHbm(shape, *inputs_.chip)) return;
    Stream stream;
    stream.output = true;
    stream.index = graph_.output_elements[flow.output];
    Location place = At(inputs_.results, stream.index);
    stream.buffer = place.buffer;
    stream.address = place.address;
    stream.view = ViewOf(shape);
    stream.flow = std::move(flow.flow);
    // A reduction's result is kept in VMEM until it is complete, and written once.
    if (flow.accumulated && hlo::AllocatedBytes(shape) <= Limit() / 4) {
      stream.flow.paths.assign(1, {Whole(shape.dimensions)});
    }
    Finish(std::move(stream), shape);
  }

  void Finish(Stream stream, const hlo::Shape& shape) {
    FitStream(stream, kernel_.grid);
    bool loop = config_ && config_->window && config_->window->kernel_bounds.empty();
    if (loop && shape.rank() >= 2 && kernel_.grid.unit_rows > 0) {
      std::int64_t rows = stream.view.tile[stream.view.tile.size() - 2];
      if (rows > kernel_.grid.unit_rows && rows % kernel_.grid.unit_rows == 0) {
        stream.split = static_cast<int>(rows / kernel_.grid.unit_rows);
      }
    }
    kernel_.streams.push_back(std::move(stream));
  }

  const KernelInputs& inputs_;
  const hlo::Instruction& instruction_;
  FusedGraph graph_;
  std::optional<hlo::BackendConfig> config_;
  std::optional<GatherAccess> gather_;
  Kernel kernel_;
  Bytes stated_scoped_ = 0, mosaic_scratch_ = 0;
  int useless_ = 0;
  std::set<int> costly_;   ///< Dimensions whose windows fetch operands again: cut last.
  bool inexact_ = false;
};

}  // namespace

Kernel BuildKernel(const KernelInputs& inputs) { return Builder(inputs).Build(); }

}  // namespace spillway::plan
