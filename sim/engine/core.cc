// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/core.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/result.h"
#include "sim/engine/time.h"

namespace spillway::engine {
namespace {

using plan::Action;
using plan::Item;

// copy-start: one issue a transfer. copy-done: one wait for all of them.
class AsyncSource final : public plan::ActionSource {
 public:
  AsyncSource(const Item& item, Bytes wait_bytes, Cycles issue_cycles)
      : item_(item), wait_bytes_(wait_bytes), issue_cycles_(issue_cycles) {}

  bool Next(Action& action) override {
    action = Action{};
    action.flag = item_.token;
    if (item_.kind == Item::Kind::kDone) {
      action.kind = Action::Kind::kWait;
      action.bytes = wait_bytes_;
      return next_++ == 0;
    }
    if (next_ / 2 >= item_.transfers.size()) return false;
    if (next_ % 2 == 0) {
      action.kind = Action::Kind::kCompute;
      action.cycles = issue_cycles_;
    } else {
      action.kind = Action::Kind::kIssue;
      action.transfer = item_.transfers[next_ / 2];
    }
    ++next_;
    return true;
  }

 private:
  const Item& item_;
  Bytes wait_bytes_;
  Cycles issue_cycles_;
  std::size_t next_ = 0;
};

std::int64_t CountOps(const std::vector<Item>& items) {
  std::int64_t count = 0;
  for (const Item& item : items) {
    count += item.kind == Item::Kind::kLoop ? item.trips * CountOps(item.body) : 1;
  }
  return count;
}

}  // namespace

Core::Core(sc_core::sc_module_name name, const plan::Program& program, const config::ChipConfig& chip,
           const VmemOccupancy& vmem, Recorder& recorder)
    : sc_module(name), program_(program), chip_(chip), vmem_(vmem), recorder_(recorder),
      recall_kernels_(chip.run.recall_kernels && chip.hbm.fidelity == config::HbmFidelity::kRun),
      recall_(recorder, chip, [this] { return dma->TakeFlow(); }) {
  frames_.push_back({&program.items, 0, 1});
  SC_METHOD(Run);
}

void Core::set_progress(std::function<void(std::int64_t, std::int64_t, Picos)> callback) {
  progress_ = std::move(callback);
  ops_total_ = CountOps(program_.items);
}

bool Core::ShouldStop() {
  const std::int64_t limit = chip_.run.max_events;
  limit_reached_ = limit > 0 && recorder_.events() > limit;
  if (!limit_reached_ && !(interrupted_ && interrupted_->load(std::memory_order_relaxed))) return false;
  stopped_ = true;
  sc_core::sc_stop();
  return true;
}

void Core::Run() {
  recorder_.CountEvent();
  if (stopped_ || ShouldStop()) return;
  if (progress_) progress_(ops_done_, ops_total_, Now() + recorder_.skipped());  // one op may take minutes of our time
  Next next = Next::kContinue;
  while (next == Next::kContinue && !finished_) {
    if (source_ == nullptr && ShouldStop()) return;   // Kernels that are recalled cause no events.
    next = source_ ? RunAction() : FetchItem();
  }
}

// Moves to the next item of the innermost frame, entering and repeating loops.
Core::Next Core::FetchItem() {
  while (!frames_.empty()) {
    Frame& frame = frames_.back();
    if (frame.index == frame.items->size()) {
      if (--frame.trips_left > 0) {
        frame.index = 0;
      } else {
        frames_.pop_back();
      }
      continue;
    }
    const Item& item = (*frame.items)[frame.index++];
    if (item.kind != Item::Kind::kLoop) {
      BeginItem(item);
      return Next::kContinue;
    }
    if (item.trips > 0 && !item.body.empty()) frames_.push_back({&item.body, 0, item.trips});
  }
  finished_ = true;
  return Next::kYield;
}

void Core::BeginItem(const Item& item) {
  op_ = item.op;
  ++epoch_;
  const bool kernel = item.kind == Item::Kind::kKernel;
  tokens_in_use_ = !kernel;
  if (kernel) {
    flags_.clear();
    source_ = item.source();
  } else {
    Bytes wait_bytes = 0;
    if (item.kind == Item::Kind::kStart) {
      for (const plan::Transfer& transfer : item.transfers) token_bytes_[item.token] += transfer.bytes();
    } else {
      std::swap(wait_bytes, token_bytes_[item.token]);
    }
    source_ = std::make_unique<AsyncSource>(item, wait_bytes, chip_.dma.issue_cycles);
  }
  recorder_.OpBegin(op_, Now());
  recorder_.VmemHeld(Now(), vmem_.HeldBy(op_, kernel));
  if (kernel && recall_kernels_ && source_->IsFixed()) {
    recall_.Begin(*source_, op_, UnderWay(), frames_.size() > 1, Now());
  }
  segment_start_ = Now();
  vmem_mark_ = dma->VmemBytes();
}

// What transfers are under way, and how long for, as far as kernels that follow each other tell.
std::uint64_t Core::UnderWay() const {
  if (cookies_.size() == free_cookies_.size()) return 0;
  std::vector<bool> under_way(cookies_.size(), true);
  for (const int cookie : free_cookies_) under_way[static_cast<std::size_t>(cookie)] = false;
  std::uint64_t sum = 1;
  for (std::size_t i = 0; i < cookies_.size(); ++i) {
    if (!under_way[i]) continue;
    std::uint64_t one = static_cast<std::uint64_t>(cookies_[i].bytes) << 10 | (epoch_ - cookies_[i].epoch);
    one = (one ^ static_cast<std::uint64_t>(cookies_[i].direction)) * 0x9e3779b97f4a7c15ULL;
    sum += one ^ one >> 29;   // In no order.
  }
  return sum;
}

Core::Next Core::RunAction() {
  if (recall_.recalls()) {
    if (cookies_.size() > free_cookies_.size()) {
      next_trigger(wake_);
      return Next::kYield;
    }
    recall_.Book(Now());
    segment_start_ = Now();
  }
  if (!have_action_) {
    if (!(recall_.active() ? recall_.Next(action_) : source_->Next(action_))) {
      if (Synchronise() == Next::kYield) return Next::kYield;
      EndOp();
      return Next::kContinue;
    }
    have_action_ = true;
  }
  Next next = Next::kContinue;
  switch (action_.kind) {
    case Action::Kind::kCompute:
      pending_.cycles += action_.cycles;
      pending_.bundles += action_.bundles;
      pending_.accesses += action_.loads + action_.stores;
      break;
    case Action::Kind::kStep: recorder_.Step(Now(), pending_.cycles); break;
    case Action::Kind::kIssue: next = Issue(); break;
    case Action::Kind::kWait: next = Wait(); break;
    case Action::Kind::kFlag: {
      Flag& flag = CurrentFlag();
      flag.level = action_.set ? action_.bytes : flag.level + action_.bytes;
      break;
    }
  }
  if (next == Next::kContinue) have_action_ = false;
  return next;
}

Core::Next Core::Issue() {
  if (Synchronise() == Next::kYield) return Next::kYield;
  const plan::Transfer& transfer = action_.transfer;
  if (!dma->HasRoom(transfer.thread)) {
    if (!waiting_for_room_) wait_start_ = Now();
    waiting_for_room_ = true;
    next_trigger(wake_);
    return Next::kYield;
  }
  if (waiting_for_room_) {
    recorder_.WaitOther(wait_start_, Now());
    if (recall_.measures()) recall_.WaitedForRoom(Now() - wait_start_);
    waiting_for_room_ = false;
    segment_start_ = Now();
    vmem_mark_ = dma->VmemBytes();
  }
  int cookie = static_cast<int>(cookies_.size());
  if (free_cookies_.empty()) {
    cookies_.emplace_back();
  } else {
    cookie = free_cookies_.back();
    free_cookies_.pop_back();
  }
  const int flow = dma->Issue(transfer, op_, *this, cookie);
  cookies_[static_cast<std::size_t>(cookie)] = {tokens_in_use_, epoch_, action_.flag, transfer.bytes(),
                                                 transfer.direction, flow, recall_.measures() ? recall_.action() : 0, Now()};
  // A wait that ends without any transfer (bytes 0) still needs a direction to be booked under.
  CurrentFlag().direction = transfer.direction;
  return Next::kContinue;
}

Core::Next Core::Wait() {
  if (Synchronise() == Next::kYield) return Next::kYield;
  Flag& flag = CurrentFlag();
  if (flag.level < action_.bytes) {
    if (!waiting_) wait_start_ = Now();
    waiting_ = true;
    next_trigger(wake_);
    return Next::kYield;
  }
  if (waiting_) {
    recorder_.Wait(wait_start_, Now(), flag.direction, flag.flow);
    if (recall_.measures()) recall_.Waited(Now() - wait_start_);
    waiting_ = false;
    source_->OnStall(static_cast<Cycles>(static_cast<double>(Now() - wait_start_) * chip_.core.clock_hz / 1e12));
    segment_start_ = Now();
    vmem_mark_ = dma->VmemBytes();
  }
  if (action_.consume) flag.level -= action_.bytes;
  return Next::kContinue;
}

// A DMA access to VMEM takes the memory for a cycle a word; a core that wants to load or store in
// that cycle loses it. Returns the time to add for the accesses made since the compute began.
Picos Core::ContentionLoss() {
  const config::VmemConfig& vmem = chip_.vmem;
  if (vmem.dma_contention <= 0 || pending_.accesses == 0) return 0;
  const double intensity =
      std::min(1.0, static_cast<double>(pending_.accesses) / static_cast<double>(pending_.cycles));
  const double ps_per_byte =
      intensity * vmem.dma_contention * 1e12 / chip_.core.clock_hz / static_cast<double>(vmem.load_bytes);
  const double owed = (dma->VmemBytes() - vmem_mark_) * ps_per_byte - static_cast<double>(contention_paid_);
  // While it is made up for, DMA goes on: the rest of the geometric series, at today's rate.
  const double share = std::min(0.9, dma->VmemRate() * ps_per_byte / 1e12);
  return static_cast<Picos>(owed / (1 - share));
}

Core::Next Core::Synchronise() {
  if (pending_.cycles == 0) return Next::kContinue;
  const Picos cycle = chip_.CyclesToPicos(1);
  if (!synchronising_) {
    synchronising_ = true;
    contention_paid_ = 0;
    next_trigger(ToScTime(chip_.CyclesToPicos(pending_.cycles)));
    return Next::kYield;
  }
  const Picos loss = ContentionLoss();
  if (loss > cycle) {
    contention_paid_ += loss;
    next_trigger(ToScTime(loss));
    return Next::kYield;
  }
  synchronising_ = false;
  if (recall_.measures()) recall_.LostToContention(Now() - segment_start_ - chip_.CyclesToPicos(pending_.cycles));
  recorder_.Compute(segment_start_, Now(), pending_.cycles, pending_.bundles);
  pending_ = {};
  segment_start_ = Now();
  vmem_mark_ = dma->VmemBytes();
  return Next::kContinue;
}

void Core::EndOp() {
  if (failure_.empty()) failure_ = source_->Failure();
  recorder_.OpEnd(Now());
  recorder_.VmemHeld(Now(), vmem_.HeldBy(op_, false));
  if (recall_.active()) recall_.End(Now(), cookies_.size() == free_cookies_.size());
  source_.reset();
  op_ = -1;
  ++ops_done_;
  if (progress_) progress_(ops_done_, ops_total_, Now() + recorder_.skipped());
}

void Core::OnDmaDone(int cookie) {
  const Cookie done = cookies_[static_cast<std::size_t>(cookie)];
  free_cookies_.push_back(cookie);
  if (recall_.recalls() && cookies_.size() == free_cookies_.size()) wake_.notify(sc_core::SC_ZERO_TIME);
  if (!done.token && done.epoch != epoch_) return;  // its kernel is over
  if (!done.token && recall_.measures()) recall_.Landed(done.action, Now() - done.issued);
  Flag& flag = (done.token ? tokens_ : flags_)[done.flag];
  flag.level += done.bytes;
  flag.direction = done.direction;
  flag.flow = done.flow;
  if (waiting_ && done.token == tokens_in_use_ && done.flag == action_.flag && flag.level >= action_.bytes) {
    wake_.notify(sc_core::SC_ZERO_TIME);
  }
}

void Core::OnDmaRoom() {
  if (waiting_for_room_) wake_.notify(sc_core::SC_ZERO_TIME);
}

std::string Core::Blocked() const {
  const std::string where =
      op_ >= 0 ? program_.ops[static_cast<std::size_t>(op_)].name : std::string("the end");
  if (waiting_for_room_) return fmt::format("'{}' waits for room in a DMA queue", where);
  const auto& table = tokens_in_use_ ? tokens_ : flags_;
  const auto it = table.find(action_.flag);
  return fmt::format("'{}' waits for {} bytes on sync flag {}, which holds {}", where, action_.bytes,
                     action_.flag, it == table.end() ? 0 : it->second.level);
}

void Core::Abandon() {
  if (op_ < 0) return;
  recorder_.OpEnd(Now());
  op_ = -1;
}

}  // namespace spillway::engine
