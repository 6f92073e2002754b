// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"

namespace spillway::cli {

const std::vector<Command>& Commands() {
  static const std::vector<Command> commands = {
      RunCommand(),    InspectCommand(), ExplainCommand(), CompareCommand(), SweepCommand(), MergeCommand(), CheckCommand(), ExportCommand(),
      ReportCommand(), ListCommand(),    HelpCommand(),  CompletionCommand(),
  };
  return commands;
}

}  // namespace spillway::cli
