// SPDX-License-Identifier: Apache-2.0
#include "sim/config/sweep_config.h"

#include <catch2/catch.hpp>
#include <rapidcheck/catch.h>

#include "sim/config/axis_values.h"
#include "tests/support/temporary.h"

namespace spillway::config {
namespace {

using Catch::Matchers::Contains;
using Strings = std::vector<std::string>;

Strings Values(const std::string& text) {
  const Result<AxisValues> axis = ParseAxisValues(text);
  CAPTURE(text);
  REQUIRE(axis.ok());
  return axis->values;
}

std::string Problem(const std::string& text) {
  const Result<AxisValues> axis = ParseAxisValues(text);
  CAPTURE(text);
  REQUIRE_FALSE(axis.ok());
  return axis.errors().front().message;
}

TEST_CASE("axis values: lists, ranges with factor and step, units, decimals") {
  CHECK(Values("a") == Strings{"a"});
  CHECK(Values("v5e, v6e") == Strings{"v5e", "v6e"});
  CHECK(Values("512:4096:x2") == Strings{"512", "1024", "2048", "4096"});
  CHECK(Values("512:5000:x2") == Strings{"512", "1024", "2048", "4096"});
  CHECK(Values("8:32:+8") == Strings{"8", "16", "24", "32"});
  CHECK(Values("0:1:+0.25") == Strings{"0", "0.25", "0.5", "0.75", "1"});
  CHECK(Values("0.1:0.3:+0.1") == Strings{"0.1", "0.2", "0.3"});
  CHECK(Values("1.5:6:x2") == Strings{"1.5", "3", "6"});
  CHECK(Values("100ns:300ns:+100ns") == Strings{"100ns", "200ns", "300ns"});
  CHECK(Values("16MiB:64MiB:x2") == Strings{"16MiB", "32MiB", "64MiB"});
  CHECK(Values("1TB/s:2TB/s:+1TB/s") == Strings{"1TB/s", "2TB/s"});
  CHECK(Values("8,16:64:x2,100") == Strings{"8", "16", "32", "64", "100"});
  CHECK(Values("7:7:x2") == Strings{"7"});
  CHECK(Values("[1, 2],{a: b}") == Strings{"[1, 2]", "{a: b}"});
  CHECK(Values("dir/a:b.yaml") == Strings{"dir/a:b.yaml"});
  CHECK(ParseAxisValues("512:4096:x2")->geometric);
  CHECK_FALSE(ParseAxisValues("512:4096:+512")->geometric);
  CHECK_FALSE(ParseAxisValues("512,1024")->geometric);
}

TEST_CASE("axis values: what is refused, and why") {
  CHECK_THAT(Problem(""), Contains("empty value"));
  CHECK_THAT(Problem("1,,2"), Contains("empty value"));
  CHECK_THAT(Problem("1,2,1"), Contains("'1' is there twice"));
  CHECK_THAT(Problem("8:16"), Contains("FROM:TO:xFACTOR"));
  CHECK_THAT(Problem("8:16:2"), Contains("FROM:TO:xFACTOR"));
  CHECK_THAT(Problem("8:16:-2"), Contains("FROM:TO:xFACTOR"));
  CHECK_THAT(Problem("16:8:x2"), Contains("above TO"));
  CHECK_THAT(Problem("0:8:x2"), Contains("cannot begin at 0"));
  CHECK_THAT(Problem("1:8:x1"), Contains("above 1"));
  CHECK_THAT(Problem("1:8:x1.5"), Contains("integer"));
  CHECK_THAT(Problem("1:8:+0"), Contains("above 0"));
  CHECK_THAT(Problem("1ns:8us:+1ns"), Contains("same unit"));
  CHECK_THAT(Problem("1:x:+1"), Contains("three decimal numbers"));
  CHECK_THAT(Problem("1:99999999999999999999:x2"), Contains("17 digits"));
  CHECK_THAT(Problem("1:9999999999:+1"), Contains("more than"));
  CHECK_THAT(Problem("a\x1b[31mb"), Contains("control character"));
  CHECK(Values("1:99999999999999999:x10").size() == 17);  // ends before it overflows
}

TEST_CASE("a range with a step holds exactly the numbers it says") {
  rc::prop("from + i * step", [] {
    const auto from = *rc::gen::inRange<std::int64_t>(0, 1'000'000), step = *rc::gen::inRange<std::int64_t>(1, 1000);
    const auto count = *rc::gen::inRange<std::int64_t>(1, 200), slack = *rc::gen::inRange<std::int64_t>(0, step);
    const std::string text = std::to_string(from) + ":" + std::to_string(from + (count - 1) * step + slack) + ":+" +
                             std::to_string(step);
    const Result<AxisValues> axis = ParseAxisValues(text);
    RC_ASSERT(axis.ok());
    RC_ASSERT(static_cast<std::int64_t>(axis->values.size()) == count);
    for (std::int64_t i = 0; i < count; ++i) {
      RC_ASSERT(axis->values[static_cast<std::size_t>(i)] == std::to_string(from + i * step));
    }
  });
}

TEST_CASE("any text is an axis or an error") {
  rc::prop("no crash, no empty axis", [] {
    const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("0129.:x+,nsMiB[]{}'\"= ")));
    const Result<AxisValues> axis = ParseAxisValues(text);
    if (axis.ok()) {
      RC_ASSERT(ProblemOfValues(axis->values).empty());
    } else {
      RC_ASSERT(!axis.errors().front().message.empty());
    }
  });
}

