// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "sim/hlo/module.h"

namespace spillway::plan {

/// The printed order, changed only where an operand would come after its user.
std::vector<const hlo::Instruction*> ExecutionOrder(const hlo::Computation& computation);

}  // namespace spillway::plan
