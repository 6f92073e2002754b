// SPDX-License-Identifier: Apache-2.0
// Independent replays beside each other. SystemC has one kernel a process, so each worker is a copy of this one.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "sim/base/units.h"

namespace spillway::explain {

/// `job(i)` for each i below `jobs`, by `workers` processes (1: all in this one). Empty where a job gave nothing, or its
/// process did not come back: the caller may run it itself. Ends early, with what there is, once `interrupted` is set.
/// REQUIRES: this process has no other threads; a job changes nothing but its result.
std::vector<std::optional<Picos>> RunJobs(std::size_t jobs, std::size_t workers, const std::function<std::optional<Picos>(std::size_t)>& job,
                                          const std::atomic<bool>* interrupted);

}  // namespace spillway::explain
