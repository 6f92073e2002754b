// SPDX-License-Identifier: Apache-2.0
#include "sim/output/html_report.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "sample.h"

namespace spillway::output {
namespace {

using Catch::Matchers::Contains;

std::string DataOf(const std::string& html) {
  const std::string open = "id=\"data\">";
  const std::size_t from = html.find(open) + open.size();
  return html.substr(from, html.find("</script>", from) - from);
}

std::size_t Occurrences(const std::string& text, const std::string& word) {
  std::size_t n = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

TEST_CASE("the report is one page without a link to elsewhere") {
  const std::string html = HtmlReport({SmallRun()});
  CHECK(Occurrences(html, "<script") == 3);
  CHECK(Occurrences(html, "</script>") == 3);
  for (const char* word : {" src=", "<link", "@import", "url(", "fetch(", "XMLHttpRequest", "import("}) {
    INFO(word);
    CHECK(html.find(word) == std::string::npos);
  }
  CHECK_THAT(html, Contains("<title>jit_small on v6e - Spillway</title>"));
}

TEST_CASE("the report's data is the run") {
  const auto data = nlohmann::json::parse(DataOf(HtmlReport({SmallRun(), {NaiveAttentionSummary(), {}}})));
  REQUIRE(data["runs"].size() == 2);
  const auto& run = data["runs"][0];
  CHECK(run["summary"]["makespan_ps"] == 10'000'123);
  CHECK(run["merged"] == 0);
  REQUIRE(run["lanes"].size() == 5);
  CHECK(run["lanes"][3]["name"] == "dma 0 #2");
  CHECK(run["lanes"][3]["start"] == std::vector<Picos>{500'000});
  CHECK(run["lanes"][3]["end"] == std::vector<Picos>{2'000'007});
  CHECK(run["labels"][run["lanes"][3]["label"][0].get<std::size_t>()] == "read p0");
  CHECK(run["counters"][0]["v"] == std::vector<double>{1.25e12, 0.1, 0});
}

TEST_CASE("names cannot leave the page's data") {
  const std::string html = HtmlReport({HostileRun()});
  CHECK(Occurrences(html, "<script") == 3);
  CHECK(Occurrences(html, "</script>") == 3);
  const std::string data = DataOf(html);
  CHECK(data.find('<') == std::string::npos);
  const auto run = nlohmann::json::parse(data)["runs"][0];
  CHECK(run["summary"]["ops"][0]["name"] == HostileRun().summary.ops[0].name);
  CHECK(run["labels"][0] == HostileRun().summary.ops[0].name);
}

TEST_CASE("a long run is thinned: slices merged, counters by their envelope, and it says so") {
  RunData run = SmallRun();
  run.timeline.slices.clear();
  for (int i = 0; i < 10'000; ++i) {
    timeline::Slice slice;
    slice.start = 1000 * i;
    slice.end = slice.start + 400;
    slice.kind = "compute";
    run.timeline.slices.push_back(slice);
  }
  run.timeline.counters = {{"c", "B", {}}};
  for (int i = 0; i < 10'000; ++i)
    run.timeline.counters[0].points.emplace_back(1000 * i, i == 5'000 ? 99 : i % 7);
  HtmlOptions options;
  options.max_slices = 5'000;
  options.max_points = 400;
  const auto data = nlohmann::json::parse(DataOf(HtmlReport({run}, options)))["runs"][0];
  CHECK(data["merged"] == 10'000);
  const auto& lane = data["lanes"][0];
  CHECK(lane["start"].size() < 5'000);
  CHECK(lane["start"].front() == 0);
  CHECK(lane["end"].back() == 9'999'400);
  for (std::size_t i = 1; i < lane["start"].size(); ++i) REQUIRE(lane["start"][i] >= lane["end"][i - 1]);
  const auto values = data["counters"][0]["v"].get<std::vector<double>>();
  CHECK(values.size() <= 410);
  CHECK(std::count(values.begin(), values.end(), 99) == 1);
  const auto times = data["counters"][0]["t"].get<std::vector<Picos>>();
  CHECK(std::is_sorted(times.begin(), times.end()));
}

TEST_CASE("an empty run makes a page") {
  CHECK(nlohmann::json::parse(DataOf(HtmlReport({RunData{}})))["runs"][0]["lanes"].empty());
}

}  // namespace
}  // namespace spillway::output
