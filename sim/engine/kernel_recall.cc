// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/kernel_recall.h"

#include <algorithm>
#include <utility>

#include "sim/base/result.h"

namespace spillway::engine {
namespace {

using plan::Action;
using plan::Direction;

// Longer ones are not kept in memory: they are replayed every time.
constexpr std::size_t kMostActions = std::size_t{1} << 20;

}  // namespace

KernelRecall::KernelRecall(Recorder& recorder, const config::ChipConfig& chip, std::function<int()> next_flow)
    : recorder_(recorder), chip_(chip), next_flow_(std::move(next_flow)),
      book_(chip.hbm.timing.trfc * (chip.hbm.refresh_postpone + 1)) {}

void KernelRecall::Begin(plan::ActionSource& source, int op, std::uint64_t others, bool in_loop, Picos now) {
  SPILLWAY_CHECK(source.IsFixed());
  source_ = &source;
  op_ = op;
  begin_ = now;
  next_ = 0;
  actions_.clear();
  Action action;
  while (actions_.size() < kMostActions && source.Next(action)) actions_.push_back(action);
  like_ = same_ = nullptr;
  known_ = nullptr;
  if (actions_.size() == kMostActions) return;
  like_ = &book_.TimesOfLike(actions_, others);
  if (in_loop) same_ = &book_.TimesOfSame(actions_, others);
  if (like_->known()) known_ = like_;
  if (same_ != nullptr && same_->known()) known_ = same_;
  if (known_ != nullptr) like_ = same_ = nullptr;
  delays_.assign(actions_.size() + 1, {});
  hbm_busy_before_ = recorder_.HbmBusyBy(now);
}

bool KernelRecall::Next(Action& action) {
  const std::size_t at = next_;
  next_ = std::min(next_ + 1, actions_.size() + 1);
  if (at < actions_.size()) {
    action = actions_[at];
    return true;
  }
  return actions_.size() == kMostActions && source_->Next(action);
}

void KernelRecall::End(Picos now, bool alone) {
  for (KernelTimes* times : {like_, same_}) {
    if (times == nullptr) continue;
    if (alone) {
      times->Teach(delays_, now - begin_, recorder_.HbmBusyBy(now) - hbm_busy_before_);
    } else {
      times->Spoil();
    }
  }
  source_ = nullptr;
}

Picos KernelRecall::BookCompute(Picos begin, Picos contention) {
  if (pending_.cycles == 0) return begin;
  const Picos end = begin + chip_.CyclesToPicos(pending_.cycles) + contention;
  recorder_.Compute(begin, end, pending_.cycles, pending_.bundles);
  pending_ = {};
  return end;
}

void KernelRecall::Book(Picos replay_now) {
  struct Booked {
    const plan::Transfer* transfer;
    int flow;
    Picos issued, end;
  };
  std::vector<Booked> booked;
  std::map<int, std::pair<Direction, int>> last;   // By flag: its last transfer.
  Picos now = begin_;
  for (std::size_t i = 0; i < actions_.size(); ++i) {
    const Action& action = actions_[i];
    const ActionDelay delay = known_->Mean(i);
    if (action.kind == Action::Kind::kIssue || action.kind == Action::Kind::kWait) now = BookCompute(now, delay.contention);
    switch (action.kind) {
      case Action::Kind::kCompute:
        pending_.cycles += action.cycles;
        pending_.bundles += action.bundles;
        break;
      case Action::Kind::kStep: recorder_.Step(now, pending_.cycles); break;
      case Action::Kind::kFlag: break;
      case Action::Kind::kIssue:
        recorder_.WaitOther(now, now + delay.room);
        now += delay.room;
        last[action.flag] = {action.transfer.direction, next_flow_()};
        booked.push_back({&action.transfer, last[action.flag].second, now, now + delay.latency});
        break;
      case Action::Kind::kWait:
        recorder_.Wait(now, now + delay.wait, last[action.flag].first, last[action.flag].second);
        now += delay.wait;
        break;
    }
  }
  now = BookCompute(now, known_->Mean(actions_.size()).contention);
  const Bytes read = recorder_.read_bytes(), written = recorder_.write_bytes();
  for (const Booked& each : booked) {
    recorder_.DmaDone(*each.transfer, op_, each.flow, each.issued, std::min(each.end, now));
  }
  const Picos busy = known_->MeanHbmBusy() - (recorder_.HbmBusyBy(replay_now) - hbm_busy_before_);
  recorder_.Skip(replay_now, now, std::max<Picos>(busy, 0), recorder_.read_bytes() - read,
                 recorder_.write_bytes() - written);
  next_ = actions_.size();
  known_ = nullptr;
}

}  // namespace spillway::engine
