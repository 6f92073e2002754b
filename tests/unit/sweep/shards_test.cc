// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/shards.h"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <map>
#include <numeric>

namespace spillway::sweep {
namespace {

using Environment = std::map<std::string, std::string>;

Result<std::optional<Shard>> InJob(const Environment& environment) {
  return ShardOfArrayJob([&](const char* name) -> const char* {
    const auto it = environment.find(name);
    return it == environment.end() ? nullptr : it->second.c_str();
  });
}

void CheckShard(const Environment& environment, int index, int count) {
  const Result<std::optional<Shard>> shard = InJob(environment);
  REQUIRE(shard.ok());
  REQUIRE(shard->has_value());
  CHECK((*shard)->index == index);
  CHECK((*shard)->count == count);
  CHECK_FALSE((*shard)->origin.empty());
}

TEST_CASE("shards by name") {
  const Result<Shard> shard = ParseShard("2/3");
  REQUIRE(shard.ok());
  CHECK(shard->index == 2);
  CHECK(shard->count == 3);
  for (const char* bad : {"", "2", "0/3", "4/3", "-1/3", "1/0", "a/3", "1/3x", "1/99999999", "1/2/3", "/"}) {
    CAPTURE(bad);
    CHECK_FALSE(ParseShard(bad).ok());
  }
}

TEST_CASE("array jobs say which shard they are") {
  CHECK_FALSE(InJob({})->has_value());
  CheckShard({{"SLURM_ARRAY_TASK_ID", "3"}, {"SLURM_ARRAY_TASK_COUNT", "4"}, {"SLURM_ARRAY_TASK_MIN", "0"},
              {"SLURM_ARRAY_TASK_MAX", "3"}, {"SLURM_ARRAY_TASK_STEP", "1"}}, 4, 4);
  CheckShard({{"SLURM_ARRAY_TASK_ID", "5"}, {"SLURM_ARRAY_TASK_COUNT", "3"}, {"SLURM_ARRAY_TASK_MIN", "1"},
              {"SLURM_ARRAY_TASK_MAX", "9"}, {"SLURM_ARRAY_TASK_STEP", "4"}}, 2, 3);
  CheckShard({{"SGE_TASK_ID", "2"}, {"SGE_TASK_FIRST", "1"}, {"SGE_TASK_LAST", "5"}, {"SGE_TASK_STEPSIZE", "1"}}, 2, 5);
  CheckShard({{"LSB_JOBINDEX", "2"}, {"LSB_JOBINDEX_END", "8"}, {"LSB_JOBINDEX_STEP", "1"}}, 2, 8);
  // Not in an array although the batch system is there.
  CHECK_FALSE(InJob({{"SGE_TASK_ID", "undefined"}, {"SGE_TASK_LAST", "undefined"}})->has_value());
  CHECK_FALSE(InJob({{"LSB_JOBINDEX", "0"}})->has_value());
}

TEST_CASE("an array job that does not say enough is an error that names the option") {
  for (const Environment& environment : std::vector<Environment>{
           {{"PBS_ARRAY_INDEX", "2"}},
           {{"PBS_ARRAYID", "2"}},
           {{"SLURM_ARRAY_TASK_ID", "3"}},
           // --array=1,2,7
           {{"SLURM_ARRAY_TASK_ID", "7"}, {"SLURM_ARRAY_TASK_COUNT", "3"}, {"SLURM_ARRAY_TASK_MIN", "1"},
            {"SLURM_ARRAY_TASK_MAX", "7"}},
           {{"SLURM_ARRAY_TASK_ID", "9"}, {"SLURM_ARRAY_TASK_COUNT", "3"}, {"SLURM_ARRAY_TASK_MIN", "1"}}}) {
    const Result<std::optional<Shard>> shard = InJob(environment);
    REQUIRE_FALSE(shard.ok());
    CHECK_THAT(shard.errors().front().hint, Catch::Matchers::Contains("--shard"));
  }
}

TEST_CASE("shards are balanced by cost, not by count") {
  // One point as expensive as all others together.
  std::vector<double> costs(9, 1.0);
  costs[4] = 8;
  const std::vector<int> owner = Balance(costs, 2);
  for (std::size_t i = 0; i < costs.size(); ++i) CHECK(owner[i] == (i == 4 ? 1 : 2));
  CHECK(Balance({}, 3).empty());
  CHECK(Balance({1, 1}, 1) == std::vector<int>{1, 1});
}

TEST_CASE("no shard has more than the mean and the largest item") {
  rc::prop("greedy bound", [] {
    const auto units = *rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 1000));
    const int shards = *rc::gen::inRange(1, 9);
    const std::vector<double> costs(units.begin(), units.end());
    const std::vector<int> owner = Balance(costs, shards);
    RC_ASSERT(owner.size() == costs.size());
    std::vector<double> load(static_cast<std::size_t>(shards), 0);
    double largest = 0;
    for (std::size_t i = 0; i < costs.size(); ++i) {
      RC_ASSERT(owner[i] >= 1 && owner[i] <= shards);
      load[static_cast<std::size_t>(owner[i] - 1)] += costs[i];
      largest = std::max(largest, costs[i]);
    }
    const double mean = std::accumulate(costs.begin(), costs.end(), 0.0) / shards;
    for (const double each : load) RC_ASSERT(each <= mean + largest);
  });
}

}  // namespace
}  // namespace spillway::sweep
