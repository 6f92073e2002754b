// SPDX-License-Identifier: Apache-2.0
// Facade of the engine, free of SystemC.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "sim/base/result.h"
#include "sim/config/chip_config.h"
#include "sim/model/memory_system.h"
#include "sim/plan/program.h"
#include "sim/timeline/summary.h"
#include "sim/timeline/timeline.h"

namespace spillway::engine {

/// What a run has found out about the times of HBM; null: nothing.
using HbmExperience = std::shared_ptr<const model::Experience>;

struct SimulateOptions {
  bool record_timeline = true;                       ///< Off: summary only (sweeps).
  const std::atomic<bool>* interrupted = nullptr;    ///< Set from a signal handler to stop early.
  /// What an earlier run on this chip learnt of HBM; without it each run begins anew.
  HbmExperience experience;
  bool keep_experience = false;                      ///< RunResult has what this run knows at its end.
  /// Called now and then with (ops finished, ops in all, simulated time).
  std::function<void(std::int64_t, std::int64_t, Picos)> progress;
};

struct RunResult {
  timeline::Summary summary;     ///< input, version and plan text are the caller's to fill.
  timeline::Timeline timeline;
  bool limit_reached = false;    ///< `run.max_events` exceeded, or a deadlock (exit code 5); the summary is not complete.
  Diagnostic limit;              ///< Which limit, and what to do about it.
  HbmExperience experience;      ///< If asked for.
};

/// Replays `program` on `chip`. One kernel of SystemC lives for the duration of the call.
/// A program that deadlocks ends there, with what it did until then.
/// Errors: VMEM over capacity (names who holds what), HBM over capacity, a kernel that cannot go on.
Result<RunResult> Simulate(const plan::Program& program, const config::ChipConfig& chip,
                           const SimulateOptions& options);

}  // namespace spillway::engine
