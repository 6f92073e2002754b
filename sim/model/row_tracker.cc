// SPDX-License-Identifier: Apache-2.0
#include "sim/model/row_tracker.h"

#include <algorithm>

namespace spillway::model {

RowTracker::RowTracker(const AddressMap& map, int banks) : map_(&map), sets_(static_cast<std::size_t>(banks)) {
  for (const AddressMap::UnitPart& part : map.unit_parts()) span_ |= map.BankOf(part.packed);
}

void RowTracker::Admit(KnownBatch& next) {
  next.traits = {};
  const std::vector<UnitRun>& runs = next.batch.runs;
  if (runs.empty()) return;
  BatchTraits traits;
  ++batches_;
  traits.write = runs.front().write;
  BankSet* set = nullptr;
  for (const UnitRun& run : runs) {
    set = &sets_[SetOf(map_->BankOf(run.packed))];
    const auto row = static_cast<std::int32_t>(map_->RowOf(run.packed));
    traits.bursts += run.bursts;
    traits.mixed = traits.mixed || run.write != traits.write;
    traits.parts += run.whole ? 0 : 1;
    if (set->row == row) {
      traits.Count(BatchTraits::kHit);
    } else if (set->row < 0) {
      traits.Count(BatchTraits::kClosed);
    } else if (set->used == batches_ || set->ended == batches_ - 1) {
      traits.Count(BatchTraits::kConflict);
    } else if (set->used == batches_ - 1) {
      traits.Count(BatchTraits::kEarlyConflict);
    } else {
      traits.Count(BatchTraits::kOldConflict);
    }
    set->row = row;
    set->used = batches_;
  }
  set->ended = batches_;
  next.traits = traits;
}

void RowTracker::Close() {
  for (BankSet& set : sets_) set.row = -1;
}

void RowTracker::Restore(DramDevice& device, const RowBatch& last, const RowBatch& current, const RowBatch& next,
                         Ticks now) const {
  const DramClocks& c = device.clocks();
  device.Rest(kLongAgo);
  for (int bank = 0; bank < device.banks(); ++bank) {
    const BankSet& set = sets_[SetOf(bank)];
    if (set.row >= 0) device.Open(bank, set.row, kLongAgo, kLongAgo);
  }
  // Rows of the batch behind are closed, at best; those of the current one were opened ahead.
  for (const RowRun& run : next.runs) device.Close(run.bank, kLongAgo);
  const std::vector<RowRun>& wanted = current.runs;
  for (const RowRun& run : wanted) device.Open(run.bank, run.row, kLongAgo, kLongAgo);
  // Where the last batch was in the way, as soon as its bursts there were through: rows are served in pairs, oldest first.
  const std::vector<RowRun>& done = last.runs;
  Ticks end = now;
  std::size_t from = done.size();
  while (from > 0) {
    const std::size_t to = from;
    from -= from % 2 == 0 ? 2 : 1;
    Ticks served = 0;
    for (std::size_t i = from; i < to; ++i) {
      const RowRun& run = done[i];
      const Ticks closing = end + (run.write ? c.cwl + c.burst + c.wr : c.rtp), act = closing + c.rp;
      const auto same_bank = [&run](const RowRun& other) { return other.bank == run.bank; };
      const auto next_row = std::find_if(wanted.begin(), wanted.end(), same_bank);
      if (next_row == wanted.end() || next_row->row == run.row) {
        device.Open(run.bank, run.row, closing, kLongAgo);
      } else if (act < now) {
        device.Open(run.bank, next_row->row, act + c.ras, act);
      } else {
        device.Close(run.bank, act);
      }
      served += run.bursts * c.ccd_s;
    }
    end -= served;
  }
  if (!done.empty()) device.SetLastBurst(done.back().bank, done.back().write, now);
}

}  // namespace spillway::model
