// SPDX-License-Identifier: Apache-2.0
#include "sim/config/chip_config.h"

#include <cmath>
#include <limits>

#include "sim/base/result.h"

namespace spillway::config {

double HbmConfig::PeakBytesPerSecond() const {
  SPILLWAY_CHECK(timing.burst > 0);
  return static_cast<double>(channels) * static_cast<double>(burst_bytes) /
         static_cast<double>(timing.burst) * static_cast<double>(kPicosPerSecond);
}

MemoryKind ChipConfig::SpaceKind(std::int64_t memory_space) const {
  const auto found = memory_spaces.find(memory_space);
  return found == memory_spaces.end() ? MemoryKind::kOther : found->second;
}

Picos ChipConfig::CyclesToPicos(Cycles cycles) const {
  SPILLWAY_CHECK(core.clock_hz >= 1);
  // 128-bit integers: doubles would drift by picoseconds after an hour of simulated time.
  __extension__ using Wide = __int128;
  const Wide hertz = std::llround(core.clock_hz);
  const Wide scaled = Wide{cycles} * kPicosPerSecond;
  const Wide picos = (scaled + (scaled < 0 ? -hertz / 2 : hertz / 2)) / hertz;
  constexpr Wide kMax = std::numeric_limits<Picos>::max();
  return static_cast<Picos>(picos > kMax ? kMax : picos < -kMax ? -kMax : picos);
}

}  // namespace spillway::config
