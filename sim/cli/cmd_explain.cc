// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"
#include "sim/cli/common_options.h"
#include "sim/cli/explain_view.h"
#include "sim/cli/interrupt.h"
#include "sim/cli/prepare.h"
#include "sim/cli/session.h"

namespace spillway::cli {
namespace {

ExitCode RunExplain(Session& session, const Arguments& arguments) {
  ExitCode code = kExitDone;
  const std::unique_ptr<Prepared> prepared = Prepare(session, arguments, "", code);
  if (prepared == nullptr) return code;
  const InterruptScope interrupt;
  ViewStyle style;
  style.width = TerminalWidth();
  style.unicode = LocaleIsUtf8();

  explain::ExplainInputs inputs;
  inputs.module = prepared->input.module.get();
  inputs.chip = &prepared->chip.config;
  inputs.assignment = prepared->assignment ? &*prepared->assignment : nullptr;
  inputs.program = &prepared->program;
  inputs.replay = !arguments.Has("no-replay");
  inputs.interrupted = &interrupt.requested();
  const Result<explain::Report> report = explain::Explain(inputs);
  if (!report.ok()) return session.Fail(report.errors());
  const View view = ViewExplain(*report, prepared->input.name, style);
  session.out.Write(arguments.Has("json") ? view.json : view.text);
  if (!report->complete) {
    session.console.Print(Warning("stopped early: times and costs are incomplete"));
    return interrupt.requested() ? kExitInterrupted : kExitLimit;
  }
  return kExitDone;
}

}  // namespace

Command ExplainCommand() {
  Command command;
  command.name = "explain";
  command.summary = "say why tensors cross HBM between kernels, what it costs, what to change";
  command.positionals = {InputPositional()};
  command.options = ChipOptions();
  command.options.front().in_usage = true;  // --chip
  command.options.push_back({"no-replay", 0, "", "verdicts, bytes and advice only: nothing is replayed, so no times and no costs"});
  command.options.push_back(BundlesOption());
  for (Option& option : InputOptions()) command.options.push_back(std::move(option));
  for (Option& option : RebindOptions()) command.options.push_back(std::move(option));
  command.options.push_back(JsonOption());
  command.notes = {
      InputNote(),
      "Verdicts: dependency (a full reduction must finish first), algorithm (a rewrite such as online softmax "
      "removes it), layout (a copy between layouts that disagree), capacity (too big for VMEM), shared (several "
      "kernels need it), missed (nothing forbids keeping it).",
      "The spill cost is the time with the tensor in HBM minus the time with it in VMEM, both replayed; the exposed "
      "DMA time is how long the core stood still for its transfers."};
  command.examples = {{"spillway explain attention --chip v6e", "which passes over HBM the softmax costs"},
                      {"spillway explain dump/ --chip v5e --json", "the same for a script"}};
  command.run = RunExplain;
  return command;
}

}  // namespace spillway::cli
