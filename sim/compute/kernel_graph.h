// SPDX-License-Identifier: Apache-2.0
// The computation of a kernel as one flat graph: nested fusions dissolved, equal expressions of a computation merged.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/hlo/module.h"

namespace spillway::compute {

struct Node {
  const hlo::Instruction* instruction = nullptr;
  std::vector<int> operands;   ///< Nodes; always earlier in the list.
  int parameter = -1;          ///< Operand number of the kernel, or -1.
  double visits = 1;           ///< Times its whole value is computed in one execution.
  std::uint64_t varies = 0;    ///< Bit d: its value depends on dimension d (SetVaries).
};

struct KernelGraph {
  std::vector<Node> nodes;
  std::vector<int> results;    ///< One a member of the result.
};

/// A fusion's computation, or the plain op itself with its operands as parameters. Two instructions with
/// the same opcode, type, attributes and operands in one computation are one node; equal ones in two nested
/// fusions are two, as the compiler emits each nested fusion on its own (read from bundles: two equal nested
/// matmuls run twice). Nesting beyond 64 levels stays one opaque node.
KernelGraph GraphOf(const hlo::Instruction& kernel);

/// Fills `varies`: what is computed from broadcasts and iotas alone repeats along the other dimensions, and the
/// compiler computes it once.
void SetVaries(KernelGraph& graph);

/// Marks `start` and everything it is computed from as visited `times` as often.
void Revisit(KernelGraph& graph, int start, double times);

}  // namespace spillway::compute
