// SPDX-License-Identifier: Apache-2.0
#include "sim/base/worker_pool.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <map>
#include <set>
#include <stdexcept>

namespace spillway {
namespace {

TEST_CASE("every job is done once, whatever its size, by as many processes as asked for") {
  std::vector<std::size_t> jobs;
  for (std::size_t i = 0; i < 200; ++i) jobs.push_back(i * 3);
  std::map<std::size_t, std::string> replies;
  std::set<std::string> processes;
  WorkerPool pool;
  pool.workers = 3;
  pool.work = [](std::size_t job) { return std::to_string(getpid()) + " " + std::string(job * 100, 'x'); };
  pool.done = [&](const std::vector<JobReply>& fresh) -> Status {
    for (const JobReply& reply : fresh) {
      CHECK_FALSE(reply.died);
      CHECK(replies.emplace(reply.job, reply.text).second);
      processes.insert(reply.text.substr(0, reply.text.find(' ')));
    }
    return Done{};
  };
  pool.stop = [] { return false; };
  const Result<bool> complete = RunPool(jobs, pool);
  REQUIRE(complete.ok());
  CHECK(*complete);
  REQUIRE(replies.size() == jobs.size());
  for (const auto& [job, text] : replies) CHECK(text.size() - text.find(' ') - 1 == job * 100);
  CHECK(processes.size() == 3);
  CHECK(processes.count(std::to_string(getpid())) == 0);
}

TEST_CASE("jobs give the same by any number of workers") {
  std::vector<std::size_t> jobs;
  for (std::size_t i = 0; i < 100; ++i) jobs.push_back(i);
  for (const int workers : {1, 2, 64, 200}) {
    std::map<std::size_t, std::string> replies;
    WorkerPool pool;
    pool.workers = workers;
    pool.work = [](std::size_t job) { return job % 7 == 3 ? "" : std::to_string(job * job); };
    pool.done = [&](const std::vector<JobReply>& fresh) -> Status {
      for (const JobReply& reply : fresh) replies[reply.job] = reply.text;
      return Done{};
    };
    pool.stop = [] { return false; };
    REQUIRE(RunPool(jobs, pool).ok());
    REQUIRE(replies.size() == jobs.size());
    for (const auto& [job, text] : replies) CHECK(text == pool.work(job));
  }
}

TEST_CASE("a worker that dies costs its own job only") {
  std::map<std::size_t, JobReply> replies;
  WorkerPool pool;
  pool.workers = 2;
  pool.work = [](std::size_t job) -> std::string {
    if (job == 3) kill(getpid(), SIGKILL);
    if (job == 5) _exit(7);
    if (job == 6) throw std::runtime_error("no");
    return "fine";
  };
  pool.done = [&](const std::vector<JobReply>& fresh) -> Status {
    for (const JobReply& reply : fresh) replies[reply.job] = reply;
    return Done{};
  };
  pool.stop = [] { return false; };
  REQUIRE(RunPool({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, pool).ok());
  REQUIRE(replies.size() == 10);
  for (const auto& [job, reply] : replies) CHECK(reply.died == (job == 3 || job == 5 || job == 6));
  CHECK_THAT(replies[3].text, Catch::Matchers::Contains("signal 9"));
  CHECK_THAT(replies[5].text, Catch::Matchers::Contains("code 7"));
  CHECK_THAT(replies[6].text, Catch::Matchers::Contains("code 1"));
}

TEST_CASE("stop and an error of the receiver end the pool with jobs left") {
  WorkerPool pool;
  pool.workers = 2;
  int done = 0;
  pool.work = [](std::size_t job) -> std::string {
    if (job >= 2) pause();  // would never end
    return "";
  };
  pool.stop = [&] { return done >= 2; };
  pool.done = [&](const std::vector<JobReply>& fresh) -> Status {
    done += static_cast<int>(fresh.size());
    return Done{};
  };
  SECTION("stop") {
    const Result<bool> complete = RunPool({0, 1, 2, 3, 4}, pool);
    REQUIRE(complete.ok());
    CHECK_FALSE(*complete);
  }
  SECTION("error") {
    pool.done = [](const std::vector<JobReply>&) -> Status { return Error("disk full"); };
    const Result<bool> complete = RunPool({0, 1, 2, 3, 4}, pool);
    REQUIRE_FALSE(complete.ok());
    CHECK(complete.errors().front().message == "disk full");
  }
}

TEST_CASE("no jobs, no workers") {
  WorkerPool pool;
  pool.stop = [] { return false; };
  CHECK(*RunPool({}, pool));
}

}  // namespace
}  // namespace spillway