TEST_CASE("a sweep file in full") {
  test::TemporaryDirectory directory;
  const std::string path = directory.Write("s.yaml",
                                           "schema: spillway.sweep/1\n"
                                           "description: all of it\n"
                                           "base: {workload: attention, hbm.fidelity: run}\n"
                                           "config: [more.yaml]\n"
                                           "axes:\n"
                                           "  S: 512:2048:x2\n"
                                           "  chip: [v5e, v6e]\n"
                                           "  hbm.channels: {from: 16, to: 64, step: x2}\n"
                                           "  dma.threads: {from: 1, to: 3, step: 1}\n"
                                           "zip:\n"
                                           "  - {plan: [as-compiled, unfused], tag: [a, b]}\n"
                                           "exclude:\n"
                                           "  - {chip: v5e, S: 512}\n");
  const Result<SweepConfig> sweep = LoadSweep(path);
  REQUIRE(sweep.ok());
  CHECK(sweep->description == "all of it");
  REQUIRE(sweep->base.size() == 2);
  CHECK(sweep->base[1].key == "hbm.fidelity");
  CHECK(sweep->config_files == Strings{"more.yaml"});
  REQUIRE(sweep->axes.size() == 4);
  CHECK(sweep->axes[0].key == "S");
  CHECK(sweep->axes[0].values == Strings{"512", "1024", "2048"});
  CHECK(sweep->axes[0].geometric);
  CHECK(sweep->axes[2].values == Strings{"16", "32", "64"});
  CHECK(sweep->axes[3].values == Strings{"1", "2", "3"});
  REQUIRE(sweep->zips.size() == 1);
  CHECK(sweep->zips[0][1].values == Strings{"a", "b"});
  REQUIRE(sweep->exclude.size() == 1);
  CHECK(sweep->exclude[0][0].value == "v5e");
}

TEST_CASE("mistakes of a sweep file are all found, each at its line") {
  test::TemporaryDirectory directory;
  const std::string path = directory.Write("s.yaml",
                                           "schema: spillway.sweep/2\n"           // 1
                                           "base: {chip: v5e, workload: [a]}\n"   // 2
                                           "axis: {}\n"                           // 3
                                           "axes:\n"                              // 4
                                           "  chip: [v6e]\n"                      // 5
                                           "  S: 512:256:x2\n"                    // 6
                                           "  T: []\n"                            // 7
                                           "  U: [1, 2]\n"                        // 8
                                           "  V: {from: 1, to: 2}\n"              // 9
                                           "zip:\n"                               // 10
                                           "  - {A: [1, 2], B: [1]}\n"            // 11
                                           "exclude:\n"                           // 12
                                           "  - {U: 3}\n"                         // 13
                                           "  - {W: 1}\n");                       // 14
  const Result<SweepConfig> sweep = LoadSweep(path);
  REQUIRE_FALSE(sweep.ok());
  std::vector<int> lines;
  for (const Diagnostic& error : sweep.errors()) {
    CHECK(error.file == path);
    lines.push_back(error.line);
  }
  std::sort(lines.begin(), lines.end());
  CHECK(lines == std::vector<int>{1, 2, 3, 5, 6, 7, 9, 11, 13, 14});
}

TEST_CASE("an axis of the command line") {
  const Result<SweepAxis> axis = ParseAxis("hbm.channels=16:64:x2");
  REQUIRE(axis.ok());
  CHECK(axis->key == "hbm.channels");
  CHECK(axis->values == Strings{"16", "32", "64"});
  CHECK_FALSE(ParseAxis("S").ok());
  CHECK_FALSE(ParseAxis("=1,2").ok());
  CHECK_FALSE(ParseAxis("a b=1").ok());
  SECTION("replaces an axis and a base value, not one of a zip group") {
    SweepConfig sweep;
    sweep.base = {{"chip", "v5e", {}}, {"workload", "w", {}}};
    sweep.axes = {{"S", {"1"}, false, "", {}}, {"T", {"1"}, false, "", {}}};
    sweep.zips = {{{"plan", {"a"}, false, "", {}}}};
    CHECK(OverrideAxis(sweep, *ParseAxis("chip=v5e,v6e")).ok());
    CHECK(OverrideAxis(sweep, *ParseAxis("S=1,2")).ok());
    CHECK_FALSE(OverrideAxis(sweep, *ParseAxis("plan=b")).ok());
    CHECK(sweep.base.size() == 1);
    REQUIRE(sweep.axes.size() == 3);
    CHECK(sweep.axes[0].values == Strings{"1", "2"});
    CHECK(sweep.axes[2].key == "chip");
  }
}

}  // namespace
}  // namespace spillway::config
