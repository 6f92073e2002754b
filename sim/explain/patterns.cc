// SPDX-License-Identifier: Apache-2.0
#include "sim/explain/patterns.h"

#include <algorithm>
#include <functional>

#include "sim/hlo/attributes.h"
#include "sim/hlo/mosaic_body.h"
#include "sim/plan/transform.h"

namespace spillway::explain {
namespace {

using hlo::Instruction;
using hlo::Opcode;

/// Nodes that one search may visit: a dump of 10^5 instructions must not make `explain` slow.
constexpr std::size_t kMaxVisits = 20'000;
using Values = std::set<Value>;

const plan::GraphNode& Node(const Dataflow& flow, const Value& value) {
  return flow.graph(value.op).nodes[static_cast<std::size_t>(value.node)];
}
Opcode OpcodeAt(const Dataflow& flow, const Value& value) { return Node(flow, value).instruction->opcode; }
bool IsReduce(const Dataflow& flow, const Value& value) {
  return !Node(flow, value).nested && OpcodeAt(flow, value) == Opcode::kReduce;
}

/// `start` and all it is computed from; `through` says whose operands are followed.
template <class Through>
Values Backward(const Dataflow& flow, const std::vector<Value>& start, const Through& through) {
  Values seen;
  std::vector<Value> open = start;
  while (!open.empty() && seen.size() < kMaxVisits) {
    const Value value = open.back();
    open.pop_back();
    if (!seen.insert(value).second || !through(value)) continue;
    for (const Value& operand : flow.Operands(value)) open.push_back(operand);
  }
  return seen;
}

/// `start` and all that is computed from it; `through` says whose users are followed, `inside`: one kernel only.
template <class Through>
Values Forward(const Dataflow& flow, const std::vector<Value>& start, bool inside, const Through& through) {
  Values seen;
  std::vector<Value> open = start;
  while (!open.empty() && seen.size() < kMaxVisits) {
    const Value value = open.back();
    open.pop_back();
    if (!seen.insert(value).second || !through(value)) continue;
    for (const Value& user : flow.Users(value)) {
      if (!inside || user.op == value.op) open.push_back(user);
    }
  }
  return seen;
}

auto Local(const Dataflow& flow) {
  return [&flow](const Value& value) { return IsLocal(Node(flow, value)); };
}

/// Reductions that `value` is made of, with nothing but local work after them.
Values Statistics(const Dataflow& flow, const Value& value) {
  Values found;
  for (const Value& seen : Backward(flow, {value}, Local(flow))) {
    if (IsReduce(flow, seen)) found.insert(seen);
  }
  return found;
}

/// The opcode that a reduction applies.
Opcode ReducerOf(const Instruction& reduce) {
  const hlo::Computation* computation = reduce.Called("to_apply");
  if (computation == nullptr || computation->root == nullptr) return Opcode::kUnknown;
  const Instruction* root = computation->root;
  while (root->operands.size() == 1 && (root->opcode == Opcode::kConvert || root->opcode == Opcode::kBitcast)) root = root->operands[0];
  return root->opcode;
}

/// What a statistic must be of, to count as one of the tensor: its definition, and what that is but for casts and
/// moves. For an argument: the parameter nodes that read it.
Values OriginsOf(const Dataflow& flow, int tensor) {
  const std::vector<Value> definition = flow.Definition(tensor);
  if (definition.empty()) {
    Values origins;
    for (const Value& entry : flow.Entries(tensor)) origins.insert(entry);
    return origins;
  }
  return Backward(flow, definition, [&](const Value& value) {
    return IsLocal(Node(flow, value)) && Node(flow, value).operands.size() <= 1 && Node(flow, value).parameter < 0;
  });
}

/// Names the meeting of statistic `reduce` and the data at node `at`.
MeetingPoint Classify(const Dataflow& flow, const Value& reduce, const Value& at) {
  MeetingPoint point;
  point.op = at.op;
  const Opcode reducer = ReducerOf(*Node(flow, reduce).instruction);
  point.reduction = std::string(hlo::OpcodeName(reducer));
  const Values after = Forward(flow, {at}, false, Local(flow));
  bool exponential = false, reduced = false, squared_and_summed = false;
  for (const Value& value : after) {
    const Opcode opcode = OpcodeAt(flow, value);
    if (opcode == Opcode::kExp && !Node(flow, value).nested) exponential = true;
    if (IsContraction(opcode)) point.contracted = true;
    if (IsReduce(flow, value) && ReducerOf(*Node(flow, value).instruction) == Opcode::kAdd) reduced = true;
    const std::vector<int>& operands = Node(flow, value).operands;
    const bool square = opcode == Opcode::kMultiply && operands.size() == 2 && operands[0] == operands[1];
    if (square) {
      for (const Value& sum : Forward(flow, {value}, true, Local(flow))) squared_and_summed |= IsReduce(flow, sum);
    }
  }
  bool of_exponentials = false;
  for (const Value& operand : flow.Operands(reduce)) {
    for (const Value& value : Backward(flow, {operand}, Local(flow))) {
      of_exponentials |= OpcodeAt(flow, value) == Opcode::kExp && !Node(flow, value).nested;
    }
  }
  const Opcode meets = OpcodeAt(flow, at);
  const bool softmax = (reducer == Opcode::kMaximum && meets == Opcode::kSubtract && exponential) ||
                       (reducer == Opcode::kAdd && of_exponentials);
  if (softmax) {
    point.meeting = reduced || point.contracted ? Meeting::kSoftmax : Meeting::kSoftmaxResult;
  } else if (reducer == Opcode::kAdd && meets == Opcode::kSubtract && squared_and_summed) {
    point.meeting = Meeting::kVariance;
  } else {
    point.meeting = Meeting::kNormalisation;
  }
  return point;
}

/// Of several meetings the one with the most far-reaching advice counts.
int Strength(const MeetingPoint& point) {
  switch (point.meeting) {
    case Meeting::kSoftmax: return point.contracted ? 6 : 5;
    case Meeting::kVariance: return 4;
    case Meeting::kSoftmaxResult: return 3;
    case Meeting::kNormalisation: return point.contracted ? 2 : 1;
    case Meeting::kNone: return 0;
  }
  return 0;
}

bool Intersect(const Values& a, const Values& b) {
  return std::any_of(a.begin(), a.end(), [&](const Value& value) { return b.count(value) != 0; });
}

/// Elements of the same position in memory order, so that nothing has to move.
bool SamePlace(const hlo::Shape& from, const hlo::Shape& to) {
  return plan::PhysicalOrder(from) == plan::PhysicalOrder(to) && from.layout.tiles == to.layout.tiles;
}

bool MovesOnly(const plan::GraphNode& node) {
  if (node.nested || node.parameter >= 0) return true;
  const Opcode opcode = node.instruction->opcode;
  return hlo::IsFree(opcode) || opcode == Opcode::kCopy || opcode == Opcode::kTranspose || opcode == Opcode::kReshape ||
         opcode == Opcode::kConvert;
}

bool ChangesOrder(const plan::FusedGraph& graph, const plan::GraphNode& node) {
  if (node.nested || node.operands.empty()) return false;
  const hlo::Shape& from = *graph.Shape(node.operands[0]);
  const hlo::Shape& to = node.shape();
  if (node.instruction->opcode == Opcode::kCopy) return !SamePlace(from, to);
  if (node.instruction->opcode != Opcode::kTranspose) return false;
  const hlo::Dims permutation = hlo::DimensionsOf(*node.instruction);
  hlo::Dims moved;
  for (std::int64_t dim : plan::PhysicalOrder(to)) {
    if (dim >= 0 && dim < static_cast<std::int64_t>(permutation.size())) moved.push_back(permutation[static_cast<std::size_t>(dim)]);
  }
  return moved != plan::PhysicalOrder(from);
}

}  // namespace

MeetingPoint FindMeeting(const Dataflow& flow, int tensor) {
  MeetingPoint best;
  const auto offer = [&](const MeetingPoint& point) {
    if (Strength(point) > Strength(best)) best = point;
  };
  const Values origins = OriginsOf(flow, tensor);
  Values own;   // Reductions that the tensor is the result of.
  for (const Value& value : flow.Definition(tensor)) {
    for (const Value& reduce : Statistics(flow, value)) own.insert(reduce);
  }
  const auto everything = [](const Value&) { return true; };
  std::map<Value, Values> behind;   // All that a reduction depends on.
  const auto Behind = [&](const Value& reduce) -> const Values& {
    auto at = behind.find(reduce);
    if (at == behind.end()) at = behind.emplace(reduce, Backward(flow, flow.Operands(reduce), everything)).first;
    return at->second;
  };
  for (const Value& entry : flow.Entries(tensor)) {
    const Values reached = Forward(flow, {entry}, true, Local(flow));
    for (const Value& at : reached) {
      const plan::GraphNode& node = Node(flow, at);
      if (node.operands.size() < 2 || !IsLocal(node) || node.nested) continue;
      for (int operand : node.operands) {
        const Value other = {at.op, operand};
        if (reached.count(other) != 0) continue;
        // The tensor is data and the other operand a statistic of it …
        for (const Value& reduce : Statistics(flow, other)) {
          if (own.count(reduce) == 0 && Intersect(origins, Behind(reduce))) offer(Classify(flow, reduce, at));
        }
        // … or the tensor is a statistic and the other operand the data.
        if (own.empty()) continue;
        const Values data = Backward(flow, {other}, Local(flow));
        const Values sources = [&] {
          Values all;   // An argument has no definition: the tensors that are read stand for it.
          for (const Value& value : data) {
            const int parameter = Node(flow, value).parameter;
            const int read = parameter >= 0 ? flow.Read(value.op, parameter) : -1;
            if (read >= 0) {
              for (const Value& entry_of : flow.Entries(read)) all.insert(entry_of);
            }
            if (parameter < 0 && !Node(flow, value).operands.empty()) all.insert(value);
          }
          return all;
        }();
        for (const Value& reduce : own) {
          if (Intersect(sources, Behind(reduce))) offer(Classify(flow, reduce, at));
        }
      }
    }
  }
  return best;
}

bool IsStatistic(const Dataflow& flow, int tensor) {
  for (const Value& value : flow.Definition(tensor)) {
    // Broadcast again, it is data of full size like any other.
    for (const Value& seen : Backward(flow, {value}, [&](const Value& at) {
           return IsLocal(Node(flow, at)) && OpcodeAt(flow, at) != Opcode::kBroadcast && at.op == value.op;
         })) {
      if (IsReduce(flow, seen)) return true;
    }
  }
  return false;
}

bool IsRelayout(const Dataflow& flow, int op) {
  if (op < 0 || flow.IsAsync(op)) return false;
  const plan::FusedGraph& graph = flow.graph(op);
  if (graph.nodes.empty()) return false;
  bool changes = false;
  for (const plan::GraphNode& node : graph.nodes) {
    if (!MovesOnly(node)) return false;
    changes |= ChangesOrder(graph, node);
  }
  return changes;
}

bool IsPlainCopy(const Dataflow& flow, int op) {
  if (op < 0 || flow.IsAsync(op)) return false;
  const plan::FusedGraph& graph = flow.graph(op);
  return !graph.nodes.empty() && !IsRelayout(flow, op) &&
         std::all_of(graph.nodes.begin(), graph.nodes.end(), [](const plan::GraphNode& node) {
           return MovesOnly(node) && node.instruction->opcode != Opcode::kConvert;
         });
}

bool IsContracted(const Dataflow& flow, const Value& entry) {
  const Values reached = Forward(flow, {entry}, true, Local(flow));
  return std::any_of(reached.begin(), reached.end(),
                     [&](const Value& value) { return IsContraction(OpcodeAt(flow, value)); });
}

std::string NeedsAll(const Dataflow& flow, const Value& entry) {
  for (const Value& value : Forward(flow, {entry}, true, Local(flow))) {
    switch (OpcodeAt(flow, value)) {
      case Opcode::kSort:
      case Opcode::kFft:
      case Opcode::kTopK:
      case Opcode::kCholesky:
      case Opcode::kTriangularSolve:
        return std::string(hlo::OpcodeName(OpcodeAt(flow, value)));
      default:
        break;
    }
  }
  return "";
}

bool IsOnlineSoftmax(const Instruction& instruction) {
  if (instruction.opcode != Opcode::kCustomCall) return false;
  const std::optional<std::string> body = hlo::MosaicBytesOf(instruction);
  if (!body) return false;
  const auto has = [&](const char* text) { return body->find(text) != std::string::npos; };
  return has("math.exp") && (has("maximumf") || has("multi_reduction"));
}

}  // namespace spillway::explain
