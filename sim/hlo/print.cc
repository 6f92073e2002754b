// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "sim/hlo/module.h"

namespace spillway::hlo {
namespace {

void PrintInstruction(const Instruction& instruction, std::string* out) {
  *out += instruction.is_root ? "  ROOT %" : "  %";
  *out += instruction.name;
  *out += " = ";
  *out += ToString(instruction.shape);
  *out += ' ';
  *out += instruction.opcode_name;
  *out += '(';
  if (instruction.opcode == Opcode::kParameter) {
    *out += std::to_string(instruction.parameter_number);
  } else if (instruction.opcode == Opcode::kConstant) {
    *out += instruction.literal;
  }
  for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
    *out += i > 0 ? ", %" : "%";
    *out += instruction.operands[i]->name;
  }
  *out += ')';
  for (const Attribute& attribute : instruction.attributes) {
    *out += fmt::format(", {}={}", attribute.name, attribute.value);
  }
  *out += '\n';
}

void PrintComputation(const Computation& computation, std::string* out) {
  *out += computation.is_entry ? "ENTRY %" : "%";
  *out += computation.name;
  *out += " {\n";
  for (const Instruction& instruction : computation.instructions) PrintInstruction(instruction, out);
  *out += "}\n\n";
}

}  // namespace

std::string Print(const Module& module) {
  std::string out = fmt::format("HloModule {}", module.name);
  for (const Attribute& attribute : module.attributes) {
    out += fmt::format(", {}={}", attribute.name, attribute.value);
  }
  out += "\n\n";
  for (const Computation& computation : module.computations) PrintComputation(computation, &out);
  return out;
}

}  // namespace spillway::hlo
