// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "sim/engine/simulate.h"
#include "sim/explain/explain.h"
#include "sim/explain/replay.h"
#include "sim/plan/plan_check.h"
#include "tests/unit/explain/dumps.h"

namespace spillway::explain {
namespace {

using testing::Boundaries;
using testing::Planned;
using testing::PlanDump;
using testing::PlanText;

constexpr const char* kHead = R"(HloModule m, is_scheduled=true

%max (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %m = f32[] maximum(%a, %b)
}

%sum (c: f32[], d: f32[]) -> f32[] {
  %c = f32[] parameter(0)
  %d = f32[] parameter(1)
  ROOT %s = f32[] add(%c, %d)
}

)";

std::string Square(const std::string& name) { return name + " = f32[2048,2048]{1,0:T(8,128)} "; }
std::string Row(const std::string& name) { return name + " = f32[2048]{0:T(1024)} "; }

/// Verdicts by tensor.
std::map<std::string, Verdict> VerdictsOf(const std::string& entry) {
  const auto planned = PlanText(kHead + entry, "v6e");
  const Dataflow flow(*planned->module, planned->program);
  std::map<std::string, Verdict> verdicts;
  for (const Boundary& boundary : Boundaries(*planned, flow)) {
    verdicts[planned->program.buffers[boundary.buffer].name] = boundary.verdict;
    CHECK_FALSE(boundary.reason.empty());
    CHECK_FALSE(boundary.advice.empty());
  }
  return verdicts;
}

TEST_CASE("a chain of elementwise kernels is missed") {
  const auto verdicts = VerdictsOf("ENTRY %e (x: f32[2048,2048]) -> f32[2048,2048] {\n  " + Square("%x") + "parameter(0)\n  " + Square("%y") +
                                   "exponential(%x)\n  ROOT " + Square("%z") + "negate(%y)\n}\n");
  REQUIRE(verdicts.size() == 1);
  CHECK(verdicts.at("y") == Verdict::kMissed);
}

TEST_CASE("two users share a tensor") {
  const auto verdicts = VerdictsOf("ENTRY %e (x: f32[2048,2048]) -> f32[2048,2048] {\n  " + Square("%x") + "parameter(0)\n  " + Square("%y") +
                                   "exponential(%x)\n  " + Square("%z") + "negate(%y)\n  ROOT " + Square("%w") + "add(%z, %y)\n}\n");
  CHECK(verdicts.at("y") == Verdict::kShared);
  CHECK(verdicts.at("z") == Verdict::kMissed);
}

TEST_CASE("scaling by the tensor's own sum is a dependency, subtracting its maximum under exp and a sum is not") {
  const std::string start = "ENTRY %e (x: f32[2048,2048]) -> f32[2048,2048] {\n  " + Square("%x") + "parameter(0)\n  %zero = f32[] constant(0)\n  " +
                            Square("%y") + "negate(%x)\n  ";
  SECTION("sum") {
    const auto verdicts = VerdictsOf(start + Row("%r") + "reduce(%y, %zero), dimensions={1}, to_apply=%sum\n  " + Square("%b") +
                                     "broadcast(%r), dimensions={0}\n  ROOT " + Square("%z") + "multiply(%y, %b)\n}\n");
    CHECK(verdicts.at("y") == Verdict::kDependency);
    CHECK(verdicts.at("r") == Verdict::kDependency);
  }
  SECTION("a sum of something else is no reason") {
    const auto verdicts = VerdictsOf(start + Square("%other") + "sine(%x)\n  " + Row("%r") + "reduce(%other, %zero), dimensions={1}, to_apply=%sum\n  " +
                                     Square("%b") + "broadcast(%r), dimensions={0}\n  ROOT " + Square("%z") + "multiply(%y, %b)\n}\n");
    CHECK(verdicts.at("y") == Verdict::kMissed);
  }
  SECTION("softmax that is summed again") {
    const auto verdicts = VerdictsOf(start + Row("%r") + "reduce(%y, %zero), dimensions={1}, to_apply=%max\n  " + Square("%b") +
                                     "broadcast(%r), dimensions={0}\n  " + Square("%d") + "subtract(%y, %b)\n  " + Square("%p") + "exponential(%d)\n  " +
                                     Row("%t") + "reduce(%p, %zero), dimensions={1}, to_apply=%sum\n  ROOT " + Square("%z") +
                                     "broadcast(%t), dimensions={0}\n}\n");
    CHECK(verdicts.at("y") == Verdict::kAlgorithm);
  }
}

TEST_CASE("a copy to another layout makes both of its sides a matter of layout") {
  const auto verdicts = VerdictsOf("ENTRY %e (x: f32[2048,2048]) -> f32[2048,2048] {\n  " + Square("%x") + "parameter(0)\n  " + Square("%y") +
                                   "exponential(%x)\n  %c = f32[2048,2048]{0,1:T(8,128)} copy(%y)\n  ROOT %z = f32[2048,2048]{0,1:T(8,128)} negate(%c)\n}\n");
  CHECK(verdicts.at("y") == Verdict::kLayout);
  CHECK(verdicts.at("c") == Verdict::kLayout);
}

TEST_CASE("a tensor of the same kind is missed or, contracted and too big, a matter of capacity") {
  for (const int rows : {1024, 65536}) {
    const auto planned = PlanText(fmt::format(R"({0}ENTRY %e (x: f32[{1},2048], w: f32[2048,512]) -> f32[{1},512] {{
  %x = f32[{1},2048]{{1,0:T(8,128)}} parameter(0)
  %w = f32[2048,512]{{1,0:T(8,128)}} parameter(1)
  %y = f32[{1},2048]{{1,0:T(8,128)}} tanh(%x)
  ROOT %z = f32[{1},512]{{1,0:T(8,128)}} dot(%y, %w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
}}
)", kHead, rows), "v6e");
    const Dataflow flow(*planned->module, planned->program);
    const std::vector<Boundary> boundaries = Boundaries(*planned, flow);
    REQUIRE(boundaries.size() == 1);
    CHECK(boundaries[0].verdict == (rows == 1024 ? Verdict::kMissed : Verdict::kCapacity));
    CHECK(boundaries[0].could_stay == (rows == 1024));
  }
}

TEST_CASE("without its traffic a program moves exactly that tensor's bytes less, and nothing takes longer") {
  const auto planned = PlanDump("workloads/hlo/attention.v6e.S2048.jax062", "v6e");
  const plan::HbmTraffic before = plan::CountHbm(planned->program);
  for (std::size_t i = 0; i < planned->program.buffers.size(); ++i) {
    const Bytes own = before.read_by_buffer[i] + before.written_by_buffer[i];
    if (own == 0 || planned->program.buffers[i].alias_of >= 0) continue;
    const plan::Program without = WithoutTraffic(planned->program, {{static_cast<int>(i), -1}});
    CHECK(plan::CountHbm(without).total() == before.total() - own);
  }
}

TEST_CASE("naive attention: the score passes are an algorithm's, and the joint cost is the replay's difference") {
  const auto planned = PlanDump("workloads/hlo/attention.v6e.S8192.jax062", "v6e");
  ExplainInputs inputs;
  inputs.module = planned->module.get();
  inputs.chip = &planned->chip;
  inputs.program = &planned->program;
  const Result<Report> report = Explain(inputs);
  REQUIRE(report.ok());
  REQUIRE(report->boundaries.size() == 1);
  const BoundaryLine& scores = report->boundaries[0];
  CHECK(scores.verdict == Verdict::kAlgorithm);
  CHECK(scores.bytes == Bytes{128} << 20);
  CHECK(scores.hbm_write_bytes == scores.bytes);
  CHECK(scores.hbm_read_bytes == 2 * scores.bytes);
  CHECK(scores.consumers.size() == 2);
  CHECK(scores.method == CostMethod::kWhole);   // 128 MiB are more than VMEM: no plan can keep them.
  const int buffer = [&] {
    for (std::size_t i = 0; i < planned->program.buffers.size(); ++i) {
      if (planned->program.buffers[i].name == scores.tensor) return static_cast<int>(i);
    }
    return -1;
  }();
  const auto without = engine::Simulate(WithoutTraffic(planned->program, {{buffer, -1}}), planned->chip, {});
  REQUIRE(without.ok());
  // The replay of the report knows from the first one how HBM behaves, this one does not.
  CHECK(scores.spill_cost_ps == Approx(report->summary.makespan_ps - without->summary.makespan_ps).epsilon(0.001));
  CHECK(report->joint_spill_cost_ps == scores.spill_cost_ps);
  CHECK(scores.exposed_dma_ps > 0);
  CHECK(scores.exposed_dma_ps < report->summary.makespan_ps);
}

TEST_CASE("an argument that is read twice costs its second read only") {
  const auto planned = PlanDump("workloads/hlo/rmsnorm.v6e.S2048", "v6e");
  const Dataflow flow(*planned->module, planned->program);
  const std::vector<Boundary> boundaries = Boundaries(*planned, flow);
  REQUIRE(boundaries.size() == 1);
  REQUIRE(boundaries[0].producer == -1);
  const Bytes before = plan::CountHbm(planned->program).total();
  const Bytes size = planned->program.buffers[boundaries[0].buffer].allocated_bytes;
  const plan::Program once = WithoutTraffic(planned->program, {{boundaries[0].buffer, boundaries[0].touching.front()}});
  CHECK(plan::CountHbm(once).total() == before - size);
}

TEST_CASE("verdicts without a replay are the same") {
  const auto planned = PlanDump("workloads/hlo/transformer_layer.v6e.S2048", "v6e");
  ExplainInputs inputs;
  inputs.module = planned->module.get();
  inputs.chip = &planned->chip;
  inputs.program = &planned->program;
  inputs.replay = false;
  const Result<Report> quick = Explain(inputs);
  REQUIRE(quick.ok());
  const Dataflow flow(*planned->module, planned->program);
  const std::vector<Boundary> boundaries = Boundaries(*planned, flow);
  REQUIRE(quick->boundaries.size() == boundaries.size());
  for (std::size_t i = 0; i < boundaries.size(); ++i) CHECK(quick->boundaries[i].verdict == boundaries[i].verdict);
  CHECK(quick->summary.makespan_ps == 0);
  CHECK(quick->padding.size() == 4);         // [2048,40,64] four times: 64 of 128 lanes.
  CHECK(quick->layout_copies.size() >= 3);
}

TEST_CASE("a column is named as padding") {
  const auto planned = PlanText(R"(HloModule m, is_scheduled=true
ENTRY %e (x: u32[65536,1]) -> u32[65536,1] {
  %x = u32[65536,1]{1,0:T(8,128)} parameter(0)
  ROOT %y = u32[65536,1]{1,0:T(8,128)} not(%x)
}
)", "v6e");
  const std::vector<Padding> padding = FindPadding(Dataflow(*planned->module, planned->program));
  REQUIRE(padding.size() == 2);
  CHECK(padding[0].logical_bytes == 65536 * 4);
  CHECK(padding[0].allocated_bytes == 65536 * 4 * 128);
  CHECK(padding[0].cause.find("dimension 1 of length 1") != std::string::npos);
}

}  // namespace
}  // namespace spillway::explain
