// SPDX-License-Identifier: Apache-2.0
#include "sim/model/memory_system.h"

#include "sim/model/hbm_memory.h"

namespace spillway::model {

std::unique_ptr<MemorySystem> MakeMemorySystem(const config::ChipConfig& config, const Experience* experience) {
  const bool run_level = config.hbm.fidelity == config::HbmFidelity::kRun;
  auto memory = std::make_unique<HbmMemory>(config.hbm, run_level ? kRunLevel : kEveryCommand);
  if (experience != nullptr) memory->Adopt(*experience);
  return memory;
}

}  // namespace spillway::model
