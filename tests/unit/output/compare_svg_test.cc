// SPDX-License-Identifier: Apache-2.0
#include "sim/output/compare_svg.h"

#include <catch2/catch.hpp>


namespace spillway::output {
namespace {

std::size_t Count(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST_CASE("compare picture: both runs on one axis, names escaped, same bytes for the same runs") {
  RunData a, b;
  a.summary.makespan_ps = 1000000;
  a.summary.ops.resize(1);
  a.summary.ops[0].name = "a<b>&\"c\"";
  a.summary.ops[0].bound = "memory";
  a.timeline.tracks.push_back({"core", timeline::TrackKind::kCore});
  timeline::Slice slice;
  slice.start = 0;
  slice.end = 1000000;
  slice.kind = "op";
  slice.op = 0;
  a.timeline.slices.push_back(slice);
  b = a;
  b.summary.makespan_ps = 500000;
  b.timeline.slices[0].end = 500000;
  const std::string svg = CompareSvg({{"A", a}, {"B", b}});
  CHECK(svg == CompareSvg({{"A", a}, {"B", b}}));
  CHECK(Count(svg, "class=\"op\"") == 2);
  CHECK(Count(svg, "a&lt;b&gt;&amp;&quot;c&quot;") >= 2);
  CHECK(svg.find("<b>") == std::string::npos);
  // 1110 columns for the longer run, half of them for the other.
  CHECK(Count(svg, "width=\"1110.00\"") == 1);
  CHECK(Count(svg, "width=\"555.00\"") == 1);
}

TEST_CASE("compare picture of runs without a timeline") {
  const std::string svg = CompareSvg({{"A", RunData{}}, {"B", RunData{}}});
  CHECK(svg.find("</svg>") != std::string::npos);
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(svg.find("inf") == std::string::npos);
}

}  // namespace
}  // namespace spillway::output
