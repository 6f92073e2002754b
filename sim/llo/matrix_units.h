// SPDX-License-Identifier: Apache-2.0
// Occupancy of the matrix units: what bundles alone do not show.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/base/units.h"
#include "sim/llo/kernel.h"

namespace spillway::llo {

struct MatrixConfig {
  int units = 0;                               ///< 0: no hazards, cycles equal bundles.
  int columns = 128;
  std::map<std::string, Cycles> cycles;        ///< Between vmatmuls on one unit, by type ("bf16").
  /// From the start of a vmatmul to its first result; 0 or missing: as early as the compiler's schedule ever
  /// pops one in this kernel, so that only queueing costs cycles.
  std::map<std::string, Cycles> latency;
  int queue_depth = 8;                         ///< vmatmuls a unit holds before issue blocks.
};

/// Each unit works its vmatmuls off in order, one every `cycles`. A pop blocks the core until the result is
/// there; a vmatmul blocks while the unit's queue is full. Time is the core's clock; O(1) per operation.
class MatrixUnits {
 public:
  MatrixUnits(const Kernel& kernel, const MatrixConfig& config);

  /// Runs operations [first, last) of the kernel; the bundle `begin` would issue at `clock`. Returns the
  /// cycles that the core stands still for them.
  Cycles Run(std::uint32_t first, std::uint32_t last, std::uint32_t begin, Cycles clock);
  bool enabled() const { return enabled_; }

 private:
  static constexpr std::uint32_t kRing = 256;
  struct Unit {
    Cycles free = 0;                           ///< When it can start the next vmatmul.
    std::array<Cycles, kRing> results{};       ///< When results are ready, oldest at `head`.
    std::uint32_t head = 0, size = 0;
  };
  struct Type {
    Cycles cycles = 1, latency = 0;
    std::uint32_t results = 1;                 ///< Pops per vmatmul.
  };

  const Kernel& kernel_;
  bool enabled_ = false;
  Cycles depth_ = 8;
  std::vector<Type> types_;
  std::vector<Unit> units_;
};

}  // namespace spillway::llo
