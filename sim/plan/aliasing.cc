// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/aliasing.h"

#include <algorithm>
#include <cctype>

#include "sim/hlo/attributes.h"
#include "sim/plan/fused_graph.h"

namespace spillway::plan {
namespace {

using hlo::Instruction;
using hlo::Opcode;

struct InPlace {
  std::size_t leaf = 0;      ///< Of the result.
  std::size_t operand = 0;
  std::size_t operand_leaf = 0;
};

/// Leaf of the element that `path` names (`{1,0}`); nothing if the path leaves the shape.
std::optional<std::size_t> LeafAt(const hlo::Shape& shape, const hlo::Dims& path) {
  const hlo::Shape* at = &shape;
  std::size_t leaf = 0;
  for (std::int64_t index : path) {
    if (!at->IsTuple() || index < 0 || index >= static_cast<std::int64_t>(at->elements.size())) return std::nullopt;
    leaf += LeafOffset(*at, static_cast<std::size_t>(index));
    at = &at->elements[static_cast<std::size_t>(index)];
  }
  return leaf;
}

/// `output_to_operand_aliasing={{0}: (1, {}), {}: (0, {2})}`.
std::vector<InPlace> StatedAliases(const Instruction& instruction) {
  std::vector<InPlace> aliases;
  auto text = instruction.Attr("output_to_operand_aliasing");
  if (!text || text->size() < 2) return aliases;
  std::size_t at = 1;
  auto list = [&]() -> std::optional<hlo::Dims> {
    std::size_t open = text->find('{', at);
    if (open == std::string_view::npos) return std::nullopt;
    std::size_t close = text->find('}', open);
    if (close == std::string_view::npos) return std::nullopt;
    at = close + 1;
    return hlo::ParseIntList(text->substr(open, close - open + 1));
  };
  while (auto result = list()) {
    std::size_t open = text->find('(', at);
    if (open == std::string_view::npos) break;
    std::size_t operand = 0, digits = 0;
    for (at = open + 1; at < text->size() && std::isdigit(static_cast<unsigned char>((*text)[at])) && digits < 9; ++at) {
      operand = operand * 10 + static_cast<std::size_t>((*text)[at] - '0');
      ++digits;
    }
    auto path = list();
    if (!path || digits == 0 || operand >= instruction.operands.size()) break;
    auto leaf = LeafAt(instruction.shape, *result);
    auto operand_leaf = LeafAt(instruction.operands[operand]->shape, *path);
    if (leaf && operand_leaf) aliases.push_back({*leaf, operand, *operand_leaf});
  }
  return aliases;
}

/// A fusion whose result is an update of one of its operands writes into that operand.
std::vector<InPlace> UpdatesInPlace(const Instruction& instruction) {
  std::vector<InPlace> aliases;
  if (instruction.opcode == Opcode::kDynamicUpdateSlice || instruction.opcode == Opcode::kScatter) {
    if (!instruction.shape.IsTuple()) aliases.push_back({0, 0, 0});
    return aliases;
  }
  if (instruction.opcode != Opcode::kFusion) return aliases;
  FusedGraph graph = FlattenKernel(instruction);
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    int node = graph.outputs[i];
    bool updated = false;
    while (graph.nodes[node].parameter < 0 && !graph.nodes[node].operands.empty()) {
      Opcode opcode = graph.nodes[node].instruction->opcode;
      bool update = !graph.nodes[node].nested && opcode == Opcode::kDynamicUpdateSlice;
      if (!graph.nodes[node].nested && !update && opcode != Opcode::kBitcast) break;
      updated = updated || update;
      node = graph.nodes[node].operands[0];
    }
    if (!updated || graph.nodes[node].parameter < 0) continue;
    std::size_t leaf = instruction.shape.IsTuple()
                           ? LeafOffset(instruction.shape, static_cast<std::size_t>(graph.output_elements[i]))
                           : 0;
    aliases.push_back({leaf, static_cast<std::size_t>(graph.nodes[node].parameter), 0});
  }
  return aliases;
}

bool TargetIs(const Instruction& instruction, std::initializer_list<std::string_view> names) {
  if (instruction.opcode != Opcode::kCustomCall) return false;
  auto target = instruction.Attr("custom_call_target");
  if (!target) return false;
  std::string_view name = *target;
  if (name.size() >= 2 && name.front() == '"' && name.back() == '"') name = name.substr(1, name.size() - 2);
  return std::find(names.begin(), names.end(), name) != names.end();
}

void ShareOperands(const Instruction& instruction, const std::vector<InPlace>& aliases, const Leaves& leaves,
                   ValueTable& values) {
  for (const InPlace& alias : aliases) {
    if (alias.operand >= instruction.operands.size() || alias.leaf >= leaves.size()) continue;
    const Leaves& operand = values.Of(*instruction.operands[alias.operand]);
    if (alias.operand_leaf < operand.size()) values.Alias(leaves[alias.leaf], operand[alias.operand_leaf]);
  }
}

}  // namespace

