// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/fused_graph.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace spillway::plan {
namespace {

constexpr int kMaxDepth = 64;
constexpr std::size_t kMaxFlows = 12;
constexpr std::size_t kMaxPaths = 8;

class Flattener {
 public:
  explicit Flattener(FusedGraph& graph) : graph_(graph) {}

  /// Nodes of the results of `computation` (several for a tuple root).
  std::vector<int> Add(const hlo::Computation& computation, const std::vector<int>& arguments, int depth) {
    std::unordered_map<const hlo::Instruction*, std::vector<int>> results;
    for (const hlo::Instruction& instruction : computation.instructions) {
      results[&instruction] = AddInstruction(instruction, results, arguments, depth);
    }
    const hlo::Instruction* root = computation.root;
    return root != nullptr ? results[root] : std::vector<int>();
  }

  int AddNode(const hlo::Instruction& instruction, std::vector<int> operands, int depth) {
    GraphNode node;
    node.instruction = &instruction;
    node.operands = std::move(operands);
    node.depth = depth;
    graph_.nodes.push_back(std::move(node));
    return static_cast<int>(graph_.nodes.size()) - 1;
  }

 private:
  using Results = std::unordered_map<const hlo::Instruction*, std::vector<int>>;

  std::vector<int> AddInstruction(const hlo::Instruction& instruction, Results& results,
                                  const std::vector<int>& arguments, int depth) {
    if (instruction.opcode == hlo::Opcode::kParameter) {
      auto number = static_cast<std::size_t>(instruction.parameter_number);
      if (number < arguments.size()) return {arguments[number]};
      return {AddNode(instruction, {}, depth)};
    }
    std::vector<int> operands;
    for (const hlo::Instruction* operand : instruction.operands) {
      auto it = results.find(operand);
      if (it == results.end() || it->second.empty()) continue;
      if (instruction.opcode == hlo::Opcode::kTuple) {
        operands.insert(operands.end(), it->second.begin(), it->second.end());
      } else {
        operands.push_back(it->second.front());
      }
    }
    if (instruction.opcode == hlo::Opcode::kTuple) return operands;
    if (instruction.opcode == hlo::Opcode::kGetTupleElement) return TupleElement(instruction, results);
    if (instruction.opcode == hlo::Opcode::kFusion && depth < kMaxDepth && !instruction.called.empty()) {
      return Dissolve(instruction, std::move(operands), depth);
    }
    // A variadic reduce or sort gives a tuple whose members share one window.
    int node = AddNode(instruction, std::move(operands), depth);
    std::size_t copies = instruction.shape.IsTuple() ? instruction.shape.elements.size() : 1;
    return std::vector<int>(copies, node);
  }

  std::vector<int> TupleElement(const hlo::Instruction& instruction, Results& results) {
    auto index = static_cast<std::size_t>(hlo::IntAttr(instruction, "index").value_or(0));
    if (instruction.operands.empty()) return {};
    const std::vector<int>& members = results[instruction.operands[0]];
    if (index < members.size()) return {members[index]};
    return members.empty() ? std::vector<int>() : std::vector<int>{members.front()};
  }

  std::vector<int> Dissolve(const hlo::Instruction& fusion, std::vector<int> operands, int depth) {
    std::vector<int> inner = Add(*fusion.called.front(), operands, depth + 1);
    std::vector<int> results;
    for (int node : inner) {
      int pass = AddNode(*graph_.nodes[node].instruction, {node}, depth);
      graph_.nodes[pass].nested = true;
      results.push_back(pass);
    }
    return results;
  }

  FusedGraph& graph_;
};

bool SamePaths(const Flow& a, const Flow& b) {
  if (a.paths.size() != b.paths.size()) return false;
  for (const Path& path : a.paths) {
    if (std::find(b.paths.begin(), b.paths.end(), path) == b.paths.end()) return false;
  }
  return true;
}

void AddPath(Flow& flow, Path path) {
  if (std::find(flow.paths.begin(), flow.paths.end(), path) != flow.paths.end()) return;
  flow.paths.push_back(std::move(path));
}

/// Identity steps say nothing; dropping them makes equal maps compare equal.
Path Joined(const Path& path, const Path& more) {
  Path joined = path;
  for (const Transform& step : more) {
    if (joined.empty() || !step.KeepsWindowsOf(joined.back())) joined.push_back(step);
  }
  return joined;
}

class Propagator {
 public:
  Propagator(const FusedGraph& graph, int anchor)
      : graph_(graph), anchor_(anchor), forward_(graph.nodes.size()), flows_(graph.nodes.size()) {}

