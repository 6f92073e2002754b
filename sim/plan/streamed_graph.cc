// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/streamed_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "sim/hlo/attributes.h"
#include "sim/plan/streamed_dimensions.h"

namespace spillway::plan {
namespace {

using hlo::Instruction;
using hlo::Opcode;

constexpr int kMaxDepth = 64;
constexpr std::size_t kMaxNodes = 4096;

bool SaysNothing(std::string_view attribute) {
  return attribute == "metadata" || attribute == "backend_config" || attribute == "frontend_attributes" ||
         attribute == "sharding" || attribute == "to_apply";
}

class Merger {
 public:
  explicit Merger(const std::vector<const Instruction*>& group) : group_(group.begin(), group.end()), order_(group) {}

  Result<StreamGraph> Run() {
    for (const Instruction* kernel : order_) {
      values_[kernel] = AddKernel(*kernel);
      if (!failure_.empty()) return Error(failure_);
    }
    graph_.single = order_.size() == 1;
    for (const Instruction* kernel : order_) {
      const Nodes& results = values_[kernel];
      for (std::size_t i = 0; i < results.size(); ++i) {
        graph_.named[kernel->shape.IsTuple() ? fmt::format("{}{{{}}}", kernel->name, i) : std::string(kernel->name)] = results[i];
      }
    }
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) graph_.named.emplace(graph_.nodes[n].like->name, static_cast<int>(n));
    FindOutputs();
    if (!failure_.empty()) return Error(failure_);
    SetClasses(graph_);
    return std::move(graph_);
  }

 private:
  using Nodes = std::vector<int>;   ///< One a tuple element.

  void Fail(const std::string& why) {
    if (failure_.empty()) failure_ = why;
  }

  Nodes AddKernel(const Instruction& kernel) {
    std::vector<Nodes> operands;
    for (const Instruction* operand : kernel.operands) {
      operands.push_back(Resolve(*operand, true));
      for (int node : operands.back()) {
        if (graph_.nodes[node].parameter < 0) continue;
        const Instruction*& first = reader_[node];
        if (first != nullptr && first != &kernel) graph_.shared.push_back(node);
        first = &kernel;
      }
    }
    if (IsOnlineSoftmax(kernel) && operands.size() >= 2) return {ExpandSoftmax(kernel, operands[0][0], operands[1][0])};
    if (kernel.opcode == Opcode::kFusion && !kernel.called.empty()) return Inline(*kernel.called.front(), operands, 0);
    return Plain(kernel, operands);
  }

  /// A value of the computation that holds the group.
  Nodes Resolve(const Instruction& value, bool reads) {
    auto known = values_.find(&value);
    if (known != values_.end()) {
      if (reads && group_.count(&value) != 0) graph_.boundaries.insert(graph_.boundaries.end(), known->second.begin(), known->second.end());
      return known->second;
    }
    Nodes made;
    if (value.opcode == Opcode::kGetTupleElement && !value.operands.empty() && FromGroup(value)) {
      Nodes tuple = Resolve(*value.operands[0], false);
      auto index = static_cast<std::size_t>(hlo::IntAttr(value, "index").value_or(0));
      made = {index < tuple.size() ? tuple[index] : tuple.front()};
      graph_.named.emplace(value.name, made[0]);
      if (reads) graph_.boundaries.push_back(made[0]);
      return made;
    }
    if (value.opcode == Opcode::kBitcast && !value.operands.empty() && FromGroup(value)) {
      return {AddNode(value, value.shape, Resolve(*value.operands[0], reads))};
    }
    StreamNode node;
    node.like = &value;
    node.shape = value.shape;
    node.parameter = static_cast<int>(graph_.parameters.size());
    graph_.parameters.push_back(&value);
    graph_.nodes.push_back(std::move(node));
    made = {static_cast<int>(graph_.nodes.size()) - 1};
    values_[&value] = made;
    return made;
  }

  bool FromGroup(const Instruction& value) const {
    const Instruction* at = &value;
    for (int i = 0; i < kMaxDepth && !at->operands.empty(); ++i) {
      if (group_.count(at) != 0) return true;
      if (at->opcode != Opcode::kGetTupleElement && at->opcode != Opcode::kBitcast) return false;
      at = at->operands[0];
    }
    return group_.count(at) != 0;
  }

  Nodes Inline(const hlo::Computation& computation, const std::vector<Nodes>& arguments, int depth) {
    std::unordered_map<const Instruction*, Nodes> values;
    for (const Instruction& inner : computation.instructions) {
      if (inner.opcode == Opcode::kParameter) {
        auto number = static_cast<std::size_t>(inner.parameter_number);
        if (number < arguments.size()) values[&inner] = arguments[number];
        continue;
      }
      std::vector<Nodes> operands;
      for (const Instruction* operand : inner.operands) operands.push_back(values[operand]);
      if (inner.opcode == Opcode::kTuple) {
        Nodes members;
        for (const Nodes& operand : operands) members.insert(members.end(), operand.begin(), operand.end());
        values[&inner] = members;
      } else if (inner.opcode == Opcode::kGetTupleElement) {
        auto index = static_cast<std::size_t>(hlo::IntAttr(inner, "index").value_or(0));
        if (!operands.empty() && index < operands[0].size()) values[&inner] = {operands[0][index]};
      } else if (inner.opcode == Opcode::kFusion && !inner.called.empty() && depth < kMaxDepth) {
        values[&inner] = Inline(*inner.called.front(), operands, depth + 1);
      } else {
        values[&inner] = Plain(inner, operands);
      }
    }
    return computation.root != nullptr ? values[computation.root] : Nodes();
  }

