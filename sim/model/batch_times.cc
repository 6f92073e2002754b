// SPDX-License-Identifier: Apache-2.0
#include "sim/model/batch_times.h"

namespace spillway::model {
namespace {

// The mean of 24 samples whose spread is 1% of it is known to a fifth of a percent.
constexpr int kFewestSamples = 24;
constexpr double kNarrowSpread = 0.01;
constexpr std::size_t kFirstSlots = 1 << 10;

}  // namespace

BatchTimes::BatchTimes() : slots_(kFirstSlots) {}

BatchTimes::Slot& BatchTimes::SlotOf(std::uint64_t context) {
  std::uint64_t hash = context * 0x9e3779b97f4a7c15ULL;
  hash ^= hash >> 29;
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = static_cast<std::size_t>(hash) & mask;
  while (slots_[slot].context != 0 && slots_[slot].context != context) slot = (slot + 1) & mask;
  return slots_[slot];
}

Ticks BatchTimes::Recall(std::uint64_t context) {
  Slot& slot = SlotOf(context);
  if (slot.state == Slot::kLearning) return -1;
  if (slot.state == Slot::kNarrow) {
    const std::uint64_t due = slot.mean + slot.rest;
    slot.rest = static_cast<std::uint16_t>(due & 0xffff);
    return static_cast<Ticks>(due >> 16);
  }
  const Ticks took = samples_[static_cast<std::size_t>(slot.samples)].took[slot.next];
  if (++slot.next == slot.count) slot.next = 0;
  return took;
}

void BatchTimes::Teach(std::uint64_t context, Ticks start, Ticks took) {
  if (2 * (samples_.size() + 1) > slots_.size()) Grow();
  Slot& slot = SlotOf(context);
  if (slot.context == 0) {
    slot.context = context;
    slot.samples = static_cast<std::int32_t>(samples_.size());
    samples_.push_back({});
  }
  Samples& samples = samples_[static_cast<std::size_t>(slot.samples)];
  if (slot.state != Slot::kLearning || samples.start == start) return;
  samples.start = start;
  samples.took[slot.count] = static_cast<std::int32_t>(took);
  ++slot.count;
  const double difference = static_cast<double>(took) - samples.mean;
  samples.mean += difference / slot.count;
  samples.squares += difference * (static_cast<double>(took) - samples.mean);
  const bool narrow = samples.squares <= kNarrowSpread * kNarrowSpread * samples.mean * samples.mean * slot.count;
  if (slot.count == kMostSamples) {
    slot.state = Slot::kWide;
  } else if (slot.count >= kFewestSamples && narrow) {
    slot.state = Slot::kNarrow;
    slot.mean = static_cast<std::uint64_t>(samples.mean * 65536.0);
  }
}

void BatchTimes::Grow() {
  std::vector<Slot> old(slots_.size() * 4);
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.context != 0) SlotOf(slot.context) = slot;
  }
}

}  // namespace spillway::model
