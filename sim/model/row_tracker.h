// SPDX-License-Identifier: Apache-2.0
// What decides how long a batch takes, without commands: how its rows relate to those that the channel used before. Banks
// that a unit of the map spans count as one (a *bank set*).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/model/batch_service.h"
#include "sim/model/dram_device.h"

namespace spillway::model {

/// What is known of a batch when it is taken in.
struct BatchTraits {
  /// What the bank set of a run holds.
  enum Kind {
    kHit,            ///< The row wanted.
    kClosed,         ///< Nothing since the rows were closed.
    kConflict,       ///< Another row, wanted to the end of the batch before or by this one: not to be closed ahead.
    kEarlyConflict,  ///< Another row, wanted at the begin of the batch before.
    kOldConflict,    ///< Another row, not wanted lately.
  };
  static constexpr unsigned kMost = 15;  ///< Counts go so far.
  bool write = false;
  bool mixed = false;         ///< Reads and writes.
  int bursts = 0;             ///< 0: no batch.
  int parts = 0;              ///< Runs that are no whole units.
  std::uint32_t kinds = 0;    ///< Counts of runs by kind, 4 bits each.
  unsigned count(Kind kind) const { return (kinds >> (4 * kind)) & kMost; }
  void Count(Kind kind) {
    if (count(kind) < kMost) kinds += 1U << (4 * kind);
  }
};

/// A batch and what is known of it.
struct KnownBatch {
  Batch batch;
  BatchTraits traits;
};

class RowTracker {
 public:
  RowTracker(const AddressMap& map, int banks);
  /// Takes in the next batch: finds its traits.
  void Admit(KnownBatch& next);
  /// All rows are closed.
  void Close();
  /// Leaves `device` at `now` much as command by command service would have: the last batch served was `last`, then
  /// come `current` and `next`, both taken in.
  void Restore(DramDevice& device, const RowBatch& last, const RowBatch& current, const RowBatch& next, Ticks now) const;

 private:
  /// Small, as there is one of each channel: rows have 31 bits at most, and nobody simulates 2^32 batches of a channel.
  struct BankSet {
    std::int32_t row = -1;
    std::uint32_t used = 0;           ///< Which batch was the last,
    std::uint32_t ended = 0;          ///< and the last to end there.
  };
  std::size_t SetOf(int bank) const { return static_cast<std::size_t>(bank & ~span_); }
  const AddressMap* map_;
  int span_ = 0;                      ///< Bits of the bank in which the parts of a unit differ.
  std::uint32_t batches_ = 1;
  std::vector<BankSet> sets_;         ///< By lowest bank.
};

/// Never 0. `last`: bursts 0 if the channel was at rest.
inline std::uint64_t ContextOf(const BatchTraits& last, const BatchTraits& current, const BatchTraits& next) {
  const auto direction_and_bursts = [](const BatchTraits& traits) {
    return static_cast<std::uint64_t>(traits.write ? 256 + std::min(traits.bursts, 255) : std::min(traits.bursts, 255));
  };
  const unsigned conflicts = next.count(BatchTraits::kConflict) + next.count(BatchTraits::kEarlyConflict);
  const unsigned direction = next.bursts == 0 ? 0 : next.write ? 2 : 1;
  const unsigned ahead = direction << 16 | next.count(BatchTraits::kHit) << 12 | next.count(BatchTraits::kClosed) << 8 |
                         std::min(conflicts, BatchTraits::kMost) << 4 | next.count(BatchTraits::kOldConflict);
  return std::uint64_t{1} << 62 | direction_and_bursts(last) << 53 | direction_and_bursts(current) << 44 |
         std::uint64_t{current.kinds} << 24 | static_cast<std::uint64_t>(std::min(current.parts, 63)) << 18 | ahead;
}

}  // namespace spillway::model
