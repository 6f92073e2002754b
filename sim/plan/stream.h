// SPDX-License-Identifier: Apache-2.0
// A stream: the windows of one HBM operand or result, and the DMA descriptors that move them.
#pragma once

#include <vector>

#include "sim/hlo/shape.h"
#include "sim/plan/grid.h"
#include "sim/plan/program.h"

namespace spillway::plan {

/// An array in HBM as DMAs see it: tiles in memory order, major first.
struct TileView {
  hlo::Dims order;    ///< Logical dimension of each position.
  hlo::Dims tile;     ///< Tile length, by position.
  hlo::Dims count;    ///< Tiles, by position.
  Bytes tile_bytes = 0;
};
TileView ViewOf(const hlo::Shape& shape);

/// Descriptors that move the tiles in `tiles` (by position) of the array at `address`. One unless
/// the pattern has more than three levels, or `split` > 1: then each tile is moved in `split`
/// equal parts, one descriptor a part (HBM tiles of 32 rows against registers of 8).
std::vector<Transfer> TransfersOf(const TileView& view, const Box& tiles, std::int64_t address, int split);

/// Windows of one operand or result along the grid.
struct Stream {
  bool output = false;
  int index = 0;              ///< Operand number, or tuple element of the result.
  int buffer = -1;
  std::int64_t address = 0;
  TileView view;
  Flow flow;
  int slots = 1;
  bool moves = false;         ///< The window changes along the grid.
  int split = 1;
  hlo::Dims reach;            ///< Tiles a moving input window takes, by position; 0: what it covers.
  /// Rows picked by data (gather): `rows_per_step` descriptors a step; then `view`, `flow` are unused.
  std::int64_t rows = 0, rows_per_step = 0;
  Transfer row;               ///< Shape of one row transfer.
  Bytes row_space = 0;        ///< The rows lie in [address, address + row_space).

  /// Tiles of the window at a domain box, by position.
  Box TilesAt(const Box& domain) const;
  /// Descriptors of a step whose window is `tiles`.
  std::vector<Transfer> Transfers(const Box& tiles, std::int64_t step) const;
  /// Bytes of VMEM that one slot takes.
  Bytes WindowBytes(const Box& domain) const;
};

/// Fills `moves`, `reach` and `slots` from the grid.
void FitStream(Stream& stream, const Grid& grid);

}  // namespace spillway::plan
