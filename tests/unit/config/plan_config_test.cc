// SPDX-License-Identifier: Apache-2.0
#include "sim/config/plan_config.h"

#include <catch2/catch.hpp>

namespace spillway::config {
namespace {

const std::string kHead = "schema: spillway.plan/1\nname: p\n";

std::string ErrorOf(const std::string& text, int* line = nullptr) {
  const Result<PlanConfig> plan = ReadPlan(text, "p.yaml");
  if (plan.ok()) return "";
  if (line != nullptr) *line = plan.errors()[0].line;
  return plan.errors()[0].message;
}

TEST_CASE("a plan file is read whole") {
  const Result<PlanConfig> plan = ReadPlan(kHead + R"(description: d
base: unfused
keep: [a, 'b{1}']
groups:
  - name: g
    ops: [x, y]
    tiles: [{value: x, dimension: 1, length: 512}]
windows:
  - {op: z, tiles: [{value: z, dimension: 0, length: 8}]}
)", "p.yaml");
  if (!plan.ok()) FAIL(Render(plan.errors()[0]));
  CHECK(plan->name == "p");
  CHECK(plan->base == "unfused");
  CHECK(plan->keep == std::vector<std::string>{"a", "b{1}"});
  REQUIRE(plan->groups.size() == 2);
  CHECK(plan->groups[0].ops == std::vector<std::string>{"x", "y"});
  CHECK(plan->groups[0].tiles[0].dimension == 1);
  CHECK(plan->groups[0].tiles[0].length == 512);
  CHECK(plan->groups[1].name == "z");
}

TEST_CASE("mistakes in a plan file are refused at their place") {
  int line = 0;
  CHECK(ErrorOf(kHead + "kep: [a]\n", &line).find("kep") != std::string::npos);
  CHECK(line == 3);
  CHECK(ErrorOf(kHead + "base: streamd\n", &line) == "unknown plan 'streamd'");
  CHECK(line == 3);
  CHECK(!ErrorOf("schema: spillway.plan/2\nname: p\n").empty());
  CHECK(!ErrorOf("name: p\n").empty());
  CHECK(!ErrorOf(kHead + "groups: [{name: g}]\n").empty());
  CHECK(!ErrorOf(kHead + "groups: [{ops: [a], tiles: [{value: a, dimension: 0, length: 0}]}]\n").empty());
  CHECK(!ErrorOf(kHead + "groups: [{ops: [a], tiles: [{value: a, dimension: -1, length: 8}]}]\n").empty());
  CHECK(ErrorOf(kHead + "groups: [{ops: [a]}, {ops: [a]}]\n") == "op 'a' is in two groups");
  CHECK(!ErrorOf(kHead + "keep: a\n").empty());
  CHECK(!ErrorOf("").empty());
}

}  // namespace
}  // namespace spillway::config
