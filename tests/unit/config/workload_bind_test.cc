// SPDX-License-Identifier: Apache-2.0
// `bind` and `dimensions`: one dump for all sizes.
#include <catch2/catch.hpp>

#include "sim/config/workload_config.h"
#include "tests/support/temporary.h"

namespace spillway::config {
namespace {

Result<WorkloadConfig> Load(const std::string& end) {
  const test::TemporaryDirectory directory;   // Tests run beside each other.
  return LoadWorkload(directory.Write("one.yaml", "schema: spillway.workload/1\nname: one\ndescription: d\nchips: [v6e]\n"
                                                  "symbols:\n  S: {values: [4096, 8192], default: 8192}\n" + end));
}

std::string ErrorOf(const std::string& end) {
  const auto workload = Load(end);
  REQUIRE(!workload.ok());
  CHECK(workload.errors().front().line >= 7);
  return workload.errors().front().message;
}

}  // namespace

TEST_CASE("a bound symbol may have any size, the others those that were compiled") {
  const auto workload = Load("hlo: a.hlo\nbind: {S: 8192}\ndimensions: {q: [0, 1], k: [2]}\n");
  REQUIRE(workload.ok());
  const auto point = SelectPoint(*workload, "", "", {"S=12288"});
  REQUIRE(point.ok());
  CHECK(point->symbols.at("S") == 12288);
  CHECK(point->compiled == SymbolValues{{"S", 8192}});
  CHECK(point->dimensions == BoundDimensions{{"q", {0, 1}}, {"k", {2}}});
  CHECK(!SelectPoint(*workload, "", "", {"S=0"}).ok());
  CHECK(AllPoints(*workload).size() == 2);
  const auto several = Load("variants:\n  one: {hlo: a.hlo, bind: {S: 8192}}\n  each: {hlo: 'a.S{S}.hlo'}\n");
  REQUIRE(several.ok());
  CHECK(SelectPoint(*several, "", "one", {"S=512"}).ok());
  CHECK(!SelectPoint(*several, "", "each", {"S=512"}).ok());
}

TEST_CASE("what is wrong with bind is said at its place") {
  CHECK(ErrorOf("hlo: a.hlo\nbind: {T: 8192}\n").find("unknown symbol 'T'") != std::string::npos);
  CHECK(ErrorOf("hlo: a.hlo\nbind: {S: 1}\n").find("2 or more") != std::string::npos);
  CHECK(ErrorOf("hlo: a.hlo\ndimensions: {q: [0]}\n").find("needs 'bind'") != std::string::npos);
  CHECK(ErrorOf("hlo: a.hlo\nbind: {S: 8192}\ndimensions: {q: 0}\n").find("must be a list") != std::string::npos);
  CHECK(ErrorOf("hlo: a.hlo\nbind: {S: 8192}\ndimensions: {q: [-1]}\n").find("count from 0") != std::string::npos);
  CHECK(ErrorOf("hlo: 'a.S{S}.hlo'\nbind: {S: 8192}\n").find("asks for a dump of each S") != std::string::npos);
}

}  // namespace spillway::config
