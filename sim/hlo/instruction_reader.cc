// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "sim/hlo/infer_shape.h"
#include "sim/hlo/parser.h"
#include "sim/hlo/verify.h"

namespace spillway::hlo {
namespace {

// Attributes whose value is one computation, by name or written in place in braces.
bool NamesOneComputation(std::string_view name) {
  switch (name.front()) {
    case 'b': return name == "body";
    case 'c': return name == "calls" || name == "condition";
    case 'f': return name == "false_computation";
    case 's': return name == "select" || name == "scatter";
    case 't': return name == "to_apply" || name == "true_computation";
    default: return false;
  }
}

bool NamesComputations(std::string_view name) {
  return name == "branch_computations" || name == "called_computations";
}

}  // namespace

std::string_view Parser::Keep(std::string text) {
  module_->strings.push_back(std::move(text));
  return module_->strings.back();
}

bool Parser::ReadInstruction(Scope* scope) {
  Computation* computation = scope->computation;
  std::size_t at = (cursor_.SkipSpace(), cursor_.offset());
  std::string_view name = cursor_.PercentName();
  bool is_root = false;
  if (name == "ROOT" && cursor_.Next() != '=') {
    is_root = true;
    if (computation->root != nullptr) {
      return cursor_.FailAt(at, fmt::format("a second ROOT in computation '{}'", computation->name));
    }
    at = cursor_.offset();
    name = cursor_.PercentName();
  }
  if (name.empty()) {
    return cursor_.Fail(fmt::format("expected an instruction or '}}', found {}",
                                    Describe(cursor_.Peek(), cursor_.AtEnd())));
  }
  if (scope->single_instruction && cursor_.Next() != '=') {
    name = "root";  // one instruction may come without a name
    cursor_.Seek(at);
  } else if (!cursor_.Consume('=')) {
    return cursor_.Expect('=', fmt::format("after the instruction name '{}'", name));
  }
  const std::size_t first_unresolved = scope->unresolved.size(), first_call = calls_.size();
  Instruction* instruction = Begin(scope, name, at);
  instruction->is_root = is_root;
  if (!ReadRightHandSide(scope, &instruction, scope->depth) || !ReadAttributes(scope, instruction)) return false;
  if (instruction->shape.type == ElementType::kInvalid && !GiveShape(instruction)) return false;
  return Finish(scope, instruction, first_unresolved, first_call);
}

// Instructions are read where they will stay. An operand that is an instruction itself takes the
// last place before its user: see PutBefore.
Instruction* Parser::Begin(Scope* scope, std::string_view name, std::size_t at) {
  scope->computation->instructions.emplace_back(&module_->arena);
  Instruction* instruction = &scope->computation->instructions.back();
  instruction->name = name;
  instruction->offset = at;
  instruction->parent = scope->computation;
  return instruction;
}

bool Parser::Finish(Scope* scope, Instruction* instruction, std::size_t first_unresolved, std::size_t first_call) {
  Computation* computation = scope->computation;
  instruction->index = static_cast<int>(computation->instructions.size()) - 1;
  if (instruction->is_root) computation->root = instruction;
  if (!computation->by_name.Add(instruction)) {
    return cursor_.FailAt(instruction->offset, fmt::format("instruction '{}' is defined twice in computation '{}'",
                                                           instruction->name, computation->name));
  }
  for (std::size_t i = first_unresolved; i < scope->unresolved.size(); ++i) {
    if (scope->unresolved[i].instruction < 0) scope->unresolved[i].instruction = instruction->index;
  }
  for (std::size_t i = first_call; i < calls_.size(); ++i) {
    if (calls_[i].instruction == nullptr) calls_[i].instruction = instruction;
  }
  return true;
}

// Takes `*user` (the last instruction) away, lets `read` add one, and puts the user back after it.
template <class Read>
bool Parser::PutBefore(Scope* scope, Instruction** user, Read read) {
  auto& instructions = scope->computation->instructions;
  Instruction saved = std::move(instructions.back());
  instructions.pop_back();
  const Instruction* added = read();
  instructions.push_back(std::move(saved));
  *user = &instructions.back();
  if (added == nullptr) return false;
  (*user)->operands.push_back(added);
  return true;
}

bool Parser::ReadRightHandSide(Scope* scope, Instruction** slot, int depth) {
  Instruction* instruction = *slot;
  if (depth > kMaxNesting) return cursor_.Fail(fmt::format("nested more than {} deep", kMaxNesting));
  bool has_shape = cursor_.Next() == '(';
  if (!has_shape && instruction->shape.type == ElementType::kInvalid) {
    const std::size_t at = cursor_.offset();
    const std::string_view word = cursor_.Name();
    has_shape = cursor_.Next() == '[' || (word == "b" && cursor_.Peek() == '(');
    cursor_.Seek(at);
  }
  if (has_shape && !cursor_.ReadShape(&instruction->shape)) return false;
  const std::size_t at = (cursor_.SkipSpace(), cursor_.offset());
  instruction->opcode_name = cursor_.Name();
  if (instruction->opcode_name.empty() || cursor_.Next() != '(') {
    return cursor_.FailAt(at, fmt::format("expected an opcode and '(', found {}",
                                          instruction->opcode_name.empty()
                                              ? Describe(cursor_.Peek(), cursor_.AtEnd())
                                              : "'" + std::string(instruction->opcode_name) + "'"));
  }
  instruction->opcode = OpcodeFromName(instruction->opcode_name);
  return ReadOperands(scope, slot, depth);
}

// An instruction printed without its shape.
bool Parser::GiveShape(Instruction* instruction) {
  std::optional<Shape> inferred = InferShape(*instruction);
  const bool of_callee = instruction->opcode == Opcode::kCall || instruction->opcode == Opcode::kFusion ||
                         instruction->opcode == Opcode::kConditional;
  if (of_callee && !calls_.empty() && calls_.back().instruction == nullptr) {
    const Computation* callee = module_->Find(calls_.back().name);
    if (callee != nullptr && callee->root != nullptr) inferred = callee->root->shape;
  }
  if (!inferred) {
    return cursor_.FailAt(instruction->offset, fmt::format("expected a shape before '{}': for this opcode and these "
                                                           "operands it cannot be derived",
                                                           instruction->opcode_name));
  }
  instruction->shape = std::move(*inferred);
  return true;
}

bool Parser::ReadOperands(Scope* scope, Instruction** slot, int depth) {
  Instruction* instruction = *slot;
  if (instruction->opcode == Opcode::kConstant) return ReadLiteral(instruction);
  cursor_.Advance();  // '('
  if (instruction->opcode == Opcode::kParameter) {
    const std::size_t at = cursor_.offset();
    if (!cursor_.Integer(&instruction->parameter_number, "a parameter number")) return false;
    if (instruction->parameter_number < 0) return cursor_.FailAt(at, "a parameter number cannot be negative");
    return cursor_.Expect(')', "after the parameter number");
  }
  if (cursor_.Consume(')')) return true;
  do {
    if (!ReadOperand(scope, slot, depth)) return false;
  } while (cursor_.Consume(','));
  return cursor_.Expect(')', "or ',' after an operand");
}

// A lone instruction's operands are parameters of the shape they are printed with.
bool Parser::AddImpliedParameter(Scope* scope, Instruction** user, std::string_view name, std::size_t at) {
  return PutBefore(scope, user, [&]() -> const Instruction* {
    Instruction* parameter = Begin(scope, name, at);
    parameter->opcode = Opcode::kParameter;
    parameter->opcode_name = OpcodeName(Opcode::kParameter);
    parameter->shape = scratch_;
    parameter->parameter_number = static_cast<std::int64_t>(scope->computation->instructions.size()) - 1;
    return Finish(scope, parameter, scope->unresolved.size(), calls_.size()) ? parameter : nullptr;
  });
}

bool Parser::ReadOperand(Scope* scope, Instruction** slot, int depth) {
  Instruction* instruction = *slot;
  bool has_shape = false;
  std::size_t at = (cursor_.SkipSpace(), cursor_.offset());
  std::string_view name;
  if (cursor_.Peek() == '(') {
    has_shape = true;
  } else {
    name = cursor_.PercentName();
    has_shape = !name.empty() && (cursor_.Next() == '[' || (name == "b" && cursor_.Peek() == '('));
  }
  if (has_shape) {
    cursor_.Seek(at);
    if (!cursor_.ReadShape(&scratch_)) return false;
    at = (cursor_.SkipSpace(), cursor_.offset());
    const bool type_only = cursor_.Peek() == ',' || cursor_.Peek() == ')';
    if (type_only && scope->single_instruction) {
      return AddImpliedParameter(scope, slot, Keep(fmt::format("p{}", generated_names_++)), at);
    }
    name = cursor_.PercentName();
  }
  if (name.empty()) {
    return cursor_.Fail(fmt::format("expected an operand, found {}", Describe(cursor_.Peek(), cursor_.AtEnd())));
  }
  if (cursor_.Next() == '(') {
    cursor_.Seek(at);
    return ReadNestedOperand(scope, slot, has_shape ? std::move(scratch_) : Shape(), depth);
  }
  if (const Instruction* operand = scope->computation->Find(name)) {
    if (has_shape && !Compatible(scratch_, operand->shape)) {
      return cursor_.FailAt(at, fmt::format("operand '{}' has the shape {}, not {}", name, ToString(operand->shape),
                                            ToString(scratch_)));
    }
    instruction->operands.push_back(operand);
    return true;
  }
  if (scope->single_instruction && has_shape) return AddImpliedParameter(scope, slot, name, at);
  scope->unresolved.push_back({-1, instruction->operands.size(), name, at});
  instruction->operands.push_back(nullptr);
  return true;
}

// `add(f32[] parameter(0), f32[] parameter(1))`: the operand is an instruction without a name.
bool Parser::ReadNestedOperand(Scope* scope, Instruction** user, Shape shape, int depth) {
  // Uses recorded for the outer instruction so far must not be taken for this one's.
  std::vector<Unresolved> outer;
  outer.swap(scope->unresolved);
  const std::size_t first_call = calls_.size();
  const bool added = PutBefore(scope, user, [&]() -> const Instruction* {
    Instruction* nested = Begin(scope, Keep(fmt::format("nested.{}", generated_names_++)), cursor_.offset());
    nested->shape = std::move(shape);
    if (!ReadRightHandSide(scope, &nested, depth + 1)) return nullptr;  // nested ones have no attributes
    if (nested->shape.type == ElementType::kInvalid && !GiveShape(nested)) return nullptr;
    return Finish(scope, nested, 0, first_call) ? nested : nullptr;
  });
  scope->unresolved.insert(scope->unresolved.end(), outer.begin(), outer.end());
  return added;
}

bool Parser::ReadLiteral(Instruction* instruction) {
  const std::size_t open = cursor_.offset();
  if (!cursor_.SkipGroup()) return false;
  std::string_view text = cursor_.Since(open);
  text = text.substr(1, text.size() - 2);
  while (!text.empty() && chars::Is(text.front(), chars::kSpace)) text.remove_prefix(1);
  while (!text.empty() && chars::Is(text.back(), chars::kSpace)) text.remove_suffix(1);
  instruction->literal = text;
  return true;
}

bool Parser::ReadAttributes(Scope* scope, Instruction* instruction) {
  attributes_.clear();
  while (cursor_.Consume(',')) {
    if (!ReadAttribute(&attributes_, scope)) return false;
  }
  instruction->attributes.assign(attributes_.begin(), attributes_.end());
  return true;
}

// `scope` is null for attributes of the module or of a computation: they name no computations.
bool Parser::ReadAttribute(std::vector<Attribute>* attributes, Scope* scope) {
  const std::size_t at = (cursor_.SkipSpace(), cursor_.offset());
  const std::string_view name = cursor_.Name();
  if (name.empty()) {
    return cursor_.Fail(fmt::format("expected an attribute's name after ',', found {}",
                                    Describe(cursor_.Peek(), cursor_.AtEnd())));
  }
  if (!cursor_.Consume('=')) return cursor_.Expect('=', fmt::format("after the attribute name '{}'", name));
  for (const Attribute& other : *attributes) {
    if (other.name == name) return cursor_.FailAt(at, fmt::format("attribute '{}' is given twice", name));
  }
  const std::size_t value_at = (cursor_.SkipSpace(), cursor_.offset());
  const bool calls_one = scope != nullptr && NamesOneComputation(name);
  std::string_view value;
  if (calls_one && cursor_.Peek() == '{') {
    std::vector<Attribute> outer;  // the computation's instructions use the scratch list too
    outer.swap(attributes_);
    if (!ReadNestedComputation(scope, &value)) return false;
    outer.swap(attributes_);
    calls_.push_back({nullptr, value, value_at});
  } else {
    // The one attribute with a space inside: `literal=f32[] 0.1`.
    if (name == "literal" && cursor_.Peek() != '(' && !cursor_.ReadShape(&scratch_)) return false;
    if (!cursor_.SkipValue()) return false;
    value = cursor_.Since(value_at);
    if ((calls_one || (scope != nullptr && NamesComputations(name))) &&
        !ReadCallee(name, value, value_at)) {
      return false;
    }
  }
  if (name == "sharding" || name == "replica_groups") {
    std::size_t where = 0;
    std::string problem = CheckDeviceLists(value, &where);
    if (!problem.empty()) return cursor_.FailAt(value_at + where, std::move(problem));
  }
  attributes->push_back({name, value});
  return true;
}

// One name, or a list of names in braces.
bool Parser::ReadCallee(std::string_view attribute, std::string_view value, std::size_t offset) {
  Cursor names(value);
  const bool list = names.Consume('{');
  if (list && names.Consume('}')) return true;
  do {
    names.SkipSpace();
    const std::size_t at = offset + names.offset();
    const std::string_view name = names.PercentName();
    if (name.empty()) return cursor_.FailAt(at, fmt::format("expected a computation's name for '{}'", attribute));
    calls_.push_back({nullptr, name, at});
  } while (list && names.Consume(','));
  if (list && !names.Consume('}')) {
    return cursor_.FailAt(offset + names.offset(), "expected '}' after the computations");
  }
  return true;
}

bool Parser::ReadNestedComputation(Scope* scope, std::string_view* name) {
  if (scope->depth + 1 > kMaxNesting) return cursor_.Fail(fmt::format("computations nested more than {} deep", kMaxNesting));
  const std::size_t at = cursor_.offset();
  *name = Keep(fmt::format("{}.in_place.{}", scope->computation->name, generated_names_++));
  Computation* computation = AddComputation(*name, at);
  if (computation == nullptr) return false;
  // Calls recorded for the outer instruction so far must keep waiting for it.
  std::vector<CallSite> outer;
  outer.swap(calls_);
  Scope nested{computation, {}, scope->depth + 1};
  if (!ReadBody(&nested, at)) return false;
  calls_.insert(calls_.end(), outer.begin(), outer.end());
  return true;
}

}  // namespace spillway::hlo
