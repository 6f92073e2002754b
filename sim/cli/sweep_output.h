// SPDX-License-Identifier: Apache-2.0
// What `sweep` and `merge` write and print.
#pragma once

#include <string>
#include <vector>

#include "sim/cli/session.h"
#include "sim/sweep/journal.h"

namespace spillway::cli {

/// Writes sweep.csv, the pictures and config.resolved.yaml into `directory`, prints the table, complains about
/// points without result. `entries`: sorted by point.
ExitCode FinishSweep(Session& session, const std::string& directory, const sweep::JournalHeader& header,
                     const std::vector<sweep::JournalEntry>& entries, const std::string& resolved);

/// Makes the directory and its parents. Error: it cannot be made, or is a file.
Status MakeDirectory(const std::string& path);

}  // namespace spillway::cli
