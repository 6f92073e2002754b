// SPDX-License-Identifier: Apache-2.0
// Hand-made runs for the writers' tests.
#pragma once

#include "sim/output/run_data.h"

namespace spillway::output {

/// Naive attention as three fusions that pass bf16[8192,8192] (128 MiB) through HBM: summary only.
timeline::Summary NaiveAttentionSummary();

/// Two ops, two DMA queues (one with overlapping transfers), counters, a flow: a few rows of everything.
RunData SmallRun();

/// SmallRun with op, buffer and track names made of what breaks careless writers.
RunData HostileRun();

}  // namespace spillway::output
