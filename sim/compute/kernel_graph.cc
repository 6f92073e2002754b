// SPDX-License-Identifier: Apache-2.0
#include "sim/compute/kernel_graph.h"

#include <algorithm>
#include <unordered_map>

#include "sim/hlo/attributes.h"

namespace spillway::compute {
namespace {

constexpr int kMaxDepth = 64;
constexpr std::size_t kMaxNodes = 1 << 18;   // Fusions that call each other twice at each level grow without bound.

bool SaysNothingOfTheValue(std::string_view attribute) {
  return attribute == "metadata" || attribute == "backend_config" || attribute == "frontend_attributes" ||
         attribute == "sharding" || attribute == "origin";
}

class Builder {
 public:
  explicit Builder(KernelGraph& graph) : graph_(graph) {}

  std::vector<int> Inline(const hlo::Computation& computation, const std::vector<int>& arguments, int depth) {
    std::unordered_map<std::string, int> outer;
    outer.swap(known_);
    std::vector<int> results = InlineScope(computation, arguments, depth);
    outer.swap(known_);
    return results;
  }

  std::vector<int> InlineScope(const hlo::Computation& computation, const std::vector<int>& arguments, int depth) {
    std::unordered_map<const hlo::Instruction*, std::vector<int>> values;
    for (const hlo::Instruction& instruction : computation.instructions) {
      values[&instruction] = Add(instruction, values, arguments, depth);
    }
    return computation.root != nullptr ? values[computation.root] : std::vector<int>();
  }

  int AddNode(const hlo::Instruction& instruction, std::vector<int> operands, int parameter) {
    std::string key = KeyOf(instruction, operands, parameter);
    auto [at, is_new] = known_.emplace(std::move(key), static_cast<int>(graph_.nodes.size()));
    if (is_new) {
      Node node;
      node.instruction = &instruction;
      node.operands = std::move(operands);
      node.parameter = parameter;
      graph_.nodes.push_back(std::move(node));
    }
    return at->second;
  }

 private:
  using Values = std::unordered_map<const hlo::Instruction*, std::vector<int>>;

  static std::string KeyOf(const hlo::Instruction& instruction, const std::vector<int>& operands, int parameter) {
    if (parameter >= 0) return "p" + std::to_string(parameter);
    std::string key(instruction.opcode_name);
    for (int operand : operands) key += ' ' + std::to_string(operand);
    key += ' ' + hlo::ToString(instruction.shape);
    key += instruction.literal;
    for (const hlo::Attribute& attribute : instruction.attributes) {
      if (SaysNothingOfTheValue(attribute.name)) continue;
      key += attribute.name;
      key += attribute.value;
    }
    return key;
  }

  std::vector<int> Add(const hlo::Instruction& instruction, Values& values, const std::vector<int>& arguments,
                       int depth) {
    if (instruction.opcode == hlo::Opcode::kParameter) {
      auto number = static_cast<std::size_t>(instruction.parameter_number);
      return number < arguments.size() ? std::vector<int>{arguments[number]} : std::vector<int>();
    }
    std::vector<int> operands;
    for (const hlo::Instruction* operand : instruction.operands) {
      const std::vector<int>& value = values[operand];
      if (instruction.opcode == hlo::Opcode::kTuple) {
        operands.insert(operands.end(), value.begin(), value.end());
      } else if (!value.empty()) {
        operands.push_back(value.front());
      }
    }
    if (instruction.opcode == hlo::Opcode::kTuple) return operands;
    if (instruction.opcode == hlo::Opcode::kGetTupleElement && !instruction.operands.empty()) {
      const std::vector<int>& members = values[instruction.operands[0]];
      auto index = static_cast<std::size_t>(hlo::IntAttr(instruction, "index").value_or(0));
      if (index < members.size()) return {members[index]};
      if (!members.empty()) return {members.front()};
    }
    bool fusion = instruction.opcode == hlo::Opcode::kFusion && !instruction.called.empty();
    if (fusion && depth < kMaxDepth && graph_.nodes.size() < kMaxNodes) {
      return Inline(*instruction.called.front(), operands, depth + 1);
    }
    int node = AddNode(instruction, std::move(operands), -1);
    std::size_t members = instruction.shape.IsTuple() ? std::max<std::size_t>(instruction.shape.elements.size(), 1) : 1;
    return std::vector<int>(members, node);
  }

  KernelGraph& graph_;
  std::unordered_map<std::string, int> known_;   ///< Of the computation being read.
};

}  // namespace

KernelGraph GraphOf(const hlo::Instruction& kernel) {
  KernelGraph graph;
  Builder builder(graph);
  std::vector<int> arguments;
  // The same value passed twice is one value.
  for (std::size_t i = 0; i < kernel.operands.size(); ++i) {
    auto first = std::find(kernel.operands.begin(), kernel.operands.end(), kernel.operands[i]);
    int number = static_cast<int>(first - kernel.operands.begin());
    arguments.push_back(builder.AddNode(*kernel.operands[i], {}, number));
  }
  if (kernel.opcode == hlo::Opcode::kFusion && !kernel.called.empty()) {
    graph.results = builder.Inline(*kernel.called.front(), arguments, 0);
  } else {
    graph.results = {builder.AddNode(kernel, arguments, -1)};
  }
  return graph;
}

void SetVaries(KernelGraph& graph) {
  for (Node& node : graph.nodes) {
    const hlo::Instruction& instruction = *node.instruction;
    int rank = instruction.shape.rank();
    std::uint64_t all = rank >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << rank) - 1;
    node.varies = all;
    if (node.parameter >= 0 || !instruction.shape.IsArray()) continue;
    if (instruction.opcode == hlo::Opcode::kIota) {
      std::int64_t dim = hlo::IntAttr(instruction, "iota_dimension").value_or(-1);
      if (dim >= 0 && dim < rank) node.varies = std::uint64_t{1} << dim;
    } else if (instruction.opcode == hlo::Opcode::kBroadcast && !node.operands.empty()) {
      std::uint64_t from = graph.nodes[node.operands[0]].varies;
      hlo::Dims dims = hlo::DimensionsOf(instruction);
      node.varies = 0;
      for (std::size_t d = 0; d < dims.size(); ++d) {
        if (((from >> d) & 1) != 0 && dims[d] >= 0 && dims[d] < rank) node.varies |= std::uint64_t{1} << dims[d];
      }
    } else if (hlo::IsElementwise(instruction.opcode) && instruction.opcode != hlo::Opcode::kCopy &&
               !node.operands.empty()) {
      node.varies = 0;
      for (int operand : node.operands) node.varies |= graph.nodes[operand].varies;
      node.varies &= all;
    }
  }
}

void Revisit(KernelGraph& graph, int start, double times) {
  if (start < 0 || times <= 1) return;
  std::vector<char> reached(graph.nodes.size(), 0);
  reached[start] = 1;
  for (int n = start; n >= 0; --n) {
    if (!reached[n]) continue;
    graph.nodes[n].visits = std::max(graph.nodes[n].visits, times);
    for (int operand : graph.nodes[n].operands) reached[operand] = 1;
  }
}

}  // namespace spillway::compute
