// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/plan/streamed_graph.h"

namespace spillway::plan {

/// Fills the classes of a graph: two dimensions are one loop if an instruction walks them together. A class that
/// something reads otherwise than tile by tile (a sort, a reshape that mixes dimensions, …) is fixed.
void SetClasses(StreamGraph& graph);

}  // namespace spillway::plan
