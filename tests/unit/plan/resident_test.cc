// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/resident.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/plan/plan_check.h"
#include "tests/support/plan_modules.h"

namespace spillway::plan {
namespace {

using namespace testing;

/// exp of `rows` x 1024 f32, then a sum with the argument.
std::string Pair(int rows) {
  return fmt::format(R"(HloModule pair, is_scheduled=true

ENTRY %main (x: f32[{0},1024]) -> f32[{0},1024] {{
  %x = f32[{0},1024]{{1,0:T(8,128)}} parameter(0)
  %exp = f32[{0},1024]{{1,0:T(8,128)}} exponential(%x)
  ROOT %sum = f32[{0},1024]{{1,0:T(8,128)}} add(%exp, %x)
}}
)", rows);
}

Program Compiled(const PlanInputs& inputs) {
  Diagnostics warnings;
  auto program = PlanAsCompiled(inputs, warnings);
  if (!program.ok()) FAIL(Render(program.errors()[0]));
  return std::move(*program);
}

TEST_CASE("resident: a tensor that fits no longer crosses HBM") {
  auto module = ParseModule(Pair(8192));   // 32 MiB
  PlanInputs inputs = InputsOf(*module, ShippedChip("v6e"));
  Diagnostics warnings;
  std::vector<Residency> report;
  auto program = PlanResident(inputs, {}, warnings, &report);
  REQUIRE(program.ok());
  CHECK(program->plan == "resident");
  REQUIRE(report.size() == 2);
  CHECK(report[0].tensor == "exp");
  CHECK(report[0].resident);
  CHECK(report[0].hbm_bytes == 64 * kMiB);
  CHECK(report[1].why == "it is a result of the program");
  CHECK(CountHbm(Compiled(inputs)).total() - CountHbm(*program).total() == 64 * kMiB);
  CHECK(!program->ops[0].as_compiled);
}

TEST_CASE("resident: a tensor that cannot fit stays in HBM, and the report says by how much") {
  auto module = ParseModule(Pair(32768));  // 128 MiB
  PlanInputs inputs = InputsOf(*module, ShippedChip("v6e"));
  Diagnostics warnings;
  std::vector<Residency> report;
  auto program = PlanResident(inputs, {}, warnings, &report);
  REQUIRE(program.ok());
  CHECK(!report[0].resident);
  CHECK(report[0].excess_bytes > 0);
  CHECK((report[0].at_op == "exp" || report[0].at_op == "sum"));
  CHECK(report[0].why.find("capacity") == 0);
  CHECK(CountHbm(Compiled(inputs)).total() == CountHbm(*program).total());

  ResidentOptions forced;
  forced.tensors = {"exp"};
  CHECK(!PlanResident(inputs, forced, warnings).ok());
  forced.ignore_capacity = true;
  auto what_if = PlanResident(inputs, forced, warnings);
  REQUIRE(what_if.ok());
  CHECK(CountHbm(*what_if).total() == CountHbm(*program).total() - 256 * kMiB);
}

TEST_CASE("resident: the excess is what has to shrink") {
  // With exactly the excess more, it fits; with a byte less, it does not.
  auto module = ParseModule(Pair(32768));
  config::ChipConfig chip = ShippedChip("v6e");
  auto before = ResidencyOf(InputsOf(*module, chip));
  REQUIRE(before.ok());
  chip.vmem.usable += before->front().excess_bytes - 1;
  CHECK(!ResidencyOf(InputsOf(*module, chip))->front().resident);
  chip.vmem.usable += 1;
  CHECK(ResidencyOf(InputsOf(*module, chip))->front().resident);
}

TEST_CASE("resident: named tensors") {
  auto module = ParseModule(Pair(8192));
  PlanInputs inputs = InputsOf(*module, ShippedChip("v6e"));
  Diagnostics warnings;
  ResidentOptions options;
  options.tensors = {"epx"};
  auto unknown = PlanResident(inputs, options, warnings);
  REQUIRE(!unknown.ok());
  CHECK(unknown.errors()[0].message == "no tensor 'epx' in the module");
  CHECK(unknown.errors()[0].hint == "did you mean 'exp'?");
  options.tensors = {"sum"};
  auto result = PlanResident(inputs, options, warnings);
  REQUIRE(!result.ok());
  CHECK(result.errors()[0].message.find("it is a result of the program") != std::string::npos);
  options.tensors = {"x"};
  CHECK(!PlanResident(inputs, options, warnings).ok());
}

TEST_CASE("resident: bundled modules never move more HBM bytes, and stay within VMEM") {
  int modules = 0, residents = 0;
  for (const std::string& name : BundledNames(".S8192.")) {
    INFO(name);
    auto module = BundledModule(name);
    PlanInputs inputs = InputsOf(*module, ChipOf(name));
    Program compiled = Compiled(inputs);
    Diagnostics warnings;
    std::vector<Residency> report;
    auto program = PlanResident(inputs, {}, warnings, &report);
    REQUIRE(program.ok());
    CHECK(CountHbm(*program).total() <= CountHbm(compiled).total());
    CHECK(PeakVmem(*program) <= std::max(inputs.chip->vmem.usable, PeakVmem(compiled)));
    for (const Residency& line : report) {
      if (line.resident) CHECK(line.bytes <= inputs.chip->vmem.usable);
      if (!line.resident) CHECK(!line.why.empty());
      residents += line.resident;
    }
    ++modules;
  }
  CHECK(modules >= 10);
  CHECK(residents >= 1);
}

}  // namespace
}  // namespace spillway::plan
