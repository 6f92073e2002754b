// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>

#include "sim/base/file.h"
#include "sim/cli/commands.h"
#include "sim/cli/common_options.h"
#include "sim/cli/compare_view.h"
#include "sim/cli/interrupt.h"
#include "sim/cli/paths.h"
#include "sim/cli/prepare.h"
#include "sim/cli/session.h"
#include "sim/engine/simulate.h"
#include "sim/output/compare_svg.h"
#include "sim/output/run_directory.h"

namespace spillway::cli {
namespace {

/// One side of the comparison: `INPUT[#VARIANT][:PLAN][@CHIP]`.
struct Side {
  std::string input, variant, plan, chip;
};

/// Cuts what follows the last `mark` off `text`, unless it holds a slash (then the mark is part of a path).
std::string CutAfter(std::string& text, char mark) {
  const std::size_t at = text.rfind(mark);
  if (at == std::string::npos || at == 0 || at + 1 == text.size() || text.find('/', at) != std::string::npos) return "";
  std::string after = text.substr(at + 1);
  text.resize(at);
  return after;
}

Side SideOf(const std::string& word) {
  Side side;
  side.input = word;
  if (Exists(word)) return side;   // Something on disk wins over the marks.
  side.chip = CutAfter(side.input, '@');
  if (Exists(side.input)) return side;
  side.plan = CutAfter(side.input, ':');
  if (Exists(side.input)) return side;
  side.variant = CutAfter(side.input, '#');
  return side;
}

/// Replays one side, or reads it if it is a run directory. Null: the errors are printed, `code` says how to exit.
std::unique_ptr<explain::Run> MakeRun(Session& session, const Arguments& arguments, const std::string& word,
                                      const InterruptScope& interrupt, ExitCode& code) {
  auto run = std::make_unique<explain::Run>();
  run->label = word;
  if (IsDirectory(word) && Exists(JoinPath(word, "summary.json"))) {
    Result<output::RunData> data = output::ReadRunDirectory(word);
    if (!data.ok()) {
      code = session.Fail(data.errors());
      return nullptr;
    }
    run->summary = std::move(data->summary);
    run->timeline = std::move(data->timeline);
    return run;
  }
  const Side side = SideOf(word);
  Arguments mine = arguments;
  mine.positionals_ = {side.input};
  if (!side.chip.empty()) mine.values_["chip"] = {side.chip};
  if (!side.plan.empty()) mine.values_["plan"] = {side.plan};
  if (!side.variant.empty()) mine.values_["variant"] = {side.variant};
  const std::unique_ptr<Prepared> prepared = Prepare(session, mine, "", code);
  if (prepared == nullptr) return nullptr;
  engine::SimulateOptions options;
  options.interrupted = &interrupt.requested();
  Result<engine::RunResult> result = engine::Simulate(prepared->program, prepared->chip.config, options);
  if (!result.ok()) {
    code = session.Fail(result.errors());
    return nullptr;
  }
  run->summary = std::move(result->summary);
  run->timeline = std::move(result->timeline);
  run->summary.input = side.input;
  if (result->limit_reached) {
    result->limit.message = fmt::format("{}: {}: its side of the comparison is incomplete", run->label, result->limit.message);
    code = session.Fail(result->limit, kExitLimit);
  }
  return run;
}

std::optional<double> PercentOf(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || (at != end && std::string(at, end) != "%") || !std::isfinite(value) || value < 0) return std::nullopt;
  return value;
}

ExitCode RunCompare(Session& session, const Arguments& arguments) {
  std::optional<double> limit;
  if (arguments.Has("fail-above")) {
    limit = PercentOf(arguments.Get("fail-above"));
    if (!limit) return session.Fail(Error(fmt::format("--fail-above '{}' is no percentage", arguments.Get("fail-above")), "such as --fail-above 5"), kExitUsage);
  }
  const InterruptScope interrupt;
  ExitCode code = kExitDone;
  const std::unique_ptr<explain::Run> a = MakeRun(session, arguments, arguments.positionals()[0], interrupt, code);
  if (a == nullptr) return code;
  const std::unique_ptr<explain::Run> b = MakeRun(session, arguments, arguments.positionals()[1], interrupt, code);
  if (b == nullptr) return code;

  const explain::Comparison comparison = explain::Compare(*a, *b);
  ViewStyle style;
  style.width = TerminalWidth();
  style.unicode = LocaleIsUtf8();
  const View view = ViewCompare(*a, *b, comparison, style);
  session.out.Write(arguments.Has("json") ? view.json : view.text);
  if (arguments.Has("output")) {
    const std::string svg = output::CompareSvg({{"A  " + a->label, {a->summary, a->timeline}}, {"B  " + b->label, {b->summary, b->timeline}}});
    const Status written = WriteFileAtomically(arguments.Get("output"), svg);
    if (!written.ok()) return session.Fail(written.errors());
    session.console.Say(1, "picture: " + arguments.Get("output"));
  }
  if (interrupt.requested()) return kExitInterrupted;
  if (code == kExitLimit) return code;
  if (limit && 100 * comparison.slowdown > *limit) {
    return session.Fail(Error(fmt::format("B is {:.1f}% slower than A, more than the {}% allowed", 100 * comparison.slowdown, *limit)), kExitCheckFailed);
  }
  return kExitDone;
}

}  // namespace

Command CompareCommand() {
  Command command;
  command.name = "compare";
  command.summary = "show what differs between two runs: time, traffic, kernels, spills";
  command.positionals = {{"A", "an INPUT with #VARIANT, :PLAN, @CHIP as needed, or a directory that 'run -o' has written", 1, 1, Complete::kInput},
                         {"B", "the same for the other side", 1, 1, Complete::kInput}};
  command.options = ChipOptions();
  command.options.front().in_usage = true;  // --chip
  command.options.push_back(BundlesOption());
  for (Option& option : InputOptions()) command.options.push_back(std::move(option));
  for (Option& option : RebindOptions()) command.options.push_back(std::move(option));
  command.options.push_back({"output", 'o', "FILE", "also draw both timelines on one axis into FILE (SVG)", false, Complete::kFile});
  command.options.push_back({"fail-above", 0, "PCT", "exit with 1 if B is more than PCT percent slower than A"});
  command.options.push_back(JsonOption());
  command.notes = {
      "A and B are INPUTs ('spillway help run'), each optionally followed by #VARIANT (the compiler of a bundled "
      "workload), :PLAN and @CHIP in this order; what is not said there comes from the options. Run directories are read "
      "as they are.",
      "Kernels are paired by name, then by the op_name of their metadata, then by class and result shapes. A spill is a "
      "tensor that is written to HBM and read back."};
  command.examples = {{"spillway compare attention flash_attention --chip v6e -o both.svg", "what a flash kernel saves"},
                      {"spillway compare attention@v5e attention@v6e", "one program on two chips"},
                      {"spillway compare before after --fail-above 5", "two run directories, for a build's check"}};
  command.run = RunCompare;
  return command;
}

}  // namespace spillway::cli
