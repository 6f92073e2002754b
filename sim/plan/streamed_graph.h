// SPDX-License-Identifier: Apache-2.0
// Several kernels as one flat graph, and which dimensions of its arrays are one and the same loop.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/base/result.h"
#include "sim/hlo/module.h"

namespace spillway::plan {

struct StreamNode {
  const hlo::Instruction* like = nullptr;   ///< Opcode, attributes; for a parameter: the value outside.
  hlo::Shape shape;
  std::vector<int> operands;
  int parameter = -1;                       ///< Operand number of the merged kernel.
  std::vector<int> classes;                 ///< By dimension: the loop it belongs to.
};

/// A value of the group that something outside uses.
struct StreamOutput {
  int node = -1;
  const hlo::Instruction* maker = nullptr;  ///< Kernel of the group.
  int element = -1;                         ///< Of its tuple; -1: the whole value.
};

struct StreamGraph {
  std::vector<StreamNode> nodes;            ///< Operands before users; equal expressions are one node.
  std::vector<const hlo::Instruction*> parameters;
  std::vector<StreamOutput> outputs;
  std::vector<int> boundaries;              ///< Nodes that crossed from one kernel of the group to another.
  std::vector<int> shared;                  ///< Parameters that several kernels of the group read.
  std::map<std::string, int> named;         ///< Values by name: inside, made by the group ("fusion.3{1}"), or read by it.
  bool single = false;                      ///< Of one kernel only.
  std::vector<std::int64_t> class_size;
  std::vector<std::string> class_fixed;     ///< Why the class cannot be cut into tiles; empty: it can.
  /// Keeps what was made for this graph alive (instructions of expanded custom calls).
  std::shared_ptr<std::deque<hlo::Instruction>> pool = std::make_shared<std::deque<hlo::Instruction>>();
  std::shared_ptr<std::deque<std::string>> strings = std::make_shared<std::deque<std::string>>();

  bool Carries(int node, int dim_class) const;
  /// Classes that a reduction or contraction sums over.
  std::vector<int> ReducedBy(int node) const;
};

/// `group`: kernels of one computation in execution order. Errors: an instruction whose work cannot be merged.
Result<StreamGraph> MergeKernels(const std::vector<const hlo::Instruction*>& group);

/// True for the custom call that newer compilers make of softmax(scores) x values.
bool IsOnlineSoftmax(const hlo::Instruction& instruction);

}  // namespace spillway::plan
