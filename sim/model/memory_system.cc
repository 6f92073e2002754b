// SPDX-License-Identifier: Apache-2.0
#include "sim/model/memory_system.h"

#include "sim/model/hbm_memory.h"

namespace spillway::model {

std::unique_ptr<MemorySystem> MakeMemorySystem(const config::ChipConfig& config) {
  const bool run_level = config.hbm.fidelity == config::HbmFidelity::kRun;
  return std::make_unique<HbmMemory>(config.hbm, run_level ? kRunLevel : kEveryCommand);
}

}  // namespace spillway::model