  Nodes Plain(const Instruction& instruction, const std::vector<Nodes>& operands) {
    Nodes list;
    for (const Nodes& operand : operands) {
      if (operand.empty()) Fail(fmt::format("'{}' takes a value that cannot be followed", instruction.name));
      list.insert(list.end(), operand.begin(), operand.end());
    }
    if (instruction.shape.IsTuple()) {
      Fail(fmt::format("'{}' ({}) has several results at once", instruction.name, instruction.opcode_name));
      return {};
    }
    if (instruction.opcode == Opcode::kCustomCall) {
      Fail(fmt::format("what custom call '{}' does to a tile is unknown", instruction.name));
    }
    if (graph_.nodes.size() > kMaxNodes) Fail("too many instructions for one kernel");
    return {AddNode(instruction, instruction.shape, list)};
  }

  int AddNode(const Instruction& like, const hlo::Shape& shape, const Nodes& operands) {
    // A bitcast or copy that changes nothing is its operand.
    if (like.opcode == Opcode::kBitcast && operands.size() == 1 && graph_.nodes[operands[0]].shape.dimensions == shape.dimensions &&
        graph_.nodes[operands[0]].shape.type == shape.type) {
      return operands[0];
    }
    std::string key(like.opcode_name);
    for (int operand : operands) key += fmt::format(" {}", operand);
    key += fmt::format(" {} {} {}", static_cast<int>(shape.type), fmt::join(shape.dimensions, ","), like.literal);
    for (const hlo::Attribute& attribute : like.attributes) {
      if (!SaysNothing(attribute.name)) key += fmt::format(" {}={}", attribute.name, attribute.value);
    }
    for (const hlo::Computation* called : like.called) {
      key += called->root != nullptr ? fmt::format(" calls {}", called->root->opcode_name) : " calls";
    }
    auto [at, is_new] = known_.emplace(std::move(key), static_cast<int>(graph_.nodes.size()));
    if (is_new) {
      StreamNode node;
      node.like = &like;
      node.shape = shape;
      node.operands = operands;
      graph_.nodes.push_back(std::move(node));
    }
    return at->second;
  }

  std::string_view Text(std::string text) {
    graph_.strings->push_back(std::move(text));
    return graph_.strings->back();
  }

  int Make(Opcode opcode, hlo::ElementType type, const hlo::Dims& dims, const Nodes& operands,
           const std::vector<std::pair<std::string, std::string>>& attributes = {}, const std::string& literal = "") {
    Instruction made;
    made.opcode = opcode;
    made.opcode_name = hlo::OpcodeName(opcode);
    made.shape.type = type;
    made.shape.dimensions = dims;
    made.shape = hlo::WithImpliedTiles(made.shape);
    made.name = Text(fmt::format("{}.{}", made.opcode_name, graph_.nodes.size()));
    if (!literal.empty()) made.literal = Text(literal);
    for (const auto& [name, value] : attributes) made.attributes.push_back({Text(name), Text(value)});
    for (int operand : operands) made.operands.push_back(graph_.nodes[operand].like);
    graph_.pool->push_back(std::move(made));
    return AddNode(graph_.pool->back(), graph_.pool->back().shape, operands);
  }

  /// `maximum` or `add` of two scalars, for a reduction.
  int Reduce(Opcode opcode, int operand, const hlo::Dims& dims, int dim) {
    int init = Make(Opcode::kConstant, hlo::ElementType::kF32, {}, {}, {}, opcode == Opcode::kMaximum ? "-inf" : "0");
    int node = Make(Opcode::kReduce, hlo::ElementType::kF32, dims, {operand, init},
                    {{"dimensions", fmt::format("{{{}}}", dim)}, {"to_apply", fmt::format("%{}", hlo::OpcodeName(opcode))}});
    return node;
  }

