// SPDX-License-Identifier: Apache-2.0
#include "sim/compute/features.h"

#include <algorithm>
#include <cmath>

#include "sim/compute/kernel_graph.h"
#include "sim/compute/matmul.h"
#include "sim/compute/registers.h"
#include "sim/compute/windows.h"

namespace spillway::compute {
namespace {

using hlo::Opcode;

// The compiler's window for a reduction of its own, in tiles (read from dumps that state it).
constexpr double kReduceRows = 16, kReduceColumns = 8;

std::string Key(std::string_view a, std::string_view b) { return std::string(a) + "." + std::string(b); }

bool Has(const hlo::Dims& dims, std::int64_t dim) { return std::find(dims.begin(), dims.end(), dim) != dims.end(); }

class Counter {
 public:
  Counter(const hlo::Instruction& kernel, const MatrixShape& mxu, double steps)
      : kernel_(kernel), mxu_(mxu), graph_(GraphOf(kernel)), fused_(kernel.opcode == Opcode::kFusion) {
    features_.steps = std::max(steps, 1.0);
  }

  KernelFeatures Run() {
    SetVaries(graph_);
    ReadWindows();
    Matmuls();
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (graph_.nodes[n].parameter < 0) Count(graph_.nodes[n]);
    }
    Loads();
    Stores();
    features_.op_class = Class();
    features_.counts["step"] = features_.steps;
    features_.counts["kernel"] = 1;
    features_.Add("step.stream", features_.steps * Streams());
    return std::move(features_);
  }

 private:
  const hlo::Shape& ShapeOf(int node) const { return ArrayOf(graph_.nodes[node].instruction->shape); }

  /// The shape whose tiles the windows count: the matmul's result, else the first result, else what it reduces.
  void ReadWindows() {
    auto config = hlo::BackendConfigOf(kernel_);
    if (!config || !config->window) {
      if (kernel_.opcode == Opcode::kReduce && !kernel_.operands.empty()) {
        const hlo::Shape& from = kernel_.operands[0]->shape;
        double rows = Registers(from) / std::max(CeilDiv(MinorLength(from, 0), kLanes), 1.0);
        features_.steps = std::max(features_.steps, CeilDiv(rows, kReduceRows) *
                                                        CeilDiv(MinorLength(from, 0), kReduceColumns * kLanes));
      }
      return;
    }
    std::vector<const hlo::Shape*> candidates;
    for (const Node& node : graph_.nodes) {
      Opcode opcode = node.instruction->opcode;
      if (node.parameter < 0 && (opcode == Opcode::kConvolution || opcode == Opcode::kDot)) {
        candidates.push_back(&node.instruction->shape);
      }
    }
    for (int result : graph_.results) {
      candidates.push_back(&ShapeOf(result));
      for (int operand : graph_.nodes[result].operands) candidates.push_back(&ShapeOf(operand));
    }
    for (const hlo::Shape* shape : candidates) {
      if (!shape->IsArray()) continue;
      windows_ = WindowsOver(*shape, *config->window);
      window_domain_ = shape;
      if (windows_.stated) break;
    }
    if (!config->window->iteration_bounds.empty()) features_.steps = std::max(windows_.steps, 1.0);
    features_.coverage = windows_.coverage;
  }

  void Matmuls() {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      Node& node = graph_.nodes[n];
      Opcode opcode = node.instruction->opcode;
      if (node.parameter >= 0 || (opcode != Opcode::kConvolution && opcode != Opcode::kDot)) continue;
      if (!MatmulShapeOf(*node.instruction)) {
        Blame(*node.instruction);
        continue;
      }
      matmul_ = true;
      MatmulVisits visits = CountMatmul(*node.instruction, mxu_, windows_, features_);
      if (node.operands.size() > 1) {
        Revisit(graph_, node.operands[0], visits.left);
        Revisit(graph_, node.operands[1], visits.right);
      }
    }
  }

  void Blame(const hlo::Instruction& instruction) {
    features_.unmodelled = true;
    if (features_.why.empty()) features_.why = "no compute model of " + std::string(instruction.opcode_name);
  }

  void Add(const Node& node, const std::string& key, double count) {
    features_.Add(key, count * node.visits * features_.coverage);
  }

