// SPDX-License-Identifier: Apache-2.0
#include "sim/hlo/parser.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/file.h"
#include "sim/hlo/verify.h"

namespace spillway::hlo {
namespace {

constexpr std::array<std::string_view, 4> kTables{"FileNames", "FunctionNames", "FileLocations", "StackFrames"};

bool LooksBinary(const std::string& text) {
  const std::string_view head = std::string_view(text).substr(0, 512);
  return head.find('\0') != std::string_view::npos;
}

}  // namespace

Result<std::vector<std::unique_ptr<Module>>> Parser::Run() {
  const auto fail = [this]() -> Diagnostic {
    return ErrorAt(*text_, file_, cursor_.error_offset(), cursor_.error());
  };
  if (LooksBinary(*text_)) {
    Diagnostic error = Error("this is no HLO text: it holds zero bytes",
                             "a serialised HloProto is read from a file named .pb");
    error.file = file_;
    return error;
  }
  cursor_.SkipSpace();
  if (cursor_.AtEnd()) {
    return ErrorAt(*text_, file_, 0, "the text holds no HLO: expected 'HloModule'",
                   "give the scheduled HLO that XLA prints (compiled.as_text())");
  }
  do {
    if (!ReadModule()) return fail();
    cursor_.SkipSpace();
  } while (!cursor_.AtEnd());
  return std::move(modules_);
}

bool Parser::ReadModule() {
  module_ = std::make_unique<Module>();
  module_->file = file_;
  module_->text = text_;
  module_->name = "module";
  last_top_level_ = nullptr;
  calls_.clear();
  const std::size_t start = (cursor_.SkipSpace(), cursor_.offset());
  std::string_view word = cursor_.Name();
  cursor_.Seek(start);
  if (word == "HloModule") {
    if (!ReadHeader() || !ReadTables()) return false;
  } else if (!modules_.empty()) {
    return cursor_.Fail(fmt::format("expected 'HloModule', a computation or the end of the text, found {}",
                                    word.empty() ? Describe(cursor_.Peek(), cursor_.AtEnd())
                                                 : "'" + std::string(word) + "'"));
  }
  for (;;) {
    cursor_.SkipSpace();
    if (cursor_.AtEnd()) break;
    const std::size_t at = cursor_.offset();
    const bool percent = cursor_.Peek() == '%';
    word = cursor_.PercentName();
    const char next = cursor_.Next();
    cursor_.Seek(at);
    if (!percent && word == "HloModule") break;
    const bool single = start == at && (next == '=' || next == '[' || word == "ROOT");
    if (single && !word.empty()) {
      if (!ReadSingleInstruction()) return false;
      break;
    }
    if (word.empty() || (next != '{' && next != '(' && word != "ENTRY")) {
      return cursor_.Fail(fmt::format("expected 'HloModule', 'ENTRY' or a computation, found {}",
                                      word.empty() ? Describe(cursor_.Peek(), false) : "'" + std::string(word) + "'"));
    }
    if (!ReadComputation()) return false;
  }
  if (!FinishModule(start)) return false;
  modules_.push_back(std::move(module_));
  return true;
}

bool Parser::ReadHeader() {
  cursor_.Name();  // HloModule
  module_->name = cursor_.PercentName();
  if (module_->name.empty()) return cursor_.Fail("expected the module's name after 'HloModule'");
  cursor_.Consume(':');  // old hand-written texts have `HloModule name:`
  while (cursor_.Consume(',')) {
    if (!ReadAttribute(&module_->attributes, nullptr)) return false;
  }
  for (const Attribute& attribute : module_->attributes) {
    std::string problem = CheckModuleAttribute(attribute);
    if (!problem.empty()) {
      return cursor_.FailAt(static_cast<std::size_t>(attribute.value.data() - text_->data()), std::move(problem));
    }
    if (attribute.name == "is_scheduled") module_->is_scheduled = attribute.value == "true";
  }
  return true;
}

// FileNames and its kin: a keyword, then numbered lines of a string or a group. Not kept.
bool Parser::ReadTables() {
  for (;;) {
    const std::size_t at = (cursor_.SkipSpace(), cursor_.offset());
    const std::string_view word = cursor_.Name();
    const bool table = std::find(kTables.begin(), kTables.end(), word) != kTables.end();
    const char next = cursor_.Next();
    if (!table || next == '{' || next == '(') {
      cursor_.Seek(at);
      return true;
    }
    while (chars::Is(cursor_.Next(), chars::kDigit)) {
      std::int64_t number = 0;
      if (!cursor_.Integer(&number, "an entry number")) return false;
      const char open = cursor_.Next();
      if (open == '"') {
        if (!cursor_.SkipString()) return false;
      } else if (open == '{') {
        if (!cursor_.SkipGroup()) return false;
      } else {
        return cursor_.Fail(fmt::format("expected a string or '{{' in the {} table", word));
      }
    }
  }
}

Computation* Parser::AddComputation(std::string_view name, std::size_t offset) {
  module_->computations.emplace_back(&module_->arena);
  Computation* computation = &module_->computations.back();
  computation->name = name;
  if (!module_->by_name.emplace(name, computation).second) {
    cursor_.FailAt(offset, fmt::format("computation '{}' is defined twice", name));
    return nullptr;
  }
  return computation;
}

bool Parser::ReadSignature(Shape* result, bool* has_result) {
  *has_result = false;
  if (cursor_.Next() == '(') {
    cursor_.Advance();
    if (!cursor_.Consume(')')) {
      do {
        if (cursor_.PercentName().empty()) return cursor_.Fail("expected a parameter's name");
        if (!cursor_.Expect(':', "after the parameter's name") || !cursor_.ReadShape(&scratch_)) return false;
      } while (cursor_.Consume(','));
      if (!cursor_.Expect(')', "after the parameters")) return false;
    }
    if (cursor_.Next() != '-') return cursor_.Fail("expected '->' and the result's shape after the parameters");
  }
  if (cursor_.Next() == '-') {
    if (!cursor_.ConsumeText("->")) return cursor_.Fail("expected '->'");
    *has_result = true;
    return cursor_.ReadShape(result);
  }
  return true;
}

bool Parser::ReadComputation() {
  std::size_t name_at = (cursor_.SkipSpace(), cursor_.offset());
  std::string_view name = cursor_.PercentName();
  bool entry = false;
  if (name == "ENTRY" && cursor_.Next() != '{') {
    entry = true;
    name_at = cursor_.offset();
    name = cursor_.PercentName();
  }
  if (name.empty()) return cursor_.Fail("expected a computation's name");
  if (entry && module_->entry != nullptr) {
    return cursor_.FailAt(name_at, fmt::format("a second ENTRY computation; the first is '{}'", module_->entry->name));
  }
  Computation* computation = AddComputation(name, name_at);
  if (computation == nullptr) return false;
  computation->is_entry = entry;
  if (entry) module_->entry = computation;
  last_top_level_ = computation;
  Shape result;
  bool has_result = false;
  if (!ReadSignature(&result, &has_result)) return false;
  Scope scope{computation, {}, 0};
  if (!ReadBody(&scope, name_at)) return false;
  if (has_result && !Compatible(result, computation->root->shape)) {
    return cursor_.FailAt(computation->root->offset,
                          fmt::format("the root has the shape {}, the computation's signature says {}",
                                      ToString(computation->root->shape), ToString(result)));
  }
  std::vector<Attribute> attributes;  // execution_thread: which queue runs it; not used
  while (cursor_.Consume(',')) {
    if (!ReadAttribute(&attributes, nullptr)) return false;
  }
  return true;
}

bool Parser::Truncated(const Computation& computation, std::size_t opened_at) {
  std::size_t last = text_->find_last_not_of(" \t\r\n");
  if (last == std::string::npos) last = 0;
  std::string message = fmt::format("text ends inside computation {} (line {})", computation.name,
                                    Locate(*text_, last).line);
  if (module_->entry == nullptr) message += ", no ENTRY found";
  (void)opened_at;
  return cursor_.FailAt(last + 1, message);
}

bool Parser::ReadBody(Scope* scope, std::size_t opened_at) {
  if (!cursor_.Expect('{', "before the instructions of the computation")) return false;
  for (;;) {
    cursor_.SkipSpace();
    if (cursor_.AtEnd()) return Truncated(*scope->computation, opened_at);
    if (cursor_.Peek() == '}') break;
    if (!ReadInstruction(scope)) {
      // A text cut in the middle of a line fails somewhere in its last instruction: say what matters.
      const std::size_t last = text_->find_last_not_of(" \t\r\n");
      if (cursor_.AtEnd() || cursor_.error_offset() > last) {
        cursor_.ForgetError();
        return Truncated(*scope->computation, opened_at);
      }
      return false;
    }
  }
  const std::size_t closed_at = cursor_.offset();
  cursor_.Advance();
  return FinishComputation(scope, closed_at);
}

bool Parser::ReadSingleInstruction() {
  Computation* computation = AddComputation("entry", cursor_.offset());
  computation->is_entry = true;
  module_->entry = computation;
  last_top_level_ = computation;
  Scope scope{computation, {}, 0, true};
  if (!ReadInstruction(&scope)) return false;
  return FinishComputation(&scope, cursor_.offset());
}

bool Parser::ResolveOperands(Scope* scope) {
  Computation* computation = scope->computation;
  for (const Unresolved& use : scope->unresolved) {
    const Instruction* definition = computation->Find(use.name);
    if (definition == nullptr) {
      return cursor_.FailAt(use.offset, fmt::format("operand '{}' is not defined in computation '{}'", use.name,
                                                    computation->name));
    }
    computation->instructions[static_cast<std::size_t>(use.instruction)].operands[use.operand] = definition;
  }
  return scope->unresolved.empty() || CheckAcyclic(*computation);
}

bool Parser::CheckAcyclic(const Computation& computation) {
  const std::size_t count = computation.instructions.size();
  std::vector<int> waiting(count, 0);
  std::vector<std::vector<int>> users(count);
  std::vector<int> ready;
  for (const Instruction& instruction : computation.instructions) {
    waiting[static_cast<std::size_t>(instruction.index)] = static_cast<int>(instruction.operands.size());
    if (instruction.operands.empty()) ready.push_back(instruction.index);
    for (const Instruction* operand : instruction.operands) {
      users[static_cast<std::size_t>(operand->index)].push_back(instruction.index);
    }
  }
  std::size_t done = 0;
  while (!ready.empty()) {
    const int index = ready.back();
    ready.pop_back();
    ++done;
    for (const int user : users[static_cast<std::size_t>(index)]) {
      if (--waiting[static_cast<std::size_t>(user)] == 0) ready.push_back(user);
    }
  }
  if (done == count) return true;
  for (const Instruction& instruction : computation.instructions) {
    if (waiting[static_cast<std::size_t>(instruction.index)] == 0) continue;
    return cursor_.FailAt(instruction.offset, fmt::format("instruction '{}' depends on itself (a cycle of operands)",
                                                          instruction.name));
  }
  return true;
}

bool Parser::CollectParameters(Computation* computation, std::size_t closed_at) {
  std::vector<const Instruction*>& parameters = computation->parameters;
  for (const Instruction& instruction : computation->instructions) {
    if (instruction.opcode != Opcode::kParameter) continue;
    const auto number = static_cast<std::size_t>(instruction.parameter_number);
    if (number >= computation->instructions.size()) {
      return cursor_.FailAt(instruction.offset, fmt::format("parameter number {} leaves lower ones undefined",
                                                            instruction.parameter_number));
    }
    if (number >= parameters.size()) parameters.resize(number + 1, nullptr);
    if (parameters[number] != nullptr) {
      return cursor_.FailAt(instruction.offset, fmt::format("parameter {} is defined twice", number));
    }
    parameters[number] = &instruction;
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i] == nullptr) {
      return cursor_.FailAt(closed_at, fmt::format("computation '{}' has no parameter {}", computation->name, i));
    }
  }
  return true;
}

