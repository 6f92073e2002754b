// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "sim/base/file.h"
#include "sim/cli/commands.h"
#include "sim/cli/common_options.h"
#include "sim/cli/input.h"
#include "sim/cli/paths.h"
#include "sim/cli/session.h"
#include "sim/cli/sweep_points.h"
#include "sim/cli/workloads.h"
#include "sim/config/config_loader.h"
#include "sim/config/map_reader.h"
#include "sim/config/workload_config.h"

namespace spillway::cli {
namespace {

struct Report {
  std::string kind;     ///< What the file is: "chip", "workload", "HLO".
  std::string summary;  ///< One clause about a good file.
  Diagnostics problems;
};

Report CheckChip(const std::string& path, const std::vector<std::string>& search) {
  return {"chip configuration", "", config::CheckChipFile(path, search)};
}

Report CheckWorkload(const std::string& path) {
  Report report{"workload", "", {}};
  const Result<config::WorkloadConfig> workload = config::LoadWorkload(path);
  if (!workload.ok()) {
    report.problems = workload.errors();
    return report;
  }
  std::vector<std::string> needed;
  if (const auto point = config::SelectPoint(*workload, "", "", {}); point.ok()) needed.push_back(point->hlo);
  for (const config::WorkloadDump& dump : workload->dumps)
    needed.push_back(JoinPath(DirectoryOf(path), dump.path));
  for (const std::string& place : needed) {
    if (Exists(place)) continue;
    Diagnostic error = Error(fmt::format("there is no '{}'", place));
    error.file = path;
    report.problems.push_back(error);
  }
  report.summary = fmt::format("{} points", config::AllPoints(*workload).size());
  return report;
}

Report CheckSweep(const std::string& path) {
  Report report{"sweep", "", {}};
  const Result<config::SweepConfig> spec = config::LoadSweep(path);
  if (!spec.ok()) {
    report.problems = spec.errors();
    return report;
  }
  report.problems = CheckSweepKeys(*spec);
  const Result<sweep::PointList> list = sweep::Expand(*spec);
  if (!list.ok()) {
    report.problems.insert(report.problems.end(), list.errors().begin(), list.errors().end());
  } else {
    report.summary = fmt::format("{} points", list->points.size());
  }
  return report;
}

Report CheckHlo(std::string bytes, const std::string& shown) {
  Report report{"HLO", "", {}};
  const Result<std::vector<std::unique_ptr<hlo::Module>>> modules = ReadModules(std::move(bytes), shown);
  if (!modules.ok()) {
    report.problems = modules.errors();
    return report;
  }
  for (const auto& module : *modules) {
    std::size_t instructions = 0;
    for (const hlo::Computation& computation : module->computations)
      instructions += computation.instructions.size();
    report.summary += fmt::format("{}module {}, {} instructions{}", report.summary.empty() ? "" : "; ",
                                  module->name, instructions, module->is_scheduled ? "" : ", not scheduled");
  }
  return report;
}

/// A file that does not say what it is: most likely a chip, unless that is all that is wrong with it.
Report CheckNameless(const std::string& path, const std::vector<std::string>& search) {
  Report report = CheckChip(path, search);
  for (Diagnostic& problem : report.problems) {
    if (problem.message != "no 'schema'") continue;
    problem.hint = "begin with 'schema: spillway.chip/1' or 'schema: spillway.workload/1'";
    return {"YAML", "", {problem}};
  }
  return report;
}

Report CheckYaml(const std::string& text, const std::string& path, const std::vector<std::string>& search) {
  const std::string schema = config::SchemaOf(text);
  if (schema.rfind("spillway.workload/", 0) == 0) return CheckWorkload(path);
  if (schema.rfind("spillway.sweep/", 0) == 0) return CheckSweep(path);
  if (schema.empty()) return CheckNameless(path, search);
  if (schema.rfind("spillway.chip/", 0) == 0) return CheckChip(path, search);
  Diagnostic error =
      Error(fmt::format("unknown schema '{}'", schema), "known: spillway.chip/1, spillway.workload/1, spillway.sweep/1");
  error.file = path;
  return {"YAML", "", {error}};
}

ExitCode CheckFile(Session& session, const std::string& path, const std::vector<std::string>& search) {
  Result<std::string> bytes = ReadFile(path);
  if (!bytes.ok()) return session.Fail(bytes.errors());
  const Report report = IsYamlName(path) ? CheckYaml(*bytes, path, search)
                                         : CheckHlo(std::move(*bytes), path == "-" ? "<stdin>" : path);
  session.console.Print(report.problems);
  if (report.problems.empty()) {
    session.out.Write(fmt::format("{}: ok ({}{}{})\n", path, report.kind, report.summary.empty() ? "" : ": ",
                                  report.summary));
    return kExitDone;
  }
  session.out.Write(fmt::format("{}: {} problem{} ({})\n", path, report.problems.size(),
                                report.problems.size() == 1 ? "" : "s", report.kind));
  return kExitCheckFailed;
}

ExitCode RunCheck(Session& session, const Arguments& arguments) {
  const std::vector<std::string> search = ConfigSearchPath(arguments.All("config-path"));
  ExitCode worst = kExitDone;
  for (const std::string& path : arguments.positionals()) {
    worst = std::max(worst, CheckFile(session, path, search));
  }
  return worst;
}

}  // namespace

Command CheckCommand() {
  Command command;
  command.name = "check";
  command.summary = "validate files and print every mistake in them";
  command.positionals = {
      {"FILE", "chip, workload or sweep YAML (.yaml), or HLO; - for HLO on standard input", 1, -1, Complete::kFile}};
  command.options = {ConfigPathOption()};
  command.notes = {
      "One line per file on standard output, the mistakes on standard error. Exit code 1 if a file has "
      "mistakes, 3 if one cannot be read."};
  command.examples = {{"spillway check my_chip.yaml module.after_optimizations.txt", "before a long run"}};
  command.run = RunCheck;
  return command;
}

}  // namespace spillway::cli
