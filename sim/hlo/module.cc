// SPDX-License-Identifier: Apache-2.0
#include "sim/hlo/module.h"

#include <algorithm>

#include "sim/base/file.h"
#include "sim/hlo/text_util.h"

namespace spillway::hlo {
namespace {

template <class List>
bool SameNames(const List& a, const List& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](auto* x, auto* y) { return x->name == y->name; });
}

template <class List>
bool SameAttributes(const List& a, const List& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Attribute& x, const Attribute& y) {
    return x.name == y.name && x.value == y.value;
  });
}

bool Same(const Instruction& a, const Instruction& b) {
  return a.name == b.name && a.opcode == b.opcode && a.opcode_name == b.opcode_name && a.shape == b.shape &&
         a.literal == b.literal && a.parameter_number == b.parameter_number && a.is_root == b.is_root &&
         a.index == b.index && SameNames(a.operands, b.operands) && SameNames(a.called, b.called) &&
         SameAttributes(a.attributes, b.attributes);
}

bool Same(const Computation& a, const Computation& b) {
  return a.name == b.name && a.is_entry == b.is_entry && SameNames(a.parameters, b.parameters) &&
         std::equal(a.instructions.begin(), a.instructions.end(), b.instructions.begin(), b.instructions.end(),
                    [](const Instruction& x, const Instruction& y) { return Same(x, y); });
}

}  // namespace

bool Equal(const Module& a, const Module& b) {
  return a.name == b.name && a.is_scheduled == b.is_scheduled && SameAttributes(a.attributes, b.attributes) &&
         std::equal(a.computations.begin(), a.computations.end(), b.computations.begin(), b.computations.end(),
                    [](const Computation& x, const Computation& y) { return Same(x, y); });
}

std::optional<std::string_view> Instruction::Attr(std::string_view attribute) const {
  for (const Attribute& candidate : attributes) {
    if (candidate.name == attribute) return candidate.value;
  }
  return std::nullopt;
}

const Computation* Instruction::Called(std::string_view attribute) const {
  std::string_view target = Attr(attribute).value_or("");
  if (!target.empty() && target.front() == '%') target.remove_prefix(1);
  for (const Computation* computation : called) {
    if (computation->name == target) return computation;
  }
  return nullptr;
}

std::string_view Instruction::FusionKind() const { return Attr("kind").value_or(""); }

std::string Instruction::OpName() const {
  const std::string_view metadata = Attr("metadata").value_or("");
  constexpr std::string_view kKey = "op_name=\"";
  const std::size_t at = metadata.find(kKey);
  if (at == std::string_view::npos) return "";
  return Unescape(metadata.substr(at + kKey.size() - 1));
}

const Instruction* Computation::Find(std::string_view instruction) const {
  return by_name.Find(instruction);
}

const Computation* Module::Find(std::string_view computation) const {
  const auto found = by_name.find(computation);
  return found == by_name.end() ? nullptr : found->second;
}

Diagnostic Module::ErrorAt(const Instruction& instruction, std::string message, std::string hint) const {
  if (text != nullptr && !text->empty() && !from_proto) {
    return spillway::ErrorAt(*text, file, instruction.offset, std::move(message), std::move(hint));
  }
  Diagnostic diagnostic = Error("'" + std::string(instruction.name) + "': " + std::move(message), std::move(hint));
  diagnostic.file = file;
  return diagnostic;
}

}  // namespace spillway::hlo
