// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace spillway::cli {

/// What the process returns. Scripts rely on these numbers (docs/cli.md).
enum ExitCode : int {
  kExitDone = 0,
  kExitCheckFailed = 1,  ///< A check or comparison found something.
  kExitUsage = 2,        ///< The command line itself is wrong.
  kExitBadInput = 3,     ///< A file, configuration or dump is wrong, or a result cannot be written.
  kExitInternal = 4,     ///< Our bug.
  kExitLimit = 5,        ///< A limit of the run was reached; the result is not complete.
  kExitInterrupted = 130,
};

}  // namespace spillway::cli
