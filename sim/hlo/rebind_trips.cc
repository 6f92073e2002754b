// SPDX-License-Identifier: Apache-2.0
#include "sim/hlo/rebind_trips.h"

#include <fmt/format.h>

#include <charconv>
#include <unordered_map>
#include <unordered_set>

#include "sim/hlo/attributes.h"

namespace spillway::hlo {
namespace {

using Callers = std::unordered_map<const Computation*, const Instruction*>;

/// What runs a fused or called computation, if it is one instruction only.
Callers CallersOf(const Module& module) {
  Callers callers;
  for (const Computation& computation : module.computations) {
    for (const Instruction& instruction : computation.instructions) {
      for (const Computation* callee : instruction.called) {
        const auto [it, fresh] = callers.emplace(callee, &instruction);
        if (!fresh) it->second = nullptr;
      }
    }
  }
  return callers;
}

/// A fusion's parameter -> the argument it stands for; other instructions are themselves.
const Instruction* Argument(const Instruction* instruction, const Callers& callers) {
  for (int depth = 0; depth < kMaxNesting && instruction->opcode == Opcode::kParameter; ++depth) {
    const auto caller = callers.find(instruction->parent);
    if (caller == callers.end() || caller->second == nullptr) break;
    const Instruction* call = caller->second;
    const auto number = static_cast<std::size_t>(instruction->parameter_number);
    if ((call->opcode != Opcode::kFusion && call->opcode != Opcode::kCall) || number >= call->operands.size()) break;
    instruction = call->operands[number];
  }
  return instruction;
}

/// Whether `index` is computed from member `counter` of the loop's state, and how: a scalar all the way.
bool FollowsCounter(const Instruction* index, std::int64_t counter, const Computation& body, const Callers& callers,
                    int depth = 0) {
  index = Argument(index, callers);
  if (depth > 64 || index->shape.rank() > 0 || !index->shape.IsArray()) return false;
  if (index->opcode == Opcode::kGetTupleElement) {
    const Instruction* tuple = Argument(index->operands[0], callers);
    return tuple->parent == &body && tuple->opcode == Opcode::kParameter && IntAttr(*index, "index") == counter;
  }
  if (index->opcode == Opcode::kFusion || index->opcode == Opcode::kCall) {
    return !index->called.empty() && index->called[0]->root != nullptr &&
           FollowsCounter(index->called[0]->root, counter, body, callers, depth + 1);
  }
  for (const Instruction* operand : index->operands) {
    if (FollowsCounter(operand, counter, body, callers, depth + 1)) return true;
  }
  return false;
}

std::optional<std::int64_t> Literal(const Instruction& constant) {
  std::string_view text = constant.literal;
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct Limit {
  const Instruction* constant = nullptr;
  std::int64_t counter = -1;  ///< Member of the loop's state.
};

/// `counter < constant` at the root of the condition.
Limit LimitOf(const Computation& condition, const Callers& callers) {
  Limit limit;
  const Instruction* compare = condition.root;
  if (compare != nullptr && compare->opcode == Opcode::kFusion && !compare->called.empty()) {
    compare = compare->called[0]->root;
  }
  if (compare == nullptr || compare->opcode != Opcode::kCompare || compare->Attr("direction") != "LT") return limit;
  const Instruction* counter = Argument(compare->operands[0], callers);
  const Instruction* constant = Argument(compare->operands[1], callers);
  if (counter->opcode == Opcode::kGetTupleElement) limit.counter = IntAttr(*counter, "index").value_or(-1);
  if (constant->opcode == Opcode::kConstant) limit.constant = constant;
  return limit;
}

void Reach(const Computation& computation, std::unordered_set<const Computation*>& reached) {
  if (!reached.insert(&computation).second) return;
  for (const Instruction& instruction : computation.instructions) {
    for (const Computation* callee : instruction.called) Reach(*callee, reached);
  }
}

bool StateChanges(const Instruction& loop, DimRules& rules) {
  for (int i = 0; i < rules.ArrayCount(loop); ++i) {
    for (const int v : rules.Dims(loop, i)) {
      if (rules.solver().Changed(v)) return true;
    }
  }
  return false;
}

}  // namespace

Diagnostics CheckLoops(const Module& module, DimRules& rules, const std::vector<RebindLoop>& loops,
                       std::vector<std::string>& assumptions) {
  Diagnostics errors;
  for (const RebindLoop& loop : loops) {
    if (loop.tied || !StateChanges(*loop.loop, rules)) continue;
    if (loop.trips == 0) {
      assumptions.push_back(fmt::format("the loop '{}' does not say how often it runs: taken as before", loop.loop->name));
    } else if (loop.trips == 1) {
      errors.push_back(module.ErrorAt(*loop.loop, "the loop runs once: how often it would run for another size does not follow",
                                      "use a dump compiled for a larger value"));
    } else if (rules.IsOldSize(loop.trips)) {
      errors.push_back(module.ErrorAt(*loop.loop, fmt::format("the loop runs {} times, as large as a dimension that changes, and "
                                                              "whether that is by chance does not follow", loop.trips),
                                      "use a dump compiled for another value of the symbol"));
    } else {
      assumptions.push_back(fmt::format("the loop '{}' still runs {} times: nothing ties it to a size that changes",
                                        loop.loop->name, loop.trips));
    }
  }
  return errors;
}

std::vector<RebindLoop> RelateLoops(const Module& module, DimRules& rules) {
  const Callers callers = CallersOf(module);
  DimSolver& solver = rules.solver();
  std::vector<RebindLoop> loops;
  for (const Computation& computation : module.computations) {
    for (const Instruction& instruction : computation.instructions) {
      if (instruction.opcode != Opcode::kWhile) continue;
      const Computation* condition = instruction.Called("condition");
      const Computation* body = instruction.Called("body");
      if (condition == nullptr || body == nullptr) continue;
      RebindLoop loop;
      loop.loop = &instruction;
      const Limit limit = LimitOf(*condition, callers);
      loop.constant = limit.constant;
      const auto config = BackendConfigOf(instruction);
      if (config && config->known_trip_count) {
        loop.trips = *config->known_trip_count;
      } else if (limit.constant != nullptr) {
        loop.trips = Literal(*limit.constant).value_or(0);
      }
      if (loop.trips < 1) {
        loop.trips = 0;
        loop.constant = nullptr;
        loops.push_back(loop);
        continue;
      }
      // A limit that is not the number of trips (another start or step) is left to the errors of rewriting.
      if (loop.constant != nullptr && Literal(*loop.constant) != loop.trips) loop.constant = nullptr;
      loop.unknown = solver.New(loop.trips, &instruction);
      std::unordered_set<const Computation*> reached;
      Reach(*body, reached);
      for (const Computation* inner : reached) {
        for (const Instruction& access : inner->instructions) {
          const bool update = access.opcode == Opcode::kDynamicUpdateSlice;
          if (!update && access.opcode != Opcode::kDynamicSlice) continue;
          const std::vector<int>& whole = rules.Dims(*access.operands[0]);
          const std::vector<int>& block = update ? rules.Dims(*access.operands[1]) : rules.Dims(access);
          const std::size_t first = update ? 2 : 1;
          if (access.operands.size() != first + whole.size() || block.size() != whole.size()) continue;
          for (std::size_t d = 0; d < whole.size(); ++d) {
            const std::int64_t size = solver.Old(block[d]);
            if (loop.trips == 1 || size < 1 || solver.Old(whole[d]) / size != loop.trips ||
                solver.Old(whole[d]) % size != 0 ||
                !FollowsCounter(access.operands[first + d], limit.counter, *body, callers)) {
              continue;
            }
            solver.Product({whole[d]}, {loop.unknown, block[d]}, &access);
            loop.tied = true;
          }
        }
      }
      if (!loop.tied) solver.Fix(loop.unknown, &instruction);
      loops.push_back(loop);
    }
  }
  return loops;
}

}  // namespace spillway::hlo
