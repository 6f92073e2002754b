// SPDX-License-Identifier: Apache-2.0
// What decides how long a batch takes, without commands: how its rows relate to those that the channel used before. Banks
// that a unit of the map spans count as one (a *bank set*).
#pragma once

#include <cstdint>
#include <vector>

#include "sim/model/access_walker.h"
#include "sim/model/dram_device.h"

namespace spillway::model {

/// Counts of runs by what their bank set holds when the batch is taken in.
struct BatchTraits {
  bool write = false;
  bool mixed = false;    ///< Reads and writes.
  int bursts = 0;        ///< 0: no batch.
  int hits = 0;          ///< The row wanted.
  int closed = 0;        ///< Nothing since the rows were closed.
  int conflicts = 0;     ///< Another row, wanted to the end of the batch before or by this one: not to be closed ahead.
  int early_conflicts = 0;  ///< Another row, wanted at the begin of the batch before.
  int old_conflicts = 0;    ///< Another row, not wanted lately.
  int parts = 0;         ///< Runs that are no whole units.
};

class RowTracker {
 public:
  RowTracker(const AddressMap& map, int banks);
  /// Takes in the next batch.
  BatchTraits Admit(const Batch& batch);
  /// All rows are closed.
  void Close();
  /// Leaves `device` at `now` much as command by command service would have: the last batch served was `last`, then
  /// come `current` and `next`, both taken in.
  void Restore(DramDevice& device, const Batch& last, const Batch& current, const Batch& next, Ticks now) const;

 private:
  int SetOf(int bank) const { return bank & ~span_; }
  const AddressMap* map_;
  int span_ = 0;                      ///< Bits of the bank in which the parts of a unit differ.
  struct BankSet {
    std::int64_t row = -1;
    std::int64_t used = -2;           ///< Which batch was the last,
    std::int64_t ended = -2;          ///< and the last to end there.
  };
  std::vector<BankSet> sets_;         ///< By lowest bank.
  std::int64_t batches_ = 0;
};

/// Never 0. `last`: bursts 0 if the channel was at rest.
std::uint64_t ContextOf(const BatchTraits& last, const BatchTraits& current, const BatchTraits& next);

}  // namespace spillway::model
