// SPDX-License-Identifier: Apache-2.0
// Dimensions as unknowns: what each is now is known, what it becomes follows from relations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/hlo/attributes.h"
#include "sim/hlo/module.h"

namespace spillway::hlo {

/// Sizes with their present value and, once known, their new one. Relations are named after the
/// instruction they come from, so that a contradiction has a place.
class DimSolver {
 public:
  explicit DimSolver(const Module& module) : module_(module) {}

  /// A size that is `old` now. `origin` names it in messages.
  int New(std::int64_t old, const Instruction* origin);
  std::int64_t Old(int v) const { return old_[static_cast<std::size_t>(v)]; }
  std::optional<std::int64_t> Value(int v) { return value_[static_cast<std::size_t>(Root(v))]; }
  bool Same(int a, int b) { return Root(a) == Root(b); }
  bool Changed(int v) { return Value(v) && *Value(v) != Old(v); }
  const Instruction* Origin(int v) { return origin_[static_cast<std::size_t>(Root(v))]; }
  int count() const { return static_cast<int>(old_.size()); }

  /// The new value of `v`; an error at `where` if it is another already.
  void Set(int v, std::int64_t value, const Instruction* where);
  void Fix(int v, const Instruction* where) { Set(v, Old(v), where); }

  /// a = b. Sizes that differ now are left alone (the parser has judged them).
  void Equal(int a, int b, const Instruction* where);
  /// The product of `a` is the product of `b`, now and later.
  void Product(std::vector<int> a, std::vector<int> b, const Instruction* where);
  /// `count` = ceil(size / unit).
  void Count(int count, int size, std::int64_t unit, const Instruction* where);
  /// total = the sum of `parts`.
  void Sum(int total, std::vector<int> parts, const Instruction* where);
  /// `out` follows from `in` by a window that keeps its numbers.
  void Window(int out, int in, const WindowDimension& window, const Instruction* where);
  /// `out` stays while `in` does; what it becomes else must follow from other relations.
  void Partial(int out, int in, const Instruction* where);

  /// Draws all conclusions. Then, where one size was split into several and nothing else decides,
  /// the outermost takes the change (blocks keep their size); `assumptions` says so.
  void Solve(std::vector<std::string>& assumptions);
  /// Partial relations that are left open become errors.
  void RequireComplete();
  /// Open sizes that hang on one that changes: a relation, or a chain of them, joins them, but does not say what they
  /// become.
  std::vector<int> Hanging();
  const Diagnostics& errors() const { return errors_; }

 private:
  enum class Kind : std::uint8_t { kProduct, kCount, kSum, kWindow, kPartial };
  struct Relation {
    Kind kind;
    std::vector<int> a, b;
    std::int64_t unit = 1;
    WindowDimension window;
    const Instruction* where = nullptr;
  };

  int Root(int v);
  bool Known(int v) { return Value(v).has_value(); }
  void Propagate();
  bool Apply(const Relation& relation);
  bool ApplyProduct(const Relation& relation);
  bool ApplyCount(const Relation& relation);
  bool ApplySum(const Relation& relation);
  bool ApplyWindow(const Relation& relation);
  bool SplitOne(std::vector<std::string>& assumptions);
  void Fail(const Instruction* where, std::string message, std::string hint = "");

  const Module& module_;
  std::vector<std::int64_t> old_;
  std::vector<int> parent_;
  std::vector<std::optional<std::int64_t>> value_;
  std::vector<const Instruction*> origin_;
  std::vector<Relation> relations_;
  Diagnostics errors_;
};

}  // namespace spillway::hlo
