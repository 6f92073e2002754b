// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/prepare.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/file.h"
#include "sim/cli/common_options.h"
#include "sim/cli/options.h"
#include "sim/cli/paths.h"
#include "sim/cli/rebind.h"
#include "sim/plan/bundle_source.h"
#include "sim/plan/plan_choice.h"

namespace spillway::cli {
namespace {

Diagnostic NoChip(const Arguments& arguments) {
  const std::vector<std::string> chips = config::ListChips(ConfigSearchPath(arguments.All("config-path")));
  return Error("no chip is given", fmt::format("add --chip NAME, one of: {}", fmt::join(chips, ", ")));
}

/// What was found beside the dump only helps: if it cannot be read, the run goes on without it.
void Demote(const Diagnostics& errors, const std::string& consequence, Diagnostics& messages) {
  for (Diagnostic diagnostic : errors) {
    diagnostic.severity = Severity::kWarning;
    diagnostic.hint = consequence;
    messages.push_back(std::move(diagnostic));
  }
}

/// The compiler's bundles in place of the compute model. Error: --llo names a directory that has none.
Status UseBundles(const PlanRequest& request, Prepared& prepared, Diagnostics& messages) {
  const std::string directory = request.llo.value_or(prepared.input.llo_directory);
  if (directory.empty() || request.llo == "none") {
    prepared.bundles.reset();
    return Done{};
  }
  const bool known = prepared.bundles != nullptr && prepared.bundles->directory() == directory &&
                     prepared.bundles_plan == prepared.program.plan;
  if (!known) {
    std::vector<std::string> ops;
    for (const plan::Op& op : prepared.program.ops) ops.push_back(op.name);
    prepared.bundles.reset();
    Result<llo::Dump> dump = llo::Dump::Open(directory, ops);
    if (!dump.ok()) {
      if (request.llo) return dump.errors();
      Demote(dump.errors(), "compute time comes from the model instead of bundles", messages);
      return Done{};
    }
    prepared.bundles = std::make_unique<llo::Dump>(std::move(dump).value());
    prepared.bundles_plan = prepared.program.plan;
  }
  plan::AttachBundles(prepared.program, *prepared.bundles, prepared.chip.config);
  return Done{};
}

void SayInput(Session& session, const Input& input) {
  session.console.Say(1, fmt::format("input: {} (module {})", input.file, input.module->name));
  if (!input.assignment_file.empty()) session.console.Say(1, "buffer assignment: " + input.assignment_file);
  session.console.Say(2, "share directory: " + ShareDirectory());
}

}  // namespace

const std::vector<std::string>& PlanNames() { return plan::PlanNames(); }

Option BundlesOption() {
  return {"llo",
          0,
          "DIR",
          "final bundles (LLO) of the same program, for exact compute time; none: keep to the model "
          "although INPUT has bundles",
          false,
          Complete::kDirectory};
}

PlanRequest PlanRequestOf(const Arguments& arguments) {
  PlanRequest request;
  request.plan = arguments.Get("plan", request.plan);
  if (arguments.Has("llo")) request.llo = arguments.Get("llo");
  return request;
}

void LoadAssignment(Prepared& prepared, Diagnostics& messages) {
  const std::string& file = prepared.input.assignment_file;
  if (file.empty()) return;
  const Result<std::string> text = ReadFile(file);
  Result<plan::BufferAssignment> assignment =
      text.ok() ? plan::BufferAssignment::Parse(*text, file) : Result<plan::BufferAssignment>(text.errors());
  if (assignment.ok()) {
    prepared.assignment = std::move(assignment).value();
  } else {
    Demote(assignment.errors(), "the buffer assignment is ignored; addresses come from our own allocator",
           messages);
  }
}

Status MakeProgram(const PlanRequest& request, Prepared& prepared, Diagnostics& messages) {
  if (const Status rewritten = ApplyRebind(prepared, messages); !rewritten.ok()) return rewritten.errors();
  plan::PlanInputs inputs;
  inputs.module = prepared.input.module.get();
  inputs.chip = &prepared.chip.config;
  inputs.assignment = prepared.assignment ? &*prepared.assignment : nullptr;
  const Result<plan::PlanChoice> choice = plan::ChoosePlan(request.plan);
  if (!choice.ok()) return choice.errors();
  Result<plan::Program> program = plan::MakePlan(inputs, *choice, messages);
  if (!program.ok()) return program.errors();
  prepared.program = std::move(program).value();
  return UseBundles(request, prepared, messages);
}

std::unique_ptr<Prepared> Prepare(Session& session, const Arguments& arguments,
                                  const std::string& default_chip, ExitCode& code) {
  InputRequest request = InputRequestOf(arguments);
  std::optional<Result<config::LoadedChip>> chip;
  if (!request.chip.empty()) {
    chip = LoadChipOf(arguments, request.chip);
    // A file, such as config.resolved.yaml, says itself which chip it is: workloads go by that name.
    if (chip->ok()) request.chip = (*chip)->config.name;
  }
  Diagnostics notes;
  Result<Input> input = LoadInput(request, notes);
  session.console.Print(notes);
  if (!input.ok()) code = session.Fail(input.errors());
  if (!chip && input.ok()) {
    if (input->chip.empty() && default_chip.empty()) {
      code = session.Fail(NoChip(arguments), kExitUsage);
      return nullptr;
    }
    if (input->chip.empty()) session.console.Say(1, fmt::format("no --chip: {} is assumed", default_chip));
    chip = LoadChipOf(arguments, input->chip.empty() ? default_chip : input->chip);
  }
  if (chip && !chip->ok()) code = session.Fail(chip->errors());
  if (!input.ok() || !chip->ok()) return nullptr;
  SayInput(session, *input);

  auto prepared = std::make_unique<Prepared>();
  prepared->input = std::move(input).value();
  prepared->chip = std::move(*chip).value();
  Diagnostics messages;
  LoadAssignment(*prepared, messages);
  const Status planned = MakeProgram(PlanRequestOf(arguments), *prepared, messages);
  session.console.Print(messages);
  if (!planned.ok()) {
    code = session.Fail(planned.errors());
    return nullptr;
  }
  if (prepared->bundles != nullptr) session.console.Say(1, "bundles: " + prepared->bundles->directory());
  return prepared;
}

}  // namespace spillway::cli
