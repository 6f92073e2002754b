// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/container/deque.hpp>
#include <deque>
#include <memory>
#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/hlo/name_index.h"
#include "sim/hlo/opcode.h"
#include "sim/hlo/shape.h"

namespace spillway::hlo {

class Computation;

/// `name=value` after the operands of an instruction. `value` is the raw text, braces and quotes
/// included; `sim/hlo/attributes.h` reads the typed forms on demand.
struct Attribute {
  std::string_view name;
  std::string_view value;
};

/// One HLO instruction. Lives in its Computation; pointers to it stay valid with the Module.
struct Instruction {
  /// `memory` serves the attributes and must outlive the instruction; copies use the heap.
  explicit Instruction(std::pmr::memory_resource* memory = std::pmr::get_default_resource()) : attributes(memory) {}

  std::string_view name;                ///< Without `%`.
  Opcode opcode = Opcode::kUnknown;
  std::string_view opcode_name;         ///< As printed; keeps what the enum does not know.
  Shape shape;
  InlineList<const Instruction*, 4> operands;
  /// Computations it calls, in attribute order: calls, to_apply, body, condition, branches, …
  InlineList<const Computation*, 1> called;
  std::pmr::vector<Attribute> attributes;
  std::string_view literal;             ///< Text in the parentheses of `constant(…)`.
  std::int64_t parameter_number = -1;   ///< For `parameter(n)`.
  bool is_root = false;
  int index = 0;                        ///< Position in its computation, the schedule if scheduled.
  std::size_t offset = 0;               ///< Byte offset in the module's text, for diagnostics.
  const Computation* parent = nullptr;

  /// Raw value of an attribute; empty optional if absent.
  std::optional<std::string_view> Attr(std::string_view attribute) const;
  /// The computation named by attribute `attribute` ("body", "condition", "calls", "to_apply").
  const Computation* Called(std::string_view attribute) const;
  /// Fusion kind as the dump says: "kLoop", "kOutput", …; empty if none.
  std::string_view FusionKind() const;
  /// `metadata={op_name="…"}` without quotes and escapes undone; empty if none.
  std::string OpName() const;
};

/// A named list of instructions in printed order.
class Computation {
 public:
  /// `memory` serves the instructions and must outlive the computation (Module::arena).
  explicit Computation(std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : instructions(memory), by_name(memory) {}

  std::string_view name;
  bool is_entry = false;
  /// Blocks of a few instructions: most computations have three to ten.
  boost::container::deque<Instruction, std::pmr::polymorphic_allocator<Instruction>,
                          boost::container::deque_options_t<boost::container::block_size<8>>>
      instructions;
  const Instruction* root = nullptr;
  std::vector<const Instruction*> parameters;  ///< By parameter number.

  const Instruction* Find(std::string_view instruction) const;

  NameIndex<Instruction> by_name;
};

/// A parsed HLO module. Owns its text: all string_views point into it.
class Module {
 public:
  std::pmr::monotonic_buffer_resource arena;   ///< Holds the instructions: a dump has 10^5 of them.
  std::string_view name;
  bool is_scheduled = false;
  std::vector<Attribute> attributes;           ///< Of the `HloModule` line.
  std::deque<Computation> computations;
  const Computation* entry = nullptr;
  std::string file;                            ///< As the user named it, for diagnostics.
  std::shared_ptr<const std::string> text;     ///< For a proto: the text form made from it.
  bool from_proto = false;                     ///< Positions in `text` mean nothing to the user.
  std::deque<std::string> strings;             ///< Storage of strings that are not in `text`.

  const Computation* Find(std::string_view computation) const;
  /// An error located at `instruction`.
  Diagnostic ErrorAt(const Instruction& instruction, std::string message, std::string hint = "") const;

  std::unordered_map<std::string_view, const Computation*> by_name;
};

/// Reads one text that holds one or more modules.
/// Errors: everything XLA's parser refuses in structure (unknown operand, cycle, redefinition,
/// shape overflow, truncated text …), each with line, column and what was expected. No ENTRY in
/// a text that ends in the middle of a computation is an error that says so.
Result<std::vector<std::unique_ptr<Module>>> ParseModules(std::string text, const std::string& file);

/// Reads a serialised `HloProto` or `HloModuleProto`.
Result<std::unique_ptr<Module>> ReadProto(std::string bytes, const std::string& file);

/// Same names, shapes, operands, callees, attributes, literals and order; where they stood in a text
/// and the text itself do not count.
bool Equal(const Module& a, const Module& b);

/// HLO text that ParseModules reads back to an equal module.
std::string Print(const Module& module);

}  // namespace spillway::hlo
