// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/stream.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>

#include "sim/plan/allocate.h"

namespace spillway::plan {
namespace {

hlo::Shape Parse(const std::string& text) {
  auto shape = hlo::ParseShape(text);
  REQUIRE(shape.ok());
  return *shape;
}

}  // namespace

TEST_CASE("a window narrower than the array is a strided descriptor") {
  TileView view = ViewOf(Parse("bf16[8192,8192]{1,0:T(8,128)(2,1)}"));
  std::vector<Transfer> column = TransfersOf(view, Box{{0, 1024}, {3, 4}}, 1000, 1);
  REQUIRE(column.size() == 1);
  CHECK(column[0].chunk_bytes == 2048);
  CHECK(column[0].chunks == 1024);
  CHECK(column[0].stride == 64 * 2048);
  CHECK(column[0].address == 1000 + 3 * 2048);
  std::vector<Transfer> rows = TransfersOf(view, Box{{54, 108}, {0, 64}}, 0, 1);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].chunk_bytes == 54 * 64 * 2048);
  CHECK(rows[0].chunks == 1);
}

TEST_CASE("tiles of 32 rows are split into the registers' rows of 8") {
  TileView view = ViewOf(Parse("s8[2048,8192]{1,0:T(32,128)(4,1)}"));
  std::vector<Transfer> parts = TransfersOf(view, Box{{0, 4}, {0, 64}}, 0, 4);
  REQUIRE(parts.size() == 4);
  CHECK(parts[1].chunk_bytes == 1024);
  CHECK(parts[1].address == 1024);
  CHECK(parts[1].chunks == 256);
  CHECK(parts[1].stride == 4096);
}

TEST_CASE("descriptors move exactly the window's tiles and stay inside the array") {
  rc::check("bytes and range", [] {
    TileView view;
    int rank = *rc::gen::inRange(1, 6);
    Box tiles;
    view.tile_bytes = 512 * *rc::gen::inRange<std::int64_t>(1, 9);
    std::int64_t total = view.tile_bytes;
    for (int p = 0; p < rank; ++p) {
      std::int64_t count = *rc::gen::inRange<std::int64_t>(1, 7);
      std::int64_t lo = *rc::gen::inRange<std::int64_t>(0, count);
      std::int64_t hi = *rc::gen::inRange<std::int64_t>(lo + 1, count + 1);
      view.order.push_back(p);
      view.tile.push_back(1);
      view.count.push_back(count);
      tiles.push_back({lo, hi});
      total *= count;
    }
    int split = *rc::gen::element(1, 2, 4);
    Bytes sum = 0;
    for (const Transfer& t : TransfersOf(view, tiles, 4096, split)) {
      sum += t.bytes();
      std::int64_t last = t.address + (t.outer - 1) * t.outer_stride + (t.chunks - 1) * t.stride + t.chunk_bytes;
      RC_ASSERT(t.address >= 4096);
      RC_ASSERT(last <= 4096 + total);
    }
    RC_ASSERT(sum == Volume(tiles) * view.tile_bytes);
  });
}

TEST_CASE("blocks that live together do not overlap") {
  rc::check("allocation", [] {
    std::vector<Block> blocks;
    int count = *rc::gen::inRange(1, 40);
    for (int i = 0; i < count; ++i) {
      int first = *rc::gen::inRange(0, 20);
      blocks.push_back({*rc::gen::inRange<Bytes>(1, 5000), first, *rc::gen::inRange(first, 25), 0});
    }
    Bytes peak = Allocate(blocks, 512);
    Bytes live_peak = 0;
    for (int t = 0; t < 25; ++t) {
      Bytes live = 0;
      for (const Block& b : blocks) live += b.first <= t && t <= b.last ? b.size : 0;
      live_peak = std::max(live_peak, live);
    }
    RC_ASSERT(peak >= live_peak);
    for (const Block& a : blocks) {
      RC_ASSERT(a.offset % 512 == 0);
      RC_ASSERT(a.offset + a.size <= peak);
      for (const Block& b : blocks) {
        if (&a == &b || a.last < b.first || b.last < a.first) continue;
        RC_ASSERT(a.offset + a.size <= b.offset || b.offset + b.size <= a.offset);
      }
    }
  });
}

}  // namespace spillway::plan
