// SPDX-License-Identifier: Apache-2.0
// The HLO text parser behind ParseModules. Recursive descent over a Cursor; one pass per module,
// then names that were used before their definition are resolved.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/hlo/cursor.h"
#include "sim/hlo/module.h"

namespace spillway::hlo {

class Parser {
 public:
  Parser(std::shared_ptr<const std::string> text, const std::string& file)
      : text_(std::move(text)), file_(file), cursor_(*text_, &shapes_) {}

  Result<std::vector<std::unique_ptr<Module>>> Run();

 private:
  /// An operand whose definition had not been seen when it was used.
  struct Unresolved {
    int instruction;       ///< Index in the computation.
    std::size_t operand;
    std::string_view name;
    std::size_t offset;
  };
  /// An attribute that names a computation.
  struct CallSite {
    Instruction* instruction;  ///< Null until the instruction has its final address.
    std::string_view name;
    std::size_t offset;
  };
  /// What is open while a computation is being read.
  struct Scope {
    Computation* computation;
    std::vector<Unresolved> unresolved;
    int depth;
    bool single_instruction = false;  ///< Operands may be given by type only.
  };

  // parser.cc: module level.
  bool ReadModule();
  bool ReadHeader();
  bool ReadTables();
  bool ReadComputation();
  bool ReadSignature(Shape* result, bool* has_result);
  bool ReadBody(Scope* scope, std::size_t opened_at);
  bool ReadSingleInstruction();
  bool FinishComputation(Scope* scope, std::size_t closed_at);
  bool ResolveOperands(Scope* scope);
  bool CheckAcyclic(const Computation& computation);
  bool CollectParameters(Computation* computation, std::size_t closed_at);
  bool FinishModule(std::size_t end);
  bool ResolveCalls();
  bool CheckNoRecursion();
  bool Truncated(const Computation& computation, std::size_t opened_at);
  Computation* AddComputation(std::string_view name, std::size_t offset);

  // instruction_reader.cc: instructions.
  bool ReadInstruction(Scope* scope);
  Instruction* Begin(Scope* scope, std::string_view name, std::size_t at);
  bool Finish(Scope* scope, Instruction* instruction, std::size_t first_unresolved, std::size_t first_call);
  template <class Read>
  bool PutBefore(Scope* scope, Instruction** user, Read read);
  bool ReadRightHandSide(Scope* scope, Instruction** slot, int depth);
  bool ReadOperands(Scope* scope, Instruction** slot, int depth);
  bool ReadOperand(Scope* scope, Instruction** slot, int depth);
  bool ReadNestedOperand(Scope* scope, Instruction** user, Shape shape, int depth);
  bool AddImpliedParameter(Scope* scope, Instruction** user, std::string_view name, std::size_t at);
  bool GiveShape(Instruction* instruction);
  bool ReadLiteral(Instruction* instruction);
  bool ReadAttributes(Scope* scope, Instruction* instruction);
  bool ReadAttribute(std::vector<Attribute>* attributes, Scope* scope);
  bool ReadCallee(std::string_view attribute, std::string_view value, std::size_t offset);
  bool ReadNestedComputation(Scope* scope, std::string_view* name);
  std::string_view Keep(std::string text);

  std::shared_ptr<const std::string> text_;
  std::string file_;
  ShapeCache shapes_;
  Cursor cursor_;
  std::unique_ptr<Module> module_;
  const Computation* last_top_level_ = nullptr;
  std::vector<CallSite> calls_;
  std::vector<std::unique_ptr<Module>> modules_;
  Shape scratch_;                      ///< The last operand or parameter type.
  std::vector<Attribute> attributes_;  ///< Those of the instruction being read.
  int generated_names_ = 0;
};

/// Checks the `devices=[…]<=[…]` and `devices=[…]0,1,…` forms in a sharding or replica group value:
/// both sides must name the same number of devices. Returns an empty string if well, else the
/// message, with the position in `value`.
std::string CheckDeviceLists(std::string_view value, std::size_t* where);

}  // namespace spillway::hlo
