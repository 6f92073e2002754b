// SPDX-License-Identifier: Apache-2.0
#include "sim/output/lanes.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "sim/base/result.h"

namespace spillway::output {
namespace {

using timeline::Slice;
using timeline::Timeline;
using timeline::TrackKind;

struct OpenLane {
  std::vector<std::size_t> slices;
  std::vector<Picos> ends;  // of the slices that enclose the present moment, outermost first
};

bool Fits(OpenLane& lane, const Slice& slice, bool exclusive) {
  while (!lane.ends.empty() && lane.ends.back() <= slice.start) lane.ends.pop_back();
  return lane.ends.empty() || (!exclusive && slice.end <= lane.ends.back());
}

}  // namespace

std::vector<Lane> AssignLanes(const Timeline& t) {
  std::vector<std::size_t> order(t.slices.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&t](std::size_t a, std::size_t b) {
    const Slice &x = t.slices[a], &y = t.slices[b];
    return std::tie(x.start, y.end) < std::tie(y.start, x.end);
  });
  std::vector<std::vector<OpenLane>> open(t.tracks.size(), std::vector<OpenLane>(1));
  for (const std::size_t i : order) {
    const Slice& slice = t.slices[i];
    SPILLWAY_CHECK(slice.track >= 0 && static_cast<std::size_t>(slice.track) < t.tracks.size());
    auto& lanes = open[static_cast<std::size_t>(slice.track)];
    const bool exclusive = t.tracks[static_cast<std::size_t>(slice.track)].kind == TrackKind::kDmaQueue;
    auto lane =
        std::find_if(lanes.begin(), lanes.end(), [&](OpenLane& l) { return Fits(l, slice, exclusive); });
    if (lane == lanes.end()) lane = lanes.insert(lanes.end(), OpenLane());
    lane->slices.push_back(i);
    lane->ends.push_back(slice.end);
  }
  std::vector<Lane> out;
  for (std::size_t track = 0; track < open.size(); ++track) {
    for (std::size_t k = 0; k < open[track].size(); ++k) {
      const std::string& name = t.tracks[track].name;
      out.push_back({static_cast<int>(track), k == 0 ? name : fmt::format("{} #{}", name, k + 1),
                     std::move(open[track][k].slices)});
    }
  }
  return out;
}

std::string SliceLabel(const Slice& slice, const Timeline& t, const std::vector<std::string>& op_names) {
  const std::string op = slice.op >= 0 ? op_names.at(static_cast<std::size_t>(slice.op)) : std::string();
  if (slice.kind == "op") return op.empty() ? slice.kind : op;
  if (slice.kind == "wait" && slice.stall != timeline::Stall::kNone)
    return fmt::format("wait: {}", StallName(slice.stall));
  if (t.tracks.at(static_cast<std::size_t>(slice.track)).kind != TrackKind::kDmaQueue) return slice.kind;
  const std::string& what = slice.buffer >= 0 ? t.buffers.at(static_cast<std::size_t>(slice.buffer)) : op;
  const std::string kind = slice.kind == "dma_read"    ? "read"
                           : slice.kind == "dma_write" ? "write"
                                                       : slice.kind;
  return what.empty() ? kind : fmt::format("{} {}", kind, what);
}

}  // namespace spillway::output
