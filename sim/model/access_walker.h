// SPDX-License-Identifier: Apache-2.0
// Cuts an access into what each channel sees of it: runs of bursts to one row of one bank, in address order. Whole
// stripes are kept as one entry, so a long contiguous access costs no more than a short one. Accesses that differ by
// address bits that their loops never carry into share one pattern: the map is linear, so these bits only rename
// channels, banks and rows.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "sim/model/address_map.h"
#include "sim/model/memory_system.h"

namespace spillway::model {

/// Bursts to the rows that one unit of the map spans (AddressMap::unit_parts), or to one row only; all reads or all
/// writes.
struct UnitRun {
  std::uint64_t packed = 0;  ///< Of the unit's base, or of the first burst.
  int bursts = 0;
  bool write = false;
  bool whole = false;        ///< Even blocks of units (AddressMap::even_bits), not bursts of one row.
};

/// What the controller takes in at once, by age. Runs differ in rows or direction.
struct Batch {
  std::vector<UnitRun> runs;
  /// Adds to the run of those rows, or starts one; returns its index.
  int Add(const AddressMap& map, const UnitRun& added) {
    for (std::size_t i = runs.size(); i-- > 0;) {
      UnitRun& run = runs[i];
      if (map.SamePlace(run.packed, added.packed) && run.write == added.write && run.whole == added.whole) {
        run.bursts += added.bursts;
        return static_cast<int>(i);
      }
    }
    runs.push_back(added);
    return static_cast<int>(runs.size()) - 1;
  }
};

/// The share of one channel in an access.
struct ChannelShare {
  std::int64_t bursts = 0;
  std::uint64_t key = 0;  ///< Channels with equal keys see the same runs up to a renaming of banks.
};

/// The shares of an access, up to a translation. Immutable.
class AccessPattern {
 public:
  /// Loops of an access, merged where they are contiguous; `address` has only the bits that matter.
  struct Loops {
    bool write = false;
    std::int64_t address = 0, chunk = 0, chunks = 1, stride = 0, outer = 1, outer_stride = 0;
    bool operator==(const Loops& o) const {
      return write == o.write && address == o.address && chunk == o.chunk && chunks == o.chunks && stride == o.stride &&
             outer == o.outer && outer_stride == o.outer_stride;
    }
  };
  AccessPattern(const AddressMap& map, const Loops& loops);
  std::size_t size() const { return entries_.size(); }  ///< Entries.

  /// Part of a channel's share. All but stripes are taken as a whole.
  struct Entry {
    enum Kind : std::uint8_t {
      kUnit,     ///< Even blocks of a unit; `packed` of its base.
      kBursts,   ///< Of one row; `packed` of the first.
      kMerge,    ///< The read of a burst that the next entry writes in part. Counts as no burst.
      kStripes,  ///< Whole stripes of all channels; `packed` holds the address of the first.
    };
    std::uint64_t packed = 0;
    std::int32_t count = 0;  ///< Bursts, or stripes.
    Kind kind = kUnit;
    bool same_rows = false;  ///< A unit in the rows of the unit before it.
  };

 private:
  friend class AccessShape;
  friend class ChannelWalker;
  using ByChannel = std::vector<std::vector<Entry>>;
  void AddPiece(std::int64_t low, std::int64_t high, std::uint64_t sequence, ByChannel& entries);
  void AddPartOfUnit(std::vector<Entry>& entries, std::int64_t from, std::int64_t to);
  void AddStripes(std::int64_t first, std::int64_t last, ByChannel& entries);
  void CountPartial(std::int64_t from, std::int64_t to);

  const AddressMap* map_;
  bool write_ = false;
  std::vector<ChannelShare> shares_;
  std::vector<Entry> entries_;        ///< Channel after channel.
  std::vector<std::size_t> begin_;    ///< Where those of each channel begin.
  Bytes partial_bytes_ = 0;
  bool uniform_ = true;
};

/// Patterns that were needed lately.
class PatternCache {
 public:
  std::shared_ptr<const AccessPattern> Get(const AddressMap& map, const AccessPattern::Loops& loops);

 private:
  struct Hash {
    std::size_t operator()(const AccessPattern::Loops& loops) const;
  };
  std::unordered_map<AccessPattern::Loops, std::shared_ptr<const AccessPattern>, Hash> patterns_;
  std::size_t size_ = 0;
};

/// An access: its pattern and where it lies. Immutable.
class AccessShape {
 public:
  /// `cache` may be null.
  AccessShape(const AddressMap& map, const Access& access, PatternCache* cache = nullptr);
  const AddressMap& map() const { return *pattern_->map_; }
  bool write() const { return pattern_->write_; }
  const ChannelShare& share(int channel) const {
    return pattern_->shares_[static_cast<std::size_t>(channel ^ channel_shift_)];
  }
  /// All channels see the same.
  bool uniform() const { return pattern_->uniform_; }
  Bytes partial_bytes() const { return pattern_->partial_bytes_; }  ///< In bursts that are not written whole.

 private:
  friend class ChannelWalker;
  std::shared_ptr<const AccessPattern> pattern_;
  std::uint64_t translation_ = 0;  ///< Packed.
  int channel_shift_ = 0;
};

/// A position in one channel's share. REQUIRES: the access's shape, or a copy of it, outlives the walker's use.
class ChannelWalker {
 public:
  ChannelWalker(const AccessShape& shape, int channel);
  std::int64_t left() const { return left_; }  ///< Bursts.
  /// Moves bursts into `batch` until there are min(want, left()); whole units are not
  /// split. Appends the indices of the runs it touched to `touched` (repeats possible). Returns the bursts taken.
  std::int64_t Take(std::int64_t want, Batch& batch, std::vector<int>& touched);

 private:
  std::int64_t TakeStripes(std::int64_t want, Batch& batch, std::vector<int>& touched);

  const AccessPattern* pattern_;
  const AccessPattern::Entry* entry_;
  std::uint64_t translation_;
  std::int64_t left_;
  std::int32_t channel_;         ///< In the pattern.
  std::int32_t stripe_ = 0;      ///< Stripes of the entry already taken,
  std::int32_t unit_index_ = 0;  ///< and units of the next.
};

}  // namespace spillway::model
