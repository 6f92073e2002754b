// SPDX-License-Identifier: Apache-2.0
// A fused computation as one flat graph, and how windows of its parameters and results follow from
// a window of the kernel's iteration domain.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sim/hlo/module.h"
#include "sim/plan/transform.h"
#include "sim/plan/window_map.h"

namespace spillway::plan {

/// A node of the flat graph. Nested fusions are dissolved; what remains of one is a node without
/// own work (`nested`) that stands for its result.
struct GraphNode {
  const hlo::Instruction* instruction = nullptr;
  std::vector<int> operands;   ///< Nodes, operand order.
  int parameter = -1;          ///< Operand number of the kernel, for a parameter.
  bool nested = false;         ///< Result of a fusion nested in the kernel: passes its operand on.
  int depth = 0;               ///< 0: in the kernel's own computation.
  const hlo::Shape& shape() const { return instruction->shape; }
};

/// An instruction that runs as a kernel: a fusion or a plain op (then a graph of one node and its
/// operands).
struct FusedGraph {
  std::vector<GraphNode> nodes;    ///< Operands before users.
  std::vector<int> outputs;        ///< Nodes of the results, one a tuple element.
  std::vector<const hlo::Shape*> output_shapes;
  std::vector<int> output_elements;   ///< Tuple element of each (0 if the result is no tuple).
  bool fusion = false;                ///< The kernel is a fusion, not a plain op.
  const hlo::Shape* Shape(int node) const { return &nodes[node].instruction->shape; }
};

/// REQUIRES: a parsed instruction. A nesting deeper than 64 is cut (the rest counts as opaque).
FusedGraph FlattenKernel(const hlo::Instruction& kernel);

/// One way in which a parameter is read: its window is the hull over `paths`. Two nested fusions
/// that read the same operand are two flows (the compiler gives each its own DMA stream).
struct Flow {
  std::vector<Path> paths;
  int origin = -1;       ///< Outermost nested fusion it passed through; -1: none.
  bool exact = true;     ///< False if an opcode on the way has unknown access.
  std::shared_ptr<const WindowMap> map;   ///< If set, it gives the window instead of `paths`.
  Box Window(const Box& domain) const;
};
struct OperandFlow {
  int parameter = 0;
  Flow flow;
};
struct ResultFlow {
  int output = 0;
  Flow flow;
  bool accumulated = false;  ///< Result of a reduction inside the kernel.
  bool in_place = false;     ///< Only part of the result is written (dynamic-update-slice).
};
struct KernelFlows {
  std::vector<OperandFlow> operands;
  std::vector<ResultFlow> results;
};

/// The domain is the result of node `anchor` (dimensions as printed); for a dot or convolution its
/// contraction dimensions follow.
KernelFlows FlowsFrom(const FusedGraph& graph, int anchor);

}  // namespace spillway::plan