  void Count(const Node& node) {
    const hlo::Instruction& instruction = *node.instruction;
    if (hlo::IsFree(instruction.opcode)) return;
    const hlo::Shape& shape = ArrayOf(instruction.shape);
    const hlo::Shape* operand = node.operands.empty() ? nullptr : &ShapeOf(node.operands[0]);
    switch (instruction.opcode) {
      case Opcode::kConvolution:
      case Opcode::kDot:
        return;
      case Opcode::kBroadcast:
        if (operand != nullptr) Broadcast(node, *operand, shape);
        return;
      case Opcode::kReduce:
        if (operand != nullptr) Reduce(node, *operand);
        return;
      case Opcode::kIota:
        return Add(node, "iota", DistinctRegisters(shape, node.varies));
      case Opcode::kTranspose:
      case Opcode::kCopy:
      case Opcode::kReshape:
      case Opcode::kReverse:
        if (operand != nullptr) Relayout(node, *operand, shape);
        return;
      case Opcode::kSlice:
      case Opcode::kPad:
      case Opcode::kConcatenate:
        return Place(node, shape);
      case Opcode::kDynamicSlice:
        if (operand != nullptr) DynamicSlice(node, shape, *operand);
        return;
      case Opcode::kDynamicUpdateSlice:
        if (node.operands.size() > 1) DynamicSlice(node, ShapeOf(node.operands[1]), shape);
        return;
      case Opcode::kReduceWindow:
        return ReduceWindow(node, shape);
      case Opcode::kSort:
        return Sort(node);
      case Opcode::kGather:
      case Opcode::kScatter:
        return Gather(node);
      case Opcode::kCustomCall:
        if (Custom(node)) return;
        break;
      case Opcode::kRng:
      case Opcode::kRngBitGenerator:
        return Add(node, "rng", Registers(instruction.shape));
      default:
        break;
    }
    if (hlo::IsElementwise(instruction.opcode)) return Elementwise(node, shape, operand);
    Blame(instruction);
    Add(node, "unknown", std::max(Registers(instruction.shape), operand != nullptr ? Registers(*operand) : 0));
  }

  /// Custom calls whose work follows from their operands. False: unknown.
  bool Custom(const Node& node) {
    const hlo::Instruction& instruction = *node.instruction;
    std::string_view target = instruction.Attr("custom_call_target").value_or("");
    if (target.find("AssumeGatherIndicesInBound") != std::string_view::npos) return true;
    // softmax(scores) x values, fused by the compiler into a kernel of its own that walks the scores in blocks.
    if (target.find("tpu_custom_call") == std::string_view::npos || instruction.OpName() != "online-softmax" ||
        node.operands.size() < 2) {
      return false;
    }
    const hlo::Shape& scores = ShapeOf(node.operands[0]);
    const hlo::Shape& values = ShapeOf(node.operands[1]);
    if (scores.rank() < 2 || values.rank() < 2) return false;
    double rows = Registers(scores) / CeilDiv(MinorLength(scores, 0), kLanes);
    Add(node, "online-softmax", Registers(scores));
    Add(node, "online-softmax.rows", rows * CeilDiv(MinorLength(scores, 0), 1024));
    double blocks = CeilDiv(MinorLength(scores, 0), mxu_.rows);
    Add(node, "matmul.bf16", rows / 2 * blocks * CeilDiv(MinorLength(values, 0), mxu_.columns));
    matmul_ = true;
    return true;
  }

  void Elementwise(const Node& node, const hlo::Shape& shape, const hlo::Shape* operand) {
    const hlo::Instruction& instruction = *node.instruction;
    double registers = DistinctRegisters(shape, node.varies);
    if (instruction.opcode == Opcode::kConvert && operand != nullptr) {
      std::string_view from = TypeClass(operand->type), to = TypeClass(shape.type);
      if (from != to) Add(node, "convert." + Key(from, to), registers);
      return;
    }
    bool of_operand = instruction.opcode == Opcode::kCompare || instruction.opcode == Opcode::kIsFinite;
    std::string_view type = TypeClass(of_operand && operand != nullptr ? operand->type : shape.type);
    if (type == "x64") Blame(instruction);
    if (!fused_ && type == "bf16") {
      // Alone, the op is computed in f32.
      Add(node, "convert.bf16.f32", registers * static_cast<double>(node.operands.size()));
      if (!of_operand) Add(node, "convert.f32.bf16", registers);
      type = "f32";
    }
    if (instruction.opcode == Opcode::kDivide && node.operands.size() > 1 && hlo::IsFloating(shape.type)) {
      // Multiplied with the reciprocal, which is taken once for what repeats in the divisor.
      std::uint64_t varies = graph_.nodes[node.operands[1]].varies;
      Add(node, Key("reciprocal", type), DistinctRegisters(shape, varies));
    }
    Add(node, Key(instruction.opcode_name, type), registers);
  }