  KernelFlows Run() {
    Forward();
    KernelFlows result;
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) result.results.push_back(Output(static_cast<int>(i)));
    Backward();
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (graph_.nodes[n].parameter < 0) continue;
      for (Flow& flow : flows_[n]) result.operands.push_back({graph_.nodes[n].parameter, flow});
    }
    return result;
  }

 private:
  const GraphNode& Node(int n) const { return graph_.nodes[n]; }

  Path AnchorPath() const {
    const hlo::Shape& shape = ElementShape(Node(anchor_).shape());
    hlo::Dims order;
    for (int d = 0; d < shape.rank(); ++d) order.push_back(d);
    return {Select(order, shape.dimensions)};
  }

  static const hlo::Shape& ElementShape(const hlo::Shape& shape) {
    return shape.IsTuple() && !shape.elements.empty() ? shape.elements[0] : shape;
  }

  void Forward() {
    forward_[anchor_] = AnchorPath();
    for (std::size_t n = anchor_ + 1; n < graph_.nodes.size(); ++n) {
      const GraphNode& node = Node(static_cast<int>(n));
      for (std::size_t k = 0; k < node.operands.size() && !forward_[n]; ++k) {
        const std::optional<Path>& from = forward_[node.operands[k]];
        if (!from) continue;
        if (node.nested) {
          forward_[n] = from;
        } else if (k < node.instruction->operands.size()) {
          if (auto step = ResultWindow(*node.instruction, static_cast<int>(k))) forward_[n] = Joined(*from, *step);
        }
      }
    }
  }

  ResultFlow Output(int index) {
    ResultFlow result;
    result.output = index;
    int node = graph_.outputs[index];
    const hlo::Shape& shape = *graph_.output_shapes[index];
    const hlo::Shape& domain = ElementShape(Node(anchor_).shape());
    if (forward_[node]) {
      result.flow.paths.push_back(*forward_[node]);
      MarkOutput(node, result);
    } else if (const hlo::Instruction* reduce = ReduceOfDomain(node, domain)) {
      Path path = AnchorPath();
      result.flow.paths.push_back(Joined(path, *ResultWindow(*reduce, 0)));
      result.accumulated = true;
      domain_reduces_.insert(node);
    } else if (shape.IsArray() && shape.dimensions == domain.dimensions) {
      result.flow.paths.push_back(AnchorPath());
    } else if (auto path = BitcastPath(domain, shape)) {
      result.flow.paths.push_back(Joined(AnchorPath(), *path));
    } else {
      result.flow.paths.push_back({Whole(shape.dimensions)});
    }
    AddFlow(node, result.flow);
    return result;
  }

  /// A second reduction over an array of the domain's dimensions (sums of x and of x*x).
  const hlo::Instruction* ReduceOfDomain(int node, const hlo::Shape& domain) const {
    const hlo::Instruction* instruction = Node(node).instruction;
    if (instruction->opcode != hlo::Opcode::kReduce || instruction->operands.empty()) return nullptr;
    if (instruction->operands[0]->shape.dimensions != domain.dimensions) return nullptr;
    return ResultWindow(*instruction, 0) ? instruction : nullptr;
  }

  void MarkOutput(int node, ResultFlow& result) const {
    for (int n = node; n > anchor_;) {
      const hlo::Instruction* instruction = Node(n).instruction;
      if (!Node(n).nested && instruction->opcode == hlo::Opcode::kReduce && !instruction->shape.IsTuple()) {
        result.accumulated = true;
      }
      if (!Node(n).nested && instruction->opcode == hlo::Opcode::kDynamicUpdateSlice) result.in_place = true;
      int next = -1;
      for (int operand : Node(n).operands) {
        if (forward_[operand]) next = operand;
      }
      if (next < 0 || next >= n) break;
      n = next;
    }
  }

  void AddFlow(int node, Flow flow) {
    std::vector<Flow>& flows = flows_[node];
    if (Node(node).nested) {
      // A nested fusion computes one window a step, however many users it has.
      if (flows.empty()) {
        flow.origin = Node(node).depth == 0 ? node : flow.origin;
        flows.push_back(std::move(flow));
      } else {
        for (Path& path : flow.paths) AddPath(flows[0], std::move(path));
        flows[0].exact = flows[0].exact && flow.exact;
      }
    } else {
      for (Flow& have : flows) {
        if (have.origin == flow.origin && SamePaths(have, flow)) return;
      }
      flows.push_back(std::move(flow));
    }
    if (flows.size() > kMaxFlows || flows.back().paths.size() > kMaxPaths) {
      Flow whole;
      whole.paths.push_back({Whole(ElementShape(Node(node).shape()).dimensions)});
      whole.origin = flows.back().origin;
      whole.exact = false;
      flows.assign(1, whole);
    }
  }

  void Backward() {
    for (int n = static_cast<int>(graph_.nodes.size()) - 1; n >= 0; --n) {
      if (flows_[n].empty()) continue;
      const GraphNode& node = Node(n);
      std::vector<Flow> flows = flows_[n];
      for (std::size_t k = 0; k < node.operands.size(); ++k) {
        int operand = node.operands[k];
        if (!node.nested && k < node.instruction->operands.size() && Unneeded(node, static_cast<int>(k))) continue;
        for (const Flow& flow : flows) AddFlow(operand, OperandFlowOf(n, static_cast<int>(k), flow));
      }
    }
  }

  /// The base of an update in place is not read where whole tiles are overwritten.
  bool Unneeded(const GraphNode& node, int operand) const {
    const hlo::Instruction& instruction = *node.instruction;
    if (instruction.opcode != hlo::Opcode::kDynamicUpdateSlice || operand != 0 || !graph_.fusion) return false;
    if (Node(node.operands[0]).parameter < 0 || instruction.operands.size() < 2) return false;
    hlo::TileGrid grid = hlo::GridOf(instruction.shape);
    const hlo::Dims& update = instruction.operands[1]->shape.dimensions;
    for (std::size_t d = 0; d < update.size() && d < grid.tile.size(); ++d) {
      if (update[d] % grid.tile[d] != 0 && update[d] != instruction.shape.dimensions[d]) return false;
    }
    return true;
  }

  Flow OperandFlowOf(int n, int k, const Flow& flow) const {
    Flow out = WindowsOf(n, k, flow);
    // The whole domain as a first step says nothing either.
    const Transform whole = AnchorPath().front();
    for (Path& path : out.paths) {
      if (path.size() > 1 && path[0] == whole && path[1].kind == Transform::Kind::kAffine) path.erase(path.begin());
    }
    return out;
  }

  Flow WindowsOf(int n, int k, const Flow& flow) const {
    const GraphNode& node = Node(n);
    int operand = node.operands[k];
    Flow out;
    out.origin = flow.origin;
    out.exact = flow.exact;
    if (forward_[operand] && operand >= anchor_) {
      out.paths.push_back(*forward_[operand]);
      return out;
    }
    if (node.nested) {
      out.paths = flow.paths;
      return out;
    }
    if (k == 0 && domain_reduces_.count(n) != 0) {
      out.paths.push_back(AnchorPath());
      return out;
    }
    plan::Backward step = OperandWindow(*node.instruction, k);
    out.exact = out.exact && step.exact;
    if (n == anchor_) {
      out.paths.push_back(step.path);
      return out;
    }
    for (const Path& path : flow.paths) AddPath(out, Joined(Extended(path, *node.instruction), step.path));
    return out;
  }

  /// A dot or convolution that is not the anchor runs over its whole contraction.
  static Path Extended(const Path& path, const hlo::Instruction& instruction) {
    hlo::Dims contraction = ContractionSizes(instruction);
    if (contraction.empty()) return path;
    hlo::Dims order;
    for (int d = 0; d < instruction.shape.rank(); ++d) order.push_back(d);
    Transform extend = Select(order, instruction.shape.dimensions);
    for (const AffineDim& dim : Whole(contraction).dims) extend.dims.push_back(dim);
    Path extended = path;
    extended.push_back(extend);
    return extended;
  }

  const FusedGraph& graph_;
  int anchor_;
  std::vector<std::optional<Path>> forward_;
  std::vector<std::vector<Flow>> flows_;
  std::set<int> domain_reduces_;   ///< Reductions of the domain that the anchor does not feed.
};

