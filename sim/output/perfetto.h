// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "sim/output/run_data.h"

namespace spillway::output {

/// A Perfetto trace (protobuf) for ui.perfetto.dev: one row a lane of each track, a row a counter, flows from
/// a transfer to the wait it ends. Perfetto keeps whole nanoseconds, rounded down; the exact start_ps and
/// end_ps are annotations of each slice. Deterministic bytes.
std::string PerfettoTrace(const RunData& run);

}  // namespace spillway::output
