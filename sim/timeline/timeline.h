// SPDX-License-Identifier: Apache-2.0
// The product's data model: what happened when. Plain data, no engine, no writer.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/units.h"

namespace spillway::timeline {

enum class TrackKind : std::uint8_t { kCore, kSteps, kDmaQueue, kOther };

struct Track {
  std::string name;      ///< "core", "core steps", "dma 0", "dma 1".
  TrackKind kind = TrackKind::kOther;
};

/// Why the core stands still.
enum class Stall : std::uint8_t { kNone, kDmaRead, kDmaWrite, kFill, kDrain, kOther };
const char* StallName(Stall stall);   ///< "dma_read", …; "" for kNone.
/// The inverse; empty optional on an unknown word.
std::optional<Stall> StallFromName(std::string_view name);

/// "core", "steps", "dma", "other".
const char* TrackKindName(TrackKind kind);
std::optional<TrackKind> TrackKindFromName(std::string_view name);

/// Something that occupies a track for a time. On kCore slices of kind "op" contain slices of kind
/// "compute" and "wait"; on DMA tracks slices of concurrent transfers may overlap.
struct Slice {
  Picos start = 0, end = 0;
  int track = 0;
  std::string kind;      ///< "op", "compute", "wait", "dma_read", "dma_write", "async".
  int op = -1;           ///< Index into Summary::ops; -1 none.
  int buffer = -1;       ///< Index into Timeline::buffers; -1 none.
  Bytes bytes = 0;
  std::int64_t address = -1;
  Stall stall = Stall::kNone;
  int flow = 0;          ///< Non-zero: a DMA and the wait that it ends carry the same number.
};

/// A series of (time, value): value holds from that time on.
struct Counter {
  std::string name;      ///< "hbm read", "hbm write", "vmem bytes", "dma outstanding".
  std::string unit;      ///< "B/s", "B", "count".
  std::vector<std::pair<Picos, double>> points;
};

struct Timeline {
  std::vector<Track> tracks;
  std::vector<Slice> slices;        ///< By start, then track, then longest first.
  std::vector<Counter> counters;
  std::vector<std::string> buffers; ///< Names.
};

/// Puts `slices` into their canonical order: by start, then track, then longest first (stable).
void SortSlices(Timeline& timeline);

/// The latest end of a slice or time of a counter point; 0 if there is none.
Picos EndOf(const Timeline& timeline);

}  // namespace spillway::timeline