  int ExpandSoftmax(const Instruction& call, int scores, int values) {
    const hlo::Dims dims = graph_.nodes[scores].shape.dimensions;
    const hlo::Dims value_dims = graph_.nodes[values].shape.dimensions;
    int rank = static_cast<int>(dims.size());
    if (rank < 2 || static_cast<int>(value_dims.size()) != rank || call.shape.dimensions.size() != dims.size()) {
      Fail(fmt::format("what custom call '{}' does to a tile is unknown", call.name));
      return scores;
    }
    hlo::Dims rows(dims.begin(), dims.end() - 1), out = call.shape.dimensions;
    std::string row_list, batch_list;
    for (int d = 0; d < rank - 1; ++d) row_list += fmt::format("{}{}", d ? "," : "", d);
    for (int d = 0; d < rank - 2; ++d) batch_list += fmt::format("{}{}", d ? "," : "", d);
    auto f32 = hlo::ElementType::kF32;
    std::vector<std::pair<std::string, std::string>> spread = {{"dimensions", "{" + row_list + "}"}};
    int wide = Make(Opcode::kConvert, f32, dims, {scores});
    int most = Reduce(Opcode::kMaximum, wide, rows, rank - 1);
    int shifted = Make(Opcode::kSubtract, f32, dims, {wide, Make(Opcode::kBroadcast, f32, dims, {most}, spread)});
    int weights = Make(Opcode::kExp, f32, dims, {shifted});
    int total = Reduce(Opcode::kAdd, weights, rows, rank - 1);
    int share = Make(Opcode::kDivide, f32, dims, {weights, Make(Opcode::kBroadcast, f32, dims, {total}, spread)});
    int narrow = Make(Opcode::kConvert, graph_.nodes[values].shape.type, dims, {share});
    int product = Make(Opcode::kDot, f32, out, {narrow, values},
                       {{"lhs_batch_dims", "{" + batch_list + "}"}, {"rhs_batch_dims", "{" + batch_list + "}"},
                        {"lhs_contracting_dims", fmt::format("{{{}}}", rank - 1)},
                        {"rhs_contracting_dims", fmt::format("{{{}}}", rank - 2)}});
    return Make(Opcode::kConvert, call.shape.type, out, {product});
  }

  void FindOutputs() {
    const hlo::Computation* parent = order_.front()->parent;
    if (parent == nullptr) return;
    std::set<std::pair<const Instruction*, int>> used;
    for (const Instruction& user : parent->instructions) {
      if (group_.count(&user) != 0 || (ForwardsGroup(user) && !user.is_root)) continue;
      for (const Instruction* operand : user.operands) {
        if (FromGroup(*operand)) Use(*operand, used);
      }
    }
    for (const Instruction* kernel : order_) {
      if (kernel->is_root || (ForwardedRoot() == kernel)) Use(parent->root != nullptr ? *parent->root : *kernel, used);
    }
    for (const auto& [maker, element] : used) {
      const Nodes& nodes = values_[maker];
      std::size_t index = element < 0 ? 0 : static_cast<std::size_t>(element);
      if (index < nodes.size()) graph_.outputs.push_back({nodes[index], maker, element});
    }
    std::stable_sort(graph_.outputs.begin(), graph_.outputs.end(),
                     [](const StreamOutput& a, const StreamOutput& b) { return a.node < b.node; });
  }

  bool ForwardsGroup(const Instruction& value) const {
    return (value.opcode == Opcode::kGetTupleElement || value.opcode == Opcode::kBitcast) && FromGroup(value);
  }
  const Instruction* ForwardedRoot() const {
    const Instruction* at = order_.front()->parent->root;
    while (at != nullptr && ForwardsGroup(*at) && group_.count(at) == 0) at = at->operands[0];
    return at;
  }

  void Use(const Instruction& value, std::set<std::pair<const Instruction*, int>>& used) {
    const Instruction* at = &value;
    int element = -1;
    while (group_.count(at) == 0) {
      if (at->opcode == Opcode::kGetTupleElement) element = static_cast<int>(hlo::IntAttr(*at, "index").value_or(0));
      at = at->operands[0];
    }
    if (at->shape.IsTuple() && element < 0) {
      if (!value.is_root) return Fail(fmt::format("all results of '{}' are handed on as one value", at->name));
      for (std::size_t i = 0; i < at->shape.elements.size(); ++i) used.insert({at, static_cast<int>(i)});
      return;
    }
    used.insert({at, element});
  }

  std::set<const Instruction*> group_;
  std::vector<const Instruction*> order_;
  StreamGraph graph_;
  std::unordered_map<const Instruction*, Nodes> values_;
  std::map<std::string, int> known_;
  std::map<int, const Instruction*> reader_;   ///< Parameter node -> the kernel that read it last.
  std::string failure_;
};

}  // namespace

bool IsOnlineSoftmax(const Instruction& instruction) {
  return instruction.opcode == Opcode::kCustomCall && instruction.operands.size() == 2 &&
         instruction.Attr("custom_call_target").value_or("").find("tpu_custom_call") != std::string_view::npos &&
         instruction.OpName() == "online-softmax";
}

bool StreamGraph::Carries(int node, int dim_class) const {
  const std::vector<int>& classes = nodes[node].classes;
  return std::find(classes.begin(), classes.end(), dim_class) != classes.end();
}

Result<StreamGraph> MergeKernels(const std::vector<const Instruction*>& group) {
  SPILLWAY_CHECK(!group.empty());
  return Merger(group).Run();
}

}  // namespace spillway::plan
