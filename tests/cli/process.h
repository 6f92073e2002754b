// SPDX-License-Identifier: Apache-2.0
// Runs the spillway executable as a user does.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/support/temporary.h"

namespace spillway::test {

struct ProcessOptions {
  std::string input;                       ///< Standard input.
  bool keep_input_open = false;            ///< Standard input never ends.
  std::map<std::string, std::string> env;  ///< Added to a small fixed environment.
  std::string directory;                   ///< Working directory; empty: the current one.
  std::string stdout_file;                 ///< Standard output goes there (e.g. /dev/full).
  bool close_stdout = false;               ///< The program starts without descriptor 1.
  bool break_stdout = false;               ///< Standard output is a pipe that nobody reads.
  bool terminal = false;                   ///< Standard error is a terminal.
  int interrupt_after_ms = 0;              ///< SIGINT after that time; 0: never.
};

struct ProcessResult {
  int code = -1;  ///< Exit code; 128 + n if killed by signal n.
  std::string out, err;
};

/// REQUIRES: the program ends; it is killed (and the test fails by its code) after two minutes.
ProcessResult Run(const std::vector<std::string>& arguments, const ProcessOptions& options = {});

}  // namespace spillway::test
