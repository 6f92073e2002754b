// SPDX-License-Identifier: Apache-2.0
// Replaces modelled kernels of a program by the compiler's own bundles.
#pragma once

#include <string>
#include <vector>

#include "sim/config/chip_config.h"
#include "sim/llo/dump.h"
#include "sim/llo/machine.h"
#include "sim/plan/program.h"

namespace spillway::plan {

/// What the interpreter has to know of a chip.
llo::MachineOptions MachineOptionsOf(const config::ChipConfig& chip);

/// Every kernel of `program` whose bundles `dump` holds and the interpreter can run takes its actions
/// from them; `compute_source` becomes kBundles. The others keep the model, and a note of the program says
/// which and why. `chip` must outlive the program.
void AttachBundles(Program& program, const llo::Dump& dump, const config::ChipConfig& chip);

/// Totals of one run of a kernel with every wait satisfied at once.
struct BundleTotals {
  Cycles bundles = 0, cycles = 0;
  std::int64_t dmas = 0;
  Bytes read_bytes = 0, write_bytes = 0;   ///< HBM.
  std::string failure;                     ///< Why it stopped early; empty if it did not.
};
BundleTotals DryRun(const llo::Kernel& kernel, const llo::MachineOptions& options);

}  // namespace spillway::plan
