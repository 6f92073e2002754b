// SPDX-License-Identifier: Apache-2.0
// From a command line to a program that can be replayed: input, chip and plan.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/cli/input.h"
#include "sim/cli/session.h"
#include "sim/config/config_loader.h"
#include "sim/llo/dump.h"
#include "sim/plan/buffer_assignment.h"
#include "sim/plan/program.h"

namespace spillway::cli {

/// The program refers to the module and the chip: keep this object as long as the program is used.
struct Prepared {
  Input input;
  config::LoadedChip chip;
  std::optional<plan::BufferAssignment> assignment;
  plan::Program program;
  std::unique_ptr<llo::Dump> bundles;  ///< Null: none were given or found.
  std::string bundles_plan;            ///< The plan whose ops `bundles` was opened for.
};

/// What the options --plan and --llo ask for.
struct PlanRequest {
  std::string plan = "as-compiled";
  std::optional<std::string> llo;
};
PlanRequest PlanRequestOf(const Arguments& arguments);

/// Reads the buffer assignment of `prepared.input`, if it has one; what is wrong with it becomes a warning.
void LoadAssignment(Prepared& prepared, Diagnostics& messages);

/// Fills in `prepared.program` from its input, chip and assignment. May be called again for another plan or
/// chip: bundles that were read are kept. Warnings go to `messages`.
Status MakeProgram(const PlanRequest& request, Prepared& prepared, Diagnostics& messages);

/// Plans that --plan takes.
const std::vector<std::string>& PlanNames();

/// --llo.
Option BundlesOption();

/// Loads INPUT and the chip (complaining about both), then plans: with real addresses if the dump has a
/// buffer assignment, with the compiler's own bundles where --llo or the dump gives them. `default_chip`:
/// used, with a note, when neither --chip nor the workload says; empty: that is a usage error. On failure
/// the errors are printed and `code` says how to exit.
std::unique_ptr<Prepared> Prepare(Session& session, const Arguments& arguments,
                                  const std::string& default_chip, ExitCode& code);

}  // namespace spillway::cli
