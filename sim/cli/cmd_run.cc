// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "sim/cli/commands.h"
#include "sim/cli/common_options.h"
#include "sim/cli/interrupt.h"
#include "sim/cli/options.h"
#include "sim/cli/prepare.h"
#include "sim/cli/session.h"
#include "sim/engine/simulate.h"
#include "sim/output/export.h"
#include "sim/output/run_directory.h"
#include "sim/output/summary_json.h"
#include "sim/output/text_summary.h"
#include "sim/plan/plan_choice.h"

namespace spillway::cli {
namespace {

/// What is wrong with the options themselves, before anything is read.
Diagnostics CheckUsage(const Arguments& arguments) {
  Diagnostics errors;
  if (arguments.Has("format") && !arguments.Has("output")) {
    errors.push_back(Error("--format needs -o", "-o DIR says where the files go"));
  }
  const std::string plan = arguments.Get("plan", "as-compiled");
  if (!plan::IsPlanFile(plan)) {
    if (const Result<plan::PlanChoice> choice = plan::ChoosePlan(plan); !choice.ok()) {
      errors.insert(errors.end(), choice.errors().begin(), choice.errors().end());
    }
  }
  const Diagnostics unknown = CheckFormats(SplitList(arguments.Get("format")));
  errors.insert(errors.end(), unknown.begin(), unknown.end());
  return errors;
}

std::string Measured(const Input& input) {
  std::string text;
  for (const config::WorkloadExpectation& expectation : input.expect) {
    text += fmt::format("{}measured elsewhere: {} us ({} time; {})\n", text.empty() ? "\n" : "",
                        expectation.measured_us, expectation.timer, expectation.source);
  }
  return text;
}

Result<engine::RunResult> Replay(Session& session, const Prepared& prepared, const InterruptScope& interrupt,
                                 bool record_timeline) {
  Progress progress(session.console);
  engine::SimulateOptions options;
  options.record_timeline = record_timeline;
  options.interrupted = &interrupt.requested();
  options.progress = [&](std::int64_t done, std::int64_t total, Picos simulated) {
    progress.Update(done, total, simulated);
  };
  return engine::Simulate(prepared.program, prepared.chip.config, options);
}

Status WriteDirectory(const Arguments& arguments, const Prepared& prepared, const output::RunData& run) {
  output::RunDirectoryOptions options;
  if (arguments.Has("format")) options.formats = SplitList(arguments.Get("format"));
  options.extra_files.push_back({"config.resolved.yaml", prepared.chip.resolved_yaml});
  return output::WriteRunDirectory(arguments.Get("output"), run, options);
}

void PrintSummary(Session& session, const Arguments& arguments, const Prepared& prepared,
                  const timeline::Summary& summary) {
  if (arguments.Has("json")) {
    output::JsonOptions options;
    options.buffers = false;
    session.out.Write(output::SummaryJson(summary, options));
    return;
  }
  output::TextOptions options;
  options.width = TerminalWidth();
  options.color = session.ResultsInColor();
  options.unicode = LocaleIsUtf8();
  session.out.Write(output::TextSummary(summary, options));
  session.out.Write(Measured(prepared.input));
}

ExitCode RunRun(Session& session, const Arguments& arguments) {
  if (const Diagnostics errors = CheckUsage(arguments); !errors.empty())
    return session.Fail(errors, kExitUsage);
  ExitCode code = kExitDone;
  const std::unique_ptr<Prepared> prepared = Prepare(session, arguments, "", code);
  if (prepared == nullptr) return code;

  const InterruptScope interrupt;
  Result<engine::RunResult> result = Replay(session, *prepared, interrupt, arguments.Has("output"));
  if (!result.ok()) return session.Fail(result.errors());
  output::RunData run;
  run.summary = std::move(result->summary);
  run.timeline = std::move(result->timeline);
  run.summary.version = Version();
  run.summary.input = prepared->input.name;
  if (arguments.Has("output")) {
    const Status written = WriteDirectory(arguments, *prepared, run);
    if (!written.ok()) return session.Fail(written.errors());
    session.console.Say(1, fmt::format("results are in {}", arguments.Get("output")));
  }
  PrintSummary(session, arguments, *prepared, run.summary);
  if (interrupt.requested()) {
    session.console.Print(Warning(fmt::format("interrupted at {} of simulated time: the result is incomplete",
                                              FormatDuration(run.summary.makespan_ps))));
    return kExitInterrupted;
  }
  if (result->limit_reached) {
    result->limit.message += ": the result is incomplete";
    return session.Fail(result->limit, kExitLimit);
  }
  return kExitDone;
}

}  // namespace

Command RunCommand() {
  Command command;
  command.name = "run";
  command.summary = "replay a compiled program on a chip and print where the time goes";
  command.positionals = {InputPositional()};
  command.options = ChipOptions();
  command.options.front().in_usage = true;  // --chip
  command.options.push_back({"plan", 0, "PLAN",
                             "how the program runs: as-compiled (the dump's own schedule), unfused, resident, streamed, or a "
                             "plan file", false, Complete::kNothing, PlanNames(), false, true});
  command.options.push_back(BundlesOption());
  for (Option& option : InputOptions()) command.options.push_back(std::move(option));
  for (Option& option : RebindOptions()) command.options.push_back(std::move(option));
  command.options.push_back({"output", 'o', "DIR",
                             "write summary, tables, timeline and configuration into DIR", false,
                             Complete::kDirectory});
  command.options.push_back({"format", 0, "LIST",
                             "timeline formats for DIR, such as perfetto,xplane (default: perfetto)", false,
                             Complete::kFormatList});
  command.options.push_back(JsonOption());
  command.notes = {
      InputNote(),
      "The table has the bytes that each op moves to and from HBM, the time its core computes, the time "
      "it stands still (and for what), and what bounds it.",
      "The result is of one execution that starts with an empty VMEM. Ctrl-C ends the run early with the "
      "result so far; a second Ctrl-C ends it at once."};
  command.examples = {
      {"spillway run attention --chip v6e", "a bundled workload"},
      {"spillway run module.after_optimizations.txt --chip v5e -o out", "your own dump, with a timeline"},
      {"spillway run attention --chip v6e --set hbm.channels=64 --json", "a chip with other memory"}};
  command.run = RunRun;
  return command;
}

}  // namespace spillway::cli
