// SPDX-License-Identifier: Apache-2.0
#include "sim/model/memory_system.h"

#include "sim/model/fluid_memory.h"

namespace spillway::model {

std::unique_ptr<MemorySystem> MakeMemorySystem(const config::ChipConfig& config) {
  return std::make_unique<FluidMemory>(config.hbm);
}

}  // namespace spillway::model
