// SPDX-License-Identifier: Apache-2.0
// What a kernel computes, counted: the rows of the slot tables (core.op_slots) and how often each applies.
#pragma once

#include <map>
#include <string>

#include "sim/hlo/module.h"

namespace spillway::compute {

/// The matrix unit as far as counting needs it.
struct MatrixShape {
  double rows = 128, columns = 128;   ///< Contraction and output sides of the systolic array.
};

/// Keys are `op`, `op.type` or `op.part` (docs/compute-model.md lists them); counts are registers of 1024
/// elements unless the page says otherwise.
struct KernelFeatures {
  std::map<std::string, double> counts;
  std::string op_class;           ///< elementwise|reduce|matmul|relayout|custom|other.
  bool unmodelled = false;
  std::string why;                ///< First opcode without a model.
  double steps = 1;               ///< Grid steps.
  double coverage = 1;            ///< Elements computed / elements, above 1 for ragged windows.

  void Add(const std::string& key, double count) {
    if (count > 0) counts[key] += count;
  }
};

/// `steps` counts when the instruction states no windows of its own.
KernelFeatures FeaturesOf(const hlo::Instruction& kernel, const MatrixShape& mxu, double steps);

}  // namespace spillway::compute