bool Parser::FinishComputation(Scope* scope, std::size_t closed_at) {
  Computation* computation = scope->computation;
  if (computation->instructions.empty()) {
    return cursor_.FailAt(closed_at, fmt::format("computation '{}' has no instructions", computation->name));
  }
  if (!ResolveOperands(scope) || !CollectParameters(computation, closed_at)) return false;
  if (computation->root == nullptr) {
    computation->instructions.back().is_root = true;
    computation->root = &computation->instructions.back();
  }
  for (const Instruction& instruction : computation->instructions) {
    std::string problem = CheckInstruction(instruction);
    if (!problem.empty()) return cursor_.FailAt(instruction.offset, std::move(problem));
  }
  return true;
}

bool Parser::ResolveCalls() {
  for (const CallSite& call : calls_) {
    const Computation* callee = module_->Find(call.name);
    if (callee == nullptr) {
      return cursor_.FailAt(call.offset, fmt::format("computation '{}' is not defined", call.name));
    }
    call.instruction->called.push_back(callee);
  }
  return true;
}

// Calls must form no cycle: depth-first with an explicit stack.
bool Parser::CheckNoRecursion() {
  // XLA prints callees first, and calls that only look back make no cycle.
  const bool callees_first = std::all_of(calls_.begin(), calls_.end(), [](const CallSite& call) {
    const std::size_t end = call.instruction->parent->root->offset;
    const auto& called = call.instruction->called;
    return std::all_of(called.begin(), called.end(), [end](auto* callee) { return callee->root->offset < end; });
  });
  if (callees_first) return true;
  std::unordered_map<const Computation*, std::vector<const Instruction*>> callers;
  for (const CallSite& call : calls_) callers[call.instruction->parent].push_back(call.instruction);
  std::unordered_map<const Computation*, int> state;  // 1: on the stack, 2: done
  for (const Computation& start : module_->computations) {
    if (state[&start] != 0) continue;
    std::vector<std::pair<const Computation*, std::vector<const Instruction*>>> stack;
    stack.emplace_back(&start, callers[&start]);
    state[&start] = 1;
    while (!stack.empty()) {
      if (stack.back().second.empty()) {
        state[stack.back().first] = 2;
        stack.pop_back();
        continue;
      }
      const Instruction* caller = stack.back().second.back();
      stack.back().second.pop_back();
      for (const Computation* callee : caller->called) {
        if (state[callee] == 1) {
          return cursor_.FailAt(caller->offset, fmt::format("computation '{}' calls itself", callee->name));
        }
        if (state[callee] == 0) {
          state[callee] = 1;
          stack.emplace_back(callee, callers[callee]);
        }
      }
    }
  }
  return true;
}

bool Parser::FinishModule(std::size_t start) {
  if (module_->computations.empty()) {
    return cursor_.FailAt(start, "the module has no computations");
  }
  // XLA takes the last computation when none is marked ENTRY.
  if (module_->entry == nullptr) {
    Computation* last = const_cast<Computation*>(last_top_level_);
    last->is_entry = true;
    module_->entry = last;
  }
  if (!ResolveCalls() || !CheckNoRecursion()) return false;
  for (const CallSite& call : calls_) {
    std::string problem = CheckCalls(*call.instruction);
    if (!problem.empty()) return cursor_.FailAt(call.instruction->offset, std::move(problem));
  }
  return true;
}

Result<std::vector<std::unique_ptr<Module>>> ParseModules(std::string text, const std::string& file) {
  return Parser(std::make_shared<const std::string>(std::move(text)), file).Run();
}

}  // namespace spillway::hlo
