// SPDX-License-Identifier: Apache-2.0
// A kernel: grid, streams and compute of one op, and the actions that replay it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/compute/tile_cost.h"
#include "sim/config/chip_config.h"
#include "sim/hlo/module.h"
#include "sim/plan/grid.h"
#include "sim/plan/stream.h"

namespace spillway::plan {

/// Where an operand or result lives.
struct Location {
  int buffer = -1;
  std::int64_t address = 0;
};

struct Kernel {
  Grid grid;
  std::vector<Stream> streams;      ///< HBM operands first, then HBM results.
  compute::KernelCost cost;
  Bytes scoped_vmem = 0;            ///< Stated by the compiler, else slots x window bytes.
  bool unmodelled = false;
  std::string why;
};

struct KernelInputs {
  const hlo::Instruction* instruction = nullptr;
  const config::ChipConfig* chip = nullptr;
  std::vector<Location> operands;   ///< One an operand; missing ones are at address 0.
  std::vector<Location> results;    ///< One a tuple element of the result.
};

/// REQUIRES: an instruction that runs on the core (a fusion, custom call or plain op).
Kernel BuildKernel(const KernelInputs& inputs);

/// The actions of one execution: for step k of the software pipeline: issue the windows that are
/// needed `slots - 1` steps later, wait for those of this step, compute, write back, wait for the
/// write that used the next output slot. A window that does not move is fetched once and waited
/// for at once.
std::unique_ptr<ActionSource> MakeKernelSource(std::shared_ptr<const Kernel> kernel);

/// What a source moves, by running it dry (no timing).
struct Traffic {
  Bytes read_bytes = 0, write_bytes = 0;
  std::int64_t dmas = 0;
  std::int64_t steps = 0;
  Cycles cycles = 0;
  std::vector<Bytes> chunk_sizes;   ///< One a DMA, in order of issue.
};
Traffic CountTraffic(ActionSource& source);

}  // namespace spillway::plan
