// SPDX-License-Identifier: Apache-2.0
// The table of commands.
#pragma once

#include <vector>

#include "sim/cli/command.h"

namespace spillway::cli {

/// All commands, in the order of the help.
const std::vector<Command>& Commands();

// One file each: cmd_NAME.cc.
Command RunCommand();
Command InspectCommand();
Command ExplainCommand();
Command CompareCommand();
Command CheckCommand();
Command ExportCommand();
Command ReportCommand();
Command SweepCommand();
Command MergeCommand();
Command ListCommand();
Command HelpCommand();
Command CompletionCommand();

}  // namespace spillway::cli
