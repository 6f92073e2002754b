// SPDX-License-Identifier: Apache-2.0
// Scalar MLIR (arith, affine-free) as expressions of some inputs: index maps of windows, conditions and loop
// bounds.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sim/hlo/mlir.h"

namespace spillway::hlo {

/// Expressions in evaluation order: operands come before their users.
class ScalarProgram {
 public:
  /// `module` is looked at by Add only.
  explicit ScalarProgram(const MlirModule& module) : module_(&module) {}

  /// Makes `value` the next input; inputs are numbered in order of the calls.
  void AddInput(int value);
  /// Takes over an operation with scalar results, and those inside an scf.if that yields scalars. Results it
  /// cannot compute become unknown;
  /// a value loaded from memory is assumed (see `Value::assumed`). Operations without results are ignored.
  void Add(const MlirOperation& operation) { Add(operation, 0); }

  struct Value {
    std::int64_t value = 0;
    bool known = false;
    bool assumed = false;   ///< Depends on data: a load counts as its last index (the i-th entry is i).
  };
  using Values = std::vector<Value>;
  Values Evaluate(const std::vector<std::int64_t>& inputs) const;
  /// Value `number` in what Evaluate gave; unknown if the program does not have it.
  Value Get(const Values& values, int number) const;

 private:
  enum class Op : std::uint8_t {
    kUnknown, kInput, kConstant, kAdd, kSub, kMul, kDiv, kFloorDiv, kCeilDiv, kRem, kMin, kMax, kAnd, kOr, kXor, kShl, kShr,
    kCompare, kSelect, kAssume
  };
  struct Node {
    Op op = Op::kUnknown;
    std::int64_t constant = 0;   ///< kConstant; kInput: its number; kCompare: predicate.
    int a = -1, b = -1, c = -1;
  };
  void Add(const MlirOperation& operation, int depth);
  void AddIf(const MlirOperation& operation, int depth);
  int NodeOf(int value);
  int Push(Node node);
  static Value Apply(const Node& node, const Values& values, const std::vector<std::int64_t>& inputs);

  const MlirModule* module_;
  std::vector<Node> nodes_;
  std::map<int, int> node_of_;   ///< Value number to node.
  int inputs_ = 0;
};

}  // namespace spillway::hlo
