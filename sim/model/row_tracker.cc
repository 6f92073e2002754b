// SPDX-License-Identifier: Apache-2.0
#include "sim/model/row_tracker.h"

#include <algorithm>

#include "sim/model/batch_service.h"

namespace spillway::model {

RowTracker::RowTracker(const AddressMap& map, int banks) : map_(&map), sets_(static_cast<std::size_t>(banks)) {
  for (const AddressMap::UnitPart& part : map.unit_parts()) span_ |= map.BankOf(part.packed);
}

BatchTraits RowTracker::Admit(const Batch& batch) {
  BatchTraits traits;
  if (batch.runs.empty()) return traits;
  ++batches_;
  traits.write = batch.runs.front().write;
  for (const UnitRun& run : batch.runs) {
    BankSet& set = sets_[static_cast<std::size_t>(SetOf(map_->BankOf(run.packed)))];
    const std::int64_t row = map_->RowOf(run.packed);
    traits.bursts += run.bursts;
    traits.mixed = traits.mixed || run.write != traits.write;
    traits.parts += run.whole ? 0 : 1;
    if (set.row == row) {
      ++traits.hits;
    } else if (set.row < 0) {
      ++traits.closed;
    } else if (set.used == batches_ || set.ended == batches_ - 1) {
      ++traits.conflicts;
    } else if (set.used == batches_ - 1) {
      ++traits.early_conflicts;
    } else {
      ++traits.old_conflicts;
    }
    set.row = row;
    set.used = batches_;
  }
  sets_[static_cast<std::size_t>(SetOf(map_->BankOf(batch.runs.back().packed)))].ended = batches_;
  return traits;
}

void RowTracker::Close() {
  for (BankSet& set : sets_) set.row = -1;
}

void RowTracker::Restore(DramDevice& device, const Batch& last, const Batch& current, const Batch& next, Ticks now) const {
  const DramClocks& c = device.clocks();
  device.Rest(kLongAgo);
  for (int bank = 0; bank < device.banks(); ++bank) {
    const BankSet& set = sets_[static_cast<std::size_t>(SetOf(bank))];
    if (set.row >= 0) device.Open(bank, set.row, kLongAgo, kLongAgo);
  }
  // Rows of the batch behind are closed, at best; those of the current one were opened ahead.
  RowBatch rows;
  rows.Expand(*map_, next);
  for (const RowRun& run : rows.runs) device.Close(run.bank, kLongAgo);
  rows.Expand(*map_, current);
  const std::vector<RowRun> wanted = rows.runs;
  for (const RowRun& run : wanted) device.Open(run.bank, run.row, kLongAgo, kLongAgo);
  // Where the last batch was in the way, as soon as its bursts there were through: rows are served in pairs, oldest first.
  rows.Expand(*map_, last);
  const std::vector<RowRun>& done = rows.runs;
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

std::uint64_t ContextOf(const BatchTraits& last, const BatchTraits& current, const BatchTraits& next) {
  std::uint64_t word = 1;
  const auto add = [&word](int value, int bits) {
    word = word << bits | static_cast<std::uint64_t>(std::min(value, (1 << bits) - 1));
  };
  add(last.write ? 1 : 0, 1);
  add(last.bursts, 8);
  add(current.write ? 1 : 0, 1);
  add(current.bursts, 8);
  add(current.hits, 4);
  add(current.closed, 4);
  add(current.conflicts, 4);
  add(current.early_conflicts, 4);
  add(current.old_conflicts, 4);
  add(current.parts, 6);
  add(next.bursts > 0 ? (next.write ? 2 : 1) : 0, 2);
  add(next.hits, 4);
  add(next.closed, 4);
  add(next.conflicts + next.early_conflicts, 4);
  add(next.old_conflicts, 4);
  return word;
}

}  // namespace spillway::model
