// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "sim/hlo/rebind.h"

namespace spillway::hlo {
namespace {

class Writer {
 public:
  Writer(const Module& module, const ModuleEdits& edits) : module_(module), edits_(edits) {}

  std::string Text() {
    out_ = fmt::format("HloModule {}", module_.name);
    for (const Attribute& attribute : module_.attributes) {
      const bool layout = attribute.name == "entry_computation_layout";
      out_ += fmt::format(", {}={}", attribute.name, layout ? EntryLayout() : std::string(attribute.value));
    }
    out_ += "\n\n";
    for (const Computation& computation : module_.computations) {
      out_ += fmt::format("{}%{} {{\n", computation.is_entry ? "ENTRY " : "", computation.name);
      for (const Instruction& instruction : computation.instructions) Line(instruction);
      out_ += "}\n\n";
    }
    return std::move(out_);
  }

 private:
  const InstructionEdit* EditOf(const Instruction& instruction) const {
    const auto it = edits_.find(&instruction);
    return it == edits_.end() ? nullptr : &it->second;
  }

  const Shape& ShapeOf(const Instruction& instruction) const {
    const InstructionEdit* edit = EditOf(instruction);
    return edit != nullptr && edit->shape ? *edit->shape : instruction.shape;
  }

  std::string EntryLayout() const {
    std::string text = "{(";
    if (module_.entry == nullptr || module_.entry->root == nullptr) return "{()->()}";
    for (const Instruction* parameter : module_.entry->parameters) {
      if (parameter == nullptr) continue;
      text += (text.size() > 2 ? ", " : "") + ToString(ShapeOf(*parameter));
    }
    return text + ")->" + ToString(ShapeOf(*module_.entry->root)) + "}";
  }

  void Line(const Instruction& instruction) {
    const InstructionEdit* edit = EditOf(instruction);
    if (edit != nullptr && edit->drop) return;
    out_ += fmt::format("  {}%{} = {} ", instruction.is_root ? "ROOT " : "", instruction.name,
                        ToString(ShapeOf(instruction)));
    if (edit != nullptr && edit->replacement != nullptr) {
      out_ += fmt::format("bitcast(%{})\n", edit->replacement->name);
      return;
    }
    out_ += fmt::format("{}(", instruction.opcode_name);
    if (instruction.opcode == Opcode::kParameter) out_ += std::to_string(instruction.parameter_number);
    if (instruction.opcode == Opcode::kConstant) {
      out_ += edit != nullptr && edit->literal ? *edit->literal : std::string(instruction.literal);
    }
    for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
      out_ += fmt::format("{}%{}", i > 0 ? ", " : "", instruction.operands[i]->name);
    }
    out_ += ')';
    for (const Attribute& attribute : instruction.attributes) {
      std::string value(attribute.value);
      if (edit != nullptr) {
        const auto changed = edit->attributes.find(attribute.name);
        if (changed != edit->attributes.end()) value = changed->second;
        if (value.empty()) continue;
      }
      out_ += fmt::format(", {}={}", attribute.name, value);
    }
    out_ += '\n';
  }

  const Module& module_;
  const ModuleEdits& edits_;
  std::string out_;
};

}  // namespace

Result<std::unique_ptr<Module>> Rewrite(const Module& module, const ModuleEdits& edits, const std::string& file) {
  Result<std::vector<std::unique_ptr<Module>>> modules = ParseModules(Writer(module, edits).Text(), file);
  if (!modules.ok()) {
    Diagnostics errors = modules.errors();
    for (Diagnostic& error : errors) error.message = "the rewritten module does not check: " + error.message;
    return errors;
  }
  return std::move(modules->front());
}

}  // namespace spillway::hlo
