// SPDX-License-Identifier: Apache-2.0
// The sentences of `explain`.
#pragma once

#include "sim/explain/boundary.h"

namespace spillway::explain {

/// Fills `reason` and `advice` of a boundary whose verdict, meeting and fit are known.
void Advise(const Dataflow& flow, Bytes vmem_usable, Boundary& boundary);

/// "{1,0:T(8,128)(2,1)}": layout of a printed shape; empty if it shows none.
std::string LayoutText(const hlo::Shape& shape);

}  // namespace spillway::explain
