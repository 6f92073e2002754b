// SPDX-License-Identifier: Apache-2.0
// Worker processes: forks of this one that share what it has read. A crash in one costs one job. Threads would not do:
// SystemC has one kernel a process.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/base/result.h"

namespace spillway {

struct JobReply {
  std::size_t job = 0;
  bool died = false;   ///< The worker is gone; `text` says how.
  std::string text;    ///< What `work` returned.
};

struct WorkerPool {
  int workers = 1;
  /// Runs in a worker. What it changes in memory is seen by later jobs of the same worker only. An exception ends the
  /// worker, as a crash does; another takes its place.
  std::function<std::string(std::size_t job)> work;
  /// Runs here with what has come in since the last call (at least one). An error ends the pool.
  std::function<Status(const std::vector<JobReply>&)> done;
  /// Asked at least ten times a second; true ends the pool: workers are killed, their jobs are not done.
  std::function<bool()> stop;
};

/// Hands the jobs out in their order, one at a time to each worker. True: all are done; false: stopped.
/// Workers die with this process, however it ends. Workers ignore SIGINT: this process decides.
/// REQUIRES: no threads. Errors: no worker can be started; what `done` returned.
Result<bool> RunPool(const std::vector<std::size_t>& jobs, const WorkerPool& pool);

}  // namespace spillway
