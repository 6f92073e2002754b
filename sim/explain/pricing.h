// SPDX-License-Identifier: Apache-2.0
// What it costs that tensors cross HBM: replays with and without their transfers.
#pragma once

#include <map>
#include <vector>

#include "sim/engine/simulate.h"
#include "sim/explain/boundary.h"
#include "sim/explain/dataflow.h"
#include "sim/explain/explain.h"

namespace spillway::explain {

/// What pricing needs of the replay with all tensors where they are.
struct BaseReplay {
  std::int64_t transfers = 0;
  std::map<int, Picos> waited;        ///< Waits for the transfers of an asynchronous op.
  engine::HbmExperience experience;   ///< All other replays begin with it.
};

/// Fills in spill_cost_ps and method of `report.boundaries` (one for each of `boundaries`) and joint_spill_cost_ps.
/// REQUIRES: report.summary is of a complete replay; no threads. Errors: what simulating refuses.
Status PriceBoundaries(const ExplainInputs& inputs, const plan::PlanInputs& plan_inputs, const Dataflow& flow,
                       const std::vector<Boundary>& boundaries, const BaseReplay& base, Report& report);

}  // namespace spillway::explain
