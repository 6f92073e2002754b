// SPDX-License-Identifier: Apache-2.0
// How often each operation of a Mosaic kernel runs.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "sim/hlo/mosaic_body.h"

namespace spillway::compute {

struct ScheduledOp {
  const hlo::MlirOperation* operation = nullptr;
  double times = 0;            ///< Sum over all grid steps.
};

struct MosaicSchedule {
  std::vector<ScheduledOp> operations;   ///< Pre-order, without dead ones and without control flow.
  double steps = 1;
  std::string why;                       ///< A branch or loop whose course depends on data; empty: none.
};

MosaicSchedule ScheduleOf(const hlo::MosaicBody& body);

}  // namespace spillway::compute