  void Broadcast(const Node& node, const hlo::Shape& from, const hlo::Shape& to) {
    if (from.rank() == 0 || to.rank() == 0) return;
    hlo::Dims dims = hlo::DimensionsOf(*node.instruction);
    bool lanes = Has(dims, to.MinorDimension(0)), sublanes = to.rank() < 2 || Has(dims, to.MinorDimension(1));
    double registers = Registers(to);
    if (lanes && sublanes) return Add(node, "broadcast.major", registers);
    if (lanes) return Add(node, "broadcast.sublanes", registers / CeilDiv(MinorLength(to, 1), kSublanes));
    double rows = registers / CeilDiv(MinorLength(to, 0), kLanes);
    if (sublanes) {
      Add(node, "broadcast.lanes", rows);
      return Add(node, "broadcast.lanes.use", registers);
    }
    Add(node, "broadcast.splat", rows / CeilDiv(MinorLength(to, 1), kSublanes));
  }

  void Reduce(const Node& node, const hlo::Shape& from) {
    if (from.rank() == 0) return;
    double arrays = std::max<double>(1, static_cast<double>(node.operands.size() / 2));
    ReduceOver(node, from, hlo::DimensionsOf(*node.instruction), arrays);
  }

  void ReduceOver(const Node& node, const hlo::Shape& from, const hlo::Dims& dims, double arrays) {
    double registers = Registers(from);
    bool lanes = Has(dims, from.MinorDimension(0)), sublanes = from.rank() > 1 && Has(dims, from.MinorDimension(1));
    std::string key = arrays > 1 ? "reduce.index" : Key(fused_ ? "reduce" : "reduce.alone", TypeClass(from.type));
    Add(node, key, registers);
    // Each window ends its own sum across lanes, then adds it to the total.
    double rows = registers / CeilDiv(MinorLength(from, 0), kLanes) * WindowTrips(from, from.MinorDimension(0));
    // Additions to one accumulator wait for each other. A window has an accumulator for a full reduction, one a column
    // of registers and outer index for a sum over rows.
    if (sublanes && !lanes) {
      double chains = CeilDiv(MinorLength(from, 0), kLanes) / WindowTrips(from, from.MinorDimension(0));
      for (int i = 2; i < from.rank(); ++i) {
        std::int64_t dim = from.MinorDimension(i);
        if (!Has(dims, dim)) chains *= std::max(MinorLength(from, i) / WindowTrips(from, dim), 1.0);
      }
      Add(node, Key("reduce.serial.sublanes", TypeClass(from.type)), registers / std::max(chains, 1.0));
    } else if (!matmul_ && (!lanes || sublanes || !fused_)) {
      Add(node, fused_ ? "reduce.serial" : "reduce.serial.alone", registers);
    }
    double outer = 1;
    for (int i = 2; i < from.rank(); ++i) {
      if (Has(dims, from.MinorDimension(i))) outer *= MinorLength(from, i);
    }
    bool narrow = TypeClass(from.type) == "bf16";
    if (lanes && !sublanes) Add(node, narrow ? "reduce.lanes.bf16" : "reduce.lanes", rows / outer * arrays);
    if (!lanes && sublanes) {
      Add(node, "reduce.sublanes", registers / CeilDiv(MinorLength(from, 1), kSublanes) / outer * arrays);
    }
    if (lanes && std::fmod(MinorLength(from, 0), kLanes) != 0) Add(node, "mask", rows);
    reduces_ = true;
  }

  double WindowTrips(const hlo::Shape& shape, std::int64_t dim) const {
    if (windows_.stated) {
      bool same = window_domain_ != nullptr && window_domain_->dimensions == shape.dimensions;
      return same ? windows_.trips[dim] : 1;
    }
    bool minor = shape.MinorDimension(0) == dim;
    return fused_ || !minor ? 1 : CeilDiv(MinorLength(shape, 0), kReduceColumns * kLanes);
  }

