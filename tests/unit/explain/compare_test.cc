// SPDX-License-Identifier: Apache-2.0
#include "sim/explain/compare.h"

#include "sim/engine/simulate.h"
#include "sim/explain/vmem.h"
#include "tests/unit/explain/dumps.h"

namespace spillway::explain {
namespace {

Run RunOf(const std::string& dump, const std::string& chip) {
  const auto planned = testing::PlanDump(dump, chip);
  auto result = engine::Simulate(planned->program, planned->chip, {});
  if (!result.ok()) FAIL(Render(result.errors()[0]));
  Run run;
  run.label = dump;
  run.summary = std::move(result->summary);
  run.timeline = std::move(result->timeline);
  return run;
}

TEST_CASE("a run compared with itself: everything is paired by name and nothing differs") {
  const Run run = RunOf("workloads/hlo/attention.v6e.S2048.jax062", "v6e");
  const Comparison same = Compare(run, run);
  CHECK(same.slowdown == 0);
  CHECK(same.vanished.empty());
  CHECK(same.appeared.empty());
  REQUIRE(same.ops.size() == run.summary.ops.size());
  for (const OpPair& pair : same.ops) {
    CHECK(pair.a == pair.b);
    CHECK(pair.how == "name");
  }
  for (const TensorTraffic& tensor : same.tensors) {
    CHECK(tensor.read_a == tensor.read_b);
    CHECK(tensor.write_a == tensor.write_b);
  }
}

TEST_CASE("the parts of the time add up to the makespan") {
  const Run run = RunOf("workloads/hlo/mlp.v6e.S512", "v6e");
  const TimeParts parts = Compare(run, run).parts_a;
  const Picos sum = parts.compute + parts.read + parts.write + parts.fill + parts.drain + parts.other;
  CHECK(std::abs(sum - run.summary.makespan_ps) <= run.summary.makespan_ps / 1000);
}

TEST_CASE("naive against flash attention: the scores' spill vanishes") {
  const Run naive = RunOf("workloads/hlo/attention.v6e.S8192", "v6e");
  const Run flash = RunOf("workloads/hlo/flash_attention.v6e.S8192", "v6e");
  const Comparison comparison = Compare(naive, flash);
  REQUIRE(comparison.vanished.size() == 1);
  CHECK(comparison.tensors[comparison.vanished[0]].name_a == "broadcast_multiply_fusion");
  CHECK(comparison.tensors[comparison.vanished[0]].write_a == Bytes{128} << 20);
  CHECK(comparison.appeared.empty());
  const Comparison back = Compare(flash, naive);
  CHECK(back.appeared.size() == 1);
  CHECK(back.vanished.empty());
}

TEST_CASE("each op has at most one partner, whatever the two runs are") {
  const Run a = RunOf("workloads/hlo/attention.v6e.S8192", "v6e"), b = RunOf("workloads/hlo/attention.v6e.S8192.jax062", "v6e");
  const Comparison comparison = Compare(a, b);
  std::vector<int> seen_a(a.summary.ops.size()), seen_b(b.summary.ops.size());
  for (const OpPair& pair : comparison.ops) {
    if (pair.a >= 0) ++seen_a[static_cast<std::size_t>(pair.a)];
    if (pair.b >= 0) ++seen_b[static_cast<std::size_t>(pair.b)];
  }
  for (int count : seen_a) CHECK(count == 1);
  for (int count : seen_b) CHECK(count == 1);
  Bytes read = 0, written = 0;
  for (const TensorTraffic& tensor : comparison.tensors) {
    read += tensor.read_b;
    written += tensor.write_b;
  }
  CHECK(read == b.summary.hbm_read_bytes);
  CHECK(written == b.summary.hbm_write_bytes);
}

TEST_CASE("the length at which the scores stop fitting") {
  const auto planned = testing::PlanDump("workloads/hlo/attention.v6e.S8192.jax062", "v6e");
  const auto report = VmemOf(planned->inputs(), planned->program, {{"S", 8192}});
  REQUIRE(report.ok());
  CHECK(report->peak <= report->usable);
  const auto scores = std::find_if(report->candidates.begin(), report->candidates.end(),
                                   [](const VmemCandidate& c) { return c.tensor == "multiply_reduce_fusion{1}"; });
  REQUIRE(scores != report->candidates.end());
  CHECK_FALSE(scores->fits());
  CHECK(scores->symbol == "S");
  CHECK(scores->largest < 8192);
  // One more does not fit: [S,S] in bf16, rows padded to whole lanes and packed sublanes.
  const auto bytes = [](std::int64_t s) { return (s + 127) / 128 * 128 * ((s + 7) / 8 * 8) * 2; };
  CHECK(bytes(scores->largest) <= scores->room);
  CHECK(bytes(scores->largest + 1) > scores->room);
  for (const VmemMoment& moment : report->moments) {
    Bytes held = 0;
    for (const Holder& holder : moment.holders) held += holder.bytes;
    CHECK(held == moment.total());
  }
}

}  // namespace
}  // namespace spillway::explain
