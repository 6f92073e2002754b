// SPDX-License-Identifier: Apache-2.0
// Executes the scalar program of a kernel's final VLIW bundles. Knows nothing of time or memory
// systems: it runs to the next thing that touches the outside and says how many cycles that took.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/base/result.h"
#include "sim/base/units.h"

namespace spillway::llo {

/// A DMA as the bundle states it. Sizes in bytes, HBM addresses in bytes.
struct Dma {
  enum class Kind : std::uint8_t { kHbmToVmem, kVmemToHbm, kHbmToHbm, kVmemToVmem, kHbmToSmem, kSmemToHbm, kOther };
  Kind kind = Kind::kHbmToVmem;
  int thread = 0;
  std::int64_t source = 0, destination = 0;
  Bytes bytes = 0;
  Bytes chunk_bytes = 0;            ///< Contiguous run in HBM; = bytes if not strided.
  Bytes stride = 0;                 ///< Distance of runs in HBM.
  std::int64_t outer = 1;           ///< dma.general: repetitions of that pattern, outer_stride apart.
  Bytes outer_stride = 0;
  std::int64_t flag = 0;            ///< Sync flag that rises by bytes/granule on completion.
};

/// What the machine stopped at.
struct Event {
  enum class Kind : std::uint8_t {
    kDma,        ///< `dma` was started.
    kWait,       ///< Blocks until `flag` >= `granules` (dma.done.wait does not lower it).
    kFlag,       ///< `flag` was set to (`set`) or changed by `granules`.
    kCall,       ///< Top-level program only: runs kernel `callee`.
    kEnd,
    kError,      ///< Cannot go on: `message` with file and line. The caller falls back to the model.
  };
  Kind kind = Kind::kEnd;
  Cycles bundles = 0;               ///< Bundles executed since the last event.
  Cycles cycles = 0;                ///< Cycles since the last event: bundles + hazards (MXU, delays).
  std::int64_t loads = 0, stores = 0;  ///< Vector loads and stores since the last event.
  Dma dma;
  std::int64_t flag = 0, granules = 0;
  bool set = false;
  std::string callee, message;
};

}  // namespace spillway::llo