  /// A copy, transposition or reshape: what happens to the two minor dimensions says what it costs.
  void Relayout(const Node& node, const hlo::Shape& from, const hlo::Shape& to) {
    double registers = std::max(Registers(from), Registers(to));
    std::string bits = std::to_string(hlo::ElementBits(to.type));
    Opcode opcode = node.instruction->opcode;
    if (opcode == Opcode::kReverse) return Add(node, "reverse", registers);
    auto source = [&](int i) -> std::int64_t {   // Dimension of `from` that is the i-th from the minor of `to`.
      if (i >= to.rank()) return -1;
      std::int64_t dim = to.MinorDimension(i);
      if (opcode != Opcode::kTranspose) return dim;
      hlo::Dims permutation = hlo::DimensionsOf(*node.instruction);
      return dim < static_cast<std::int64_t>(permutation.size()) ? permutation[dim] : dim;
    };
    if (opcode == Opcode::kReshape) {
      bool same = MinorLength(from, 0) == MinorLength(to, 0) && MinorLength(from, 1) == MinorLength(to, 1);
      relayout_ = relayout_ || (!same && !fused_);
      return Add(node, same ? "copy." + bits : "reshape", registers);
    }
    relayout_ = true;
    if (from.rank() != to.rank() || from.rank() < 2) return Add(node, "copy." + bits, registers);
    bool lanes = source(0) == from.MinorDimension(0), sublanes = source(1) == from.MinorDimension(1);
    if (lanes && sublanes) return Add(node, "copy." + bits, registers);
    if (lanes) return SublaneTranspose(node, from, to);
    Add(node, "transpose." + bits, std::min(Registers(from), Registers(to)));
    WindowCopies(node, from, to);
  }

  /// Sublanes change places with an outer dimension. A copy of its own loads them, a fusion may shuffle registers.
  void SublaneTranspose(const Node& node, const hlo::Shape& from, const hlo::Shape& to) {
    std::string part = fused_ ? "" : "alone.", bits = std::to_string(hlo::ElementBits(to.type));
    double columns = CeilDiv(MinorLength(to, 0), kLanes);
    if (bits == "32") {
      // A strided load takes four sublanes of one column of registers, fewer the wider the rows (read from bundles).
      double rows = static_cast<double>(hlo::GridOf(from).tile[from.MinorDimension(1)]);
      double loads = Registers(to) * std::clamp(columns * rows / 4, 1.0, kSublanes);
      return Add(node, "transpose.sublanes." + part + bits, loads);
    }
    Add(node, (columns <= 1 ? "transpose.strided." : "transpose.sublanes.") + part + bits, Registers(to));
  }

  /// A transposing copy works on windows of its own: an operand in VMEM is copied into them, and out of them a
  /// result whose windows do not divide it (read from bundles: as many vector loads and stores more).
  void WindowCopies(const Node& node, const hlo::Shape& from, const hlo::Shape& to) {
    auto in_vmem = [](const hlo::Shape& shape) { return shape.has_layout && shape.layout.memory_space == 1; };
    if (fused_ || features_.steps < 2) return;
    bool ragged = features_.coverage > 1 || std::fmod(MinorLength(to, 0), kLanes) != 0;
    if (in_vmem(from)) Add(node, "copy.window", MemoryRegisters(from));
    if (in_vmem(to) && ragged) Add(node, "copy.window", MemoryRegisters(to));
  }

