// SPDX-License-Identifier: Apache-2.0
#include "sim/hlo/module.h"

#include "sim/base/file.h"
#include "sim/hlo/text_util.h"

namespace spillway::hlo {

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
  const auto found = by_name.find(instruction);
  return found == by_name.end() ? nullptr : found->second;
}

const Computation* Module::Find(std::string_view computation) const {
  const auto found = by_name.find(computation);
  return found == by_name.end() ? nullptr : found->second;
}

Diagnostic Module::ErrorAt(const Instruction& instruction, std::string message, std::string hint) const {
  if (text != nullptr && !text->empty()) {
    return spillway::ErrorAt(*text, file, instruction.offset, std::move(message), std::move(hint));
  }
  Diagnostic diagnostic = Error("'" + std::string(instruction.name) + "': " + std::move(message), std::move(hint));
  diagnostic.file = file;
  return diagnostic;
}

}  // namespace spillway::hlo
