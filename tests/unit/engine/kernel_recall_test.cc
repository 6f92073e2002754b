// SPDX-License-Identifier: Apache-2.0
// Kernels like ones replayed before: the same result, at a fraction of the events.
#include <catch2/catch.hpp>
#include <map>

#include "sim/engine/kernel_times.h"
#include "tests/support/programs.h"
#include "tests/support/test_chip.h"

namespace spillway::engine {
namespace {

using plan::Action;
using plan::Item;
using plan::Program;
using test::Async;
using test::Compute;
using test::Issue;
using test::Kernel;
using test::Loop;
using test::MakeProgram;
using test::Read;
using test::Run;
using test::Wait;
using test::Write;

constexpr Bytes kWindow = 64 * kKiB;

/// Two windows fetched ahead of compute, one result written; `base` moves all of it.
std::vector<Action> Pipeline(std::int64_t base, Cycles cycles = 400) {
  Action step;
  step.kind = Action::Kind::kStep;
  std::vector<Action> actions = {Issue(Read(kWindow, base), 0), Issue(Read(kWindow, base + kWindow), 1)};
  constexpr int kSteps = 64;
  for (int i = 0; i < kSteps; ++i) {
    actions.insert(actions.end(), {Wait(i % 2, kWindow), step, Compute(cycles, cycles)});
    if (i < kSteps - 2) actions.push_back(Issue(Read(kWindow, base + (i + 2) % 8 * kWindow), i % 2));
    actions.push_back(Issue(Write(kWindow / 2, base + kMiB + i % 8 * kWindow), 2));
  }
  actions.push_back(Wait(2, kSteps * (kWindow / 2)));
  return actions;
}

config::ChipConfig Chip(bool recall) {
  config::ChipConfig chip = test::SmallChip();
  chip.run.recall_kernels = recall;
  chip.hbm.refresh_mode = config::RefreshMode::kAllBank;
  chip.hbm.timing.trfc = 260000;
  chip.vmem.dma_contention = 0.5;
  chip.vmem.load_bytes = 512;
  return chip;
}

std::map<std::string, int> KindsOf(const RunResult& run) {
  std::map<std::string, int> kinds;
  for (const timeline::Slice& slice : run.timeline.slices) ++kinds[slice.kind];
  kinds.erase("wait");   // A wait that is recalled may be the mean of some that were and some that were not.
  return kinds;
}

/// All but times is equal; times are within `tolerance`, those of an op within `op_tolerance`.
void CheckSame(const RunResult& recalled, const RunResult& replayed, double tolerance, double op_tolerance) {
  const timeline::Summary &a = recalled.summary, &b = replayed.summary;
  CHECK(a.complete);
  CHECK(a.hbm_read_bytes == b.hbm_read_bytes);
  CHECK(a.hbm_write_bytes == b.hbm_write_bytes);
  CHECK(a.makespan_ps == Approx(b.makespan_ps).epsilon(tolerance));
  CHECK(a.hbm_busy_ps == Approx(b.hbm_busy_ps).epsilon(tolerance));
  for (std::size_t i = 0; i < a.ops.size(); ++i) {
    CHECK(a.ops[i].executions == b.ops[i].executions);
    CHECK(a.ops[i].steps == b.ops[i].steps);
    CHECK(a.ops[i].dma_count == b.ops[i].dma_count);
    CHECK(a.ops[i].compute_cycles == b.ops[i].compute_cycles);
    CHECK(a.ops[i].busy_ps == Approx(b.ops[i].busy_ps).epsilon(op_tolerance));
    CHECK(a.ops[i].end_ps <= a.makespan_ps);
  }
  CHECK(KindsOf(recalled) == KindsOf(replayed));
}

TEST_CASE("trips of a loop take the time of the trips before, and lose nothing else") {
  const Program program = MakeProgram(2, {Loop(60, {Kernel(0, Pipeline(0)), Kernel(1, {Compute(100)})})});
  const RunResult recalled = Run(program, Chip(true)), replayed = Run(program, Chip(false));
  CHECK(recalled.summary.recalled_share_of_time > 0.5);
  CHECK(replayed.summary.recalled_share_of_time == 0);
  CheckSame(recalled, replayed, 0.01, 0.01);
}

TEST_CASE("kernels at other addresses are alike, kernels that do something else are not") {
  std::vector<Item> items;
  for (int i = 0; i < 40; ++i) items.push_back(Kernel(i, Pipeline(i * kMiB, i % 2 == 0 ? 400 : 900)));
  const Program program = MakeProgram(40, items);
  const RunResult recalled = Run(program, Chip(true)), replayed = Run(program, Chip(false));
  CHECK(recalled.summary.recalled_share_of_time > 0.4);
  CheckSame(recalled, replayed, 0.01, 0.05);
}

TEST_CASE("a copy beside kernels is part of what they are known by") {
  // Every other trip runs beside a copy, which ends within the kernel.
  std::vector<Item> items;
  for (int i = 0; i < 40; ++i) {
    if (i % 2 == 1) items.push_back(Async(Item::Kind::kStart, 1, 0, {Read(64 * kKiB, 8 * kMiB, 1)}));
    items.push_back(Kernel(0, Pipeline(0)));
    if (i % 2 == 1) items.push_back(Async(Item::Kind::kDone, 2, 0));
  }
  const Program program = MakeProgram(3, items);
  const RunResult recalled = Run(program, Chip(true)), replayed = Run(program, Chip(false));
  CHECK(recalled.summary.recalled_share_of_time > 0.5);
  CheckSame(recalled, replayed, 0.01, 0.01);
}

TEST_CASE("a kernel that a copy outlives is replayed") {
  const Program program = MakeProgram(3, {Loop(8, {Async(Item::Kind::kStart, 1, 0, {Read(32 * kMiB, 8 * kMiB, 1)}), Kernel(0, Pipeline(0)),
                                                   Async(Item::Kind::kDone, 2, 0)})});
  const RunResult recalled = Run(program, Chip(true));
  CHECK(recalled.summary.recalled_share_of_time == 0);
  CHECK(recalled.summary.makespan_ps == Run(program, Chip(false)).summary.makespan_ps);
}

TEST_CASE("only kernels that do not react to time are recalled, and none at command level") {
  const auto program = [](bool fixed) { return MakeProgram(1, {Loop(60, {Kernel(0, Pipeline(0), fixed)})}); };
  CHECK(Run(program(true), Chip(true)).summary.recalled_share_of_time > 0.5);
  CHECK(Run(program(false), Chip(true)).summary.recalled_share_of_time == 0);
  config::ChipConfig command = Chip(true);
  command.hbm.fidelity = config::HbmFidelity::kCommand;
  CHECK(Run(program(true), command).summary.recalled_share_of_time == 0);
}

TEST_CASE("recalled kernels tile the time of their op, and their waits name a transfer") {
  const RunResult run = Run(MakeProgram(1, {Loop(30, {Kernel(0, Pipeline(0))})}), Chip(true));
  std::map<int, const timeline::Slice*> transfers;
  Picos end = 0, busy = 0;
  for (const timeline::Slice& slice : run.timeline.slices) {
    if (slice.kind == "op") {
      CHECK(slice.start == end);
      end = slice.end;
    }
    if (slice.kind == "compute" || slice.kind == "wait") busy += slice.end - slice.start;
    if (slice.kind == "dma_read" || slice.kind == "dma_write") CHECK(transfers.emplace(slice.flow, &slice).second);
  }
  CHECK(end == run.summary.makespan_ps);
  CHECK(busy == run.summary.makespan_ps);
  for (const timeline::Slice& slice : run.timeline.slices) {
    if (slice.kind == "wait") CHECK(transfers.count(slice.flow) == 1);
  }
}

TEST_CASE("a kernel that leaves transfers of others behind is never known") {
  KernelTimes times(500);
  times.Teach(std::vector<ActionDelay>(1), 1000, 0);
  times.Spoil();
  times.Teach(std::vector<ActionDelay>(1), 1000, 0);
  CHECK(!times.known());
}

TEST_CASE("a kernel is known once the error of its mean is small") {
  KernelTimes steady(1200), shaky(1200), lasting(1200);
  const std::vector<ActionDelay> delays(3);
  steady.Teach(delays, 1000, 10);
  CHECK(!steady.known());
  steady.Teach(delays, 1002, 20);
  CHECK(steady.known());
  CHECK(steady.MeanHbmBusy() == 15);
  lasting.Teach(delays, 1200, 0);
  CHECK(lasting.known());
  for (int i = 0; i < 50; ++i) shaky.Teach(delays, i % 2 == 0 ? 900 : 1100, 0);
  CHECK(!shaky.known());   // 10% spread: 1.4% error.
  for (int i = 0; i < 1200; ++i) shaky.Teach(delays, i % 2 == 0 ? 900 : 1100, 0);
  CHECK(shaky.known());
}

}  // namespace
}  // namespace spillway::engine
