// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/plan/streamed_kernel.h"

namespace spillway::plan {
namespace {

using hlo::Instruction;
using hlo::Opcode;

/// Whether something that still has a dimension that `reduction` sums over depends on it.
bool UsedWithClass(const StreamGraph& graph, int reduction) {
  std::vector<int> reduced = graph.ReducedBy(reduction);
  std::vector<char> seen(graph.nodes.size(), 0);
  seen[reduction] = 1;
  for (std::size_t n = static_cast<std::size_t>(reduction) + 1; n < graph.nodes.size(); ++n) {
    for (int operand : graph.nodes[n].operands) seen[n] = seen[n] || seen[operand];
    for (int dim_class : reduced) {
      if (seen[n] && graph.Carries(static_cast<int>(n), dim_class)) return true;
    }
  }
  return false;
}

class Writer {
 public:
  Writer(const StreamGraph& graph, const Carry* online, const std::string& name)
      : graph_(graph), online_(online), made_(std::make_shared<MergedFusion>()), at_(graph.nodes.size(), nullptr) {
    made_->fusion.name = Text(name);
    made_->body.name = Text(name + ".body");
  }

  std::shared_ptr<const MergedFusion> Run() {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) at_[n] = WriteNode(static_cast<int>(n));
    WriteRoot();
    Instruction& fusion = made_->fusion;
    fusion.opcode = Opcode::kFusion;
    fusion.opcode_name = hlo::OpcodeName(Opcode::kFusion);
    fusion.operands.assign(graph_.parameters.begin(), graph_.parameters.end());
    fusion.called.push_back(&made_->body);
    bool matmul = Any({Opcode::kDot, Opcode::kConvolution}), reduces = Any({Opcode::kReduce});
    fusion.attributes.push_back({"kind", matmul ? "kOutput" : reduces ? "kInput" : "kLoop"});
    fusion.attributes.push_back({"calls", Text("%" + std::string(made_->body.name))});
    return made_;
  }

 private:
  std::string_view Text(std::string text) {
    made_->strings.push_back(std::move(text));
    return made_->strings.back();
  }

  bool Any(std::initializer_list<Opcode> opcodes) const {
    return std::any_of(graph_.nodes.begin(), graph_.nodes.end(), [&](const StreamNode& node) {
      return node.parameter < 0 && std::find(opcodes.begin(), opcodes.end(), node.like->opcode) != opcodes.end();
    });
  }

  Instruction* Push(Instruction made, const std::string& name) {
    made.name = Text(name);
    made.parent = &made_->body;
    made.is_root = false;
    made.index = static_cast<int>(made_->body.instructions.size());
    made_->body.instructions.push_back(std::move(made));
    Instruction* pushed = &made_->body.instructions.back();
    made_->body.by_name.Add(pushed);
    return pushed;
  }

  Instruction* Write(Opcode opcode, const hlo::Shape& shape, std::initializer_list<const Instruction*> operands,
                     const std::string& dimensions = "") {
    Instruction made;
    made.opcode = opcode;
    made.opcode_name = hlo::OpcodeName(opcode);
    made.shape = shape;
    made.operands.assign(operands.begin(), operands.end());
    if (!dimensions.empty()) made.attributes.push_back({"dimensions", Text(dimensions)});
    return Push(std::move(made), fmt::format("carry.{}", made_->body.instructions.size()));
  }

  const Instruction* WriteNode(int n) {
    const StreamNode& node = graph_.nodes[n];
    std::string name = fmt::format("n{}.{}", n, node.like->name);
    if (node.parameter >= 0) {
      Instruction parameter;
      parameter.opcode = Opcode::kParameter;
      parameter.opcode_name = hlo::OpcodeName(Opcode::kParameter);
      parameter.shape = node.shape;
      parameter.parameter_number = node.parameter;
      Instruction* pushed = Push(std::move(parameter), name);
      if (made_->body.parameters.size() <= static_cast<std::size_t>(node.parameter)) {
        made_->body.parameters.resize(static_cast<std::size_t>(node.parameter) + 1, nullptr);
      }
      made_->body.parameters[static_cast<std::size_t>(node.parameter)] = pushed;
      return pushed;
    }
    bool late = online_ != nullptr && std::find(online_->divisions.begin(), online_->divisions.end(), n) != online_->divisions.end();
    if (late) return at_[node.operands[0]];
    Instruction made = *node.like;
    made.operands.clear();
    for (int operand : node.operands) made.operands.push_back(at_[operand]);
    auto& attributes = made.attributes;
    attributes.erase(std::remove_if(attributes.begin(), attributes.end(),
                                    [](const hlo::Attribute& a) { return a.name == "backend_config"; }),
                     attributes.end());
    const Instruction* written = Push(std::move(made), name);
    bool product = online_ != nullptr && std::find(online_->products.begin(), online_->products.end(), n) != online_->products.end();
    return product && !online_->divisions.empty() ? DivideBySum(n, written) : written;
  }

