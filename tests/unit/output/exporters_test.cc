// SPDX-License-Identifier: Apache-2.0
// XPlane, Chrome JSON, VCD, gnuplot.
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "sample.h"
#include "sim/output/chrome_json.h"
#include "sim/output/gnuplot.h"
#include "sim/output/vcd.h"
#include "sim/output/xplane.h"
#include "wire.h"

namespace spillway::output {
namespace {

using Catch::Matchers::Contains;

struct XEvent {
  std::string name;
  std::int64_t start, duration;
  bool operator==(const XEvent& o) const {
    return name == o.name && start == o.start && duration == o.duration;
  }
};

std::map<std::string, std::vector<XEvent>> DecodeXPlane(const std::string& bytes) {
  const Wire space(bytes);
  REQUIRE(space.Count(1) == 1);
  CHECK(space.Text(4) == "spillway");
  const Wire plane = space.Message(1);
  CHECK(plane.Text(2) == "/device:TPU:0");
  std::map<std::uint64_t, std::string> names;
  for (const Wire& entry : plane.All(4)) {
    CHECK(entry.Number(1) == entry.Message(2).Number(1));
    names[entry.Number(1)] = entry.Message(2).Text(2);
  }
  std::set<std::uint64_t> stats;
  for (const Wire& entry : plane.All(5)) stats.insert(entry.Number(1));
  for (const Wire& entry : plane.All(4)) {  // XProf's tables need these of every op
    for (const Wire& stat : entry.Message(2).All(5)) CHECK(stats.count(stat.Number(1)) == 1);
  }
  std::map<std::string, std::vector<XEvent>> lines;
  for (const Wire& line : plane.All(3)) {
    auto& events = lines[line.Text(2)];
    for (const Wire& event : line.All(4)) {
      events.push_back({names.at(event.Number(1)), event.Signed(2), event.Signed(3)});
      for (const Wire& stat : event.All(4)) CHECK(stats.count(stat.Number(1)) == 1);
    }
  }
  return lines;
}

TEST_CASE("XPlane has XProf's lines and exact picoseconds") {
  const auto lines = DecodeXPlane(XPlaneProfile(SmallRun()));
  CHECK(lines.at("Steps") == std::vector<XEvent>{{"0", 0, 10'000'123}});
  CHECK(lines.at("XLA Modules") == std::vector<XEvent>{{"jit_small", 0, 10'000'123}});
  CHECK(lines.at("XLA Ops") ==
        std::vector<XEvent>{{"fusion.1", 0, 6'000'001}, {"custom-call.2", 6'000'001, 4'000'122}});
  CHECK(lines.at("dma 0") == std::vector<XEvent>{{"read p0", 0, 1'000'000}});
  CHECK(lines.at("dma 0 #2") == std::vector<XEvent>{{"read p0", 500'000, 1'500'007}});
  CHECK(lines.at("core compute and waits").size() == 2);
  CHECK(lines.at("_counters_").size() == 5);
}

TEST_CASE("XPlane ops carry program, symbol, category and bytes as metadata") {
  const Wire plane = Wire(XPlaneProfile(SmallRun())).Message(1);
  std::map<std::uint64_t, std::string> names;
  for (const Wire& entry : plane.All(5)) names[entry.Number(1)] = entry.Message(2).Text(2);
  std::map<std::string, std::string> found;
  for (const Wire& entry : plane.All(4)) {
    const Wire metadata = entry.Message(2);
    if (metadata.Text(2) != "custom-call.2") continue;
    for (const Wire& stat : metadata.All(5)) {
      found[names.at(stat.Number(1))] =
          stat.Has(5) ? stat.Text(5) : std::to_string(stat.Number(3) + stat.Number(4));
    }
  }
  // 1 MiB in and out over three executions.
  CHECK(found == std::map<std::string, std::string>{{"program_id", "1"},
                                                    {"symbol_id", "2"},
                                                    {"hlo_category", "custom-call"},
                                                    {"bytes_accessed", "699050"}});
}

TEST_CASE("XPlane without a timeline shows the ops of the summary") {
  const auto lines = DecodeXPlane(XPlaneProfile({NaiveAttentionSummary(), {}}));
  REQUIRE(lines.at("XLA Ops").size() == 3);
  CHECK(lines.at("XLA Ops")[1] == XEvent{"fusion.1", 101'300'000, 196'700'000});
  CHECK(DecodeXPlane(XPlaneProfile(RunData{})).at("XLA Ops").empty());
  CHECK(DecodeXPlane(XPlaneProfile(HostileRun())).at("XLA Ops")[0].name == HostileRun().summary.ops[0].name);
}

TEST_CASE("Chrome JSON parses, keeps every digit, nests, and has its flow") {
  const std::string text = ChromeJson(SmallRun());
  CHECK_THAT(text, Contains("\"ts\":0.500000,\"dur\":1.500007,\"name\":\"read p0\""));
  const auto json = nlohmann::json::parse(text);
  std::map<std::string, int> phases;
  for (const auto& event : json["traceEvents"]) ++phases[event["ph"].get<std::string>()];
  CHECK(phases == std::map<std::string, int>{{"M", 11}, {"X", 9}, {"C", 5}, {"s", 1}, {"f", 1}});
  for (const auto& event : json["traceEvents"]) {
    if (event["ph"] == "s") CHECK(event["tid"] == 3);  // the transfer
    if (event["ph"] == "f") CHECK(event["tid"] == 1);  // the core
  }
  const auto hostile = nlohmann::json::parse(ChromeJson(HostileRun()));
  bool found = false;
  for (const auto& event : hostile["traceEvents"]) found |= event["name"] == HostileRun().summary.ops[0].name;
  CHECK(found);
  CHECK(nlohmann::json::parse(ChromeJson(RunData{}))["traceEvents"].size() == 1);
}

// Values of a signal over time, by full name.
std::map<std::string, std::vector<std::pair<std::int64_t, std::string>>> DecodeVcd(const std::string& text) {
  std::istringstream in(text);
  std::map<std::string, std::string> names;
  std::map<std::string, std::vector<std::pair<std::int64_t, std::string>>> values;
  std::vector<std::string> scope;
  std::int64_t now = -1;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string word, type, width, code, name;
    words >> word;
    if (word == "$scope") {
      words >> type >> name;
      scope.push_back(name);
    } else if (word == "$upscope") {
      REQUIRE_FALSE(scope.empty());
      scope.pop_back();
    } else if (word == "$var") {
      words >> type >> width >> code >> name;
      names[code] = scope.back() + "." + name;
    } else if (word[0] == '#') {
      REQUIRE(std::stoll(word.substr(1)) > now);
      now = std::stoll(word.substr(1));
    } else if (word[0] == 'b' || word[0] == 'r') {
      words >> code;
      values[names.at(code)].emplace_back(now, word.substr(1));
    } else if (word[0] == '0' || word[0] == '1') {
      values[names.at(word.substr(1))].emplace_back(now, word.substr(0, 1));
    }
  }
  CHECK(scope.empty());
  return values;
}

TEST_CASE("VCD: busy, active, compute and wait over time") {
  using Changes = std::vector<std::pair<std::int64_t, std::string>>;
  const auto v = DecodeVcd(Vcd(SmallRun()));
  CHECK(v.at("dma_0.active") == Changes{{0, "1"}, {500'000, "10"}, {1'000'000, "1"}, {2'000'007, "0"}});
  CHECK(v.at("dma_1.busy") == Changes{{0, "0"}, {7'000'000, "1"}, {10'000'123, "0"}});
  CHECK(v.at("core.wait") == Changes{{0, "1"}, {1'000'000, "0"}});
  CHECK(v.at("core.busy").front().second == "1");
  CHECK(v.at("counters.vmem_bytes") == Changes{{0, "2097152"}, {10'000'123, "0"}});
  DecodeVcd(Vcd(HostileRun()));
  CHECK(DecodeVcd(Vcd(RunData{})).empty());
}

TEST_CASE("gnuplot files: one block for lanes, one a counter with points, quoted names") {
  const GnuplotFiles files = Gnuplot(SmallRun());
  CHECK_THAT(files.data, Contains("\n0.500000 2.000007 2.64 3.36 "));
  CHECK_THAT(files.data, Contains("\n\n\n# vmem bytes (B): time_us value\n0.000000 2097152\n10.000123 0\n"));
  CHECK_THAT(files.script, Contains("index 2"));
  CHECK_THAT(files.script, !Contains("index 3"));  // the third counter is empty
  CHECK_THAT(files.script, Contains("'dma 0 #2' 3"));
  RunData run = SmallRun();
  run.timeline.tracks[0].name = "it's\n`id`";
  CHECK_THAT(Gnuplot(run).script, Contains("'it''s?`id`' 0"));
}

}  // namespace
}  // namespace spillway::output
