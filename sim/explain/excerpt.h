// SPDX-License-Identifier: Apache-2.0
// One kernel by itself, for what-if replays; of a long kernel whose steps repeat, only as many as tell how it goes on.
#pragma once

#include <vector>

#include "sim/explain/replay.h"
#include "sim/timeline/timeline.h"

namespace spillway::explain {

/// Steps of a kernel that are left out, for those before them stand for them.
struct Omission {
  std::int64_t window = 0;   ///< First of the steps that stand for them.
  std::int64_t begin = 0;    ///< First step left out; the window ends here.
  std::int64_t end = 0;
};

/// Where the steps of a kernel repeat, the pipeline being full: whole periods may go. In order; none for a kernel that
/// reacts to time.
std::vector<Omission> FindOmissions(plan::ActionSource& source);

/// `source` without those steps.
SourceMaker Omit(SourceMaker source, const std::vector<Omission>& omissions);

/// Only that kernel, once, with nothing beside it: op 0 of the result.
plan::Program Excerpt(const plan::Op& op, SourceMaker source);

/// Equal for sources that do the same but for addresses; 0 where that depends on time.
std::uint64_t ContentOf(plan::ActionSource& source);

/// What the whole kernel would take. `busy`: of its replay without those steps; the timeline has the others.
Picos WholeTime(const std::vector<Omission>& omissions, Picos busy, const timeline::Timeline& timeline);

}  // namespace spillway::explain
