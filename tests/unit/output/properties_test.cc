// SPDX-License-Identifier: Apache-2.0
// Properties over random timelines.
#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "sample.h"
#include "sim/output/chrome_json.h"
#include "sim/output/csv.h"
#include "sim/output/lanes.h"
#include "sim/output/summary_json.h"
#include "sim/output/utf8.h"

namespace spillway::output {
namespace {

using timeline::Slice;
using timeline::TrackKind;

RunData AnyRun() {
  RunData run;
  const int tracks = *rc::gen::inRange(1, 4), ops = *rc::gen::inRange(1, 4);
  for (int i = 0; i < ops; ++i) {
    run.summary.ops.emplace_back();
    run.summary.ops.back().name = ValidUtf8(*rc::gen::arbitrary<std::string>());
  }
  for (int i = 0; i < tracks; ++i) {
    run.timeline.tracks.push_back(
        {std::to_string(i) + ValidUtf8(*rc::gen::arbitrary<std::string>()),
         *rc::gen::element(TrackKind::kCore, TrackKind::kDmaQueue, TrackKind::kOther)});
  }
  run.timeline.buffers = {"b" + ValidUtf8(*rc::gen::arbitrary<std::string>())};
  const int slices = *rc::gen::inRange(0, 40);
  for (int i = 0; i < slices; ++i) {
    Slice s;
    s.start = *rc::gen::inRange(0, 50);
    s.end = s.start + *rc::gen::inRange(0, 20);
    s.track = *rc::gen::inRange(0, tracks);
    s.op = *rc::gen::inRange(-1, ops);
    s.buffer = *rc::gen::inRange(-1, 1);
    s.kind = *rc::gen::element<std::string>("op", "wait", "dma_read", "x,\"y\"");
    s.flow = *rc::gen::inRange(0, 5);
    s.address = *rc::gen::inRange<std::int64_t>(-1, 1 << 30);
    s.bytes = *rc::gen::inRange<std::int64_t>(0, 1 << 30);
    run.timeline.slices.push_back(std::move(s));
  }
  SortSlices(run.timeline);
  timeline::Counter counter{"c" + ValidUtf8(*rc::gen::arbitrary<std::string>()), "B/s", {}};
  for (int i = *rc::gen::inRange(0, 10); i > 0; --i)
    counter.points.emplace_back(10 - i, *rc::gen::arbitrary<double>());
  run.timeline.counters.push_back(std::move(counter));
  return run;
}

TEST_CASE("property: any run reads back from its tables") {
  rc::prop("read(write(run)) == run", [] {
    const RunData run = AnyRun();
    const auto summary = ReadSummaryJson(SummaryJson(run.summary), "s");
    RC_ASSERT(summary.ok());
    const TimelineTables tables{SlicesCsv(run), CountersCsv(run.timeline), TracksCsv(run.timeline)};
    const auto back = ReadTimelineTables(tables, summary->ops);
    RC_ASSERT(back.ok());
    const RunData again{*summary, *back};
    RC_ASSERT(SlicesCsv(again) == tables.slices);
    RC_ASSERT(CountersCsv(again.timeline) == tables.counters);
    RC_ASSERT(TracksCsv(again.timeline) == tables.tracks);
    RC_ASSERT(ChromeJson(again) == ChromeJson(run));
  });
}

TEST_CASE("property: every slice is in one lane, and lanes nest") {
  rc::prop("lanes", [] {
    const timeline::Timeline t = AnyRun().timeline;
    std::multiset<std::size_t> seen;
    for (const Lane& lane : AssignLanes(t)) {
      std::vector<std::size_t> open;
      Picos last = 0;
      VisitBrackets(lane, t, [&](std::size_t i, bool begin) {
        const Picos now = begin ? t.slices[i].start : t.slices[i].end;
        RC_ASSERT(now >= last);
        last = now;
        if (!begin) {
          RC_ASSERT(open.back() == i);
          open.pop_back();
          return;
        }
        RC_ASSERT(t.slices[i].track == lane.track);
        const bool nested = open.empty() || t.slices[i].end <= t.slices[open.back()].end;
        RC_ASSERT(nested);
        if (t.tracks[static_cast<std::size_t>(lane.track)].kind == TrackKind::kDmaQueue)
          RC_ASSERT(open.empty());
        open.push_back(i);
        seen.insert(i);
      });
    }
    RC_ASSERT(seen.size() == t.slices.size());
    RC_ASSERT(std::set<std::size_t>(seen.begin(), seen.end()).size() == t.slices.size());
  });
}

TEST_CASE("property: JSON strings read back as the valid UTF-8 of what went in") {
  rc::prop("parse(JsonString(s)) == ValidUtf8(s)", [](const std::string& text) {
    RC_ASSERT(nlohmann::json::parse(JsonString(text)).get<std::string>() == ValidUtf8(text));
  });
}

TEST_CASE("property: broken tables never crash the reader") {
  rc::prop("any bytes", [](const std::string& text) {
    const RunData run = SmallRun();
    std::string slices = SlicesCsv(run);
    const std::size_t at = *rc::gen::inRange<std::size_t>(0, slices.size());
    slices.replace(at, *rc::gen::inRange<std::size_t>(0, 20), text);
    (void)ReadTimelineTables({slices, text, ""}, run.summary.ops);
    std::string json = SummaryJson(run.summary);
    json.replace(*rc::gen::inRange<std::size_t>(0, json.size()), *rc::gen::inRange<std::size_t>(0, 20), text);
    const auto read = ReadSummaryJson(json, "s");
    if (read.ok()) (void)SummaryJson(*read);
  });
}

}  // namespace
}  // namespace spillway::output
