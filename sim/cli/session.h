// SPDX-License-Identifier: Apache-2.0
// What a command works with besides its arguments.
#pragma once

#include <string>
#include <vector>

#include "sim/cli/command.h"
#include "sim/cli/terminal.h"

namespace spillway::cli {

class Session {
 public:
  Output out;
  Console console;

  /// Whether results may hold colour: as for messages, but by standard output.
  bool ResultsInColor() const;
  /// Prints the errors and returns `code`, so that a command can end with one line.
  ExitCode Fail(const Diagnostics& errors, ExitCode code = kExitBadInput);
  ExitCode Fail(const Diagnostic& error, ExitCode code = kExitBadInput);
};

/// The version that `--version` prints and results carry.
std::string Version();

/// Runs one command line (without the program's name) and returns the exit code.
int Main(const std::vector<std::string>& words);

}  // namespace spillway::cli
