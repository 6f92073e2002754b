// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "sim/output/run_data.h"

namespace spillway::output {

/// The Chrome trace event format (chrome://tracing, Perfetto, speedscope): complete events with times in
/// microseconds to the last picosecond digit, one thread a lane, counters, flows. Deterministic bytes.
std::string ChromeJson(const RunData& run);

}  // namespace spillway::output
