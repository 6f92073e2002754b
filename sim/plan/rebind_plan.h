// SPDX-License-Identifier: Apache-2.0
// What a rewritten module (sim/hlo/rebind.h) needs from the planner: the grids of its kernels, and a place in memory
// for every tensor.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/base/result.h"
#include "sim/config/chip_config.h"
#include "sim/hlo/rebind.h"

namespace spillway::plan {

struct ReboundPlan {
  std::unique_ptr<hlo::Module> module;
  std::vector<std::string> bound;        ///< "q[0]".
  std::vector<std::string> assumptions;  ///< Of the rewriting of shapes.
  std::vector<std::string> unwindowed;   ///< Instructions whose windows do not follow: the planner cuts its own.
  std::vector<std::string> moved;        ///< Values that no longer fit VMEM and are kept in HBM.
};

/// hlo::Rebind, then windows (RebindWindows), then VMEM: while the program takes more of it than the chip has (and
/// than the original took), the largest tensor that lives where most is taken moves to HBM; prefetches of it are
/// dropped. `request.kernel_windows` need not be set.
Result<ReboundPlan> RebindForChip(const hlo::Module& module, hlo::RebindRequest request,
                                  const config::ChipConfig& chip);

/// The last two steps for themselves. `module` has the structure of `original`.
/// What the windows of all kernels become; names of those that have none are added to `unwindowed`.
hlo::ModuleEdits WindowEdits(const hlo::Module& original, const hlo::Module& module,
                             std::vector<std::string>& unwindowed);
/// Moves the value `name` ("fusion.2", "copy-done{0}": a buffer of the program) and all that shares its storage to
/// memory space 0. Empty if there is no such value in memory space 1.
hlo::ModuleEdits MoveToHbm(const hlo::Module& module, const std::string& name);

}  // namespace spillway::plan
