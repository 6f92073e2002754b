// SPDX-License-Identifier: Apache-2.0
// explain, compare and the VMEM view, from the outside.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/process.h"

namespace spillway::test {
namespace {

using Catch::Matchers::Contains;
using nlohmann::json;

TEST_CASE("explain names the score passes of naive attention, with both compilers") {
  for (const std::string variant : {"old", "new"}) {
    const ProcessResult result = Run({"explain", "attention", "--chip", "v6e", "--variant", variant, "--json"});
    CAPTURE(variant, result.err);
    REQUIRE(result.code == 0);
    CHECK(result.err.empty());
    const json report = json::parse(result.out);
    const json& boundaries = report.at("boundaries");
    REQUIRE(boundaries.size() == 1);
    const json& scores = boundaries[0];
    for (const char* key : {"tensor", "producer", "consumers", "bytes", "kind_from", "kind_to", "verdict", "spill_cost_ps", "exposed_dma_ps", "advice"}) {
      CHECK(scores.contains(key));
    }
    CHECK(scores.at("verdict") == "algorithm");
    CHECK(scores.at("bytes") == 134217728);
    CHECK(scores.at("consumers").size() == (variant == "old" ? 2u : 1u));
    CHECK(scores.at("spill_cost_ps").get<std::int64_t>() > 0);
    CHECK(report.at("joint_spill_cost_ps") == scores.at("spill_cost_ps"));
  }
}

TEST_CASE("explain prints a table and one sentence of advice for each boundary") {
  const ProcessResult result = Run({"explain", "attention", "--chip", "v6e"});
  REQUIRE(result.code == 0);
  CHECK_THAT(result.out, Contains("algorithm") && Contains("128 MiB") && Contains("online") && Contains("kOutput"));
  const ProcessResult quick = Run({"explain", "attention", "--chip", "v6e", "--no-replay", "--json"});
  REQUIRE(quick.code == 0);
  CHECK(json::parse(quick.out).at("boundaries")[0].at("spill_cost_ps").is_null());
}

TEST_CASE("explain says layout, capacity and dependency in a transformer layer") {
  const ProcessResult result = Run({"explain", "transformer_layer", "--chip", "v6e", "--bind", "S=2048", "--variant", "new", "--no-replay", "--json"});
  REQUIRE(result.code == 0);
  std::set<std::string> verdicts;
  const json report = json::parse(result.out);
  for (const json& boundary : report.at("boundaries")) verdicts.insert(boundary.at("verdict").get<std::string>());
  for (const char* verdict : {"layout", "capacity", "dependency", "algorithm", "missed"}) CHECK(verdicts.count(verdict) == 1);
  CHECK(report.at("padding").size() == 4);
}

TEST_CASE("explain refuses what run refuses") {
  CHECK(Run({"explain", "no-such-thing", "--chip", "v6e"}).code == 3);
  CHECK(Run({"explain", "attention", "--chip", "v99"}).code == 3);
  CHECK(Run({"explain"}).code == 2);
}

TEST_CASE("compare: naive against flash attention, text, JSON and picture") {
  TemporaryDirectory directory;
  const std::string picture = directory.File("both.svg");
  const ProcessResult result = Run({"compare", "attention", "flash_attention", "--chip", "v6e", "-o", picture, "--json"});
  CAPTURE(result.err);
  REQUIRE(result.code == 0);
  const json report = json::parse(result.out);
  CHECK(report.at("schema") == "spillway.compare/1");
  CHECK(report.at("spills_vanished").size() == 1);
  CHECK(report.at("spills_appeared").empty());
  const std::string svg = Slurp(picture);
  CHECK(svg.rfind("<svg", 0) == 0);
  CHECK_THAT(svg, Contains("flash_attention") && Contains("</svg>"));
  CHECK_THAT(Run({"compare", "attention", "flash_attention", "--chip", "v6e"}).out, Contains("spills of A that B does not have"));
}

TEST_CASE("compare takes chips and run directories, and fails above a limit") {
  const ProcessResult chips = Run({"compare", "rmsnorm@v6e", "rmsnorm@v5e", "--fail-above", "1"});
  CHECK(chips.code == 1);
  CHECK_THAT(chips.err, Contains("slower"));
  CHECK_FALSE(chips.out.empty());
  CHECK(Run({"compare", "rmsnorm@v5e", "rmsnorm@v6e", "--fail-above", "1"}).code == 0);
  TemporaryDirectory directory;
  const std::string run = directory.File("run");
  REQUIRE(Run({"run", "rmsnorm", "--chip", "v6e", "-o", run}).code == 0);
  const ProcessResult same = Run({"compare", run, "rmsnorm@v6e", "--json", "--fail-above", "0"});
  REQUIRE(same.code == 0);
  const json report = json::parse(same.out);
  CHECK(report.at("slowdown") == 0.0);
  for (const json& tensor : report.at("tensors")) CHECK(tensor.at("read_bytes_a") == tensor.at("read_bytes_b"));
  CHECK(Run({"compare", "rmsnorm", "rmsnorm", "--chip", "v6e", "--fail-above", "much"}).code == 2);
  CHECK(Run({"compare", "rmsnorm@v6e", "no-such-thing@v6e"}).code == 3);
  CHECK(Run({"compare", "rmsnorm:no-such-plan", "rmsnorm", "--chip", "v6e"}).code != 0);
}

TEST_CASE("the VMEM view prints the length at which the scores stop fitting") {
  const ProcessResult result = Run({"inspect", "attention", "--chip", "v6e", "--what", "vmem", "--json"});
  REQUIRE(result.code == 0);
  const json report = json::parse(result.out);
  CHECK(report.at("headroom_bytes").get<std::int64_t>() == report.at("usable_bytes").get<std::int64_t>() - report.at("peak_bytes").get<std::int64_t>());
  bool found = false;
  for (const json& tensor : report.at("tensors")) {
    if (tensor.at("bytes") != 134217728) continue;
    found = true;
    CHECK(tensor.at("fits") == false);
    CHECK(tensor.at("limit").at("symbol") == "S");
    CHECK(tensor.at("limit").at("largest").get<std::int64_t>() < 8192);
  }
  CHECK(found);
}

}  // namespace
}  // namespace spillway::test
