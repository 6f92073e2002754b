// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "sim/cli/bundle_view.h"
#include "sim/cli/commands.h"
#include "sim/cli/common_options.h"
#include "sim/cli/prepare.h"
#include "sim/cli/program_view.h"
#include "sim/cli/session.h"
#include "sim/cli/vmem_view.h"

namespace spillway::cli {
namespace {

ExitCode RunInspect(Session& session, const Arguments& arguments) {
  ExitCode code = kExitDone;
  // Shapes, schedule and memory spaces hardly differ between chips: looking needs no choice.
  const std::unique_ptr<Prepared> prepared = Prepare(session, arguments, "v6e", code);
  if (prepared == nullptr) return code;
  const std::string what = arguments.Get("what", "ops");
  if (what == "bundles" && prepared->bundles == nullptr) {
    return session.Fail(
        Error(fmt::format("no bundles were found with '{}'", prepared->input.name),
              "--llo DIR names a dump made with --xla_jf_dump_to and --xla_jf_dump_llo_text=true"));
  }
  ViewStyle style;
  style.width = TerminalWidth();
  style.unicode = LocaleIsUtf8();
  if (what == "vmem") {
    plan::PlanInputs inputs;
    inputs.module = prepared->input.module.get();
    inputs.chip = &prepared->chip.config;
    inputs.assignment = prepared->assignment ? &*prepared->assignment : nullptr;
    const Result<explain::VmemReport> report = explain::VmemOf(inputs, prepared->program, prepared->input.symbols);
    if (!report.ok()) return session.Fail(report.errors());
    const View view = ViewVmemReport(*report, style);
    session.out.Write(arguments.Has("json") ? view.json : view.text);
    return kExitDone;
  }
  const View view = what == "buffers"   ? ViewBuffers(prepared->program, style)
                    : what == "program" ? ViewProgram(prepared->program, style)
                    : what == "bundles"
                        ? ViewBundles(prepared->program, *prepared->bundles, prepared->chip.config)
                        : ViewOps(prepared->program, style);
  session.out.Write(arguments.Has("json") ? view.json : view.text);
  return kExitDone;
}

}  // namespace

Command InspectCommand() {
  Command command;
  command.name = "inspect";
  command.summary = "show what a dump holds and how it will be replayed, without simulating";
  command.positionals = {InputPositional()};
  command.options = {{"what",
                      0,
                      "WHAT",
                      "ops (default), buffers, program (kernels, transfers, loops), vmem (who holds it, op by op, and what could stay in it) "
                      "or bundles (the "
                      "compiler's code: loops, DMAs, waits, slots)",
                      false,
                      Complete::kNothing,
                      {"ops", "buffers", "program", "vmem", "bundles"}}};
  for (Option& option : ChipOptions()) command.options.push_back(std::move(option));
  command.options.push_back(BundlesOption());
  for (Option& option : InputOptions()) command.options.push_back(std::move(option));
  for (Option& option : RebindOptions()) command.options.push_back(std::move(option));
  command.options.push_back(JsonOption());
  command.notes = {InputNote(), "Without --chip, v6e is assumed."};
  command.examples = {{"spillway inspect attention --what buffers", "every tensor, its memory and its size"},
                      {"spillway inspect dump/ --chip v5e --what vmem", "what fills VMEM, op by op"}};
  command.run = RunInspect;
  return command;
}

}  // namespace spillway::cli
