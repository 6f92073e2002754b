// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/rewriter.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/plan/aliasing.h"
#include "sim/plan/order.h"

namespace spillway::plan {

bool CallsScheduled(hlo::Opcode opcode) {
  return opcode == hlo::Opcode::kWhile || opcode == hlo::Opcode::kCall || opcode == hlo::Opcode::kConditional;
}

Rewriter::Rewriter(const hlo::Module& source) : source_(source), module_(std::make_unique<hlo::Module>()) {
  module_->name = source.name;
  module_->is_scheduled = source.is_scheduled;
  module_->attributes = source.attributes;
  module_->file = source.file;
  module_->text = source.text;
  module_->from_proto = source.from_proto;
}

std::unique_ptr<hlo::Module> Rewriter::Run() {
  if (source_.entry != nullptr) {
    hlo::Computation* entry = Map(*source_.entry, true);
    entry->is_entry = true;
    module_->entry = entry;
  }
  return std::move(module_);
}

std::string_view Rewriter::Intern(std::string text) {
  module_->strings.push_back(std::move(text));
  return module_->strings.back();
}

hlo::Computation* Rewriter::NewComputation(const std::string& name) {
  std::string unique = name;
  for (int i = 1; module_->by_name.count(unique) != 0; ++i) unique = fmt::format("{}.{}", name, i);
  module_->computations.emplace_back(&module_->arena);
  hlo::Computation* computation = &module_->computations.back();
  computation->name = Intern(std::move(unique));
  module_->by_name[computation->name] = computation;
  return computation;
}

hlo::Computation* Rewriter::Map(const hlo::Computation& computation, bool scheduled) {
  auto known = mapped_.find(&computation);
  if (known != mapped_.end()) return known->second;
  hlo::Computation* copy = NewComputation(std::string(computation.name));
  mapped_[&computation] = copy;
  for (const hlo::Instruction* instruction : ExecutionOrder(computation)) {
    if (scheduled) {
      Rewrite(*instruction, *copy);
    } else {
      Copy(*instruction, *copy);
    }
  }
  SetRoot(*copy, computation.root != nullptr ? Now(*computation.root) : nullptr);
  return copy;
}

void Rewriter::SetRoot(hlo::Computation& computation, const hlo::Instruction* root) {
  computation.root = root;
  computation.parameters.clear();
  for (hlo::Instruction& instruction : computation.instructions) {
    instruction.is_root = &instruction == root;
    if (instruction.opcode != hlo::Opcode::kParameter || instruction.parameter_number < 0) continue;
    auto number = static_cast<std::size_t>(instruction.parameter_number);
    if (computation.parameters.size() <= number) computation.parameters.resize(number + 1, nullptr);
    computation.parameters[number] = &instruction;
  }
}

const hlo::Instruction* Rewriter::Now(const hlo::Instruction& old) const {
  auto it = now_.find(&old);
  SPILLWAY_CHECK(it != now_.end());
  return it->second;
}

void Rewriter::MapCalled(const hlo::Instruction& from, hlo::Instruction& to) {
  to.called.clear();
  for (const hlo::Computation* called : from.called) {
    to.called.push_back(Map(*called, CallsScheduled(from.opcode)));
  }
}

hlo::Instruction* Rewriter::Add(const hlo::Instruction& like, const std::string& name, const Operands& operands,
                                hlo::Computation& to) {
  // Callees first: a copy of one may end up here again.
  hlo::Instruction model = like;
  MapCalled(like, model);
  std::string unique = name;
  for (int i = 1; to.Find(unique) != nullptr; ++i) unique = fmt::format("{}.{}", name, i);
  to.instructions.push_back(std::move(model));
  hlo::Instruction* added = &to.instructions.back();
  added->name = unique == like.name ? like.name : Intern(std::move(unique));
  added->operands.assign(operands.begin(), operands.end());
  added->is_root = false;
  added->index = static_cast<int>(to.instructions.size()) - 1;
  added->parent = &to;
  to.by_name.Add(added);
  return added;
}

hlo::Instruction* Rewriter::AddNew(hlo::Opcode opcode, const hlo::Shape& shape, const std::string& name,
                                   const Operands& operands, hlo::Computation& to) {
  hlo::Instruction model;
  model.opcode = opcode;
  model.opcode_name = hlo::OpcodeName(opcode);
  model.shape = shape;
  return Add(model, name, operands, to);
}

hlo::Instruction* Rewriter::Copy(const hlo::Instruction& instruction, hlo::Computation& to) {
  Operands operands;
  for (const hlo::Instruction* operand : instruction.operands) operands.push_back(Now(*operand));
  hlo::Instruction* copy = Add(instruction, std::string(instruction.name), operands, to);
  Become(instruction, copy);
  return copy;
}

void Rewriter::SetAttribute(hlo::Instruction& instruction, const std::string& name, const std::string& value) {
  DropAttribute(instruction, name);
  instruction.attributes.push_back({Intern(name), Intern(value)});
}

void Rewriter::DropAttribute(hlo::Instruction& instruction, std::string_view name) {
  auto& attributes = instruction.attributes;
  attributes.erase(std::remove_if(attributes.begin(), attributes.end(),
                                  [&](const hlo::Attribute& attribute) { return attribute.name == name; }),
                   attributes.end());
}

bool RunsOnCore(const hlo::Instruction& instruction) {
  switch (instruction.opcode) {
    case hlo::Opcode::kCopyStart:
    case hlo::Opcode::kCopyDone:
    case hlo::Opcode::kAsyncStart:
    case hlo::Opcode::kAsyncUpdate:
    case hlo::Opcode::kAsyncDone:
      return false;
    default:
      return !hlo::IsFree(instruction.opcode) && !CallsScheduled(instruction.opcode) && !IsOffChip(instruction.opcode) &&
             !IsJoin(instruction) && !IsAllocation(instruction);
  }
}

}  // namespace spillway::plan
