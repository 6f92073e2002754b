// SPDX-License-Identifier: Apache-2.0
// Which kernel makes each tensor of a program and which kernels use it, and what happens to its elements inside them.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "sim/hlo/module.h"
#include "sim/plan/fused_graph.h"
#include "sim/plan/program.h"

namespace spillway::explain {

/// A read of a tensor: operand `operand` of op `op`.
struct Use {
  int op = -1;
  int operand = 0;
};

/// One value of a buffer: from the op that writes it to the next op that does.
struct Tensor {
  int buffer = -1;              ///< The one that owns the storage.
  int producer = -1;            ///< Op; -1: there from the start (an argument, or never written).
  int element = 0;              ///< Leaf of the producer's result.
  bool argument = false;        ///< Of the module.
  bool result = false;          ///< Of the module: the caller gets it.
  std::vector<Use> uses;        ///< Direct ones, asynchronous copies among them; schedule order, no duplicates.
};

/// A node of the flat graph of a kernel.
struct Value {
  int op = -1;
  int node = -1;
  bool operator<(const Value& other) const { return std::tie(op, node) < std::tie(other.op, other.node); }
  bool operator==(const Value& other) const { return op == other.op && node == other.node; }
};

/// REQUIRES: `program` was planned from `module`; both outlive this object.
class Dataflow {
 public:
  Dataflow(const hlo::Module& module, const plan::Program& program);

  const std::vector<Tensor>& tensors() const { return tensors_; }
  const plan::Program& program() const { return program_; }
  const plan::Op& op(int op) const { return program_.ops[static_cast<std::size_t>(op)]; }
  /// Null if the op has no instruction of its name.
  const hlo::Instruction* instruction(int op) const { return instructions_[static_cast<std::size_t>(op)]; }
  bool IsAsync(int op) const { return this->op(op).op_class == "async"; }
  int Root(int buffer) const;

  /// Flat graph of an op, made on demand; empty for asynchronous copies.
  const plan::FusedGraph& graph(int op) const;
  const hlo::Instruction& At(const Value& value) const {
    return *graph(value.op).nodes[static_cast<std::size_t>(value.node)].instruction;
  }

  /// The tensor that operand `operand` of `op` reads; -1 if unknown.
  int Read(int op, int operand) const;
  /// Tensors that `op` makes, by leaf of its result.
  int Made(int op, int element) const;
  /// What the tensor is inside its producer; empty for asynchronous copies and arguments. A copy that is made by
  /// asynchronous transfers is traced to the kernel that made the original.
  std::vector<Value> Definition(int tensor) const;
  /// Parameter nodes of the kernels that use it, by way of asynchronous copies too.
  std::vector<Value> Entries(int tensor) const;
  /// Ops other than asynchronous copies that use it, by way of those too; schedule order.
  std::vector<int> Consumers(int tensor) const;
  /// The kernel whose value it holds, by way of asynchronous copies; -1: an argument.
  int Maker(int tensor) const;

  /// What a node is computed from; crosses kernel boundaries.
  std::vector<Value> Operands(const Value& value) const;
  /// Nodes that use a node; crosses kernel boundaries.
  std::vector<Value> Users(const Value& value) const;

 private:
  void Walk(const std::vector<plan::Item>& items);
  void Visit(int op);
  int Current(int root);
  void AddUse(int tensor, Use use);

  const hlo::Module& module_;
  const plan::Program& program_;
  std::vector<Tensor> tensors_;
  std::vector<const hlo::Instruction*> instructions_;
  std::map<int, int> current_;                             ///< Root buffer -> tensor.
  std::map<std::pair<int, int>, int> reads_, writes_;      ///< (op, operand) and (op, leaf) -> tensor.
  mutable std::vector<std::unique_ptr<plan::FusedGraph>> graphs_;
  mutable std::vector<std::unique_ptr<std::vector<std::vector<int>>>> users_;
};

/// Passes elements on one by one (elementwise ops, moves, broadcasts, slices): no output waits for more than the
/// elements it takes. Nested fusions count: they stand for their result.
bool IsLocal(const plan::GraphNode& node);
/// dot or convolution.
bool IsContraction(hlo::Opcode opcode);

}  // namespace spillway::explain
