// SPDX-License-Identifier: Apache-2.0
#include "sim/model/channel_controller.h"

#include <algorithm>
#include <cmath>

#include "sim/base/result.h"

namespace spillway::model {
namespace {

/// A rate-limited access asks for this many bursts at a time (or for what it has left).
constexpr std::int64_t kPacedBursts = 16;

/// Reads of a batch are served before its writes: puts them first and renames `endings`.
template <class Endings>
void ReadsFirst(Batch& batch, Endings& endings) {
  const auto is_read = [](const UnitRun& run) { return !run.write; };
  if (std::is_partitioned(batch.runs.begin(), batch.runs.end(), is_read)) return;
  std::vector<int> place(batch.runs.size());
  int position = 0;
  for (const bool write : {false, true}) {
    for (std::size_t i = 0; i < batch.runs.size(); ++i) {
      if (batch.runs[i].write == write) place[i] = position++;
    }
  }
  std::stable_partition(batch.runs.begin(), batch.runs.end(), is_read);
  for (auto& ending : endings) {
    for (int& run : ending.runs) run = place[static_cast<std::size_t>(run)];
  }
}

}  // namespace

ChannelController::ChannelController(const config::HbmConfig& config, int channel, ChannelServer server)
    : server_(std::move(server)), refresh_mode_(config.refresh_mode), postpone_(std::max(0, config.refresh_postpone)),
      read_batch_(std::max(1, config.read_queue / 2)),
      write_drain_(std::max(1, config.write_high_watermark - config.write_low_watermark)) {
  const Ticks interval = server_.clocks().refi;
  if (interval <= 0) refresh_mode_ = config::RefreshMode::kNone;
  refresh_interval_ = interval;
  if (refresh_mode_ == config::RefreshMode::kPerBank) {
    refresh_interval_ = std::max<Ticks>(1, interval / server_.banks());
    bank_refresh_count_.assign(static_cast<std::size_t>(server_.banks()), 0);
  }
  next_refresh_ = refresh_interval_;
  if (config.refresh_phase == config::RefreshPhase::kStaggered) {
    next_refresh_ += refresh_interval_ * channel / std::max(1, config.channels);
  }
}

void ChannelController::Add(int access, const ChannelWalker& walker, bool write, Ticks visible, double rate) {
  SPILLWAY_CHECK(walker.left() > 0);
  Stream stream{access, write, visible, rate, 0, walker};
  const Ticks token = NextToken(stream);
  if (free_.empty()) {
    line_.push_back(static_cast<int>(streams_.size()));
    streams_.push_back(std::move(stream));
  } else {
    line_.push_back(free_.back());
    StreamAt(free_.back()) = std::move(stream);
    free_.pop_back();
  }
  if (decision_ < 0) {
    SettleIdle(visible);
    decision_ = token;
  } else if (next_.batch.runs.empty() && current_.batch.runs.empty()) {
    // Idle but for paced accesses that wait for their time.
    decision_ = std::min(decision_, token);
  }
}

std::int64_t ChannelController::Available(const Stream& stream, Ticks now) const {
  if (stream.visible > now) return 0;
  const std::int64_t left = stream.walker.left();
  if (stream.rate <= 0) return left;
  const auto earned = static_cast<std::int64_t>(stream.rate * static_cast<double>(now - stream.visible));
  const std::int64_t free = std::min(left, earned - stream.taken);
  return free >= std::min(left, kPacedBursts) ? free : 0;
}

std::int64_t ChannelController::Left(int access) const {
  for (const int place : line_) {
    if (StreamAt(place).access == access) return StreamAt(place).walker.left();
  }
  for (const Ending& ending : next_.endings) {
    if (ending.access == access) return 0;
  }
  return -1;
}

Ticks ChannelController::NextToken(const Stream& stream) const {
  if (stream.rate <= 0) return stream.visible;
  const std::int64_t wanted = stream.taken + std::min(stream.walker.left(), kPacedBursts);
  // One clock more than the exact quotient: Available() rounds down.
  return stream.visible + static_cast<Ticks>(std::ceil(static_cast<double>(wanted) / stream.rate)) + 1;
}

std::int64_t ChannelController::Budget(bool write, std::int64_t readers, std::int64_t writers) const {
  return write ? write_drain_ : std::max<std::int64_t>(1, write_drain_ * readers / writers);
}

void ChannelController::Admit(Ticks now, Admitted& into) {
  into.Clear();
  std::int64_t readers = 0, writers = 0;
  for (const int place : line_) {
    const Stream& stream = StreamAt(place);
    if (Available(stream, now) > 0) (stream.write ? writers : readers)++;
  }
  if (readers + writers == 0) return;
  const bool contest = readers > 0 && writers > 0;
  if (!contest) {
    writing_ = writers > 0;
    budget_ = -1;
  } else if (budget_ < 0) {
    budget_ = Budget(writing_, readers, writers);
  } else if (budget_ == 0) {
    writing_ = !writing_;
    budget_ = Budget(writing_, readers, writers);
  }
  std::int64_t want = writing_ ? write_drain_ : read_batch_;
  if (contest) want = std::min(want, budget_);
  TakeTurns(now, writing_, want, into);
  if (contest) {
    for (const UnitRun& run : into.batch.runs) budget_ -= run.write == writing_ ? run.bursts : 0;
    budget_ = std::max<std::int64_t>(0, budget_);
  }
  ReadsFirst(into.batch, into.endings);
  into.traits = server_.Admit(into.batch);
}

void ChannelController::TakeTurns(Ticks now, bool write, std::int64_t want, Admitted& into) {
  // Those served go to the end of the line.
  turn_.clear();
  std::size_t kept = 0;
  for (const int place : line_) {
    Stream& stream = StreamAt(place);
    const std::int64_t available = stream.write == write && want > 0 ? Available(stream, now) : 0;
    if (available == 0) {
      line_[kept++] = place;
      continue;
    }
    touched_.clear();
    const std::int64_t taken = stream.walker.Take(std::min(available, want), into.batch, touched_);
    stream.taken += taken;
    want -= taken;
    (write ? write_bursts_ : read_bursts_) += taken;
    if (stream.walker.left() == 0) {
      into.endings.push_back({stream.access, touched_});
      free_.push_back(place);
    } else {
      turn_.push_back(place);
    }
  }
  line_.resize(kept);
  line_.insert(line_.end(), turn_.begin(), turn_.end());
}

bool ChannelController::RefreshForced() const {
  return refresh_mode_ == config::RefreshMode::kAllBank && owed_ > postpone_;
}

Ticks ChannelController::PayRefreshes(Ticks now) {
  const Ticks ready = server_.Rest(now, owed_);
  owed_ = 0;
  return ready;
}

int ChannelController::NextBankToRefresh(bool skip_involved) const {
  int best = -1;
  for (int bank = 0; bank < server_.banks(); ++bank) {
    if (std::count(bank_refreshes_.begin(), bank_refreshes_.end(), bank) != 0) continue;
    const auto count = bank_refresh_count_[static_cast<std::size_t>(bank)];
    if (best >= 0 && count >= bank_refresh_count_[static_cast<std::size_t>(best)]) continue;
    const bool involved = server_.Involves(current_.batch, bank) || server_.Involves(next_.batch, bank);
    if (!(skip_involved && involved)) best = bank;
  }
  return best;
}

void ChannelController::ChooseBankRefreshes() {
  while (owed_ > 0) {
    const int oldest = NextBankToRefresh(false), free = NextBankToRefresh(true);
    if (oldest < 0) return;
    const auto lag = [this](int bank) {
      return *std::max_element(bank_refresh_count_.begin(), bank_refresh_count_.end()) -
             bank_refresh_count_[static_cast<std::size_t>(bank)];
    };
    // A bank in use is passed over until it lags by more rounds than may be postponed.
    const int bank = free < 0 || lag(oldest) > postpone_ ? oldest : free;
    bank_refreshes_.push_back(bank);
    bank_refresh_count_[static_cast<std::size_t>(bank)]++;
    --owed_;
  }
}

void ChannelController::RefreshOneIdle(Ticks due) {
  if (refresh_mode_ == config::RefreshMode::kAllBank) {
    server_.RefreshAll(due);
    return;
  }
  const int bank = NextBankToRefresh(false);
  server_.RefreshBank(bank, due);
  bank_refresh_count_[static_cast<std::size_t>(bank)]++;
}

void ChannelController::SettleIdle(Ticks now) {
  if (refresh_mode_ == config::RefreshMode::kNone) return;
  // Whole rounds of an idle device leave no trace but the last.
  const Ticks round = refresh_interval_ * (bank_refresh_count_.empty() ? 1 : server_.banks());
  const Ticks rounds = (now - next_refresh_) / round - 2;
  if (rounds > 0) {
    next_refresh_ += rounds * round;
    for (std::int64_t& count : bank_refresh_count_) count += rounds;
  }
  for (; next_refresh_ <= now; next_refresh_ += refresh_interval_) RefreshOneIdle(next_refresh_);
}

bool ChannelController::IsFresh(Ticks now) const {
  if (decision_ >= 0 || !line_.empty() || owed_ > 0 || !bank_refreshes_.empty()) return false;
  if (!bank_refresh_count_.empty()) return false;  // Which bank is due next differs.
  return server_.Forgotten(now);
}

void ChannelController::GoIdle(Ticks now) {
  server_.Rest(now, 0);
  for (const int bank : bank_refreshes_) server_.RefreshBank(bank, now);
  bank_refreshes_.clear();
  for (; owed_ > 0; --owed_) RefreshOneIdle(now);
  writing_ = false;
  budget_ = -1;
  decision_ = -1;
}

void ChannelController::Decide(std::vector<Finish>& finished) {
  const Ticks now = decision_;
  SPILLWAY_CHECK(now >= 0);
  while (refresh_mode_ != config::RefreshMode::kNone && next_refresh_ <= now) {
    ++owed_;
    next_refresh_ += refresh_interval_;
  }
  if (!current_.batch.runs.empty()) std::swap(last_, current_);
  std::swap(current_, next_);
  next_.Clear();
  if (current_.batch.runs.empty()) {
    if (RefreshForced()) {
      decision_ = PayRefreshes(now);
      return;
    }
    Admit(now, current_);
  }
  if (current_.batch.runs.empty()) {
    if (refresh_mode_ == config::RefreshMode::kAllBank && owed_ > 0) {
      decision_ = PayRefreshes(now);
      return;
    }
    if (line_.empty()) {
      GoIdle(now);
      return;
    }
    decision_ = NextToken(StreamAt(line_.front()));
    for (const int place : line_) decision_ = std::min(decision_, NextToken(StreamAt(place)));
    decision_ = std::max(decision_, now + 1);
    return;
  }
  if (!RefreshForced()) Admit(now, next_);
  if (refresh_mode_ == config::RefreshMode::kPerBank) ChooseBankRefreshes();
  server_.Serve(last_.batch, {current_.batch, current_.traits}, {next_.batch, next_.traits}, bank_refreshes_, now,
                !current_.endings.empty(), times_);
  for (const Ending& ending : current_.endings) {
    Ticks end = 0;
    for (const int run : ending.runs) end = std::max(end, times_.run_end[static_cast<std::size_t>(run)]);
    finished.push_back({ending.access, end});
  }
  decision_ = times_.last_cas;
}

}  // namespace spillway::model
