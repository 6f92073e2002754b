// SPDX-License-Identifier: Apache-2.0
// A sweep divided among processes that know nothing of each other.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/result.h"

namespace spillway::sweep {

/// Shard `index` of `count`; the first is 1.
struct Shard {
  int index = 1, count = 1;
  std::string origin;  ///< The variable that says so ("SLURM_ARRAY_TASK_ID"); empty: the command line.
};

/// "2/3". Errors: another form, a shard that is not there.
Result<Shard> ParseShard(const std::string& text);

/// The shard that the variables of an array job mean; nothing outside of one. `variable` gives the value of an
/// environment variable, null if it is not set. Slurm, Grid Engine and LSF say how many tasks there are. PBS
/// does not: then it is an error that asks for --shard.
Result<std::optional<Shard>> ShardOfArrayJob(const std::function<const char*(const char*)>& variable);

/// Which shard (from 1) runs each item, so that the sums of `costs` are about equal: the most expensive first,
/// each to the shard that has least. Depends on nothing but the arguments.
std::vector<int> Balance(const std::vector<double>& costs, int shards);

}  // namespace spillway::sweep
