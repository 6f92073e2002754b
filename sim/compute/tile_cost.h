// SPDX-License-Identifier: Apache-2.0
// Compute cycles of a kernel from its HLO alone.
#pragma once

#include <string>
#include <vector>

#include "sim/config/chip_config.h"
#include "sim/hlo/module.h"

namespace spillway::compute {

/// Slots by functional unit, in issue slots (not cycles).
struct UnitUse {
  double valu = 0, eup = 0, xlu = 0, mxu_cycles = 0, mxu_push = 0, mxu_pop = 0, vload = 0, vstore = 0;
  double serial = 0;               ///< Cycles of chains in which each operation waits for the one before.
};

/// What the compute model says about all steps of one execution of an instruction.
struct KernelCost {
  Cycles total_cycles = 0;         ///< Sum over steps, incl. kernel_overhead; 0 for free ops.
  Cycles bundles = 0;              ///< Bundles that the compiler would schedule: total_cycles without matrix unit stalls.
  Cycles prologue_cycles = 0;      ///< Of them, once per execution.
  UnitUse use;                     ///< Sums over the execution.
  std::string busiest;             ///< "VALU", "MXU", …
  bool unmodelled = false;
  std::string why;                 ///< The opcode or custom call it does not know.
  double error_band = 0;           ///< Relative, from the cross-validation of the op's class.
  std::string op_class;            ///< loop|input|output|copy|custom|…: what the computation is.
  std::string error_class;         ///< elementwise|reduce|matmul|relayout|other|custom: key of core.error_band.
};

/// Slots of the tables of core.op_slots times what FeaturesOf counts; the units' loads, divided by slots and
/// packing, meet in a norm (core.sharpness). Always finite and not negative. docs/compute-model.md.
/// `steps`: grid steps that the planner gives the kernel (>= 1).
KernelCost CostOf(const hlo::Instruction& instruction, const config::ChipConfig& chip, std::int64_t steps);

}  // namespace spillway::compute
