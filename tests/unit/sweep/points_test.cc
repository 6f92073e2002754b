// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/points.h"

#include <catch2/catch.hpp>

#include "sim/sweep/resolved_spec.h"
#include "tests/support/temporary.h"

namespace spillway::sweep {
namespace {

config::SweepAxis Axis(const std::string& text) {
  Result<config::SweepAxis> axis = config::ParseAxis(text);
  REQUIRE(axis.ok());
  return *axis;
}

TEST_CASE("points: the first axis is slowest, zipped axes advance together, exclusions are left out") {
  config::SweepConfig sweep;
  sweep.axes = {Axis("S=1,2"), Axis("chip=a,b")};
  sweep.zips = {{Axis("plan=p,q"), Axis("tag=t,u")}};
  sweep.exclude = {{{"S", "2", {}}, {"plan", "q", {}}}, {{"chip", "b", {}}, {"tag", "t", {}}}};
  const Result<PointList> list = Expand(sweep);
  REQUIRE(list.ok());
  CHECK(list->Keys() == std::vector<std::string>{"S", "chip", "plan", "tag"});
  const std::vector<Point> expected = {
      {"1", "a", "p", "t"}, {"1", "a", "q", "u"}, {"1", "b", "q", "u"}, {"2", "a", "p", "t"}};
  CHECK(list->points == expected);
}

TEST_CASE("points: nothing to do and too much to do are errors") {
  config::SweepConfig sweep;
  CHECK_FALSE(Expand(sweep).ok());
  sweep.axes = {Axis("S=1")};
  sweep.exclude = {{{"S", "1", {}}}};
  CHECK_FALSE(Expand(sweep).ok());
  sweep.exclude.clear();
  sweep.axes = {Axis("a=1:1000:+1"), Axis("b=1:1000:+1")};
  CHECK(Expand(sweep)->points.size() == 1'000'000);
  sweep.axes.push_back(Axis("c=1,2"));
  CHECK_FALSE(Expand(sweep).ok());
}

TEST_CASE("a resolved sweep reads back as the same points") {
  config::SweepConfig sweep;
  sweep.description = "it's: # strange";
  sweep.base = {{"workload", "a b's: #c", {}}, {"hbm.channels", "16", {}}};
  sweep.axes = {Axis("S=512:2048:x2"), Axis("llo=[1, 2],'q: r'")};
  sweep.zips = {{Axis("plan=p,q"), Axis("tag=007,yes")}};
  sweep.exclude = {{{"S", "512", {}}, {"tag", "007", {}}}};
  test::TemporaryDirectory directory;
  const Result<config::SweepConfig> again = config::LoadSweep(directory.Write("r.yaml", ResolvedSweep(sweep)));
  REQUIRE(again.ok());
  CHECK(again->description == sweep.description);
  CHECK(again->base[0].value == "a b's: #c");
  CHECK(again->axes[0].geometric);
  CHECK(Expand(*again)->points == Expand(sweep)->points);
}

TEST_CASE("digests tell lists apart, also by where one text ends") {
  const auto digest = [](const std::vector<std::string>& texts) {
    Digest sum;
    for (const std::string& text : texts) sum.Add(text);
    return sum.Hex();
  };
  CHECK(digest({"ab", "c"}) == digest({"ab", "c"}));
  CHECK(digest({"ab", "c"}) != digest({"a", "bc"}));
  CHECK(digest({"", "a"}) != digest({"a", ""}));
  CHECK(digest({}) != digest({""}));
  CHECK(digest({"a"}).size() == 32);
}

}  // namespace
}  // namespace spillway::sweep
