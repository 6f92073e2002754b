// SPDX-License-Identifier: Apache-2.0
#include "sim/model/channel_server.h"

#include <algorithm>

namespace spillway::model {
namespace {

// ContextOf tells batches of no more bursts apart.
constexpr int kMostBursts = 254;
// Few bursts in parts of units come from accesses that are short or scattered: their times matter one by one.
constexpr int kFewBursts = 32;

// A device that was put back is likely, not true: what follows in service is better to learn from.
constexpr int kServedInARow = 2;

bool Recallable(const BatchTraits& traits) {
  return !traits.mixed && traits.bursts <= kMostBursts && (traits.parts == 0 || traits.bursts >= kFewBursts);
}

}  // namespace

ChannelServer::ChannelServer(const config::HbmConfig& config, Shared& shared)
    : shared_(&shared), device_(config), rows_(shared.map, device_.banks()) {}

void ChannelServer::ServeCommands(const Batch& last, const Batch& current, const Batch& next, std::vector<int>& refreshes,
                                  Ticks start, bool want_ends, Times& out) {
  if (stale_) {
    if (last_.bursts == 0) {
      device_.Rest(ready_);
    } else {
      shared_->last.Expand(shared_->map, last);
      shared_->current.Expand(shared_->map, current);
      shared_->next.Expand(shared_->map, next);
      rows_.Restore(device_, shared_->last, shared_->current, shared_->next, start);
    }
    stale_ = false;
  }
  if (shared_->mode == ServiceMode::kTrains) {
    out.last_cas = shared_->trains.Serve(device_, shared_->map, current, next, refreshes, start);
    if (want_ends) shared_->trains.Ends(out.run_end);
    return;
  }
  const RowBatch& rows = shared_->current;
  ServiceResult& result = shared_->result;
  shared_->current.Expand(shared_->map, current);
  shared_->next.Expand(shared_->map, next);
  ServeBatch(device_, rows, shared_->next, refreshes, start, result);
  out.last_cas = result.last_cas;
  out.run_end.assign(current.runs.size(), 0);
  for (std::size_t i = 0; i < current.runs.size(); ++i) {
    for (int t = rows.first[i]; t < rows.first[i + 1]; ++t) {
      const auto row = static_cast<std::size_t>(rows.touched[static_cast<std::size_t>(t)]);
      out.run_end[i] = std::max(out.run_end[i], result.run_data_end[row]);
    }
  }
}

void ChannelServer::EndsOf(const Batch& batch, Times& out) const {
  const DramClocks& c = device_.clocks();
  out.run_end.resize(batch.runs.size());
  // Oldest first, and row hits keep the bus busy.
  Ticks cas = out.last_cas;
  for (std::size_t i = batch.runs.size(); i-- > 0;) {
    out.run_end[i] = cas + (batch.runs[i].write ? c.cwl : c.cl) + c.burst;
    cas -= batch.runs[i].bursts * c.ccd_s;
  }
}

void ChannelServer::Serve(const KnownBatch& last, const KnownBatch& current, const KnownBatch& next,
                          std::vector<int>& refreshes, Ticks start, bool want_ends, Times& out) {
  if (!shared_->recall || !Recallable(current.traits)) {
    ServeCommands(last.batch, current.batch, next.batch, refreshes, start, want_ends, out);
    last_ = current.traits;
    return;
  }
  const std::uint64_t context = ContextOf(last_, current.traits, next.traits);
  const Ticks begin = last_.bursts == 0 ? std::max(start, ready_) : start;
  const Ticks took = to_serve_ > 0 || start < shared_->recall_from ? -1 : shared_->times.Recall(context);
  to_serve_ = took >= 0 ? 0 : to_serve_ > 0 ? to_serve_ - 1 : kServedInARow - 1;
  if (took >= 0) {
    out.last_cas = begin + took;
    if (want_ends) EndsOf(current.batch, out);
    stale_ = true;
  } else {
    ServeCommands(last.batch, current.batch, next.batch, refreshes, start, want_ends, out);
    shared_->times.Teach(context, start, out.last_cas - begin);
  }
  last_ = current.traits;
}

Ticks ChannelServer::Rest(Ticks now, int count) {
  const DramClocks& c = device_.clocks();
  if (!stale_) {
    bool open = false;
    for (int bank = 0; bank < device_.banks(); ++bank) open = open || device_.bank(bank).row >= 0;
    if (open) device_.Issue(Command::kPrechargeAll, 0, -1, device_.Earliest(Command::kPrechargeAll, 0, now));
    ready_ = kLongAgo;
    for (int bank = 0; bank < device_.banks(); ++bank) ready_ = std::max(ready_, device_.bank(bank).act_ok);
  } else if (last_.bursts > 0) {
    ready_ = now + (last_.write ? c.cwl + c.burst + c.wr : c.rtp) + c.rp;
  }
  rows_.Close();
  last_ = {};
  for (int i = 0; i < count; ++i) RefreshAll(now);
  return ready_;
}

void ChannelServer::RefreshAll(Ticks due) {
  if (stale_) {
    ready_ = std::max(due, ready_) + device_.clocks().rfc;
  } else {
    device_.Issue(Command::kRefreshAll, 0, -1, device_.Earliest(Command::kRefreshAll, 0, due));
    ready_ = device_.bank(0).act_ok;
  }
}

void ChannelServer::RefreshBank(int bank, Ticks due) {
  device_.Issue(Command::kRefreshBank, bank, -1, device_.Earliest(Command::kRefreshBank, bank, due));
}

bool ChannelServer::Involves(const Batch& batch, int bank) const {
  for (const UnitRun& run : batch.runs) {
    if (shared_->map.BankOf(run.packed) == bank) return true;
    for (const AddressMap::UnitPart& part : shared_->map.unit_parts()) {
      if (run.whole && shared_->map.BankOf(run.packed ^ part.packed) == bank) return true;
    }
  }
  return false;
}

bool ChannelServer::Forgotten(Ticks now) const {
  const DramClocks& c = device_.clocks();
  const Ticks memory = c.faw + c.rrd_l + c.cwl + c.burst + c.wtr_l + c.rtw + c.ccd_l + c.ccd_r + c.rrefd;
  if (stale_) return last_.bursts == 0 && ready_ + memory <= now;
  for (int bank = 0; bank < device_.banks(); ++bank) {
    const DramDevice::Bank& state = device_.bank(bank);
    // A refresh in progress is the same in all channels of this phase.
    if (state.row >= 0 || state.act_ok + memory > now) return false;
  }
  return true;
}

}  // namespace spillway::model
