// SPDX-License-Identifier: Apache-2.0
// Another module out of the pieces of one: how plans that the compiler did not make are written down.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/hlo/module.h"

namespace spillway::plan {

/// Copies a module computation by computation; a plan overrides Rewrite. Names, attributes and text are shared
/// with the source, which must outlive the copy; positions in messages are those of the source.
class Rewriter {
 public:
  explicit Rewriter(const hlo::Module& source);
  virtual ~Rewriter() = default;
  Rewriter(const Rewriter&) = delete;
  Rewriter& operator=(const Rewriter&) = delete;

  /// The module. Call once.
  std::unique_ptr<hlo::Module> Run();

 protected:
  using Operands = std::vector<const hlo::Instruction*>;

  /// Adds to `to` what `instruction` becomes. Called in execution order for the instructions of every
  /// computation that is part of the schedule: entry, loop bodies and conditions, branches, callees.
  virtual void Rewrite(const hlo::Instruction& instruction, hlo::Computation& to) { Copy(instruction, to); }

  /// A copy with the operands that the old ones have become; `instruction` becomes it.
  hlo::Instruction* Copy(const hlo::Instruction& instruction, hlo::Computation& to);
  /// An instruction like `like` (opcode, shape, attributes, literal) with another name and other operands.
  /// A name that is taken gets a number.
  hlo::Instruction* Add(const hlo::Instruction& like, const std::string& name, const Operands& operands,
                        hlo::Computation& to);
  /// An instruction made from nothing.
  hlo::Instruction* AddNew(hlo::Opcode opcode, const hlo::Shape& shape, const std::string& name,
                           const Operands& operands, hlo::Computation& to);
  void SetAttribute(hlo::Instruction& instruction, const std::string& name, const std::string& value);
  static void DropAttribute(hlo::Instruction& instruction, std::string_view name);

  hlo::Computation* NewComputation(const std::string& name);
  /// Makes `instruction` the root of `computation` and lists its parameters.
  static void SetRoot(hlo::Computation& computation, const hlo::Instruction* instruction);

  void Become(const hlo::Instruction& old, const hlo::Instruction* now) { now_[&old] = now; }
  const hlo::Instruction* Now(const hlo::Instruction& old) const;
  std::string_view Intern(std::string text);
  const hlo::Module& source() const { return source_; }
  /// The copy of a computation; `scheduled`: by way of Rewrite.
  hlo::Computation* Map(const hlo::Computation& computation, bool scheduled);

 private:
  void MapCalled(const hlo::Instruction& from, hlo::Instruction& to);

  const hlo::Module& source_;
  std::unique_ptr<hlo::Module> module_;
  std::unordered_map<const hlo::Computation*, hlo::Computation*> mapped_;
  std::unordered_map<const hlo::Instruction*, const hlo::Instruction*> now_;
};

/// Calls whose callee is part of the schedule: while, call, conditional.
bool CallsScheduled(hlo::Opcode opcode);
/// A kernel: takes time on the core by itself. Asynchronous copies, calls, communication and what is free are none.
bool RunsOnCore(const hlo::Instruction& instruction);

}  // namespace spillway::plan
