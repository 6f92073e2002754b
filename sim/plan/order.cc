// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/order.h"

#include <unordered_map>

namespace spillway::plan {

std::vector<const hlo::Instruction*> ExecutionOrder(const hlo::Computation& computation) {
  enum class State : std::uint8_t { kNew, kOpen, kDone };
  std::unordered_map<const hlo::Instruction*, State> state;
  std::vector<const hlo::Instruction*> order;
  std::vector<std::pair<const hlo::Instruction*, std::size_t>> stack;
  order.reserve(computation.instructions.size());
  for (const hlo::Instruction& first : computation.instructions) {
    if (state[&first] != State::kNew) continue;
    stack.emplace_back(&first, 0);
    state[&first] = State::kOpen;
    while (!stack.empty()) {
      auto& [instruction, next] = stack.back();
      if (next == instruction->operands.size()) {
        state[instruction] = State::kDone;
        order.push_back(instruction);
        stack.pop_back();
        continue;
      }
      const hlo::Instruction* operand = instruction->operands[next++];
      // An open operand would be a cycle: the reader refuses those.
      if (operand->parent == &computation && state[operand] == State::kNew) {
        state[operand] = State::kOpen;
        stack.emplace_back(operand, 0);
      }
    }
  }
  return order;
}

}  // namespace spillway::plan
