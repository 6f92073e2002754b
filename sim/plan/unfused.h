// SPDX-License-Identifier: Apache-2.0
// The plan `unfused`: what the program would be without fusion.
#pragma once

#include <memory>

#include "sim/plan/planner.h"

namespace spillway::plan {

/// The module with every fusion dissolved: each instruction of a fused computation that does work is an
/// instruction of its own, its value in HBM; results keep the place that the fusion gave them.
/// Free ops (bitcast, tuple, …) stay free. So does what depends on scalars alone and is the same everywhere
/// (a constant that is broadcast): it is repeated in each kernel that uses it, as an immediate would be. A
/// kernel reads an operand that it names twice once. `module` must outlive the result.
std::unique_ptr<hlo::Module> UnfuseModule(const hlo::Module& module);

/// Plans UnfuseModule; windows are our tiler's. Where they do not fit beside the buffers that live in VMEM,
/// smaller ones are taken.
Result<Program> PlanUnfused(const PlanInputs& inputs, Diagnostics& warnings);

}  // namespace spillway::plan
