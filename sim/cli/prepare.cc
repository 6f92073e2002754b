// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/prepare.h"

#include <fmt/format.h>

#include "sim/cli/common_options.h"
#include "sim/cli/paths.h"
#include "sim/plan/planner.h"

namespace spillway::cli {
namespace {

Diagnostic NoChip(const Arguments& arguments) {
  const std::vector<std::string> chips = config::ListChips(ConfigSearchPath(arguments.All("config-path")));
  return Error("no chip is given", fmt::format("add --chip NAME, one of: {}", fmt::join(chips, ", ")));
}

void SayInput(Session& session, const Input& input) {
  session.console.Say(1, fmt::format("input: {} (module {})", input.file, input.module->name));
  if (!input.assignment_file.empty()) session.console.Say(1, "buffer assignment: " + input.assignment_file);
  if (!input.llo_directory.empty()) session.console.Say(1, "bundles: " + input.llo_directory);
}

}  // namespace

const std::vector<std::string>& PlanNames() {
  static const std::vector<std::string> names = {"as-compiled"};
  return names;
}

std::unique_ptr<Prepared> Prepare(Session& session, const Arguments& arguments, const std::string& default_chip,
                                  ExitCode& code) {
  Diagnostics notes;
  Result<Input> input = LoadInput(InputRequestOf(arguments), notes);
  session.console.Print(notes);
  if (!input.ok()) code = session.Fail(input.errors());
  std::string chip_name = input.ok() ? input->chip : arguments.Get("chip");
  if (chip_name.empty() && input.ok()) {
    if (default_chip.empty()) {
      code = session.Fail(NoChip(arguments), kExitUsage);
      return nullptr;
    }
    chip_name = default_chip;
    session.console.Say(1, fmt::format("no --chip: {} is assumed", chip_name));
  }
  if (chip_name.empty()) return nullptr;
  Result<config::LoadedChip> chip = LoadChipOf(arguments, chip_name);
  if (!chip.ok()) code = session.Fail(chip.errors());
  if (!input.ok() || !chip.ok()) return nullptr;
  SayInput(session, *input);

  auto prepared = std::make_unique<Prepared>();
  prepared->input = std::move(input).value();
  prepared->chip = std::move(chip).value();
  plan::PlanInputs inputs;
  inputs.module = prepared->input.module.get();
  inputs.chip = &prepared->chip.config;
  Diagnostics warnings;
  Result<plan::Program> program = plan::PlanAsCompiled(inputs, warnings);
  session.console.Print(warnings);
  if (!program.ok()) {
    code = session.Fail(program.errors());
    return nullptr;
  }
  prepared->program = std::move(program).value();
  return prepared;
}

}  // namespace spillway::cli
