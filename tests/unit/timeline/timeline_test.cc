// SPDX-License-Identifier: Apache-2.0
#include "sim/timeline/timeline.h"

#include <catch2/catch.hpp>

namespace spillway::timeline {
namespace {

TEST_CASE("names of stalls and track kinds are reversible") {
  for (const Stall stall :
       {Stall::kNone, Stall::kDmaRead, Stall::kDmaWrite, Stall::kFill, Stall::kDrain, Stall::kOther}) {
    CHECK(StallFromName(StallName(stall)) == stall);
  }
  for (const TrackKind kind :
       {TrackKind::kCore, TrackKind::kSteps, TrackKind::kDmaQueue, TrackKind::kOther}) {
    CHECK(TrackKindFromName(TrackKindName(kind)) == kind);
  }
  CHECK_FALSE(StallFromName("dma"));
  CHECK_FALSE(TrackKindFromName(""));
}

TEST_CASE("slices sort by start, then track, then longest first") {
  Timeline timeline;
  const auto add = [&](Picos start, Picos end, int track, int op) {
    Slice slice;
    slice.start = start;
    slice.end = end;
    slice.track = track;
    slice.op = op;
    timeline.slices.push_back(slice);
  };
  add(5, 6, 0, 0);
  add(0, 3, 1, 1);
  add(0, 3, 0, 2);
  add(0, 9, 0, 3);
  add(0, 3, 0, 4);  // equal to op 2: keeps its place behind it
  SortSlices(timeline);
  std::vector<int> order;
  for (const Slice& slice : timeline.slices) order.push_back(slice.op);
  CHECK(order == std::vector<int>{3, 2, 4, 1, 0});
}

TEST_CASE("the end of a timeline covers slices and counters") {
  Timeline timeline;
  CHECK(EndOf(timeline) == 0);
  timeline.counters.push_back({"c", "B", {{7, 1.0}}});
  CHECK(EndOf(timeline) == 7);
  Slice slice;
  slice.end = 9;
  timeline.slices.push_back(slice);
  CHECK(EndOf(timeline) == 9);
}

}  // namespace
}  // namespace spillway::timeline
