// SPDX-License-Identifier: Apache-2.0
#include "sim/model/train_service.h"

#include <algorithm>

#include "sim/base/result.h"

namespace spillway::model {

Ticks TrainService::Serve(DramDevice& device, const AddressMap& map, const Batch& current, const Batch& next,
                          std::vector<int>& refreshes, Ticks start) {
  device_ = &device;
  refreshes_ = &refreshes;
  start_ = start;
  Clear(device);
  Expand(map, current);
  served_ = static_cast<int>(runs_.size());
  for (const Run& run : runs_) left_[run.write ? 1 : 0] += run.left;
  first_.push_back(static_cast<int>(touched_.size()));
  Expand(map, next);
  for (const int bank : refreshes) BankOf(bank).refresh = true;
  BeginDirection(left_[0] == 0);
  while (left_[0] + left_[1] > 0) {
    while (!Step()) IssueRowCommand();
  }
  for (const Bank& bank : banks_) place_[static_cast<std::size_t>(bank.bank)] = -1;
  return last_;
}

void TrainService::Ends(std::vector<Ticks>& ends) const {
  ends.assign(first_.size() - 1, 0);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    for (int t = first_[i]; t < first_[i + 1]; ++t) {
      ends[i] = std::max(ends[i], RunAt(touched_[static_cast<std::size_t>(t)]).end);
    }
  }
}

void TrainService::Clear(const DramDevice& device) {
  runs_.clear();
  banks_.clear();
  first_.clear();
  touched_.clear();
  left_[0] = left_[1] = served_ = 0;
  place_.resize(static_cast<std::size_t>(device.banks()), -1);
}

TrainService::Bank& TrainService::BankOf(int bank) {
  int& place = place_[static_cast<std::size_t>(bank)];
  if (place < 0) {
    place = static_cast<int>(banks_.size());
    banks_.emplace_back();
    banks_.back().bank = bank;
  }
  return banks_[static_cast<std::size_t>(place)];
}

void TrainService::AddBursts(std::size_t oldest, std::int64_t row, int bank, int bursts, bool write) {
  Bank& wanted = BankOf(bank);
  for (int i = wanted.first; i >= 0; i = RunAt(i).after) {
    Run& run = RunAt(i);
    if (run.row == row && run.write == write && i >= static_cast<int>(oldest)) {
      run.left += bursts;
      touched_.push_back(i);
      return;
    }
  }
  const int added = static_cast<int>(runs_.size());
  runs_.push_back({row, place_[static_cast<std::size_t>(bank)], bursts, -1, write, 0});
  touched_.push_back(added);
  (wanted.first < 0 ? wanted.first : RunAt(wanted.last).after) = added;
  wanted.last = added;
}

void TrainService::Expand(const AddressMap& map, const Batch& batch) {
  const std::size_t oldest = runs_.size();
  const int unit_shift = map.unit_bits() - map.burst_bits();
  for (const UnitRun& run : batch.runs) {
    if (served_ == 0) first_.push_back(static_cast<int>(touched_.size()));
    if (!run.whole) {
      AddBursts(oldest, map.RowOf(run.packed), map.BankOf(run.packed), run.bursts, run.write);
      continue;
    }
    for (const AddressMap::UnitPart& part : map.unit_parts()) {
      const std::uint64_t packed = run.packed ^ part.packed;
      AddBursts(oldest, map.RowOf(packed), map.BankOf(packed), part.bursts * run.bursts >> unit_shift, run.write);
    }
  }
}

void TrainService::BeginDirection(bool write) {
  write_ = write;
  device_->ColumnGates(write, group_ok_, stack_ok_);
  candidates_.clear();
  waiting_.clear();
  best_known_ = false;
  for (std::size_t i = 0; i < banks_.size(); ++i) {
    banks_[i].owner = OwnerOf(banks_[i]);
    if (Waits(banks_[i])) waiting_.push_back(static_cast<int>(i));
  }
  for (int i = 0; i < served_; ++i) {
    const Bank& bank = BankAt(RunAt(i).place);
    if (bank.owner == i && RunAt(i).write == write && Hits(bank)) AddCandidate(i, bank.bank);
  }
}

