// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/trip_count.h"

#include <charconv>
#include <map>
#include <vector>

#include "sim/hlo/attributes.h"

namespace spillway::plan {
namespace {

using hlo::Opcode;
using Value = std::optional<std::int64_t>;

constexpr int kMaxDepth = 200;
constexpr int kMaxEvaluations = 20000;
constexpr std::int64_t kMaxTrips = std::int64_t{1} << 40;

Value Literal(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  if (text == "true") return 1;
  if (text == "false") return 0;
  std::int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool IsScalarInteger(const hlo::Shape& shape) {
  return shape.IsArray() && shape.ElementCount() == 1 && !hlo::IsFloating(shape.type);
}

/// What the parameters of a computation hold: scalars by tuple element (0 if the parameter is an
/// array), and the instructions of the caller for those that are bound to one.
struct Scope {
  explicit Scope(int* evaluations) : budget(evaluations) {}
  int* budget;   ///< Evaluations left: shared subexpressions are not remembered.
  const Scope* caller = nullptr;
  std::vector<const hlo::Instruction*> arguments;         ///< Of a fusion or call.
  const std::map<std::int64_t, Value>* carried = nullptr;  ///< Of a while body or condition.
};

Value Evaluate(const hlo::Instruction& instruction, const Scope& scope, int depth);

/// Element `index` of a tuple-shaped instruction, or the instruction itself for an array.
Value Element(const hlo::Instruction& instruction, std::int64_t index, const Scope& scope, int depth) {
  if (depth > kMaxDepth) return std::nullopt;
  switch (instruction.opcode) {
    case Opcode::kTuple:
      if (index < 0 || index >= static_cast<std::int64_t>(instruction.operands.size())) return std::nullopt;
      return Evaluate(*instruction.operands[index], scope, depth + 1);
    case Opcode::kParameter:
      if (scope.carried != nullptr) {
        auto it = scope.carried->find(index);
        return it != scope.carried->end() ? it->second : std::nullopt;
      }
      if (scope.caller != nullptr && instruction.parameter_number >= 0 &&
          instruction.parameter_number < static_cast<std::int64_t>(scope.arguments.size())) {
        return Element(*scope.arguments[instruction.parameter_number], index, *scope.caller, depth + 1);
      }
      return std::nullopt;
    case Opcode::kFusion:
    case Opcode::kCall: {
      if (instruction.called.empty() || instruction.called.front()->root == nullptr) return std::nullopt;
      Scope inner(scope.budget);
      inner.caller = &scope;
      inner.arguments.assign(instruction.operands.begin(), instruction.operands.end());
      return Element(*instruction.called.front()->root, index, inner, depth + 1);
    }
    case Opcode::kOptimizationBarrier:
      return instruction.operands.empty() ? std::nullopt : Element(*instruction.operands[0], index, scope, depth + 1);
    default:
      return instruction.shape.IsTuple() ? std::nullopt : Evaluate(instruction, scope, depth + 1);
  }
}

Value Binary(Opcode opcode, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  switch (opcode) {
    case Opcode::kAdd:
      return __builtin_add_overflow(a, b, &result) ? Value() : Value(result);
    case Opcode::kSubtract:
      return __builtin_sub_overflow(a, b, &result) ? Value() : Value(result);
    case Opcode::kMultiply:
      return __builtin_mul_overflow(a, b, &result) ? Value() : Value(result);
    case Opcode::kDivide:
      return b == 0 || b == -1 ? Value() : Value(a / b);
    case Opcode::kRemainder:
      return b == 0 || b == -1 ? Value() : Value(a % b);
    case Opcode::kMinimum:
      return a < b ? a : b;
    case Opcode::kMaximum:
      return a > b ? a : b;
    case Opcode::kAnd:
      return a & b;
    case Opcode::kOr:
      return a | b;
    case Opcode::kXor:
      return a ^ b;
    default:
      return std::nullopt;
  }
}

Value Compare(std::string_view direction, std::int64_t a, std::int64_t b) {
  if (direction == "LT") return a < b;
  if (direction == "LE") return a <= b;
  if (direction == "GT") return a > b;
  if (direction == "GE") return a >= b;
  if (direction == "EQ") return a == b;
  if (direction == "NE") return a != b;
  return std::nullopt;
}

Value Evaluate(const hlo::Instruction& instruction, const Scope& scope, int depth) {
  if (depth > kMaxDepth || --*scope.budget < 0 || !IsScalarInteger(instruction.shape)) return std::nullopt;
  auto operand = [&](std::size_t i) -> Value {
    return i < instruction.operands.size() ? Evaluate(*instruction.operands[i], scope, depth + 1) : Value();
  };
  switch (instruction.opcode) {
    case Opcode::kConstant:
      return instruction.shape.rank() == 0 ? Literal(instruction.literal) : Value();
    case Opcode::kCopy:
    case Opcode::kConvert:
    case Opcode::kBitcast:
    case Opcode::kReshape:
    case Opcode::kBroadcast:
    case Opcode::kOptimizationBarrier:
      return operand(0);
    case Opcode::kCopyDone:
      if (instruction.operands.empty() || instruction.operands[0]->operands.empty()) return std::nullopt;
      return Evaluate(*instruction.operands[0]->operands[0], scope, depth + 1);
    case Opcode::kGetTupleElement:
      if (instruction.operands.empty()) return std::nullopt;
      return Element(*instruction.operands[0], hlo::IntAttr(instruction, "index").value_or(-1), scope, depth + 1);
    case Opcode::kNot: {
      Value value = operand(0);
      if (!value || instruction.shape.type != hlo::ElementType::kPred) return std::nullopt;
      return *value == 0;
    }
    case Opcode::kSelect: {
      Value condition = operand(0);
      return condition ? operand(*condition != 0 ? 1 : 2) : Value();
    }
    case Opcode::kCompare: {
      Value a = operand(0), b = operand(1);
      return a && b ? Compare(instruction.Attr("direction").value_or(""), *a, *b) : Value();
    }
    case Opcode::kParameter:
    case Opcode::kFusion:
    case Opcode::kCall:
      return Element(instruction, 0, scope, depth + 1);
    default: {
      Value a = operand(0), b = operand(1);
      return a && b ? Binary(instruction.opcode, *a, *b) : Value();
    }
  }
}

using Carried = std::map<std::int64_t, Value>;

Carried NextTrip(const hlo::Computation& body, const Carried& now) {
  int budget = kMaxEvaluations;
  Scope scope(&budget);
  scope.carried = &now;
  Carried next;
  for (const auto& [index, value] : now) {
    if (body.root != nullptr) next[index] = Element(*body.root, index, scope, 0);
  }
  return next;
}

/// Carried scalars after `k` trips, if each advances by `step`.
Carried After(const Carried& first, const Carried& step, std::int64_t k) {
  Carried values;
  for (const auto& [index, value] : first) {
    auto it = step.find(index);
    std::int64_t moved = 0;
    if (value && it != step.end() && it->second && !__builtin_mul_overflow(*it->second, k, &moved) &&
        !__builtin_add_overflow(*value, moved, &moved)) {
      values[index] = moved;
    }
  }
  return values;
}

Value Search(const hlo::Computation& condition, const Carried& first, const Carried& step) {
  auto holds = [&](std::int64_t k) -> Value {
    Carried values = After(first, step, k);
    int budget = kMaxEvaluations;
    Scope scope(&budget);
    scope.carried = &values;
    return condition.root != nullptr ? Element(*condition.root, 0, scope, 0) : Value();
  };
  Value now = holds(0);
  if (!now) return std::nullopt;
  if (*now == 0) return 0;
  std::int64_t low = 0, high = 1;
  while (high <= kMaxTrips) {
    Value value = holds(high);
    if (!value) return std::nullopt;
    if (*value == 0) break;
    low = high;
    high *= 2;
  }
  if (high > kMaxTrips) return std::nullopt;
  while (high - low > 1) {
    std::int64_t middle = low + (high - low) / 2;
    Value value = holds(middle);
    if (!value) return std::nullopt;
    (*value != 0 ? low : high) = middle;
  }
  return high;
}

}  // namespace

std::optional<std::int64_t> ScalarValue(const hlo::Instruction& instruction) {
  int budget = kMaxEvaluations;
  return Evaluate(instruction, Scope(&budget), 0);
}

std::optional<std::int64_t> TripCountOf(const hlo::Instruction& loop) {
  if (auto config = hlo::BackendConfigOf(loop); config && config->known_trip_count && *config->known_trip_count >= 0) {
    return config->known_trip_count;
  }
  const hlo::Computation* condition = loop.Called("condition");
  const hlo::Computation* body = loop.Called("body");
  if (condition == nullptr || body == nullptr || loop.operands.empty()) return std::nullopt;
  Carried first;
  std::size_t count = loop.shape.IsTuple() ? loop.shape.elements.size() : 1;
  for (std::size_t i = 0; i < count; ++i) {
    const hlo::Shape& shape = loop.shape.IsTuple() ? loop.shape.elements[i] : loop.shape;
    if (!IsScalarInteger(shape)) continue;
    int budget = kMaxEvaluations;
    first[static_cast<std::int64_t>(i)] =
        Element(*loop.operands[0], static_cast<std::int64_t>(i), Scope(&budget), 0);
  }
  Carried second = NextTrip(*body, first), third = NextTrip(*body, second), step;
  for (const auto& [index, value] : first) {
    Value b = second[index], c = third[index];
    std::int64_t d1 = 0, d2 = 0;
    if (value && b && c && !__builtin_sub_overflow(*b, *value, &d1) && !__builtin_sub_overflow(*c, *b, &d2) && d1 == d2) {
      step[index] = d1;
    }
  }
  return Search(*condition, first, step);
}

}  // namespace spillway::plan
