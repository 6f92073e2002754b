// SPDX-License-Identifier: Apache-2.0
// Cuts an access into what each channel sees of it: runs of bursts to one row of one bank, in address
// order. Whole stripes of a tile are taken at once, so a long run costs no more than a short one.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/model/address_map.h"
#include "sim/model/memory_system.h"

namespace spillway::model {

/// Bursts to one row of one bank, all reads or all writes.
struct RowRun {
  std::int64_t row = 0;
  int bank = 0;
  int bursts = 0;
  bool write = false;
};

/// What the controller takes in at once. Runs are ordered by age and differ in bank, row or direction.
struct Batch {
  std::vector<RowRun> runs;
  /// Adds bursts to the run of that place, or starts one; returns its index.
  int Add(int bank, std::int64_t row, int bursts, bool write);
};

/// The share of one channel in an access.
struct ChannelShare {
  std::int64_t bursts = 0;
  std::uint64_t key = 0;  ///< Channels with equal keys see the same runs up to a renaming of banks.
};

/// An access with its loops merged where they are contiguous, and its shares. Immutable.
class AccessShape {
 public:
  AccessShape(const AddressMap& map, const Access& access);
  const AddressMap& map() const { return *map_; }
  bool write() const { return write_; }
  const std::vector<ChannelShare>& shares() const { return shares_; }
  /// All channels see the same.
  bool uniform() const { return uniform_; }
  Bytes partial_bytes() const { return partial_bytes_; }  ///< In bursts that are not written whole.

 private:
  friend class ChannelWalker;
  void CountPiece(std::int64_t low, std::int64_t high, std::uint64_t sequence);
  void CountShares();

  const AddressMap* map_;
  bool write_ = false;
  std::int64_t address_ = 0, chunk_ = 0, chunks_ = 1, stride_ = 0, outer_ = 1, outer_stride_ = 0;
  std::vector<ChannelShare> shares_;
  Bytes partial_bytes_ = 0;
  bool uniform_ = true;
};

/// A position in one channel's share.
class ChannelWalker {
 public:
  ChannelWalker(std::shared_ptr<const AccessShape> shape, int channel);
  std::int64_t left() const { return left_; }  ///< Bursts.
  /// Moves min(want, left()) bursts into `batch`, rounded up to whole units where stripes are whole. Appends the indices
  /// of the runs it touched to `touched` (repeats possible). Returns the bursts taken.
  std::int64_t Take(std::int64_t want, Batch& batch, std::vector<int>& touched);

 private:
  void AddUnit(std::uint64_t place, std::int64_t repeats, Batch& batch, std::vector<int>& touched) const;
  std::int64_t TakePiece(std::int64_t low, std::int64_t high, Batch& batch, std::vector<int>& touched) const;
  void NextChunk();

  std::shared_ptr<const AccessShape> shape_;
  int channel_;
  std::int64_t left_ = 0, position_ = 0, end_ = 0, chunk_index_ = 0, outer_index_ = 0;
  std::size_t unit_index_ = 0;  ///< Units of a whole stripe already taken; its base is `position_`.
};

}  // namespace spillway::model
