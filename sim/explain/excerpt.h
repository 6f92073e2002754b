// SPDX-License-Identifier: Apache-2.0
// One kernel by itself, for what-if replays; of a long kernel whose steps repeat, only as many as tell how it goes on.
#pragma once

#include <memory>
#include <vector>

#include "sim/plan/program.h"
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

/// Only the kernel of `op`, once, with nothing beside it.
plan::Program Excerpt(const plan::Program& program, int op);
/// The source that runs `op` in an excerpt; null if there is none.
std::unique_ptr<plan::ActionSource> SourceOf(const plan::Program& excerpt);
/// An excerpt without those steps.
void Omit(plan::Program& excerpt, const std::vector<Omission>& omissions);

/// What the whole kernel would take. `busy`: of its replay without those steps; the timeline has the others.
Picos WholeTime(const std::vector<Omission>& omissions, Picos busy, const timeline::Timeline& timeline);

}  // namespace spillway::explain
