// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/stream.h"

#include <algorithm>

namespace spillway::plan {
namespace {

constexpr double kMaxPieces = 4096;

/// One level of a nested regular access: `count` pieces, `stride` bytes apart.
struct Level {
  std::int64_t count = 1;
  Bytes stride = 0;
};

/// Levels from the minor side; the first is the contiguous run (count in bytes, stride 1).
std::vector<Level> LevelsOf(const TileView& view, const Box& tiles) {
  std::vector<Level> levels = {{view.tile_bytes, 1}};
  Bytes stride = view.tile_bytes;
  for (int p = static_cast<int>(view.count.size()) - 1; p >= 0; --p) {
    std::int64_t count = tiles[p].size();
    Level& last = levels.back();
    if (count > 1) {
      if (last.count * last.stride == stride) {
        last.count *= count;
      } else {
        levels.push_back({count, stride});
      }
    }
    stride *= view.count[p];
  }
  return levels;
}

std::int64_t Mix(std::int64_t x) {
  auto z = static_cast<std::uint64_t>(x) + 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return static_cast<std::int64_t>((z ^ (z >> 31)) >> 1);
}

}  // namespace

TileView ViewOf(const hlo::Shape& shape) {
  TileView view;
  hlo::TileGrid grid = hlo::GridOf(shape);
  view.order = PhysicalOrder(shape);
  view.tile_bytes = grid.tile_bytes;
  for (std::int64_t d : view.order) {
    view.tile.push_back(std::max<std::int64_t>(grid.tile[d], 1));
    view.count.push_back(grid.count[d]);
  }
  // Elements below a byte, untiled: the piece that DMAs move is a whole byte. (An odd row length
  // packs across rows; its rows are counted as whole bytes.)
  int bits = shape.has_layout && shape.layout.element_size_bits > 0 ? static_cast<int>(shape.layout.element_size_bits)
                                                                    : hlo::ElementBits(shape.type);
  if (bits > 0 && bits < 8 && view.tile_bytes == 1 && !view.tile.empty() && view.tile.back() == 1) {
    view.tile.back() = 8 / bits;
    view.count.back() = (view.count.back() + view.tile.back() - 1) / view.tile.back();
  }
  return view;
}

std::vector<Transfer> TransfersOf(const TileView& view, const Box& tiles, std::int64_t address, int split) {
  std::vector<Transfer> transfers;
  if (IsEmpty(tiles) || view.tile_bytes <= 0) return transfers;
  std::int64_t first = 0;
  for (std::size_t p = 0; p < tiles.size(); ++p) first = first * view.count[p] + tiles[p].lo;
  std::vector<Level> levels = LevelsOf(view, tiles);
  Transfer base;
  base.address = address + first * view.tile_bytes;
  base.chunk_bytes = levels[0].count;
  if (split > 1 && view.tile_bytes % split == 0) {
    Level whole = {levels[0].count / view.tile_bytes, view.tile_bytes};
    levels[0] = {view.tile_bytes / split, 1};
    levels.insert(levels.begin() + 1, whole);
    base.chunk_bytes = levels[0].count;
  } else {
    split = 1;
  }
  if (levels.size() > 1) {
    base.chunks = levels[1].count;
    base.stride = levels[1].stride;
  }
  if (levels.size() > 2) {
    base.outer = levels[2].count;
    base.outer_stride = levels[2].stride;
  }
  double pieces = 1;
  for (std::size_t l = 3; l < levels.size(); ++l) pieces *= static_cast<double>(levels[l].count);
  if (pieces > kMaxPieces) {
    // Too ragged to list: keep the bytes and the run length, give up the far strides.
    for (std::size_t l = 3; l < levels.size(); ++l) base.outer *= levels[l].count;
    levels.resize(3);
  }
  transfers.push_back(base);
  for (std::size_t l = 3; l < levels.size(); ++l) {
    std::vector<Transfer> more;
    for (std::int64_t i = 0; i < levels[l].count; ++i) {
      for (Transfer t : transfers) {
        t.address += i * levels[l].stride;
        more.push_back(t);
      }
    }
    transfers = std::move(more);
  }
  if (split > 1) {
    std::vector<Transfer> parts;
    for (int i = 0; i < split; ++i) {
      for (Transfer t : transfers) {
        t.address += i * (view.tile_bytes / split);
        parts.push_back(t);
      }
    }
    transfers = std::move(parts);
  }
  return transfers;
}

Box Stream::TilesAt(const Box& domain) const {
  Box window = flow.Window(domain);
  Box tiles;
  if (window.size() != view.order.size() || IsEmpty(window)) return Box(view.order.size(), Interval{0, 0});
  for (std::size_t p = 0; p < view.order.size(); ++p) {
    const Interval& side = window[view.order[p]];
    Interval covered = {side.lo / view.tile[p], (side.hi + view.tile[p] - 1) / view.tile[p]};
    if (p < reach.size() && reach[p] > 0) covered.hi = std::min(covered.lo + reach[p], view.count[p]);
    tiles.push_back(covered);
  }
  return tiles;
}

std::vector<Transfer> Stream::Transfers(const Box& tiles, std::int64_t step) const {
  std::vector<Transfer> transfers;
  if (rows_per_step > 0) {
    std::int64_t first = step * rows_per_step, last = std::min(first + rows_per_step, rows);
    std::int64_t places = std::max<std::int64_t>(row_space / std::max<Bytes>(row.stride, row.chunk_bytes) / row.chunks, 1);
    for (std::int64_t i = first; i < last; ++i) {
      Transfer t = row;
      t.address = address + Mix(i) % places * std::max<Bytes>(row.stride, row.chunk_bytes) * row.chunks;
      transfers.push_back(t);
    }
  } else {
    transfers = TransfersOf(view, tiles, address, split);
  }
  for (Transfer& t : transfers) {
    t.direction = output ? Direction::kVmemToHbm : Direction::kHbmToVmem;
    t.buffer = buffer;
  }
  return transfers;
}

Bytes Stream::WindowBytes(const Box& domain) const {
  if (rows_per_step > 0) return rows_per_step * row.bytes();
  return Volume(TilesAt(domain)) * view.tile_bytes;
}

namespace {

/// A map may come back to where it began: look at every step (or as many as there is time for).
void FitMapped(Stream& stream, const Grid& grid, const Box& first_tiles) {
  constexpr std::int64_t kMaxLook = 1 << 16;
  for (std::int64_t step = 1; step < std::min(grid.steps, kMaxLook) && !stream.moves; ++step) {
    stream.moves = !(stream.TilesAt(grid.BoxAt(step)) == first_tiles);
  }
  stream.slots = stream.moves ? grid.slots : 1;
}

}  // namespace

void FitStream(Stream& stream, const Grid& grid) {
  if (stream.rows_per_step > 0) {
    stream.moves = stream.rows > stream.rows_per_step;
    stream.slots = stream.moves ? grid.slots : 1;
    return;
  }
  stream.moves = false;
  stream.reach.clear();
  Box first_domain = grid.BoxAt(0);
  Box first = stream.flow.Window(first_domain);
  hlo::Dims moving(stream.view.order.size(), 0);
  Box first_tiles = stream.TilesAt(first_domain);
  std::int64_t weight = 1;
  for (int a = static_cast<int>(grid.axes.size()) - 1; a >= 0; --a) {
    // The first and the last window of an axis tell whether it moves this stream at all.
    Box last_domain = grid.BoxAt(weight * (grid.axes[a].trips - 1));
    Box last = stream.flow.Window(last_domain);
    if (!(stream.TilesAt(last_domain) == first_tiles)) stream.moves = true;
    for (std::size_t p = 0; p < stream.view.order.size(); ++p) {
      std::int64_t d = stream.view.order[p];
      if (last.size() == first.size() && first.size() == stream.view.order.size() && last[d].lo != first[d].lo) moving[p] = 1;
    }
    weight *= grid.axes[a].trips;
  }
  if (stream.flow.map != nullptr) return FitMapped(stream, grid, first_tiles);
  if (!stream.output && first.size() == stream.view.order.size()) {
    for (std::size_t p = 0; p < stream.view.order.size(); ++p) {
      std::int64_t length = first[stream.view.order[p]].size(), tile = stream.view.tile[p];
      // A window that is no whole number of tiles may start anywhere in one: the compiler's buffer,
      // and its DMA, hold the tiles that the worst start needs.
      bool partial = moving[p] != 0 && length % tile != 0;
      stream.reach.push_back(partial ? (length + tile - 2) / tile + 1 : 0);
    }
  }
  stream.slots = stream.moves ? grid.slots : 1;
}

}  // namespace spillway::plan