void AddOutputs(FusedGraph& graph, const hlo::Instruction& kernel, std::vector<int> nodes) {
  if (kernel.shape.IsTuple()) {
    for (std::size_t i = 0; i < kernel.shape.elements.size() && i < nodes.size(); ++i) {
      if (!kernel.shape.elements[i].IsArray()) continue;
      graph.outputs.push_back(nodes[i]);
      graph.output_shapes.push_back(&kernel.shape.elements[i]);
      graph.output_elements.push_back(static_cast<int>(i));
    }
  } else if (!nodes.empty() && kernel.shape.IsArray()) {
    graph.outputs.push_back(nodes.front());
    graph.output_shapes.push_back(&kernel.shape);
    graph.output_elements.push_back(0);
  }
}

}  // namespace

Box Flow::Window(const Box& domain) const {
  if (map != nullptr) return map->At(domain);
  Box window;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    Box one = ApplyPath(paths[i], domain);
    window = i == 0 ? one : Hull(window, one);
  }
  return window;
}

FusedGraph FlattenKernel(const hlo::Instruction& kernel) {
  FusedGraph graph;
  Flattener flattener(graph);
  std::vector<int> arguments;
  bool fusion = kernel.opcode == hlo::Opcode::kFusion && !kernel.called.empty();
  for (std::size_t i = 0; i < kernel.operands.size(); ++i) {
    const hlo::Computation* fused = fusion ? kernel.called.front() : nullptr;
    const hlo::Instruction* stand_in = kernel.operands[i];
    if (fused != nullptr && i < fused->parameters.size() && fused->parameters[i] != nullptr) {
      stand_in = fused->parameters[i];
    }
    int node = flattener.AddNode(*stand_in, {}, 0);
    graph.nodes[node].parameter = static_cast<int>(i);
    arguments.push_back(node);
  }
  graph.fusion = fusion;
  if (fusion) {
    AddOutputs(graph, kernel, flattener.Add(*kernel.called.front(), arguments, 0));
  } else {
    int node = flattener.AddNode(kernel, arguments, 0);
    std::size_t copies = kernel.shape.IsTuple() ? kernel.shape.elements.size() : 1;
    AddOutputs(graph, kernel, std::vector<int>(copies, node));
  }
  return graph;
}

KernelFlows FlowsFrom(const FusedGraph& graph, int anchor) { return Propagator(graph, anchor).Run(); }

}  // namespace spillway::plan
