// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "sim/base/file.h"
#include "sim/cli/commands.h"
#include "sim/cli/paths.h"
#include "sim/cli/session.h"
#include "sim/output/html_report.h"
#include "sim/output/run_directory.h"

namespace spillway::cli {
namespace {

ExitCode RunReport(Session& session, const Arguments& arguments) {
  std::vector<output::RunData> runs;
  Diagnostics errors;
  for (const std::string& directory : arguments.positionals()) {
    Result<output::RunData> run = output::ReadRunDirectory(directory);
    if (run.ok()) {
      runs.push_back(std::move(*run));
    } else {
      errors.insert(errors.end(), run.errors().begin(), run.errors().end());
    }
  }
  if (!errors.empty()) return session.Fail(errors);
  const std::string page = output::HtmlReport(runs);
  const std::string target =
      arguments.Get("output", JoinPath(arguments.positionals().front(), "report.html"));
  if (target == "-") {
    session.out.Write(page);
    return kExitDone;
  }
  const Status written = WriteFileAtomically(target, page);
  if (!written.ok()) return session.Fail(written.errors());
  session.out.Write(target + "\n");
  return kExitDone;
}

}  // namespace

Command ReportCommand() {
  Command command;
  command.name = "report";
  command.summary = "make one HTML page of finished runs, readable without a network";
  command.positionals = {
      {"RUNDIR", "a directory that 'run -o' has written; several are compared", 1, -1, Complete::kDirectory}};
  command.options = {{"output", 'o', "FILE",
                      "the page; - for standard output; without it, report.html in the first RUNDIR", false,
                      Complete::kFile}};
  command.notes = {"Prints the path of the page."};
  command.examples = {{"spillway report out", "a page about one run"},
                      {"spillway report before after -o difference.html", "two runs side by side"}};
  command.run = RunReport;
  return command;
}

}  // namespace spillway::cli
