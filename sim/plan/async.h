// SPDX-License-Identifier: Apache-2.0
// Asynchronous starts: what they move.
#pragma once

#include <string>
#include <vector>

#include "sim/config/chip_config.h"
#include "sim/hlo/module.h"
#include "sim/plan/kernel.h"

namespace spillway::plan {

struct AsyncMove {
  std::vector<Transfer> transfers;
  bool unmodelled = false;
  std::string why;
};

/// DMA thread that asynchronous copies run on (window DMAs of kernels run on thread 0).
constexpr int kAsyncThread = 1;

/// What `instruction` does once started: copy-start, slice-start, dynamic-slice-start,
/// dynamic-update-slice-start and async-start of a computation that holds one such op. Others
/// (collectives, custom calls, host transfers) are unmodelled. `source` is where operand 0 lives,
/// `update` operand 1, `destination` the result.
AsyncMove MoveOf(const hlo::Instruction& instruction, const config::ChipConfig& chip, Location source, Location update,
                 Location destination);

/// Moves of a whole array between two places; layouts' memory spaces decide the direction.
AsyncMove MoveArray(const hlo::Shape& from, const Box& from_window, Location source, const hlo::Shape& to,
                    const Box& to_window, Location destination, const config::ChipConfig& chip);

}  // namespace spillway::plan
