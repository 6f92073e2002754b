// SPDX-License-Identifier: Apache-2.0
#include "sim/model/channel_controller.h"

#include <algorithm>
#include <cmath>

#include "sim/base/result.h"

namespace spillway::model {
namespace {

/// A rate-limited access asks for this many bursts at a time (or for what it has left).
constexpr std::int64_t kPacedBursts = 16;

}  // namespace

void ChannelController::Admitted::ReadsFirst() {
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
  for (int& run : ending_runs) run = place[static_cast<std::size_t>(run)];
}

ChannelController::ChannelController(const config::HbmConfig& config, int channel, ChannelServer server, Scratch& scratch)
    : server_(std::move(server)), refresh_mode_(config.refresh_mode), postpone_(std::max(0, config.refresh_postpone)),
      read_batch_(std::max(1, config.read_queue / 2)),
      write_drain_(std::max(1, config.write_high_watermark - config.write_low_watermark)), scratch_(&scratch) {
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
  const Stream stream{walker, access, write, rate, visible, 0};
  const Ticks token = NextToken(stream);
  if (free_.empty()) {
    line_.push_back({static_cast<int>(streams_.size()), access});
    streams_.push_back(stream);
  } else {
    line_.push_back({free_.back(), access});
    StreamAt(line_.back()) = stream;
    free_.pop_back();
  }
  streams_of_[write ? 1 : 0]++;
  paced_ += rate > 0 ? 1 : 0;
  all_visible_ = std::max(all_visible_, visible);
  if (decision_ < 0) {
    SettleIdle(visible);
    decision_ = token;
  } else if (Batches(next_).empty() && Batches(current_).empty()) {
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
  std::int64_t readers = streams_of_[0], writers = streams_of_[1];
  if (!NobodyWaits(now)) {
    for (const Turn& turn : line_) {
      if (Available(StreamAt(turn), now) == 0) (StreamAt(turn).write ? writers : readers)--;
    }
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
  const std::int64_t taken = TakeTurns(now, writing_, want, into);
  if (contest) budget_ = std::max<std::int64_t>(0, budget_ - taken);
  if (writing_) into.ReadsFirst();
  server_.Admit(into);
}

std::int64_t ChannelController::TakeFrom(const Turn& turn, std::int64_t want, Admitted& into) {
  Stream& stream = StreamAt(turn);
  std::vector<int>& touched = scratch_->touched;
  touched.clear();
  const std::int64_t taken = stream.walker.Take(want, into.batch, touched);
  stream.taken += taken;
  if (stream.walker.left() == 0) {
    const int first = static_cast<int>(into.ending_runs.size());
    into.ending_runs.insert(into.ending_runs.end(), touched.begin(), touched.end());
    into.endings.push_back({stream.access, first, static_cast<int>(into.ending_runs.size())});
    free_.push_back(turn.place);
    streams_of_[stream.write ? 1 : 0]--;
    paced_ -= stream.rate > 0 ? 1 : 0;
  }
  return taken;
}

std::int64_t ChannelController::TakeTurns(Ticks now, bool write, std::int64_t want, Admitted& into) {
  const bool nobody_waits = NobodyWaits(now);
  std::vector<Turn>& served = scratch_->served;
  served.clear();
  std::size_t kept = 0;
  std::int64_t left = want;
  std::size_t i = 0;
  for (; i < line_.size() && left > 0; ++i) {
    const Turn turn = line_[i];
    const Stream& stream = StreamAt(turn);
    std::int64_t available = 0;
    if (stream.write == write) available = nobody_waits ? stream.walker.left() : Available(stream, now);
    if (available == 0) {
      line_[kept++] = turn;
      continue;
    }
    left -= TakeFrom(turn, std::min(available, left), into);
    if (stream.walker.left() > 0) served.push_back(turn);
  }
  for (; i < line_.size(); ++i) line_[kept++] = line_[i];
  // Those served go to the end of the line.
  for (const Turn& turn : served) line_[kept++] = turn;
  line_.resize(kept);
  (write ? write_bursts_ : read_bursts_) += want - left;
  return want - left;
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
    const bool involved = server_.Involves(Batches(current_).batch, bank) || server_.Involves(Batches(next_).batch, bank);
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
  if (!Batches(current_).empty()) std::swap(last_, current_);
  std::swap(current_, next_);
  Admitted& current = Batches(current_);
  Admitted& next = Batches(next_);
  next.Clear();
  if (current.empty()) {
    if (RefreshForced()) {
      decision_ = PayRefreshes(now);
      return;
    }
    Admit(now, current);
  }
  if (current.empty()) {
    if (refresh_mode_ == config::RefreshMode::kAllBank && owed_ > 0) {
      decision_ = PayRefreshes(now);
      return;
    }
    if (line_.empty()) {
      GoIdle(now);
      return;
    }
    decision_ = NextToken(StreamAt(line_.front()));
    for (const Turn& turn : line_) decision_ = std::min(decision_, NextToken(StreamAt(turn)));
    decision_ = std::max(decision_, now + 1);
    return;
  }
  if (!RefreshForced()) Admit(now, next);
  if (refresh_mode_ == config::RefreshMode::kPerBank) ChooseBankRefreshes();
  ChannelServer::Times& times = scratch_->times;
  server_.Serve(Batches(last_), current, next, bank_refreshes_, now, !current.endings.empty(), times);
  for (const Ending& ending : current.endings) {
    Ticks end = 0;
    for (int i = ending.first_run; i < ending.last_run; ++i) {
      end = std::max(end, times.run_end[static_cast<std::size_t>(current.ending_runs[static_cast<std::size_t>(i)])]);
    }
    finished.push_back({ending.access, end});
  }
  decision_ = times.last_cas;
}

}  // namespace spillway::model