  /// slice, pad, concatenate: free where pieces start at register borders, else a rotation a register.
  void Place(const Node& node, const hlo::Shape& to) {
    const hlo::Instruction& instruction = *node.instruction;
    double registers = Registers(to);
    bool lanes = false, sublanes = false;
    auto shift = [&](std::int64_t dim, std::int64_t by) {
      if (to.rank() > 0 && dim == to.MinorDimension(0)) lanes = lanes || by % 128 != 0;
      else if (to.rank() > 1 && dim == to.MinorDimension(1)) sublanes = sublanes || by % 8 != 0;
    };
    if (instruction.opcode == Opcode::kSlice) {
      auto slice = hlo::SliceOf(instruction);
      for (std::size_t d = 0; slice && d < slice->size(); ++d) {
        shift(static_cast<std::int64_t>(d), (*slice)[d].start);
        if ((*slice)[d].stride > 1) shift(static_cast<std::int64_t>(d), 1);
      }
    } else if (instruction.opcode == Opcode::kPad) {
      auto padding = hlo::PaddingOf(instruction);
      for (std::size_t d = 0; padding && d < padding->size(); ++d) {
        shift(static_cast<std::int64_t>(d), (*padding)[d].low);
        if ((*padding)[d].interior > 0) shift(static_cast<std::int64_t>(d), 1);
      }
    } else {
      hlo::Dims dims = hlo::DimensionsOf(instruction);
      std::int64_t at = 0;
      for (int operand : node.operands) {
        if (dims.empty() || dims[0] >= ShapeOf(operand).rank()) break;
        shift(dims[0], at);
        at += ShapeOf(operand).dimensions[dims[0]];
      }
    }
    double moved = 0;
    for (int operand : node.operands) moved += Registers(ShapeOf(operand));
    moved = std::min(moved, registers);
    Add(node, "place", registers);
    if (lanes) Add(node, "rotate.lanes", moved);
    if (sublanes) Add(node, "rotate.sublanes", moved);
  }

  /// A start inside registers costs a shift of each; along outer dimensions it is an address.
  void DynamicSlice(const Node& node, const hlo::Shape& part, const hlo::Shape& whole) {
    bool inside = part.rank() != whole.rank() || MinorLength(part, 0) != MinorLength(whole, 0) ||
                  MinorLength(part, 1) != MinorLength(whole, 1);
    Add(node, inside ? "dynamic-slice" : "dynamic-slice.major", Registers(part));
    relayout_ = true;
  }

  void ReduceWindow(const Node& node, const hlo::Shape& shape) {
    double taps = 0;
    bool scan = false;
    auto window = hlo::WindowOf(*node.instruction);
    for (std::size_t d = 0; window && d < window->size(); ++d) {
      if (static_cast<int>(d) < shape.rank() && SeesAll((*window)[d], static_cast<double>(shape.dimensions[d]))) {
        ReduceOver(node, shape, {static_cast<std::int64_t>(d)}, 1);
        continue;
      }
      double size = static_cast<double>(std::max<std::int64_t>((*window)[d].size, 1));
      // Cut into single elements along a window, every output adds up its own; else a long window is a running sum.
      bool alone = windows_.stated && window_domain_->rank() == shape.rank() && size > 1 &&
                   windows_.trips[d] >= static_cast<double>(shape.dimensions[d]);
      double dim = alone || size <= 4 ? size - 1 : 2;
      scan = scan || (alone && size > 4);
      bool lanes = shape.rank() > 0 && shape.MinorDimension(0) == static_cast<std::int64_t>(d);
      bool sublanes = shape.rank() > 1 && shape.MinorDimension(1) == static_cast<std::int64_t>(d);
      if (lanes && dim > 0) Add(node, "reduce-window.lanes", Registers(shape) * dim);
      if (sublanes && dim > 0 && !alone) Add(node, "reduce-window.sublanes", Registers(shape) * dim);
      taps += dim;
    }
    Add(node, scan ? "reduce-window.serial" : "reduce-window", Registers(shape) * taps);
    reduces_ = true;
  }

  void Sort(const Node& node) {
    const hlo::Shape& shape = ArrayOf(node.instruction->shape);
    hlo::Dims dims = hlo::DimensionsOf(*node.instruction);
    double length = !dims.empty() && dims[0] >= 0 && dims[0] < shape.rank()
                        ? static_cast<double>(shape.dimensions[dims[0]]) : 2;
    double levels = std::ceil(std::log2(std::max(length, 2.0)));
    // A bitonic network.
    Add(node, "sort", Registers(node.instruction->shape) * levels * (levels + 1) / 2);
  }

