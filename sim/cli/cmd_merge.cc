// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sim/base/file.h"
#include "sim/cli/commands.h"
#include "sim/cli/paths.h"
#include "sim/cli/session.h"
#include "sim/cli/sweep_output.h"
#include "sim/sweep/tables.h"

namespace spillway::cli {
namespace {

/// `directory` itself if it holds a journal, else its folders that do, by name.
std::vector<std::string> ShardsIn(const std::string& directory) {
  if (Exists(JoinPath(directory, "journal.jsonl"))) return {directory};
  std::vector<std::string> shards;
  std::error_code error;
  for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (Exists(JoinPath(it->path().string(), "journal.jsonl"))) shards.push_back(it->path().string());
  }
  std::sort(shards.begin(), shards.end());
  return shards;
}

Diagnostics ReadJournals(const std::vector<std::string>& directories, std::vector<sweep::NamedJournal>& journals) {
  Diagnostics errors;
  for (const std::string& directory : directories) {
    const std::vector<std::string> shards = ShardsIn(directory);
    if (shards.empty()) {
      errors.push_back(Error(fmt::format("there is no journal.jsonl in '{}' or its folders", directory),
                             "'spillway sweep --shard I/N -o DIR' makes such a directory"));
    }
    for (const std::string& shard : shards) {
      const std::string path = JoinPath(shard, "journal.jsonl");
      Result<sweep::Journal> journal = sweep::ReadJournal(path);
      if (journal.ok()) {
        journals.push_back({path, std::move(*journal)});
      } else {
        errors.insert(errors.end(), journal.errors().begin(), journal.errors().end());
      }
    }
  }
  return errors;
}

/// All shards have the same; a shard that was stopped has none.
std::string ResolvedOf(const std::vector<sweep::NamedJournal>& journals) {
  for (const sweep::NamedJournal& each : journals) {
    const std::string path = JoinPath(DirectoryOf(each.path), "config.resolved.yaml");
    const Result<std::string> text = Exists(path) ? ReadFile(path) : Result<std::string>(std::string());
    if (text.ok() && !text->empty()) return *text;
  }
  return "schema: spillway.sweep/1\n# no shard is complete\n";
}

/// The merged journal must not replace one that is still needed.
Diagnostics CheckTarget(const std::string& directory, const std::vector<sweep::NamedJournal>& journals) {
  const std::string target = JoinPath(directory, "journal.jsonl");
  for (const sweep::NamedJournal& each : journals) {
    std::error_code error;
    if (std::filesystem::equivalent(each.path, target, error)) {
      return {Error(fmt::format("-o {}: that is the directory of a shard", directory), "choose another one")};
    }
  }
  if (Exists(target) && !Exists(JoinPath(directory, "sweep.csv"))) {
    return {Error(fmt::format("-o {}: it holds a sweep that is not finished", directory), "choose another directory")};
  }
  return {};
}

ExitCode RunMerge(Session& session, const Arguments& arguments) {
  if (!arguments.Has("output")) {
    return session.Fail(Error("'merge' needs -o DIR", "the directory for the whole sweep"), kExitUsage);
  }
  std::vector<sweep::NamedJournal> journals;
  if (const Diagnostics errors = ReadJournals(arguments.positionals(), journals); !errors.empty()) {
    return session.Fail(errors);
  }
  const std::string directory = arguments.Get("output");
  if (const Diagnostics errors = CheckTarget(directory, journals); !errors.empty()) {
    return session.Fail(errors, kExitUsage);
  }
  const Result<sweep::Merged> merged = sweep::Merge(journals);
  if (!merged.ok()) return session.Fail(merged.errors(), kExitCheckFailed);
  if (const Status made = MakeDirectory(directory); !made.ok()) return session.Fail(made.errors());
  Result<sweep::JournalWriter> writer = sweep::JournalWriter::Lock(directory);
  if (!writer.ok()) return session.Fail(writer.errors());
  const Status started = writer->Start(merged->header, merged->entries);
  if (!started.ok()) return session.Fail(started.errors());
  const ExitCode code = FinishSweep(session, directory, merged->header, merged->entries, ResolvedOf(journals));
  if (merged->missing.empty()) return code;
  return session.Fail(Error(fmt::format("{} of {} points are missing: {}", merged->missing.size(), merged->header.points,
                                        sweep::RangesText(merged->missing)),
                            "finish the other shards with --resume and merge again"),
                      std::max(code, kExitCheckFailed));
}

}  // namespace

Command MergeCommand() {
  Command command;
  command.name = "merge";
  command.summary = "join the shards of a sweep";
  command.positionals = {{"DIR", "the directory of a shard, or one that holds directories of shards", 1, -1,
                          Complete::kDirectory}};
  command.options = {{"output", 'o', "DIR", "where the whole sweep goes", false, Complete::kDirectory}};
  command.options.front().in_usage = true;
  command.notes = {"The files are the same, byte for byte, as those of the sweep in one piece. Points are counted from 0 "
                   "in the order of 'sweep --dry-run'. Exit code 1 if points are missing, have no result or are in "
                   "two shards."};
  command.examples = {{"spillway merge out/shard-* -o all", "after an array job with -o out"}};
  command.run = RunMerge;
  return command;
}

}  // namespace spillway::cli
