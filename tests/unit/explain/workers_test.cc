// SPDX-License-Identifier: Apache-2.0
#include "sim/explain/workers.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <stdexcept>

namespace spillway::explain {
namespace {

std::optional<Picos> Square(std::size_t i) {
  if (i % 7 == 3) return std::nullopt;
  return static_cast<Picos>(i * i);
}

TEST_CASE("jobs give the same by any number of processes") {
  const auto alone = RunJobs(100, 1, Square, nullptr);
  for (std::size_t workers : {2, 3, 64, 200}) CHECK(RunJobs(100, workers, Square, nullptr) == alone);
  CHECK(alone[3] == std::nullopt);
  CHECK(alone[99] == 99 * 99);
  CHECK(RunJobs(0, 4, Square, nullptr).empty());
}

TEST_CASE("a worker that dies leaves the jobs it had not done") {
  const pid_t parent = getpid();
  const auto values = RunJobs(10, 2, [&](std::size_t i) -> std::optional<Picos> {
    if (i == 5 && getpid() != parent) _exit(3);
    if (i == 4) throw std::runtime_error("no");
    return 1;
  }, nullptr);
  CHECK(values[0] == 1);
  CHECK(values[2] == 1);
  CHECK(values[3] == 1);
  for (std::size_t i = 4; i < 10; ++i) CHECK(values[i] == std::nullopt);
}

TEST_CASE("an interrupt ends workers at once") {
  const std::atomic<bool> interrupted{true};
  const auto values = RunJobs(4, 2, [](std::size_t) -> std::optional<Picos> {
    sleep(1000);
    return 1;
  }, &interrupted);
  CHECK(values[0] == std::nullopt);
}

}  // namespace
}  // namespace spillway::explain
