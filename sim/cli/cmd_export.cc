// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "sim/cli/commands.h"
#include "sim/cli/common_options.h"
#include "sim/cli/options.h"
#include "sim/cli/paths.h"
#include "sim/cli/session.h"
#include "sim/output/export.h"
#include "sim/output/files.h"
#include "sim/output/run_directory.h"

namespace spillway::cli {
namespace {

/// The files of all formats, each once. Errors: every unknown format.
Result<std::vector<output::OutputFile>> RenderAll(const std::vector<std::string>& formats,
                                                  const output::RunData& run) {
  std::vector<output::OutputFile> files;
  for (const std::string& format : formats) {
    Result<std::vector<output::OutputFile>> rendered = output::RenderFormat(format, run);
    if (!rendered.ok()) return rendered.errors();
    for (output::OutputFile& file : *rendered) files.push_back(std::move(file));
  }
  return files;
}

ExitCode WriteToOutput(Session& session, const std::vector<output::OutputFile>& files) {
  if (files.size() != 1) {
    return session.Fail(Error(fmt::format("{} files cannot go to standard output", files.size()),
                              "-o DIR takes them, or choose a format of one file"),
                        kExitUsage);
  }
  session.out.Write(files.front().contents);
  return kExitDone;
}

ExitCode RunExport(Session& session, const Arguments& arguments) {
  const std::vector<std::string> formats = SplitList(arguments.Get("format"));
  if (formats.empty()) {
    return session.Fail(Error("'export' needs --format LIST", "'spillway list formats' prints them"),
                        kExitUsage);
  }
  if (const Diagnostics errors = CheckFormats(formats); !errors.empty())
    return session.Fail(errors, kExitUsage);
  const std::string& directory = arguments.positionals().front();
  const Result<output::RunData> run = output::ReadRunDirectory(directory);
  if (!run.ok()) return session.Fail(run.errors());
  const Result<std::vector<output::OutputFile>> files = RenderAll(formats, *run);
  if (!files.ok()) return session.Fail(files.errors());
  const std::string target = arguments.Get("output", directory);
  if (target == "-") return WriteToOutput(session, *files);
  const Status written = output::WriteFiles(target, *files);
  if (!written.ok()) return session.Fail(written.errors());
  for (const output::OutputFile& file : *files) session.out.Write(JoinPath(target, file.path) + "\n");
  return kExitDone;
}

}  // namespace

Command ExportCommand() {
  Command command;
  command.name = "export";
  command.summary = "write the timeline of a finished run in other formats";
  command.positionals = {{"RUNDIR", "a directory that 'run -o' has written", 1, 1, Complete::kDirectory}};
  command.options = {
      {"format", 0, "LIST", "formats, separated by commas; 'spillway list formats' prints them", false,
       Complete::kFormatList},
      {"output", 'o', "DIR", "where to write; - for standard output; without it, into RUNDIR", false,
       Complete::kDirectory},
  };
  command.options.front().in_usage = true;
  command.notes = {"Prints the path of each file that it wrote."};
  command.examples = {
      {"spillway export out --format xplane -o profile && xprof --logdir profile",
       "open a simulated run where real ones are opened"},
      {"spillway export out --format chrome,csv", "several formats, into the run's directory"}};
  command.run = RunExport;
  return command;
}

}  // namespace spillway::cli