  /// product / sum, the sum spread over the product's other dimensions.
  const Instruction* DivideBySum(int product, const Instruction* written) {
    int sum = online_->sums.front();
    std::string dimensions;
    for (int dim_class : graph_.nodes[sum].classes) {
      const std::vector<int>& of = graph_.nodes[product].classes;
      auto at = std::find(of.begin(), of.end(), dim_class);
      if (at == of.end()) return written;
      dimensions += fmt::format("{}{}", dimensions.empty() ? "" : ",", at - of.begin());
    }
    hlo::Shape wide;
    wide.type = hlo::ElementType::kF32;
    wide.dimensions = written->shape.dimensions;
    wide = hlo::WithImpliedTiles(wide);
    const Instruction* spread = Write(Opcode::kBroadcast, wide, {at_[sum]}, "{" + dimensions + "}");
    const Instruction* divided = Write(Opcode::kDivide, wide, {written, spread});
    return written->shape.type == wide.type ? divided : Write(Opcode::kConvert, written->shape, {divided});
  }

  void WriteRoot() {
    std::vector<const Instruction*> results;
    hlo::Shape tuple;
    tuple.type = hlo::ElementType::kTuple;
    for (const StreamOutput& output : graph_.outputs) {
      results.push_back(at_[output.node]);
      const hlo::Shape& shape = output.maker->shape;
      tuple.elements.push_back(output.element < 0 ? shape : shape.elements[static_cast<std::size_t>(output.element)]);
    }
    if (results.size() == 1) {
      made_->fusion.shape = tuple.elements.front();
      made_->body.root = results.front();
    } else {
      Instruction root;
      root.opcode = Opcode::kTuple;
      root.opcode_name = hlo::OpcodeName(Opcode::kTuple);
      root.shape = tuple;
      root.operands.assign(results.begin(), results.end());
      made_->body.root = Push(std::move(root), "results");
      made_->fusion.shape = tuple;
    }
    for (Instruction& instruction : made_->body.instructions) instruction.is_root = &instruction == made_->body.root;
  }

  const StreamGraph& graph_;
  const Carry* online_;
  std::shared_ptr<MergedFusion> made_;
  std::vector<const Instruction*> at_;
};

bool IsProduct(const StreamNode& node) {
  return node.parameter < 0 && (node.like->opcode == Opcode::kDot || node.like->opcode == Opcode::kConvolution);
}

/// Computed in the kernel, beyond a change of type or layout.
bool IsComputed(const StreamGraph& graph, int n) {
  while (graph.nodes[n].parameter < 0 && graph.nodes[n].operands.size() == 1 && graph.nodes[n].like->opcode != Opcode::kExp) {
    n = graph.nodes[n].operands[0];
  }
  return graph.nodes[n].parameter < 0;
}

/// Phase of each node: one more than its operands' where an operand is a reduction that must be complete, or the
/// computed tile of a product.
std::vector<int> PhasesOf(const StreamGraph& graph, const Carry* online) {
  std::vector<int> phase(graph.nodes.size(), 0);
  std::vector<char> barrier(graph.nodes.size(), 0);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const StreamNode& node = graph.nodes[n];
    if (node.parameter < 0 && node.like->opcode == Opcode::kReduce) {
      for (int dim_class : graph.ReducedBy(static_cast<int>(n))) barrier[n] = barrier[n] || graph.class_size[dim_class] > 1;
      barrier[n] = barrier[n] && UsedWithClass(graph, static_cast<int>(n));
    }
    bool late = online != nullptr && std::find(online->divisions.begin(), online->divisions.end(), static_cast<int>(n)) != online->divisions.end();
    for (std::size_t k = 0; k < node.operands.size(); ++k) {
      int operand = node.operands[k];
      if (late && k > 0) continue;   // It divides the product instead.
      bool after = barrier[operand] || (IsProduct(node) && IsComputed(graph, operand));
      phase[n] = std::max(phase[n], phase[operand] + after);
    }
  }
  return phase;
}

/// Writes the nodes of one phase.
class PhaseWriter {
 public:
  PhaseWriter(const StreamGraph& graph, const Carry* online, const std::vector<int>& phase, int which, std::int64_t vmem)
      : graph_(graph), online_(online), phase_(phase), which_(which), vmem_(vmem), made_(std::make_shared<MergedFusion>()) {}

