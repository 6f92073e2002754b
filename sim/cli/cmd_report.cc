// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "sim/base/file.h"
#include "sim/cli/commands.h"
#include "sim/cli/paths.h"
#include "sim/cli/session.h"
#include "sim/output/html_report.h"
#include "sim/output/run_directory.h"
#include "sim/sweep/sweep_page.h"
#include "sim/sweep/tables.h"

namespace spillway::cli {
namespace {

bool IsSweep(const std::string& directory) { return Exists(JoinPath(directory, "journal.jsonl")); }

/// One page about the runs, or about the sweep.
Result<std::string> PageOf(const std::vector<std::string>& directories) {
  if (std::any_of(directories.begin(), directories.end(), IsSweep)) {
    if (directories.size() > 1) {
      return Error("a sweep has a page of its own", "give one directory; 'spillway merge' joins the shards of a sweep");
    }
    const std::string path = JoinPath(directories.front(), "journal.jsonl");
    Result<sweep::Journal> journal = sweep::ReadJournal(path);
    if (!journal.ok()) return journal.errors();
    Result<sweep::Merged> whole = sweep::Merge({{path, std::move(*journal)}});
    if (!whole.ok()) return whole.errors();
    return sweep::SweepPage(whole->header, whole->entries);
  }
  std::vector<output::RunData> runs;
  Diagnostics errors;
  for (const std::string& directory : directories) {
    Result<output::RunData> run = output::ReadRunDirectory(directory);
    if (run.ok()) {
      runs.push_back(std::move(*run));
    } else {
      errors.insert(errors.end(), run.errors().begin(), run.errors().end());
    }
  }
  if (!errors.empty()) return errors;
  return output::HtmlReport(runs);
}

ExitCode RunReport(Session& session, const Arguments& arguments) {
  const Result<std::string> page = PageOf(arguments.positionals());
  if (!page.ok()) return session.Fail(page.errors());
  const std::string target =
      arguments.Get("output", JoinPath(arguments.positionals().front(), "report.html"));
  if (target == "-") {
    session.out.Write(*page);
    return kExitDone;
  }
  const Status written = WriteFileAtomically(target, *page);
  if (!written.ok()) return session.Fail(written.errors());
  session.out.Write(target + "\n");
  return kExitDone;
}

}  // namespace

Command ReportCommand() {
  Command command;
  command.name = "report";
  command.summary = "make one HTML page of finished runs or a sweep, readable without a network";
  command.positionals = {{"DIR", "a directory that 'run -o' has written (several are compared), or that of a sweep", 1, -1,
                          Complete::kDirectory}};
  command.options = {{"output", 'o', "FILE",
                      "the page; - for standard output; without it, report.html in the first DIR", false,
                      Complete::kFile}};
  command.notes = {"Prints the path of the page."};
  command.examples = {{"spillway report out", "a page about one run"},
                      {"spillway report before after -o difference.html", "two runs side by side"},
                      {"spillway report sweep-attention", "curves and table of a sweep"}};
  command.run = RunReport;
  return command;
}

}  // namespace spillway::cli
