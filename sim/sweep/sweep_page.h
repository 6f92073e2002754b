// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "sim/sweep/journal.h"

namespace spillway::sweep {

/// A sweep as one self-contained HTML page: curves of any figure over any axis, and a sortable table of the points. The
/// same sweep gives the same bytes. `entries` sorted by point; they may be fewer than `header.points` (the page says so).
std::string SweepPage(const JournalHeader& header, const std::vector<JournalEntry>& entries);

}  // namespace spillway::sweep
