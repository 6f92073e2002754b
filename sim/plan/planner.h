// SPDX-License-Identifier: Apache-2.0
// Scheduled HLO + chip -> Program.
#pragma once

#include <functional>

#include "sim/base/result.h"
#include "sim/config/chip_config.h"
#include "sim/hlo/module.h"
#include "sim/plan/kernel.h"
#include "sim/plan/program.h"

namespace spillway::plan {

class BufferAssignment;   // sim/plan/buffer_assignment.h

struct PlanInputs {
  const hlo::Module* module = nullptr;
  const config::ChipConfig* chip = nullptr;
  const BufferAssignment* assignment = nullptr;  ///< Real addresses; may be null.
  /// Makes the kernel of an op in place of BuildKernel (plans whose kernels are not the dump's); may be empty.
  std::function<Kernel(const KernelInputs&)> build_kernel;
};

/// The dump's own schedule. Warnings (unscheduled module, unknown trip count, …) go to `warnings`.
Result<Program> PlanAsCompiled(const PlanInputs& inputs, Diagnostics& warnings);

}  // namespace spillway::plan
