// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/streamed.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/plan/plan_check.h"
#include "tests/support/plan_modules.h"

namespace spillway::plan {
namespace {

using namespace testing;

struct Planned {
  Program program;
  std::vector<StreamedGroup> groups;
  HbmTraffic traffic;
};

Planned Stream(const hlo::Module& module, const config::ChipConfig& chip, const std::vector<StreamedRequest>& requests = {}) {
  PlanInputs inputs = InputsOf(module, chip);
  Diagnostics warnings;
  Planned planned;
  auto program = PlanStreamed(inputs, requests, warnings, &planned.groups);
  if (!program.ok()) FAIL(Render(program.errors()[0]));
  planned.program = std::move(*program);
  planned.traffic = CountHbm(planned.program);
  return planned;
}

std::string Refusal(const hlo::Module& module, const config::ChipConfig& chip, const StreamedRequest& request) {
  PlanInputs inputs = InputsOf(module, chip);
  Diagnostics warnings;
  auto program = PlanStreamed(inputs, {request}, warnings);
  return program.ok() ? "" : program.errors()[0].message;
}

bool Mentions(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

TEST_CASE("streamed: naive attention becomes flash attention, by both compilers' dumps") {
  const Bytes tensor = 8192 * 128 * 2;   // q, k, v and o each
  for (const char* name : {"attention.v6e.S8192.jax062", "attention.v6e.S8192", "attention.v5e.S8192.jax062",
                           "attention_f32_causal.v6e.S8192.jax062", "attention_f32_causal.v5e.S8192.jax062"}) {
    INFO(name);
    auto module = BundledModule(name);
    const config::ChipConfig& chip = ChipOf(name);
    Planned planned = Stream(*module, chip);
    // Within 10% of q + k + v + o and the re-reads that the report states.
    Bytes again = 0;
    for (const StreamedGroup& group : planned.groups) again += group.streamed ? group.reread_bytes : 0;
    CHECK(planned.traffic.total() >= 4 * tensor);
    CHECK(planned.traffic.total() - again <= 4 * tensor * 11 / 10);
    if (Mentions(name, "attention.v6e.S8192")) CHECK(again == 0);
    for (const Buffer& buffer : planned.program.buffers) CHECK(buffer.allocated_bytes < 128 * kMiB);
    CHECK(PeakVmem(planned.program) <= chip.vmem.usable);
    for (const Op& op : planned.program.ops) CHECK(op.scoped_vmem <= chip.vmem.scoped_limit);
    CHECK(planned.program.plan == "streamed");
  }
}

StreamedRequest Flash(std::int64_t rows, std::int64_t columns) {
  StreamedRequest request;
  request.name = "flash";
  request.ops = {"multiply_reduce_fusion", "fusion.2", "fusion"};
  request.tiles = {{"get-tuple-element.1", 0, rows}, {"get-tuple-element.1", 1, columns}};
  return request;
}

Cycles CyclesOf(const Planned& planned, const std::string& op) {
  for (std::size_t i = 0; i < planned.program.ops.size(); ++i) {
    if (planned.program.ops[i].name == op) return planned.traffic.cycles_by_op[i];
  }
  FAIL(op);
  return 0;
}

TEST_CASE("streamed: smaller key blocks rescale more often, and that work counts") {
  auto module = BundledModule("attention.v6e.S8192.jax062");
  Planned wide = Stream(*module, ShippedChip("v6e"), {Flash(512, 1024)}), narrow = Stream(*module, ShippedChip("v6e"), {Flash(512, 512)});
  CHECK(Mentions(wide.groups[0].tiling, "online softmax: maximum and sum carried over 8 tiles"));
  CHECK(Mentions(narrow.groups[0].tiling, "online softmax: maximum and sum carried over 16 tiles"));
  CHECK(CyclesOf(narrow, "flash") > CyclesOf(wide, "flash"));
}

TEST_CASE("streamed: a chip with little VMEM streams keys and values again for every block of queries") {
  auto module = BundledModule("attention.v6e.S8192.jax062");
  config::ChipConfig chip = ShippedChip("v6e");
  chip.vmem.scoped_limit = 3 * kMiB;
  Planned planned = Stream(*module, chip, {Flash(256, 512)});
  // v lies in VMEM already; k is fetched for each of 32 blocks of queries.
  const Bytes tensor = 8192 * 128 * 2;
  CHECK(planned.groups[0].hbm_bytes == 32 * tensor + tensor);
  CHECK(planned.traffic.total() == 2 * tensor + 32 * tensor + tensor);
}

TEST_CASE("streamed: what normalises rows reads its input once") {
  const Bytes tensor = Bytes{8192} * 8192 * 2;
  Planned softmax = Stream(*BundledModule("softmax.v6e.S8192"), ShippedChip("v6e"));
  CHECK(softmax.traffic.total() == 2 * tensor);
  Planned rmsnorm = Stream(*BundledModule("rmsnorm.v6e.S8192"), ShippedChip("v6e"));
  CHECK(rmsnorm.traffic.total() >= 2 * tensor);
  CHECK(rmsnorm.traffic.total() <= 2 * tensor + 64 * kKiB);
}

constexpr char kPair[] = R"(HloModule pair, is_scheduled=true

ENTRY %main (x: f32[8192,1024]) -> f32[8192,1024] {
  %x = f32[8192,1024]{1,0:T(8,128)} parameter(0)
  %exp = f32[8192,1024]{1,0:T(8,128)} exponential(%x)
  ROOT %sum = f32[8192,1024]{1,0:T(8,128)} add(%exp, %x)
}
)";

TEST_CASE("streamed: an elementwise chain moves its input and its result once") {
  Planned planned = Stream(*ParseModule(kPair), ShippedChip("v6e"));
  CHECK(planned.traffic.total() == 2 * (Bytes{8192} * 1024 * 4));
  REQUIRE(planned.groups.size() == 1);
  CHECK(planned.groups[0].streamed);
  CHECK(planned.groups[0].hbm_bytes == planned.traffic.total());
}

TEST_CASE("streamed: a chain may have any number of kernels") {
  std::string text = "HloModule chain, is_scheduled=true\n\nENTRY %main (x: f32[8192,1024]) -> f32[8192,1024] {\n"
                     "  %k0 = f32[8192,1024]{1,0:T(8,128)} parameter(0)\n";
  for (int k = 1; k <= 15; ++k) {
    text += fmt::format("  {}%k{} = f32[8192,1024]{{1,0:T(8,128)}} negate(%k{})\n", k == 15 ? "ROOT " : "", k, k - 1);
  }
  Planned planned = Stream(*ParseModule(text + "}\n"), ShippedChip("v6e"));
  CHECK(planned.program.ops.size() == 1);
  CHECK(planned.traffic.total() == 2 * (Bytes{8192} * 1024 * 4));
}

constexpr char kSum[] = R"(HloModule sum, is_scheduled=true

%add (p: f32[], q: f32[]) -> f32[] {
  %p = f32[] parameter(0)
  %q = f32[] parameter(1)
  ROOT %s = f32[] add(%p, %q)
}

ENTRY %main (x: f32[64,262144]) -> f32[64,262144] {
  %x = f32[64,262144]{1,0:T(8,128)} parameter(0)
  %zero = f32[] constant(0)
  %square = f32[64,262144]{1,0:T(8,128)} multiply(%x, %x)
  %total = f32[64]{0:T(128)} reduce(%square, %zero), dimensions={1}, to_apply=%add
  %spread = f32[64,262144]{1,0:T(8,128)} broadcast(%total), dimensions={0}
  ROOT %share = f32[64,262144]{1,0:T(8,128)} divide(%square, %spread)
}
)";

TEST_CASE("streamed: a chain is refused with the reason") {
  auto module = ParseModule(kSum);
  config::ChipConfig chip = ShippedChip("v6e");
  StreamedRequest request;
  request.ops = {"square", "total", "spread", "share"};
  chip.vmem.scoped_limit = 2 * kMiB;   // Less than 32 rows of a MiB.
  CHECK(Mentions(Refusal(*module, chip, request), "no tile fits"));
  CHECK(Mentions(Refusal(*module, chip, request), "'total' must be complete before"));
  request.ops = {"square", "totl"};
  CHECK(Refusal(*module, chip, request) == "no op 'totl' in the module");
  request.ops = {"x", "square"};
  CHECK(Mentions(Refusal(*module, chip, request), "is no kernel"));
  request.ops = {};
  CHECK(!Refusal(*module, chip, request).empty());
}

TEST_CASE("streamed: every bundled module can be planned, moves no more, and fits") {
  int modules = 0;
  for (const std::string& name : BundledNames(".S8192.")) {
    INFO(name);
    auto module = BundledModule(name);
    PlanInputs inputs = InputsOf(*module, ChipOf(name));
    Diagnostics warnings;
    auto compiled = PlanAsCompiled(inputs, warnings);
    REQUIRE(compiled.ok());
    Planned planned = Stream(*module, *inputs.chip);
    CHECK(planned.traffic.total() <= CountHbm(*compiled).total());
    CHECK(PeakVmem(planned.program) <= std::max(inputs.chip->vmem.usable, PeakVmem(*compiled)));
    for (const StreamedGroup& group : planned.groups) CHECK(group.streamed == group.why.empty());
    ++modules;
  }
  CHECK(modules >= 10);
}

}  // namespace
}  // namespace spillway::plan
