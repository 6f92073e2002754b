// SPDX-License-Identifier: Apache-2.0
// Which plan, and the program that it makes.
#pragma once

#include <string>
#include <vector>

#include "sim/config/plan_config.h"
#include "sim/plan/planner.h"
#include "sim/plan/resident.h"
#include "sim/plan/streamed.h"

namespace spillway::plan {

struct PlanChoice {
  enum class Kind { kAsCompiled, kUnfused, kResident, kStreamed, kFile };
  Kind kind = Kind::kAsCompiled;
  std::vector<std::string> tensors;       ///< kResident: these; empty: whatever is worth it and fits.
  bool ignore_capacity = false;           ///< kResident with names: as if they did fit.
  std::vector<StreamedRequest> groups;    ///< kStreamed: these; empty: whatever wins.
  config::PlanConfig file;                ///< kFile.
};

/// as-compiled, unfused, resident, streamed.
const std::vector<std::string>& PlanNames();

/// A path rather than a name: it ends in .yaml or .yml, or has a '/'.
bool IsPlanFile(const std::string& name_or_file);

/// The plan of that name, or else of the plan file at that path (a name that ends in .yaml or .yml, or has a '/').
/// Errors: an unknown name, with the known ones; whatever is wrong with the file.
Result<PlanChoice> ChoosePlan(const std::string& name_or_file);

/// What the choices looked at, for reports. Filled as far as the plan says.
struct PlanReport {
  std::vector<Residency> tensors;
  std::vector<StreamedGroup> groups;
};

/// A complete program; nothing of `inputs` but the chip need outlive it. Program::plan names the plan, its notes
/// say what was decided and assumed.
Result<Program> MakePlan(const PlanInputs& inputs, const PlanChoice& choice, Diagnostics& warnings, PlanReport* report = nullptr);

}  // namespace spillway::plan
