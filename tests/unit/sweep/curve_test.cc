// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/curve.h"

#include <catch2/catch.hpp>

namespace spillway::sweep {
namespace {

using Catch::Matchers::Contains;

struct Row {
  std::vector<std::string> values;
  std::int64_t makespan;  // 0: failed
};

Curve Make(const std::vector<std::string>& axes, const std::vector<Row>& rows) {
  JournalHeader header;
  header.axes = axes;
  header.geometric.assign(axes.size(), false);
  header.title = "<title> & more";
  std::vector<JournalEntry> entries;
  for (const Row& row : rows) {
    JournalEntry entry;
    entry.values = row.values;
    entry.result.makespan_ps = row.makespan;
    if (row.makespan == 0) entry.result.status = "failed";
    entries.push_back(entry);
  }
  return MakeCurve(header, entries);
}

std::size_t Count(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

TEST_CASE("the curve goes over the first numeric axis, with a line for each combination of the others") {
  const Curve curve = Make({"chip", "S", "plan"}, {{{"v5e", "1024", "a"}, 20},
                                                   {{"v5e", "512", "a"}, 10},
                                                   {{"v6e", "512", "a"}, 5},
                                                   {{"v6e", "1024", "a"}, 0}});
  CHECK(curve.x_name == "S");
  REQUIRE(curve.lines.size() == 2);
  CHECK(curve.lines[0].name == "chip=v5e");  // plan has one value
  REQUIRE(curve.lines[0].points.size() == 2);
  CHECK(curve.lines[0].points[0].x == 512);  // by x
  CHECK(curve.lines[1].points.size() == 1);
  CHECK(curve.lines[1].failed == std::vector<double>{1024});
  const std::string svg = CurveSvg(curve);
  CHECK(Count(svg, "<circle") == 3);
  CHECK(Count(svg, "no result") == 1);
  CHECK_THAT(svg, Contains("&lt;title&gt; &amp; more") && Contains("chip=v6e"));
}

TEST_CASE("an axis whose values grow by one factor is logarithmic") {
  CHECK(Make({"S"}, {{{"1"}, 1}, {{"2"}, 1}, {{"4"}, 1}}).log_x);
  CHECK_FALSE(Make({"S"}, {{{"1"}, 1}, {{"2"}, 1}, {{"3"}, 1}}).log_x);
  CHECK_FALSE(Make({"S"}, {{{"0"}, 1}, {{"2"}, 1}, {{"4"}, 1}}).log_x);
}

TEST_CASE("values with units are numbers, in their order") {
  const Curve curve = Make({"t"}, {{{"2us"}, 1}, {{"500ns"}, 1}, {{"1us"}, 1}});
  CHECK_FALSE(curve.categories);
  REQUIRE(curve.x_values.size() == 3);
  CHECK(curve.x_values[0].second == "500ns");
  CHECK(curve.x_values[2].second == "2us");
}

TEST_CASE("without numbers, the values stand side by side") {
  const Curve curve = Make({"one", "chip"}, {{{"k", "v5e"}, 3}, {{"k", "v6e"}, 1}});
  CHECK(curve.categories);
  CHECK(curve.x_name == "chip");
  CHECK(curve.lines.size() == 1);
  CHECK(Count(CurveSvg(curve), "<circle") == 2);
}

TEST_CASE("an axis that x determines makes no lines of its own") {
  const Curve curve = Make({"S", "tag"}, {{{"1", "small"}, 1}, {{"2", "large"}, 2}});
  CHECK(curve.lines.size() == 1);
  CHECK(curve.groups.empty());
}

TEST_CASE("too many lines are told apart by one axis") {
  std::vector<Row> rows;
  for (int a = 0; a < 5; ++a) {
    for (int b = 0; b < 9; ++b) {
      for (const char* x : {"1", "2"}) rows.push_back({{x, std::to_string(a), std::to_string(b)}, 1 + a + b});
    }
  }
  const Curve curve = Make({"x", "a", "b"}, rows);
  CHECK(curve.lines.size() == 45);
  CHECK(curve.by_group);
  CHECK(curve.groups.size() == 5);
  CHECK_THAT(CurveSvg(curve), Contains("45 lines"));
}

TEST_CASE("a sweep without any result still has a picture that says so") {
  const Curve curve = Make({"S"}, {{{"1"}, 0}, {{"2"}, 0}});
  CHECK_THAT(CurveSvg(curve), Contains("no point has a result") && Contains("</svg>"));
  CHECK_THAT(MakeGnuplot(curve).script, Contains("no point has a result"));
  CHECK_THAT(CurveSvg(Make({"S"}, {})), Contains("</svg>"));
  CHECK_THAT(CurveSvg(Make({"S"}, {{{"7"}, 5}})), Contains("<circle"));
}

TEST_CASE("gnuplot gets one block a line") {
  const CurveGnuplot files = MakeGnuplot(Make({"S", "c"}, {{{"1", "it's"}, 2'000'000}, {{"2", "it's"}, 3'000'000},
                                                           {{"1", "b"}, 4'000'000}, {{"2", "b"}, 5'000'000}}));
  CHECK(files.data == "# S / makespan in us\n# c=it's\n1 2\n2 3\n\n\n# c=b\n1 4\n2 5\n");
  CHECK_THAT(files.script, Contains("'sweep.dat' index 1 ") && Contains("title 'c=it''s'"));
}

}  // namespace
}  // namespace spillway::sweep
