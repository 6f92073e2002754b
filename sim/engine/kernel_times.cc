// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/kernel_times.h"

#include <limits>

#include "sim/base/hash.h"

namespace spillway::engine {
namespace {

// Standard error of the mean that is small enough, relative to it.
constexpr double kErrorOfMean = 0.003;
constexpr std::int64_t kFewest = 2;

std::uint64_t HashOf(const std::vector<plan::Action>& actions, std::uint64_t others, bool addresses) {
  using Kind = plan::Action::Kind;
  std::uint64_t hash = others;
  for (const plan::Action& action : actions) {
    hash = Mix(hash, static_cast<std::int64_t>(action.kind));
    if (action.kind == Kind::kCompute) {
      hash = Mix(hash, action.cycles);
      hash = Mix(hash, action.loads + action.stores);
    } else if (action.kind == Kind::kIssue) {
      const plan::Transfer& t = action.transfer;
      hash = Mix(hash, static_cast<std::int64_t>(t.direction) << 32 | t.thread);
      for (const std::int64_t value : {t.chunk_bytes, t.chunks, t.stride, t.outer, t.outer_stride}) hash = Mix(hash, value);
      if (addresses) hash = Mix(Mix(hash, t.address), t.destination);
    } else if (action.kind != Kind::kStep) {
      hash = Mix(hash, action.bytes);
    }
    hash = Mix(hash, action.flag);
  }
  if (addresses) hash = Mix(hash, 1);
  return hash;
}

}  // namespace

void KernelTimes::Teach(const std::vector<ActionDelay>& delays, Picos took, Picos hbm_busy) {
  sums_.resize(delays.size());
  for (std::size_t i = 0; i < delays.size(); ++i) {
    sums_[i].contention += delays[i].contention;
    sums_[i].room += delays[i].room;
    sums_[i].wait += delays[i].wait;
    sums_[i].latency += delays[i].latency;
  }
  hbm_busy_ += hbm_busy;
  ++count_;
  const auto count = static_cast<double>(count_);
  const double difference = static_cast<double>(took) - mean_;
  mean_ += difference / count;
  squares_ += difference * (static_cast<double>(took) - mean_);
  if (count_ < kFewest) {
    known_ = took >= one_is_enough_;
    return;
  }
  const double error_squared = squares_ / (count - 1) / count;
  known_ = error_squared <= kErrorOfMean * kErrorOfMean * mean_ * mean_;
}

ActionDelay KernelTimes::Mean(std::size_t action) const {
  const ActionDelay& sum = sums_[action];
  return {sum.contention / count_, sum.room / count_, sum.wait / count_, sum.latency / count_};
}

KernelTimes& KernelBook::TimesOf(std::uint64_t hash, Picos one_is_enough) {
  std::unique_ptr<KernelTimes>& times = times_[hash];
  if (times == nullptr) times = std::make_unique<KernelTimes>(one_is_enough);
  return *times;
}

KernelTimes& KernelBook::TimesOfLike(const std::vector<plan::Action>& actions, std::uint64_t others) {
  return TimesOf(HashOf(actions, others, false), std::numeric_limits<Picos>::max());
}

KernelTimes& KernelBook::TimesOfSame(const std::vector<plan::Action>& actions, std::uint64_t others) {
  return TimesOf(HashOf(actions, others, true), static_cast<Picos>(static_cast<double>(refresh_) / kErrorOfMean));
}

}  // namespace spillway::engine
