// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "sim/output/run_data.h"

namespace spillway::output {

/// Where the file belongs below the log directory that `xprof --logdir` is given.
inline constexpr const char* kXPlanePath = "plugins/profile/spillway/spillway.xplane.pb";

/// An XSpace profile as the TPU profiler writes it, for XProf: plane /device:TPU:0 with the lines Steps, XLA
/// Modules, XLA Ops, Async XLA Ops, then the core's waits, its steps, a line a DMA lane, and the counters.
/// Times are exact picoseconds. Deterministic bytes.
std::string XPlaneProfile(const RunData& run);

}  // namespace spillway::output