std::optional<Leaves> ForwardedLeaves(const Instruction& instruction, const ValueTable& values) {
  switch (instruction.opcode) {
    case Opcode::kTuple: {
      Leaves all;
      for (const Instruction* operand : instruction.operands) {
        Leaves leaves = values.Of(*operand);
        leaves.resize(LeafCount(operand->shape), -1);
        all.insert(all.end(), leaves.begin(), leaves.end());
      }
      return all;
    }
    case Opcode::kGetTupleElement: {
      if (instruction.operands.empty()) return std::nullopt;
      const hlo::Shape& tuple = instruction.operands[0]->shape;
      const Leaves& leaves = values.Of(*instruction.operands[0]);
      auto index = hlo::IntAttr(instruction, "index").value_or(-1);
      if (index < 0 || index >= static_cast<std::int64_t>(tuple.elements.size())) return std::nullopt;
      std::size_t first = LeafOffset(tuple, static_cast<std::size_t>(index));
      std::size_t count = LeafCount(tuple.elements[static_cast<std::size_t>(index)]);
      if (first + count > leaves.size()) return std::nullopt;
      return Leaves(leaves.begin() + static_cast<std::ptrdiff_t>(first),
                    leaves.begin() + static_cast<std::ptrdiff_t>(first + count));
    }
    case Opcode::kBitcast:
    case Opcode::kOptimizationBarrier:
    case Opcode::kDomain:
    case Opcode::kAddDependency: {
      if (instruction.operands.empty()) return std::nullopt;
      Leaves leaves = values.Of(*instruction.operands[0]);
      if (leaves.size() != LeafCount(instruction.shape)) return std::nullopt;
      return leaves;
    }
    default:
      if (TargetIs(instruction, {"AssumeGatherIndicesInBound", "Sharding", "SPMDFullToShardShape",
                                 "SPMDShardToFullShape", "LayoutConstraint"}) &&
          !instruction.operands.empty() &&
          values.Of(*instruction.operands[0]).size() == LeafCount(instruction.shape)) {
        return values.Of(*instruction.operands[0]);
      }
      return std::nullopt;
  }
}

bool IsJoin(const Instruction& instruction) { return TargetIs(instruction, {"ConcatBitcast"}); }
bool IsAllocation(const Instruction& instruction) { return TargetIs(instruction, {"AllocateBuffer", "CreateBuffer", "NopReturnToken"}); }

bool IsOffChip(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAllGather:
    case Opcode::kAllGatherDone:
    case Opcode::kAllGatherStart:
    case Opcode::kAllReduce:
    case Opcode::kAllReduceDone:
    case Opcode::kAllReduceStart:
    case Opcode::kAllToAll:
    case Opcode::kCollectiveBroadcast:
    case Opcode::kCollectivePermute:
    case Opcode::kCollectivePermuteDone:
    case Opcode::kCollectivePermuteStart:
    case Opcode::kRaggedAllToAll:
    case Opcode::kReduceScatter:
    case Opcode::kInfeed:
    case Opcode::kOutfeed:
    case Opcode::kSend:
    case Opcode::kSendDone:
    case Opcode::kRecv:
    case Opcode::kRecvDone:
      return true;
    default:
      return false;
  }
}

Leaves DefineResults(const Instruction& instruction, ValueTable& values, int op) {
  Leaves leaves = values.Define(instruction, op);
  std::vector<InPlace> aliases = StatedAliases(instruction);
  if (aliases.empty()) aliases = UpdatesInPlace(instruction);
  ShareOperands(instruction, aliases, leaves, values);
  return leaves;
}

std::size_t ResultLeafOfStart(const Instruction& instruction) {
  if (instruction.opcode == Opcode::kCopyStart) return 0;
  return instruction.shape.elements.size() > 1 ? LeafOffset(instruction.shape, 1) : 0;
}

Leaves StartLeaves(const Instruction& instruction, ValueTable& values, int op) {
  Leaves leaves(LeafCount(instruction.shape), -1);
  Leaves operands;
  for (const Instruction* operand : instruction.operands) {
    Leaves own = values.Of(*operand);
    own.resize(LeafCount(operand->shape), -1);
    operands.insert(operands.end(), own.begin(), own.end());
  }
  std::size_t result = ResultLeafOfStart(instruction);
  if (instruction.opcode == Opcode::kCopyStart) {
    values.DefineRange(instruction, leaves, 0, leaves.size(), op);
    if (leaves.size() > 1 && !operands.empty()) leaves[1] = operands[0];
    return leaves;
  }
  if (operands.size() == result) {
    std::copy(operands.begin(), operands.end(), leaves.begin());
    values.DefineRange(instruction, leaves, result, leaves.size() - result, op);
  } else {
    values.DefineRange(instruction, leaves, 0, leaves.size(), op);
  }
  // The result of an update is the array that it updates.
  ShareOperands(instruction, StatedAliases(instruction), leaves, values);
  return leaves;
}

Leaves DoneLeaves(const Instruction& instruction, const Leaves& started, ValueTable& values, int op) {
  std::size_t count = LeafCount(instruction.shape);
  std::size_t first = instruction.operands.empty() ? 0 : ResultLeafOfStart(*instruction.operands[0]);
  if (!instruction.operands.empty() && instruction.opcode == Opcode::kCopyDone) first = 0;
  if (!instruction.operands.empty() && instruction.opcode != Opcode::kCopyDone &&
      instruction.operands[0]->shape.elements.size() > 1) {
    first = LeafOffset(instruction.operands[0]->shape, 1);
  }
  if (first + count <= started.size()) {
    return Leaves(started.begin() + static_cast<std::ptrdiff_t>(first),
                  started.begin() + static_cast<std::ptrdiff_t>(first + count));
  }
  return values.Define(instruction, op);
}

}  // namespace spillway::plan
