// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/prepare.h"

#include <fmt/format.h>

#include "sim/base/file.h"
#include "sim/cli/common_options.h"
#include "sim/cli/paths.h"
#include "sim/plan/bundle_source.h"
#include "sim/plan/planner.h"

namespace spillway::cli {
namespace {

Diagnostic NoChip(const Arguments& arguments) {
  const std::vector<std::string> chips = config::ListChips(ConfigSearchPath(arguments.All("config-path")));
  return Error("no chip is given", fmt::format("add --chip NAME, one of: {}", fmt::join(chips, ", ")));
}

/// What was found beside the dump only helps: if it cannot be read, the run goes on without it.
void Demote(Session& session, const Diagnostics& errors, const std::string& consequence) {
  for (Diagnostic diagnostic : errors) {
    diagnostic.severity = Severity::kWarning;
    diagnostic.hint = consequence;
    session.console.Print(diagnostic);
  }
}

void LoadAssignment(Session& session, Prepared& prepared) {
  const std::string& file = prepared.input.assignment_file;
  if (file.empty()) return;
  const Result<std::string> text = ReadFile(file);
  Result<plan::BufferAssignment> assignment =
      text.ok() ? plan::BufferAssignment::Parse(*text, file) : Result<plan::BufferAssignment>(text.errors());
  if (assignment.ok()) {
    prepared.assignment = std::move(assignment).value();
  } else {
    Demote(session, assignment.errors(), "the buffer assignment is ignored; addresses come from our own allocator");
  }
}

/// The compiler's bundles in place of the compute model. False, with the errors printed, if --llo names
/// a directory that has none.
bool UseBundles(Session& session, const Arguments& arguments, Prepared& prepared) {
  const bool asked = arguments.Has("llo");
  const std::string directory = asked ? arguments.Get("llo") : prepared.input.llo_directory;
  if (directory.empty() || (asked && directory == "none")) return true;
  std::vector<std::string> ops;
  for (const plan::Op& op : prepared.program.ops) ops.push_back(op.name);
  Result<llo::Dump> dump = llo::Dump::Open(directory, ops);
  if (dump.ok()) {
    session.console.Say(1, "bundles: " + directory);
    prepared.bundles = std::make_unique<llo::Dump>(std::move(dump).value());
    plan::AttachBundles(prepared.program, *prepared.bundles, prepared.chip.config);
    return true;
  }
  if (asked) {
    session.console.Print(dump.errors());
    return false;
  }
  Demote(session, dump.errors(), "compute time comes from the model instead of bundles");
  return true;
}

void SayInput(Session& session, const Input& input) {
  session.console.Say(1, fmt::format("input: {} (module {})", input.file, input.module->name));
  if (!input.assignment_file.empty()) session.console.Say(1, "buffer assignment: " + input.assignment_file);
  session.console.Say(2, "share directory: " + ShareDirectory());
}

}  // namespace

const std::vector<std::string>& PlanNames() {
  static const std::vector<std::string> names = {"as-compiled"};
  return names;
}

Option BundlesOption() {
  return {"llo", 0, "DIR", "final bundles (LLO) of the same program, for exact compute time; none: keep to the model "
          "although INPUT has bundles", false, Complete::kDirectory};
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
  LoadAssignment(session, *prepared);
  plan::PlanInputs inputs;
  inputs.module = prepared->input.module.get();
  inputs.chip = &prepared->chip.config;
  inputs.assignment = prepared->assignment ? &*prepared->assignment : nullptr;
  Diagnostics warnings;
  Result<plan::Program> program = plan::PlanAsCompiled(inputs, warnings);
  session.console.Print(warnings);
  if (!program.ok()) {
    code = session.Fail(program.errors());
    return nullptr;
  }
  prepared->program = std::move(program).value();
  if (!UseBundles(session, arguments, *prepared)) {
    code = kExitBadInput;
    return nullptr;
  }
  return prepared;
}

}  // namespace spillway::cli
