// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/simulate.h"

#include <catch2/catch.hpp>

#include "tests/support/programs.h"
#include "tests/support/test_chip.h"

namespace spillway::engine {
namespace {

using plan::Action;
using plan::Direction;
using plan::Item;
using plan::Program;
using plan::Transfer;
using test::Async;
using test::Compute;
using test::Issue;
using test::Kernel;
using test::MakeProgram;
using test::Read;
using test::Run;
using test::Wait;
using test::Write;

constexpr Picos kNs = kPicosPerNano;

TEST_CASE("compute takes its cycles and nothing else") {
  const RunResult run = Run(MakeProgram(1, {Kernel(0, {Compute(1000), Compute(234)})}), test::SmallChip());
  CHECK(run.summary.makespan_ps == 1234 * kNs);
  CHECK(run.summary.cycles == 1234);
  CHECK(run.summary.ops[0].compute_cycles == 1234);
  CHECK(run.summary.ops[0].bound == "compute");
}

TEST_CASE("a lone read costs latency, access time and bytes over peak") {
  const config::ChipConfig chip = test::SmallChip();
  const Bytes bytes = 128 * 1000;
  const RunResult run = Run(MakeProgram(1, {Kernel(0, {Issue(Read(bytes), 1), Wait(1, bytes)})}), chip);
  const Picos floor = chip.dma.read_latency + 1000 * kNs;  // 128 B a nanosecond
  CHECK(run.summary.makespan_ps >= floor);
  CHECK(run.summary.makespan_ps <= floor + 60 * kNs);
  CHECK(run.summary.hbm_read_bytes == bytes);
  CHECK(run.summary.hbm_busy_ps == run.summary.makespan_ps - chip.dma.read_latency);
  CHECK(run.summary.ops[0].dma_count == 1);
  CHECK(run.summary.ops[0].stall_ps.fill == run.summary.makespan_ps);
  CHECK(run.summary.ops[0].bound == "memory");
}

TEST_CASE("DMA and compute overlap: the longer one decides, not the sum") {
  const Bytes bytes = 128 * 1000;  // 1 us at peak
  const Cycles compute = GENERATE(900, 3000);
  std::vector<Action> actions{Issue(Read(bytes), 0)};
  const int steps = 10;
  for (int i = 0; i < steps; ++i) {
    if (i + 1 < steps) actions.push_back(Issue(Read(bytes, (i + 1) * bytes), (i + 1) % 2));
    actions.push_back(Wait(i % 2, bytes));
    actions.push_back(Compute(compute));
  }
  const RunResult run = Run(MakeProgram(1, {Kernel(0, actions)}), test::SmallChip());
  const Picos floor = std::max<Picos>(steps * compute * kNs, steps * 1000 * kNs);
  CHECK(run.summary.makespan_ps >= floor);
  CHECK(run.summary.makespan_ps <= floor + 4000 * kNs);
  CHECK(run.summary.makespan_ps < (steps * compute + steps * 1000) * kNs);
}

TEST_CASE("every picosecond of an op is compute or a named stall") {
  const Bytes bytes = 64 * 1000;
  const RunResult run = Run(
      MakeProgram(1, {Kernel(0, {Issue(Read(bytes), 0), Wait(0, bytes), Compute(100), Issue(Read(bytes, bytes), 0),
                                 Issue(Write(bytes, 2 * bytes), 1), Wait(0, bytes), Compute(100),
                                 Wait(1, bytes)})}),
      test::SmallChip());
  const timeline::OpSummary& op = run.summary.ops[0];
  CHECK(op.stall_ps.total() + 200 * kNs == op.busy_ps);
  CHECK(op.stall_ps.fill > 0);
  CHECK(op.stall_ps.dma_read > 0);
  CHECK(op.busy_ps == run.summary.makespan_ps);
}

TEST_CASE("waits after the last compute are drain") {
  const Bytes bytes = 64 * 1000;
  const RunResult run =
      Run(MakeProgram(1, {Kernel(0, {Compute(10), Issue(Write(bytes), 0), Wait(0, bytes)})}), test::SmallChip());
  const timeline::StallTimes& stall = run.summary.ops[0].stall_ps;
  CHECK(stall.drain == run.summary.makespan_ps - 10 * kNs);
  CHECK(stall.total() == stall.drain);
}

TEST_CASE("an asynchronous copy overlaps what stands between start and done") {
  const Bytes bytes = 128 * 1000;
  const Cycles between = GENERATE(100, 5000);
  const RunResult run =
      Run(MakeProgram(3, {Async(Item::Kind::kStart, 0, 7, {Read(bytes, 0, 1)}), Kernel(1, {Compute(between)}),
                          Async(Item::Kind::kDone, 2, 7)}),
          test::SmallChip());
  const Picos copy = 1100 * kNs;
  CHECK(run.summary.makespan_ps >= std::max<Picos>(copy, between * kNs));
  CHECK(run.summary.makespan_ps <= std::max<Picos>(copy, between * kNs) + 80 * kNs);
  CHECK(run.summary.ops[0].hbm_read_bytes == bytes);
  if (between == 5000) CHECK(run.summary.ops[2].busy_ps == 0);
}

TEST_CASE("the body of a loop runs as often as it says") {
  Item loop;
  loop.kind = Item::Kind::kLoop;
  loop.trips = 5;
  Item inner = loop;
  inner.trips = 3;
  inner.body = {Kernel(1, {Compute(10)})};
  loop.body = {Kernel(0, {Compute(100)}), inner};
  const RunResult run = Run(MakeProgram(2, {loop}), test::SmallChip());
  CHECK(run.summary.ops[0].executions == 5);
  CHECK(run.summary.ops[1].executions == 15);
  CHECK(run.summary.makespan_ps == (500 + 150) * kNs);
}

TEST_CASE("DMA traffic takes VMEM cycles from a core that loads") {
  config::ChipConfig chip = test::SmallChip();
  const Bytes bytes = 1280 * 1000;  // 10 us at peak
  const auto program = [&](std::int64_t loads) {
    return MakeProgram(1, {Kernel(0, {Issue(Read(bytes), 0), Compute(20000, loads), Wait(0, bytes)})});
  };
  chip.vmem.dma_contention = 1;
  chip.vmem.load_bytes = 512;  // one cycle of the core for each 512 B: 2500 cycles for these bytes
  const Picos idle = Run(program(0), chip).summary.makespan_ps;
  const RunResult busy = Run(program(20000), chip);
  CHECK(idle == 20000 * kNs);
  CHECK(busy.summary.makespan_ps == Approx(22500 * kNs).epsilon(0.005));
  CHECK(busy.summary.ops[0].stall_ps.other == Approx(2500 * kNs).epsilon(0.02));
  CHECK(busy.summary.ops[0].compute_cycles == 20000);
}

TEST_CASE("a full DMA queue blocks the core") {
  config::ChipConfig chip = test::SmallChip();
  chip.dma.queue_depth = 1;
  chip.dma.outstanding = 1;
  const Bytes bytes = 128 * 1000;
  std::vector<Action> actions;
  for (int i = 0; i < 4; ++i) actions.push_back(Issue(Read(bytes, i * bytes), 0));
  actions.push_back(Wait(0, 4 * bytes));
  const RunResult run = Run(MakeProgram(1, {Kernel(0, actions)}), chip);
  CHECK(run.summary.ops[0].stall_ps.other > 1000 * kNs);
  CHECK(run.summary.hbm_read_bytes == 4 * bytes);
}

TEST_CASE("VMEM over capacity is an error that names the holders") {
  Program program = MakeProgram(1, {Kernel(0, {Compute(1)})});
  program.ops[0].scoped_vmem = 700 * kKiB;
  plan::Buffer buffer;
  buffer.name = "scores";
  buffer.space = plan::Space::kVmem;
  buffer.allocated_bytes = 400 * kKiB;
  buffer.first_op = buffer.last_op = 0;
  program.buffers.push_back(buffer);
  const Result<RunResult> result = Simulate(program, test::SmallChip(), {});
  REQUIRE(!result.ok());
  CHECK_THAT(result.errors()[0].message, Catch::Contains("op0") && Catch::Contains("scores 400.0 KiB") &&
                                             Catch::Contains("windows and scratch of op0 700.0 KiB"));
}

TEST_CASE("HBM over capacity is an error") {
  Program program = MakeProgram(1, {Kernel(0, {Compute(1)})});
  program.hbm_allocated_bytes = kGiB;
  CHECK(!Simulate(program, test::SmallChip(), {}).ok());
}

TEST_CASE("a wait that nothing ends is a deadlock: the run ends there") {
  const RunResult run = Run(MakeProgram(2, {Kernel(0, {Compute(100)}), Kernel(1, {Compute(50), Wait(3, 64)})}), test::SmallChip());
  CHECK(run.limit_reached);
  CHECK_THAT(run.limit.message, Catch::Contains("deadlocks at 150.0 ns") && Catch::Contains("op1") && Catch::Contains("sync flag 3"));
  CHECK(!run.summary.complete);
  CHECK(run.summary.makespan_ps == 150'000);
  CHECK(run.summary.ops[0].compute_cycles == 100);
}

TEST_CASE("run.max_events stops a run and says so") {
  config::ChipConfig chip = test::SmallChip();
  chip.run.max_events = 50;
  const RunResult run = Run(MakeProgram(1, {test::Loop(1000000, {Kernel(0, {Compute(1)}, false)})}), chip);
  CHECK(run.limit_reached);
  CHECK_THAT(run.limit.message, Catch::Contains("50 events"));
  CHECK(!run.summary.complete);
}

std::vector<timeline::Slice> StepsOf(const RunResult& run) {
  std::vector<timeline::Slice> steps;
  for (const timeline::Slice& slice : run.timeline.slices) {
    if (run.timeline.tracks[static_cast<std::size_t>(slice.track)].kind == timeline::TrackKind::kSteps) steps.push_back(slice);
  }
  return steps;
}

TEST_CASE("grid steps are slices of their own track") {
  plan::Action step;
  step.kind = plan::Action::Kind::kStep;
  // The second step begins in the middle of a compute that the engine books at its end.
  const RunResult run = Run(MakeProgram(2, {Kernel(0, {Compute(10), step, Compute(100), step, Compute(50), Issue(Read(3200), 0), Wait(0, 3200)}),
                                            Kernel(1, {step, Compute(7)})}),
                            test::SmallChip());
  CHECK(run.timeline.tracks[1].name == "core steps");
  const std::vector<timeline::Slice> steps = StepsOf(run);
  REQUIRE(steps.size() == 3);
  for (const timeline::Slice& slice : steps) CHECK(slice.kind == "step");
  CHECK(steps[0].op == 0);
  CHECK(steps[0].start == 10'000);
  CHECK(steps[0].end == 110'000);
  CHECK(steps[1].start == 110'000);
  CHECK(steps[1].end == run.summary.ops[0].end_ps);
  CHECK(steps[2].op == 1);
  CHECK(steps[2].end - steps[2].start == 7'000);
  CHECK(run.summary.ops[0].steps == 2);
}

TEST_CASE("an interrupt stops a run and leaves what there is") {
  const std::atomic<bool> interrupted{true};
  SimulateOptions options;
  options.interrupted = &interrupted;
  const Result<RunResult> result = Simulate(MakeProgram(1, {Kernel(0, {Compute(1)})}), test::SmallChip(), options);
  REQUIRE(result.ok());
  CHECK(!result->summary.complete);
}

TEST_CASE("two runs in one process are the same") {
  const Bytes bytes = 100 * 1000;
  const Program program = MakeProgram(
      2, {Async(Item::Kind::kStart, 1, 0, {Read(bytes, 0, 1)}),
          Kernel(0, {Issue(Read(bytes), 0), Issue(Write(bytes, bytes), 1), Wait(0, bytes), Compute(77), Wait(1, bytes)}),
          Async(Item::Kind::kDone, 1, 0)});
  const RunResult first = Run(program, test::SmallChip());
  const RunResult second = Run(program, test::SmallChip());
  CHECK(first.summary.makespan_ps == second.summary.makespan_ps);
  REQUIRE(first.timeline.slices.size() == second.timeline.slices.size());
  for (std::size_t i = 0; i < first.timeline.slices.size(); ++i) {
    CHECK(first.timeline.slices[i].start == second.timeline.slices[i].start);
    CHECK(first.timeline.slices[i].end == second.timeline.slices[i].end);
  }
}

TEST_CASE("a wait carries the number of the transfer that ended it") {
  const Bytes bytes = 64 * 1000;
  const RunResult run =
      Run(MakeProgram(1, {Kernel(0, {Issue(Read(bytes), 0), Wait(0, bytes), Compute(5)})}), test::SmallChip());
  int wait_flow = 0, dma_flow = 0;
  for (const timeline::Slice& slice : run.timeline.slices) {
    if (slice.kind == "wait") wait_flow = slice.flow;
    if (slice.kind == "dma_read") dma_flow = slice.flow;
  }
  CHECK(wait_flow != 0);
  CHECK(wait_flow == dma_flow);
}

}  // namespace
}  // namespace spillway::engine
