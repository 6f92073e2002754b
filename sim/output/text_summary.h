// SPDX-License-Identifier: Apache-2.0
// The report a person reads after `run`.
#pragma once

#include <string>

#include "sim/timeline/summary.h"

namespace spillway::output {

struct TextOptions {
  std::size_t width = 110;   ///< Columns of the terminal; less important columns give way below about 115.
  bool color = false;        ///< ANSI escapes.
  bool unicode = true;       ///< Bars and rules in UTF-8; false: ASCII only.
  std::size_t max_ops = 20;  ///< Rows of the table; the longest-running ops win. 0: all, in schedule order.
};

/// Head (module, chip, plan, makespan, HBM, VMEM, what is unmodelled), the table of ops, notes.
std::string TextSummary(const timeline::Summary& summary, const TextOptions& options = {});

/// Time the core computes in `op`: its cycles at the clock that makespan and cycles of the run imply; what
/// the stalls leave of its busy time if the run has no cycle count.
Picos ComputeTime(const timeline::Summary& summary, const timeline::OpSummary& op);

/// Share of the makespan that `op` is busy; 0 for an empty run.
double ShareOfMakespan(const timeline::Summary& summary, const timeline::OpSummary& op);

}  // namespace spillway::output
