// SPDX-License-Identifier: Apache-2.0
// How long kernels took, action by action, by what they do. Kernels that do the same but for their addresses (the trips of a
// loop, the layers of a model) take nearly the same time when nothing else is under way.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "sim/plan/program.h"

namespace spillway::engine {

/// Time that one action took beyond its compute cycles.
struct ActionDelay {
  Picos contention = 0;   ///< Lost to DMA in VMEM by the compute before it.
  Picos room = 0;         ///< Stood still for a full queue,
  Picos wait = 0;         ///< or for its flag.
  Picos latency = 0;      ///< Of its transfer, from issue to end.
};

/// What was seen of one kind of kernel.
class KernelTimes {
 public:
  /// `one_is_enough`: a kernel that took as long need not be seen twice.
  explicit KernelTimes(Picos one_is_enough) : one_is_enough_(one_is_enough) {}

  /// One was replayed. `took`: its time; `hbm_busy`: of it with HBM in use. REQUIRES: as many delays as in every call.
  void Teach(const std::vector<ActionDelay>& delays, Picos took, Picos hbm_busy);
  /// One ended while transfers of others went on: what it leaves behind is not known. It is replayed from now on.
  void Spoil() { spoilt_ = true; }
  /// The mean is known: its error is small.
  bool known() const { return known_ && !spoilt_; }
  ActionDelay Mean(std::size_t action) const;
  Picos MeanHbmBusy() const { return hbm_busy_ / count_; }

 private:
  Picos one_is_enough_;
  std::int64_t count_ = 0;
  bool known_ = false, spoilt_ = false;
  double mean_ = 0, squares_ = 0;   ///< Of the time; sum of squares of the differences from the mean.
  Picos hbm_busy_ = 0;              ///< Sums.
  std::vector<ActionDelay> sums_;
};

/// All kernels of one run.
class KernelBook {
 public:
  /// `refresh`: how long HBM stands still at a time.
  explicit KernelBook(Picos refresh) : refresh_(refresh) {}
  /// Of kernels with these actions, addresses and buffers aside, and what is under way when they begin (KernelRecall);
  /// made if need be. It stays where it is.
  KernelTimes& TimesOfLike(const std::vector<plan::Action>& actions, std::uint64_t others);
  /// Of kernels that have the same addresses as well: they differ by where refreshes fall only.
  KernelTimes& TimesOfSame(const std::vector<plan::Action>& actions, std::uint64_t others);

 private:
  KernelTimes& TimesOf(std::uint64_t hash, Picos one_is_enough);
  Picos refresh_;
  std::unordered_map<std::uint64_t, std::unique_ptr<KernelTimes>> times_;   ///< By 64 bits of hash.
};

}  // namespace spillway::engine