  std::shared_ptr<const MergedFusion> Run() {
    std::vector<const Instruction*> results;
    hlo::Shape tuple;
    tuple.type = hlo::ElementType::kTuple;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      int node = static_cast<int>(n);
      if (phase_[n] != which_ || graph_.nodes[n].parameter >= 0 || IsLate(node) || !LeavesPhase(node)) continue;
      results.push_back(At(node));
      if (made_->domain < 0) made_->domain = node;
      tuple.elements.push_back(ResultShape(node));
    }
    // The compute model counts windows of the first matrix product, else of the first result.
    for (std::size_t n = graph_.nodes.size(); n-- > 0;) {
      const StreamNode& node = graph_.nodes[n];
      bool product = node.parameter < 0 && (node.like->opcode == Opcode::kDot || node.like->opcode == Opcode::kConvolution);
      if (product && at_.count(static_cast<int>(n)) != 0 && phase_[n] == which_) made_->domain = static_cast<int>(n);
    }
    Instruction root;
    root.opcode = Opcode::kTuple;
    root.opcode_name = hlo::OpcodeName(Opcode::kTuple);
    root.shape = tuple;
    root.operands.assign(results.begin(), results.end());
    root.is_root = true;
    made_->body.root = Push(std::move(root));
    made_->fusion.opcode = Opcode::kFusion;
    made_->fusion.opcode_name = hlo::OpcodeName(Opcode::kFusion);
    made_->fusion.shape = tuple;
    made_->fusion.called.push_back(&made_->body);
    return made_;
  }

 private:
  bool IsLate(int n) const {
    return online_ != nullptr && std::find(online_->divisions.begin(), online_->divisions.end(), n) != online_->divisions.end();
  }
  bool IsOutput(int n) const {
    return std::any_of(graph_.outputs.begin(), graph_.outputs.end(), [&](const StreamOutput& o) { return o.node == n; });
  }
  /// A division that moves behind the product is the weights themselves until then.
  int Source(int n) const {
    while (IsLate(n)) n = graph_.nodes[n].operands[0];
    return n;
  }
  bool LeavesPhase(int n) const {
    if (IsOutput(n)) return true;
    for (std::size_t user = 0; user < graph_.nodes.size(); ++user) {
      if (phase_[user] <= which_ || IsUniform(static_cast<int>(user))) continue;
      for (int operand : graph_.nodes[user].operands) {
        if (Source(operand) == n) return !IsUniform(n);
      }
    }
    return false;
  }
  bool IsUniform(int n) const {
    const StreamNode& node = graph_.nodes[n];
    if (node.parameter >= 0) return false;
    if (node.like->opcode == Opcode::kConstant || node.like->opcode == Opcode::kIota) return true;
    return node.like->opcode == Opcode::kBroadcast && !node.operands.empty() && IsUniform(node.operands[0]);
  }
  hlo::Shape InVmem(hlo::Shape shape) const {
    if (!shape.has_layout) shape = hlo::WithImpliedTiles(shape);
    shape.layout.memory_space = vmem_;
    return shape;
  }
  hlo::Shape ResultShape(int n) const {
    for (const StreamOutput& output : graph_.outputs) {
      if (output.node != n) continue;
      const hlo::Shape& all = output.maker->shape;
      return output.element < 0 ? all : all.elements[static_cast<std::size_t>(output.element)];
    }
    return InVmem(graph_.nodes[n].shape);
  }

  Instruction* Push(Instruction made) {
    made_->strings.push_back(fmt::format("p{}", made_->body.instructions.size()));
    made.name = made_->strings.back();
    made.parent = &made_->body;
    made_->body.instructions.push_back(std::move(made));
    return &made_->body.instructions.back();
  }

  const Instruction* At(int n) {
    n = Source(n);
    auto known = at_.find(n);
    if (known != at_.end()) return known->second;
    const StreamNode& node = graph_.nodes[n];
    bool inside = node.parameter < 0 && (phase_[n] == which_ || IsUniform(n));
    Instruction made;
    if (inside) {
      made = *node.like;
      made.operands.clear();
      for (int operand : node.operands) made.operands.push_back(At(operand));
      auto& attributes = made.attributes;
      attributes.erase(std::remove_if(attributes.begin(), attributes.end(),
                                      [](const hlo::Attribute& a) { return a.name == "backend_config"; }),
                       attributes.end());
      made.is_root = false;
      return at_[n] = Push(std::move(made));
    }
    made.opcode = Opcode::kParameter;
    made.opcode_name = hlo::OpcodeName(Opcode::kParameter);
    made.shape = node.parameter >= 0 ? node.shape : InVmem(node.shape);
    made.parameter_number = static_cast<std::int64_t>(made_->body.parameters.size());
    made_->outside.push_back(made);
    Instruction* pushed = Push(std::move(made));
    made_->body.parameters.push_back(pushed);
    made_->fusion.operands.push_back(&made_->outside.back());
    return at_[n] = pushed;
  }

  const StreamGraph& graph_;
  const Carry* online_;
  const std::vector<int>& phase_;
  int which_;
  std::int64_t vmem_;
  std::shared_ptr<MergedFusion> made_;
  std::map<int, const Instruction*> at_;
};

}  // namespace

std::vector<std::shared_ptr<const MergedFusion>> WritePhases(const StreamGraph& graph, const Carry* online, std::int64_t vmem) {
  std::vector<int> phase = PhasesOf(graph, online);
  std::vector<std::shared_ptr<const MergedFusion>> phases;
  int last = phase.empty() ? 0 : *std::max_element(phase.begin(), phase.end());
  for (int which = 0; which <= last; ++which) phases.push_back(PhaseWriter(graph, online, phase, which, vmem).Run());
  return phases;
}

std::shared_ptr<const MergedFusion> WriteFusion(const StreamGraph& graph, const Carry* online, const std::string& name) {
  return Writer(graph, online, name).Run();
}

}  // namespace spillway::plan
