// SPDX-License-Identifier: Apache-2.0
// A kernel whose like has been replayed often enough (KernelTimes) is booked with the times seen instead of being replayed.
// Its bytes, transfers and compute cycles are its own; only its waits are recalled.
#pragma once

#include <functional>
#include <vector>

#include "sim/engine/kernel_times.h"
#include "sim/engine/recorder.h"

namespace spillway::engine {

/// Compute that the core has run ahead of time.
struct PendingCompute {
  Cycles cycles = 0, bundles = 0;
  std::int64_t accesses = 0;
};

class KernelRecall {
 public:
  /// `next_flow` gives each transfer that is not run its number.
  KernelRecall(Recorder& recorder, const config::ChipConfig& chip, std::function<int()> next_flow);

  /// A kernel of op `op` begins at `now`. `others`: tells apart what transfers of others are under way; 0: none.
  /// `in_loop`: the very same kernel may come again. REQUIRES: source.IsFixed().
  void Begin(plan::ActionSource& source, int op, std::uint64_t others, bool in_loop, Picos now);
  /// From Begin to End.
  bool active() const { return source_ != nullptr; }
  /// It need not be replayed. Transfers of others must end first: in the runs seen they ended with it at the latest.
  bool recalls() const { return active() && known_ != nullptr; }
  /// Books the whole kernel. REQUIRES: recalls(), and no transfer is under way.
  void Book(Picos now);
  /// The next action to replay; false at the end. A kernel that was booked has none.
  bool Next(plan::Action& action);
  /// At the end, when its compute is done. `alone`: no transfer is under way.
  void End(Picos now, bool alone);

  /// Whether the kernel is measured: then tell what the current action did.
  bool measures() const { return like_ != nullptr; }
  void LostToContention(Picos took) { current().contention += took; }
  void WaitedForRoom(Picos took) { current().room += took; }
  void Waited(Picos took) { current().wait += took; }
  /// The number of the current action, for Landed.
  std::size_t action() const { return next_ - 1; }
  /// The transfer of an action has ended.
  void Landed(std::size_t action, Picos latency) { delays_[action].latency = latency; }

 private:
  ActionDelay& current() { return delays_[next_ - 1]; }
  Picos BookCompute(Picos begin, Picos contention);

  Recorder& recorder_;
  const config::ChipConfig& chip_;
  std::function<int()> next_flow_;
  KernelBook book_;

  plan::ActionSource* source_ = nullptr;
  int op_ = -1;
  std::vector<plan::Action> actions_;
  std::size_t next_ = 0;
  // What is to be learned of kernels like this one, and of the very same one; null: nothing.
  KernelTimes *like_ = nullptr, *same_ = nullptr;
  const KernelTimes* known_ = nullptr;   ///< By which to book it; null: it is replayed.
  std::vector<ActionDelay> delays_;   ///< Of the actions, and of the compute after the last.
  Picos begin_ = 0, hbm_busy_before_ = 0;
  PendingCompute pending_;            ///< While booking.
};

}  // namespace spillway::engine
