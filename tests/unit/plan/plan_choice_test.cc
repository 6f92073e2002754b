// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/plan_choice.h"

#include <catch2/catch.hpp>

#include "sim/plan/plan_check.h"
#include "tests/support/plan_modules.h"
#include "tests/unit/plan/truth_table.h"

namespace spillway::plan {
namespace {

constexpr char kChain[] = R"(HloModule chain, is_scheduled=true

%fused (a: f32[8192,1024]) -> f32[8192,1024] {
  %a = f32[8192,1024]{1,0:T(8,128)} parameter(0)
  %exp = f32[8192,1024]{1,0:T(8,128)} exponential(%a)
  ROOT %twice = f32[8192,1024]{1,0:T(8,128)} add(%exp, %exp)
}

ENTRY %main (x: f32[8192,1024]) -> f32[8192,1024] {
  %x = f32[8192,1024]{1,0:T(8,128)} parameter(0)
  %one = f32[8192,1024]{1,0:T(8,128)} fusion(%x), kind=kLoop, calls=%fused
  %two = f32[8192,1024]{1,0:T(8,128)} negate(%one)
  ROOT %three = f32[8192,1024]{1,0:T(8,128)} multiply(%two, %x)
}
)";

constexpr Bytes kTensor = Bytes{8192} * 1024 * 4;

struct Made {
  Program program;
  PlanReport report;
};

Made Make(const PlanChoice& choice) {
  auto modules = hlo::ParseModules(kChain, "test.hlo");
  REQUIRE(modules.ok());
  PlanInputs inputs;
  inputs.module = (*modules)[0].get();
  inputs.chip = &testing::ShippedChip("v6e");
  Diagnostics warnings;
  Made made;
  auto program = MakePlan(inputs, choice, warnings, &made.report);
  if (!program.ok()) FAIL(Render(program.errors()[0]));
  made.program = std::move(*program);
  return made;
}

PlanChoice File(const std::string& text) {
  PlanChoice choice;
  auto file = config::ReadPlan("schema: spillway.plan/1\nname: mine\n" + text, "p.yaml");
  if (!file.ok()) FAIL(Render(file.errors()[0]));
  choice.kind = PlanChoice::Kind::kFile;
  choice.file = *file;
  return choice;
}

TEST_CASE("plans: names and what each of them moves") {
  const std::vector<std::pair<const char*, Bytes>> plans = {
      {"as-compiled", 7 * kTensor}, {"unfused", 9 * kTensor}, {"resident", 3 * kTensor}, {"streamed", 2 * kTensor}};
  for (const auto& [name, bytes] : plans) {
    INFO(name);
    auto choice = ChoosePlan(name);
    REQUIRE(choice.ok());
    Made made = Make(*choice);
    CHECK(made.program.plan == name);
    CHECK(CountHbm(made.program).total() == bytes);
  }
}

TEST_CASE("plans: an unknown name lists the known ones") {
  auto choice = ChoosePlan("streaned");
  REQUIRE(!choice.ok());
  CHECK(choice.errors()[0].message == "unknown plan 'streaned'");
  CHECK(choice.errors()[0].hint.find("did you mean 'streamed'?") == 0);
  CHECK(choice.errors()[0].hint.find("as-compiled, unfused, resident, streamed") != std::string::npos);
  CHECK(!ChoosePlan("").ok());
  CHECK(!ChoosePlan("no/such/plan.yaml").ok());
}

TEST_CASE("plans: a file keeps tensors and merges ops") {
  Made kept = Make(File("keep: [two]\n"));
  CHECK(kept.program.plan == "mine");
  CHECK(CountHbm(kept.program).total() == 5 * kTensor);
  Made grouped = Make(File("groups:\n  - {name: pair, ops: [two, three]}\n"));
  CHECK(CountHbm(grouped.program).total() == 5 * kTensor);
  Made both = Make(File("keep: [one]\ngroups:\n  - {name: pair, ops: [two, three]}\n"));
  CHECK(CountHbm(both.program).total() == 3 * kTensor);
  Made finer = Make(File("base: unfused\ngroups:\n  - ops: [one.exp, one, two, three]\n"));
  CHECK(CountHbm(finer.program).total() == 2 * kTensor);
}

TEST_CASE("plans: a file sets windows") {
  Made made = Make(File("windows:\n  - op: two\n    tiles: [{value: two, dimension: 0, length: 256}]\n"));
  auto find = [](const std::vector<Item>& items, const Program& program) -> const Item* {
    for (const Item& item : items) {
      if (program.ops[item.op].name == "two") return &item;
    }
    return nullptr;
  };
  const Item* item = find(made.program.items, made.program);
  REQUIRE(item != nullptr);
  CHECK(CountTraffic(*item->source()).steps == 32);
  CHECK(CountHbm(made.program).total() == 7 * kTensor);
}

TEST_CASE("plans: a file that cannot be met is refused") {
  auto modules = hlo::ParseModules(kChain, "test.hlo");
  PlanInputs inputs;
  inputs.module = (*modules)[0].get();
  inputs.chip = &testing::ShippedChip("v6e");
  Diagnostics warnings;
  CHECK(!MakePlan(inputs, File("keep: [four]\n"), warnings).ok());
  CHECK(!MakePlan(inputs, File("keep: [three]\n"), warnings).ok());
  CHECK(!MakePlan(inputs, File("groups:\n  - ops: [one, four]\n"), warnings).ok());
  CHECK(!MakePlan(inputs, File("groups:\n  - {ops: [two, three], tiles: [{value: nine, dimension: 0, length: 8}]}\n"), warnings).ok());
}

}  // namespace
}  // namespace spillway::plan