  /// Slices are moved on their own, 128 lanes at a time.
  void Gather(const Node& node) {
    bool scatter = node.instruction->opcode == Opcode::kScatter;
    std::size_t data = scatter ? 2 : 0;
    const hlo::Shape& moved = scatter && node.operands.size() > data ? ShapeOf(node.operands[data])
                                                                     : ArrayOf(node.instruction->shape);
    double slice = 1;
    if (auto sizes = hlo::IntListAttr(*node.instruction, "slice_sizes")) {
      for (std::int64_t size : *sizes) slice *= static_cast<double>(std::max<std::int64_t>(size, 1));
    } else {
      slice = MinorLength(moved, 0);
    }
    double elements = moved.IsArray() && !hlo::IsUnbounded(moved) ? static_cast<double>(moved.ElementCount()) : 0;
    double rows = elements / std::max(slice, 1.0);
    Add(node, scatter ? "scatter.rows" : "gather.rows", rows);
    Add(node, "gather", rows * CeilDiv(std::min(slice, MinorLength(moved, 0)), kLanes));
  }

  /// Reads of parameters that are not operands of a matmul (those come with the matmul instruction).
  void Loads() {
    std::vector<double> visits(graph_.nodes.size(), 0), sliced(graph_.nodes.size(), 0);
    for (const Node& node : graph_.nodes) {
      if (node.parameter >= 0) continue;
      Opcode opcode = node.instruction->opcode;
      if (opcode == Opcode::kConvolution || opcode == Opcode::kDot) continue;
      bool part = opcode == Opcode::kSlice || opcode == Opcode::kDynamicSlice || opcode == Opcode::kGather;
      for (std::size_t i = 0; i < node.operands.size(); ++i) {
        int operand = node.operands[i];
        if (opcode == Opcode::kDynamicUpdateSlice && i == 0) continue;
        if (part && i == 0) sliced[operand] += MemoryRegisters(node.instruction->shape) * node.visits;
        else visits[operand] = std::max(visits[operand], node.visits);
      }
    }
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (node.parameter < 0 || !node.instruction->shape.IsArray() || IsScalar(node.instruction->shape)) continue;
      double whole = MemoryRegisters(node.instruction->shape);
      double read = whole * visits[n] + std::min(sliced[n], whole);
      std::string bits = std::to_string(hlo::ElementBits(node.instruction->shape.type));
      features_.Add("load." + bits, read * features_.coverage);
    }
  }

  void Stores() {
    for (int result : graph_.results) {
      const Node& node = graph_.nodes[result];
      const hlo::Shape* shape = &node.instruction->shape;
      if (node.instruction->opcode == Opcode::kDynamicUpdateSlice && node.operands.size() > 1) {
        shape = &graph_.nodes[node.operands[1]].instruction->shape;
      }
      std::string bits = std::to_string(hlo::ElementBits(ArrayOf(*shape).type));
      // Bytes are stored a register of 1024 at a time, not packed first.
      double registers = bits == "8" ? Registers(*shape) : MemoryRegisters(*shape);
      features_.Add("store." + bits, registers * features_.coverage);
    }
  }

  /// Operands and results that a grid step moves: those in HBM.
  double Streams() const {
    auto in_hbm = [](const hlo::Shape& shape) {
      return shape.IsArray() && shape.rank() > 0 && (!shape.has_layout || shape.layout.memory_space == 0);
    };
    double streams = 0;
    for (const hlo::Instruction* operand : kernel_.operands) streams += in_hbm(operand->shape);
    if (kernel_.shape.IsTuple()) {
      for (const hlo::Shape& element : kernel_.shape.elements) streams += in_hbm(element);
    } else {
      streams += in_hbm(kernel_.shape);
    }
    return streams;
  }

  std::string Class() const {
    if (kernel_.opcode == Opcode::kCustomCall && features_.unmodelled) return "custom";
    if (features_.unmodelled) return "other";
    if (matmul_) return "matmul";
    auto any = [&](const char* key) { return features_.counts.count(key) != 0; };
    if (any("sort") || any("gather") || any("rng")) return "other";
    if (reduces_) return "reduce";
    return relayout_ || any("rotate.lanes") || any("rotate.sublanes") || any("dynamic-slice") || any("place")
               ? "relayout" : "elementwise";
  }

  const hlo::Instruction& kernel_;
  MatrixShape mxu_;
  KernelGraph graph_;
  Windows windows_;
  KernelFeatures features_;
  const hlo::Shape* window_domain_ = nullptr;
  bool fused_ = false;
  bool matmul_ = false, reduces_ = false, relayout_ = false;
};

}  // namespace

KernelFeatures FeaturesOf(const hlo::Instruction& kernel, const MatrixShape& mxu, double steps) {
  return Counter(kernel, mxu, steps).Run();
}

}  // namespace spillway::compute
