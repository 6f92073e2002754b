// SPDX-License-Identifier: Apache-2.0
#include "sim/timeline/timeline.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace spillway::timeline {
namespace {

constexpr std::array<const char*, 6> kStallNames = {"", "dma_read", "dma_write", "fill", "drain", "other"};
constexpr std::array<const char*, 4> kTrackKindNames = {"core", "steps", "dma", "other"};

template <class Enum, std::size_t N>
std::optional<Enum> FromName(const std::array<const char*, N>& names, std::string_view name) {
  for (std::size_t i = 0; i < N; ++i) {
    if (name == names[i]) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace

const char* StallName(Stall stall) { return kStallNames.at(static_cast<std::size_t>(stall)); }
std::optional<Stall> StallFromName(std::string_view name) { return FromName<Stall>(kStallNames, name); }

const char* TrackKindName(TrackKind kind) { return kTrackKindNames.at(static_cast<std::size_t>(kind)); }
std::optional<TrackKind> TrackKindFromName(std::string_view name) {
  return FromName<TrackKind>(kTrackKindNames, name);
}

void SortSlices(Timeline& timeline) {
  std::stable_sort(timeline.slices.begin(), timeline.slices.end(), [](const Slice& a, const Slice& b) {
    return std::tie(a.start, a.track, b.end) < std::tie(b.start, b.track, a.end);
  });
}

Picos EndOf(const Timeline& timeline) {
  Picos end = 0;
  for (const Slice& slice : timeline.slices) end = std::max(end, slice.end);
  for (const Counter& counter : timeline.counters) {
    for (const auto& point : counter.points) end = std::max(end, point.first);
  }
  return end;
}

}  // namespace spillway::timeline
