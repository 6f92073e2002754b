// SPDX-License-Identifier: Apache-2.0
// How long batches took, by what decides it. A controller serves alike batches alike: once a context has been served
// command by command often enough, further batches of it take the times seen, one after the other, so that mean and
// spread both stay (an access ends with its slowest channel). Contexts that spread widely are seen more often first.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/model/dram_device.h"

namespace spillway::model {

class BatchTimes {
 public:
  BatchTimes();
  /// Clocks that the next batch of this context takes; < 0: not seen often enough. REQUIRES: context != 0.
  Ticks Recall(std::uint64_t context);
  /// Channels that do the same at the same time (`start`) count once.
  void Teach(std::uint64_t context, Ticks start, Ticks took);

 private:
  static constexpr int kMostSamples = 96;
  struct Samples {
    Ticks start = kLongAgo;        ///< Of the last one.
    double mean = 0, squares = 0;  ///< Of the differences from the mean.
    std::array<std::int32_t, kMostSamples> took{};
  };
  /// What recalls need, in half a cache line.
  struct Slot {
    std::uint64_t context = 0;     ///< 0: free.
    std::int32_t samples = -1;
    std::uint16_t count = 0, next = 0;
    enum : std::uint16_t { kLearning, kNarrow, kWide } state = kLearning;
    std::uint16_t rest = 0;        ///< Of a clock, in 1/2^16: the mean is paid out in whole clocks.
    std::uint64_t mean = 0;        ///< In 1/2^16 clocks.
  };
  Slot& SlotOf(std::uint64_t context);
  void Grow();

  std::vector<Samples> samples_;
  std::vector<Slot> slots_;        ///< Open addressing.
};

}  // namespace spillway::model
