// SPDX-License-Identifier: Apache-2.0
#include "sim/output/perfetto.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "sample.h"
#include "sim/output/lanes.h"
#include "sim/output/utf8.h"
#include "wire.h"

namespace spillway::output {
namespace {

struct Track {
  std::string name;
  std::uint64_t parent = 0;
  bool counter = false;
  int depth = 0;
  std::vector<std::string> lines;  // "B 0 fusion.1", "E 6000", "C 0 1.25e+12"
};

struct Decoded {
  std::map<std::uint64_t, Track> tracks;
  std::map<std::uint64_t, std::string> flow_begins, flow_ends;                   // flow -> track
  std::map<std::string, std::set<std::pair<std::int64_t, std::int64_t>>> exact;  // name -> (start_ps, end_ps)
};

Decoded Decode(const std::string& bytes) {
  Decoded d;
  std::map<std::uint64_t, std::string> names, notes;
  std::uint64_t last = 0;
  for (const Wire& packet : Wire(bytes).All(1)) {
    REQUIRE(packet.Number(10) == 1);
    if (packet.Has(12)) {
      for (const Wire& entry : packet.Message(12).All(2)) names[entry.Number(1)] = entry.Text(2);
      for (const Wire& entry : packet.Message(12).All(3)) notes[entry.Number(1)] = entry.Text(2);
    }
    if (packet.Has(60)) {
      const Wire t = packet.Message(60);
      d.tracks[t.Number(1)] = {t.Text(2), t.Number(5), t.Has(8), 0, {}};
    }
    if (!packet.Has(11)) continue;
    REQUIRE(packet.Number(13) == 2);
    const Wire event = packet.Message(11);
    const std::uint64_t ns = packet.Number(8);
    CHECK(ns >= last);
    last = ns;
    REQUIRE(d.tracks.count(event.Number(11)) == 1);
    Track& track = d.tracks[event.Number(11)];
    const std::string time = std::to_string(ns);
    if (event.Number(9) == 1) {
      const std::string name = names.at(event.Number(10));
      track.lines.push_back("B " + time + " " + name);
      ++track.depth;
      std::map<std::string, std::int64_t> values;
      for (const Wire& note : event.All(4)) values[notes.at(note.Number(1))] = note.Signed(4);
      d.exact[name].emplace(values.at("start_ps"), values.at("end_ps"));
      if (event.Has(47)) d.flow_begins[event.Number(47)] = track.name;
      if (event.Has(48)) d.flow_ends[event.Number(48)] = track.name;
    } else if (event.Number(9) == 2) {
      track.lines.push_back("E " + time);
      REQUIRE(--track.depth >= 0);
    } else {
      REQUIRE(event.Number(9) == 4);
      track.lines.push_back("C " + time + " " + std::to_string(event.Double(44)));
    }
  }
  for (const auto& [id, track] : d.tracks) CHECK(track.depth == 0);
  return d;
}

const Track& Named(const Decoded& d, const std::string& name) {
  for (const auto& [id, track] : d.tracks) {
    if (track.name == name) return track;
  }
  FAIL("no track " << name);
  return d.tracks.begin()->second;
}

TEST_CASE("overlapping transfers get lanes, nested core slices share one") {
  const RunData run = SmallRun();
  const std::vector<Lane> lanes = AssignLanes(run.timeline);
  std::vector<std::string> names;
  for (const Lane& lane : lanes) names.push_back(lane.name);
  CHECK(names == std::vector<std::string>{"core", "core steps", "dma 0", "dma 0 #2", "dma 1"});
  CHECK(lanes[0].slices.size() == 4);
  CHECK(lanes[2].slices.size() == 1);
}

TEST_CASE("slices that overlap without nesting never share a lane") {
  timeline::Timeline t;
  t.tracks = {{"core", timeline::TrackKind::kCore}};
  const auto add = [&](Picos start, Picos end) {
    t.slices.emplace_back();
    t.slices.back().start = start;
    t.slices.back().end = end;
  };
  add(0, 10), add(5, 15), add(10, 12), add(2, 2), add(15, 15);
  const auto lanes = AssignLanes(t);
  REQUIRE(lanes.size() == 2);
  for (const Lane& lane : lanes) {
    int depth = 0;
    Picos last = 0;
    VisitBrackets(lane, t, [&](std::size_t i, bool begin) {
      depth += begin ? 1 : -1;
      const Picos now = begin ? t.slices[i].start : t.slices[i].end;
      CHECK(now >= last);
      last = now;
      CHECK(depth >= 0);
    });
    CHECK(depth == 0);
  }
}

TEST_CASE("a Perfetto trace has every track, nested slices, counters, flows and exact times") {
  const Decoded d = Decode(PerfettoTrace(SmallRun()));
  CHECK(d.tracks.size() == 1 + 5 + 3);
  CHECK(Named(d, "TPU v6e: jit_small").parent == 0);
  CHECK(Named(d, "core").lines == std::vector<std::string>{"B 0 fusion.1", "B 0 wait: fill", "E 1000",
                                                           "B 1000 compute", "E 6000", "E 6000",
                                                           "B 6000 custom-call.2", "E 10000"});
  CHECK(Named(d, "dma 0").lines == std::vector<std::string>{"B 0 read p0", "E 1000"});
  CHECK(Named(d, "dma 0 #2").lines == std::vector<std::string>{"B 500 read p0", "E 2000"});
  CHECK(Named(d, "dma 1").lines == std::vector<std::string>{"B 7000 write fusion.1", "E 10000"});
  CHECK(Named(d, "hbm read").counter);
  CHECK(Named(d, "hbm read").lines.size() == 3);
  CHECK(Named(d, "vmem bytes").lines[0] == "C 0 2097152.000000");
  CHECK(d.exact.at("read p0").count({500'000, 2'000'007}) == 1);
  CHECK(d.exact.at("custom-call.2").count({6'000'001, 10'000'123}) == 1);
  CHECK(d.flow_begins ==
        std::map<std::uint64_t, std::string>{{1, "dma 0"}});  // from the transfer to the wait
  CHECK(d.flow_ends == std::map<std::uint64_t, std::string>{{1, "core"}});
}

TEST_CASE("Perfetto: hostile names, huge times, an empty run") {
  const Decoded d = Decode(PerfettoTrace(HostileRun()));
  CHECK(d.exact.count(HostileRun().summary.ops[0].name) == 1);
  CHECK(Decode(PerfettoTrace(RunData{})).tracks.size() == 1);
  RunData bad = SmallRun();
  bad.summary.ops[0].name = "\xff\xc0z";
  CHECK(Decode(PerfettoTrace(bad)).exact.count("\xEF\xBF\xBD\xEF\xBF\xBDz") == 1);
}

TEST_CASE("UTF-8: what is valid stays, the rest is replaced byte by byte") {
  CHECK(ValidUtf8("aé☃😀") == "aé☃😀");
  CHECK(ValidUtf8("\xc0\xaf") == "\xEF\xBF\xBD\xEF\xBF\xBD");  // overlong
  CHECK(ValidUtf8("\xed\xa0\x80").size() == 9);                // surrogate
  CHECK(ValidUtf8("\xe2\x98") == "\xEF\xBF\xBD\xEF\xBF\xBD");  // cut
  CHECK(JsonString("a\"b\\\n</x>\x01") == "\"a\\\"b\\\\\\u000a\\u003c/x>\\u0001\"");
  CHECK(JsonString("\xE2\x80\xA8") == "\"\\u2028\"");
}

}  // namespace
}  // namespace spillway::output
