// SPDX-License-Identifier: Apache-2.0
// Viewers draw slices of one row only if they nest; concurrent transfers need rows (lanes) of their own.
#pragma once

#include <string>
#include <vector>

#include "sim/timeline/timeline.h"

namespace spillway::output {

/// One row of a viewer: slices of one track that nest (or, on DMA tracks, never overlap).
struct Lane {
  int track = 0;
  std::string name;                 ///< The track's name; "dma 0 #2" for the second lane of several.
  std::vector<std::size_t> slices;  ///< Indices into Timeline::slices, by start, then longest first.
};

/// Assigns each slice to the first lane of its track that has room. Lanes come in track order; a track
/// without slices gets one empty lane. Does not need sorted slices.
std::vector<Lane> AssignLanes(const timeline::Timeline& timeline);

/// What a lane's slice is called in a viewer: the op for "op", "kind" for core slices ("wait: dma_read"),
/// buffer (else op) with the kind for transfers.
std::string SliceLabel(const timeline::Slice& slice, const timeline::Timeline& timeline,
                       const std::vector<std::string>& op_names);

/// Calls visit(slice index, true) at each begin and visit(slice index, false) at each end of a lane, in an
/// order in which begins and ends pair like brackets and times never fall.
template <class Visit>
void VisitBrackets(const Lane& lane, const timeline::Timeline& timeline, Visit&& visit) {
  std::vector<std::size_t> open;
  const auto close_until = [&](Picos time) {
    while (!open.empty() && timeline.slices[open.back()].end <= time) {
      visit(open.back(), false);
      open.pop_back();
    }
  };
  for (const std::size_t i : lane.slices) {
    close_until(timeline.slices[i].start);
    visit(i, true);
    open.push_back(i);
  }
  for (; !open.empty(); open.pop_back()) visit(open.back(), false);
}

}  // namespace spillway::output
