// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <queue>
#include <string_view>

namespace spillway::sweep {
namespace {

constexpr int kMaxShards = 1'000'000;

std::optional<std::int64_t> Number(std::string_view text) {
  std::int64_t value = 0;
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || code != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

/// How one batch system names things. Tasks are numbered first, first + step, … last.
struct System {
  const char* task;
  const char *first, *last, *step, *count;  // null: there is no such variable
};
constexpr System kSystems[] = {
    {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_STEP",
     "SLURM_ARRAY_TASK_COUNT"},
    {"SGE_TASK_ID", "SGE_TASK_FIRST", "SGE_TASK_LAST", "SGE_TASK_STEPSIZE", nullptr},
    {"LSB_JOBINDEX", nullptr, "LSB_JOBINDEX_END", "LSB_JOBINDEX_STEP", nullptr},
    {"PBS_ARRAY_INDEX", nullptr, nullptr, nullptr, nullptr},
    {"PBS_ARRAYID", nullptr, nullptr, nullptr, nullptr},
};

Diagnostic Unclear(const System& system, const std::string& why) {
  return Error(fmt::format("this is a task of an array job ({}), but {}", system.task, why),
               fmt::format("say which part to run: --shard \"${}/N\" (tasks from 1 to N), or --shard 1/1 for everything",
                           system.task));
}

}  // namespace

Result<Shard> ParseShard(const std::string& text) {
  const std::size_t slash = text.find('/');
  const std::string_view all = text;
  const std::optional<std::int64_t> index = Number(all.substr(0, slash));
  std::optional<std::int64_t> count;
  if (slash != std::string::npos) count = Number(all.substr(slash + 1));
  if (!index || !count) return Error(fmt::format("'{}' is no shard", text), "--shard 2/3 is the second of three");
  if (*count < 1 || *count > kMaxShards) return Error(fmt::format("'{}': there are 1 to {} shards", text, kMaxShards));
  if (*index < 1 || *index > *count) {
    return Error(fmt::format("'{}': there is no shard {} of {}", text, *index, *count),
                 fmt::format("they are numbered from 1 to {}", *count));
  }
  return Shard{static_cast<int>(*index), static_cast<int>(*count), ""};
}

Result<std::optional<Shard>> ShardOfArrayJob(const std::function<const char*(const char*)>& variable) {
  for (const System& system : kSystems) {
    const auto value = [&](const char* name) -> std::optional<std::int64_t> {
      const char* text = name == nullptr ? nullptr : variable(name);
      return text == nullptr ? std::nullopt : Number(text);
    };
    // Grid Engine says "undefined" and LSF 0 outside of an array.
    const std::optional<std::int64_t> task = value(system.task);
    if (!task || (*task == 0 && std::string_view(system.task) == "LSB_JOBINDEX")) continue;
    const std::int64_t first = value(system.first).value_or(system.first == nullptr ? 1 : *task);
    const std::int64_t step = value(system.step).value_or(1);
    std::optional<std::int64_t> count = value(system.count);
    const std::optional<std::int64_t> last = value(system.last);
    if (step < 1) return Unclear(system, "its step is not positive");
    if (!count && last && *last >= first) count = (*last - first) / step + 1;
    if (!count) return Unclear(system, "not how many tasks there are");
    // A list such as 1,2,7 has a count that its range does not.
    if (last && (*last - first) / step + 1 != *count) return Unclear(system, "its task numbers have gaps");
    const std::int64_t index = (*task - first) / step + 1;
    if (*count < 1 || *count > kMaxShards || index < 1 || index > *count || (*task - first) % step != 0) {
      return Unclear(system, fmt::format("its number {} does not fit into {} tasks", *task, *count));
    }
    return std::optional<Shard>(Shard{static_cast<int>(index), static_cast<int>(*count), system.task});
  }
  return std::optional<Shard>();
}

std::vector<int> Balance(const std::vector<double>& costs, int shards) {
  std::vector<std::size_t> order(costs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return costs[a] > costs[b]; });
  using Load = std::pair<double, int>;  // by load, then by number
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (int shard = 1; shard <= shards; ++shard) loads.push({0.0, shard});
  std::vector<int> owner(costs.size());
  for (const std::size_t item : order) {
    Load least = loads.top();
    loads.pop();
    owner[item] = least.second;
    least.first += costs[item];
    loads.push(least);
  }
  return owner;
}

}  // namespace spillway::sweep
