// SPDX-License-Identifier: Apache-2.0
// A finished sweep (or shard) as CSV and as text.
#pragma once

#include <string>
#include <vector>

#include "sim/base/result.h"
#include "sim/sweep/journal.h"

namespace spillway::sweep {

/// One row a point in the order of the sweep: the axes under their names, then ResultColumns().
/// REQUIRES: `entries` sorted by point.
std::string SweepCsv(const JournalHeader& header, const std::vector<JournalEntry>& entries);

struct TableOptions {
  std::size_t width = 110;
  bool unicode = true;
  std::size_t most_rows = 40;  ///< The middle of a longer table gives way to one line that says so.
};
/// The axes and the main figures for people.
std::string SweepTable(const JournalHeader& header, const std::vector<JournalEntry>& entries, const TableOptions& options);

/// Puts shards together. Errors: they belong to different sweeps or versions, a point is in two of them.
/// `missing` gets the points that no shard has.
struct Merged {
  JournalHeader header;                ///< Of the whole sweep.
  std::vector<JournalEntry> entries;   ///< By point.
  std::vector<std::int64_t> missing;
};
struct NamedJournal {
  std::string path;
  Journal journal;
};
Result<Merged> Merge(const std::vector<NamedJournal>& journals);

/// "3, 5-9, 12" cut to a readable length.
std::string RangesText(const std::vector<std::int64_t>& numbers);

}  // namespace spillway::sweep