bool TrainService::Hits(const Bank& bank) const {
  return bank.owner >= 0 && RunAt(bank.owner).row == device_->bank(bank.bank).row;
}

int TrainService::OwnerOf(const Bank& bank) const {
  // Row hits that may be served now come first, then age.
  const std::int64_t open = device_->bank(bank.bank).row;
  int oldest = -1;
  for (int i = bank.first; i >= 0; i = RunAt(i).after) {
    const Run& run = RunAt(i);
    const bool in_service = InService(i);
    if (in_service && run.left == 0) continue;
    if (!in_service && InService(oldest)) break;
    if (run.row == open && (!in_service || run.write == write_)) return i;
    if (oldest < 0) oldest = i;
  }
  return oldest;
}

bool TrainService::Waits(Bank& bank) {
  const std::int64_t open = device_->bank(bank.bank).row;
  const bool hit = bank.owner >= 0 && RunAt(bank.owner).row == open;
  bank.command = open >= 0 ? Command::kPrecharge : bank.refresh ? Command::kRefreshBank : Command::kActivate;
  return bank.refresh ? !(hit && InService(bank.owner)) : bank.owner >= 0 && !hit;
}

void TrainService::FindRowCommand() {
  if (best_known_) return;
  const DramClocks& clocks = device_->clocks();
  const DramDevice::RowGates gates = device_->GatesOfRows(start_);
  best_ = {};
  opens_ = kNever;
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    const int place = waiting_[i];
    const Bank& bank = BankAt(place);
    const Ticks tick = device_->EarliestRow(bank.command, bank.bank, gates);
    if (tick < best_.tick || (tick == best_.tick && place < best_.place)) best_ = {tick, place, i};
    if (InService(bank.owner)) opens_ = std::min(opens_, tick + (bank.command == Command::kPrecharge ? clocks.rp : 0));
  }
  opens_ += std::max<Ticks>(1, write_ ? clocks.rcd_wr : clocks.rcd_rd);
  best_known_ = true;
}

void TrainService::IssueRowCommand() {
  SPILLWAY_CHECK(!waiting_.empty());
  FindRowCommand();
  Bank& bank = BankAt(best_.place);
  device_->Issue(bank.command, bank.bank, bank.owner >= 0 ? RunAt(bank.owner).row : -1, best_.tick);
  if (bank.command == Command::kRefreshBank) {
    bank.refresh = false;
    refreshes_->erase(std::find(refreshes_->begin(), refreshes_->end(), bank.bank));
  }
  if (bank.command == Command::kActivate && InService(bank.owner) && RunAt(bank.owner).write == write_) {
    AddCandidate(bank.owner, bank.bank);
  }
  if (!Waits(bank)) {
    waiting_[best_.turn] = waiting_.back();
    waiting_.pop_back();
  }
  best_known_ = false;
}

void TrainService::IssueRowCommandsBefore(Ticks tick) {
  while (!waiting_.empty()) {
    FindRowCommand();
    if (best_.tick >= tick) return;
    IssueRowCommand();
  }
}

void TrainService::AddCandidate(int run, int bank) {
  const DramDevice::Bank& state = device_->bank(bank);
  const Ticks ready = std::max(start_, write_ ? state.write_ok : state.read_ok);
  candidates_.push_back({run, bank, device_->GroupOf(bank), device_->StackOf(bank), ready, 0});
  for (std::size_t i = candidates_.size() - 1; i > 0 && candidates_[i - 1].run > run; --i) {
    std::swap(candidates_[i - 1], candidates_[i]);
  }
}

int TrainService::FindFirst() {
  int first = -1;
  Ticks begin = kNever;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    Candidate& each = candidates_[i];
    each.tick = std::max({each.ready, group_ok_[static_cast<std::size_t>(each.group)],
                          stack_ok_[static_cast<std::size_t>(each.stack)]});
    if (each.tick < begin) {
      begin = each.tick;
      first = static_cast<int>(i);
    }
  }
  return first;
}

