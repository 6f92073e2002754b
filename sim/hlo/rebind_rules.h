// SPDX-License-Identifier: Apache-2.0
// What each opcode says about the dimensions of its operands and results.
#pragma once

#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/hlo/rebind.h"
#include "sim/hlo/rebind_dims.h"

namespace spillway::hlo {

/// The arrays of a shape, depth first (a tuple's members).
std::vector<const Shape*> ArraysOf(const Shape& shape);
std::vector<Shape*> ArraysOf(Shape& shape);

/// One array of an instruction's result.
struct ArrayRef {
  const Instruction* instruction = nullptr;
  int array = 0;
};

/// Unknowns and relations of a whole module.
class DimRules {
 public:
  DimRules(const Module& module, const RebindRequest& request);

  DimSolver& solver() { return solver_; }
  /// Unknowns of array `array` of an instruction, one a dimension.
  const std::vector<int>& Dims(const Instruction& instruction, int array = 0) const;
  int ArrayCount(const Instruction& instruction) const;
  /// Arrays that are one and the same value (parameters and arguments, tuples, loop carries, bitcasts).
  const std::vector<std::pair<ArrayRef, ArrayRef>>& same_value() const { return same_value_; }
  /// Kernels whose grid follows its windows: their code and the unknowns of their grid.
  struct Kernel {
    KernelWindows windows;
    std::vector<int> grid;
  };
  const std::unordered_map<const Instruction*, Kernel>& kernels() const { return kernels_; }
  /// Unknowns that stand for sizes of arrays (the others count tiles or blocks).
  bool IsArrayDim(int v) const { return v < array_dims_; }
  /// After solving: whether some size that changes was `size`.
  bool IsOldSize(std::int64_t size);
  /// After solving: errors of instructions that have no rule and yet change.
  Diagnostics CheckOpaque();
  /// Whether a slice's part of dimension `d` keeps its share: with others it covers the dimension without a gap.
  bool KeepsShare(const Instruction& slice, std::size_t d) const { return shares_.count({&slice, d}) > 0; }
  /// After solving: what the shares of unequal pieces were decided to be without proof.
  std::vector<std::string> ShareAssumptions();

 private:
  void Allocate(const Computation& computation);
  void Relate(const Instruction& instruction);
  void RelateByOpcode(const Instruction& instruction, Opcode opcode, const std::vector<std::vector<int>>& result);
  void Call(const Instruction& instruction, const Computation* callee, std::size_t first_operand);
  void SameValue(ArrayRef a, ArrayRef b, const Instruction* where);
  void SameTree(const Instruction& a, const Instruction& b, const Instruction* where);
  void EqualAll(const std::vector<int>& a, const std::vector<int>& b, const Instruction* where);
  void Tuple(const Instruction& instruction);
  void TupleElement(const Instruction& instruction, int element);
  void AsyncStart(const Instruction& instruction);
  void CopyStart(const Instruction& instruction);
  void While(const Instruction& instruction);
  void Conditional(const Instruction& instruction);
  void Elementwise(const Instruction& instruction, const std::vector<std::vector<int>>& result);
  void Dot(const Instruction& instruction);
  void Convolution(const Instruction& instruction);
  void Reduce(const Instruction& instruction);
  void ReduceWindow(const Instruction& instruction);
  void Concatenate(const Instruction& instruction, std::int64_t dimension);
  void Slice(const Instruction& instruction, const std::vector<int>& result);
  void Pad(const Instruction& instruction);
  void Blocks(const Instruction& instruction, const std::vector<int>& whole, const std::vector<int>& block);
  void Block(int block, int whole, const Instruction* where);
  void Gather(const Instruction& instruction);
  void Scatter(const Instruction& instruction);
  void EqualCounted(int a, int b, const Instruction* where);
  void Regroup(const std::vector<int>& a, const std::vector<int>& b, const Instruction* where);
  void Bitcast(const Instruction& instruction);
  bool SameTiles(const Instruction& from, const Instruction& to);
  std::vector<int> Bits(const Shape& shape, std::vector<int> dims, bool padding, const Instruction* where);
  bool JoinPieces(const Instruction& instruction);
  bool CustomCall(const Instruction& instruction);
  std::vector<int> Physical(const Shape& shape, const std::vector<int>& dims, const Instruction* where);
  void GroupSlices();
  const std::vector<int>& Operand(const Instruction& instruction, std::size_t i) const;

  const Module& module_;
  const RebindRequest& request_;
  DimSolver solver_;
  std::unordered_map<const Instruction*, std::vector<std::vector<int>>> dims_;
  std::vector<std::pair<ArrayRef, ArrayRef>> same_value_;
  std::unordered_map<const Instruction*, Kernel> kernels_;
  std::vector<const Instruction*> opaque_;
  struct Cut {
    const Instruction* instruction;
    std::int64_t start, limit;
    int out, in;
    std::size_t dimension;
  };
  std::vector<Cut> cuts_;
  std::vector<Cut> unequal_;
  std::set<std::pair<const Instruction*, std::size_t>> shares_;
  std::unordered_map<int, int> counted_;  ///< Number of tiles -> the size that it counts.
  int array_dims_ = 0;
};

}  // namespace spillway::hlo