/// The row that takes turns with the first; -1: none. `until` becomes the first clock at which another one may have its turn.
int TrainService::FindSecond(int first, Ticks& until) const {
  const DramClocks& clocks = device_->clocks();
  const Candidate& a = CandidateAt(first);
  // Two rows in different bank groups of a stack take turns when each is free again two bursts later.
  bool wanted = clocks.ccd_l > clocks.ccd_s && clocks.ccd_l <= 2 * clocks.ccd_s;
  int second = -1;
  for (int i = 0; i < static_cast<int>(candidates_.size()); ++i) {
    if (i == first) continue;
    // The bus has no gap between the two for one that is younger than both.
    if (second >= 0 && i > first) break;
    const Candidate& other = CandidateAt(i);
    if (wanted && other.group != a.group && other.tick <= a.tick + clocks.ccd_s) {
      wanted = false;
      if (other.stack == a.stack) {
        second = i;
        continue;
      }
    }
    // Nor is there one in the bank group of the first that a younger row could use.
    if (i < first || other.group != a.group) until = std::min(until, other.tick);
  }
  return second;
}

bool TrainService::Step() {
  const int first = FindFirst();
  if (first < 0) return false;
  const DramClocks& clocks = device_->clocks();
  const Candidate a = CandidateAt(first);
  Ticks until = kNever;
  if (!waiting_.empty()) {
    FindRowCommand();
    until = opens_;
    if (a.tick >= until) return false;
  }
  const int second = FindSecond(first, until);
  const auto fit = [until](Ticks begin, Ticks step, int most) {
    return begin + (most - 1) * step < until ? most : begin < until ? static_cast<int>((until - 1 - begin) / step) + 1 : 0;
  };
  if (second < 0) {
    const int bursts = std::max(1, fit(a.tick, clocks.ccd_l, RunAt(a.run).left));
    Take(a, bursts, a.tick + (bursts - 1) * clocks.ccd_l);
    return true;
  }
  const Candidate b = CandidateAt(second);
  const Ticks step = 2 * clocks.ccd_s;
  const int pairs = fit(a.tick + clocks.ccd_s, step, std::min(RunAt(a.run).left, RunAt(b.run).left));
  const Ticks last = a.tick + std::max(0, pairs - 1) * step;
  Take(a, std::max(1, pairs), last);
  if (pairs > 0) Take(b, pairs, last + clocks.ccd_s);
  return true;
}

void TrainService::Take(const Candidate& from, int bursts, Ticks last) {
  const DramClocks& clocks = device_->clocks();
  group_ok_[static_cast<std::size_t>(from.group)] = last + clocks.ccd_l;
  for (std::size_t i = 0; i < stack_ok_.size(); ++i) {
    stack_ok_[i] = std::max(stack_ok_[i], last + (static_cast<int>(i) == from.stack ? clocks.ccd_s : clocks.ccd_r));
  }
  last_ = last;
  left_[write_ ? 1 : 0] -= bursts;
  RunAt(from.run).left -= bursts;
  if (RunAt(from.run).left == 0) Finish(from.run, last);
}

void TrainService::Finish(int finished, Ticks tick) {
  const DramClocks& clocks = device_->clocks();
  Run& run = RunAt(finished);
  // The device need not know of those before.
  device_->IssueTrain(write_ ? Command::kWrite : Command::kRead, BankAt(run.place).bank, tick);
  run.end = tick + (write_ ? clocks.cwl : clocks.cl) + clocks.burst;
  candidates_.erase(std::find_if(candidates_.begin(), candidates_.end(),
                                 [finished](const Candidate& each) { return each.run == finished; }));
  if (left_[write_ ? 1 : 0] == 0) {
    IssueRowCommandsBefore(tick);
    if (left_[write_ ? 0 : 1] > 0) BeginDirection(true);  // Other rows are hits now.
    return;
  }
  Bank& bank = BankAt(run.place);
  const int owner = OwnerOf(bank);
  if (bank.refresh || (owner >= 0 && RunAt(owner).row != run.row)) IssueRowCommandsBefore(tick);
  bank.owner = owner;
  if (!Waits(bank)) return;
  waiting_.push_back(run.place);
  best_known_ = false;
}

}  // namespace spillway::model
