// SPDX-License-Identifier: Apache-2.0
#include "sim/output/run_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "sim/base/file.h"
#include "sim/output/csv.h"
#include "sim/output/export.h"
#include "sim/output/summary_json.h"

namespace spillway::output {
namespace {

namespace fs = std::filesystem;

// Names the table's file with its directory in every message.
Diagnostics InDirectory(Diagnostics errors, const std::string& dir) {
  for (Diagnostic& error : errors) {
    if (!error.file.empty()) error.file = dir + "/" + error.file;
  }
  return errors;
}

Result<std::string> ReadIfThere(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return std::string();
  return ReadFile(path.string());
}

}  // namespace

Result<std::vector<OutputFile>> RunDirectoryFiles(const RunData& run, const RunDirectoryOptions& options) {
  std::vector<OutputFile> files;
  std::set<std::string> done;
  std::vector<std::string> formats = {"json", "csv"};
  formats.insert(formats.end(), options.formats.begin(), options.formats.end());
  for (const std::string& format : formats) {
    if (!done.insert(format).second) continue;
    Result<std::vector<OutputFile>> part = RenderFormat(format, run);
    if (!part.ok()) return part;
    for (OutputFile& file : *part) files.push_back(std::move(file));
  }
  for (const OutputFile& file : options.extra_files) files.push_back(file);
  return files;
}

Status WriteRunDirectory(const std::string& dir, const RunData& run, const RunDirectoryOptions& options) {
  const Result<std::vector<OutputFile>> files = RunDirectoryFiles(run, options);
  if (!files.ok()) return files.errors();
  if (auto status = WriteFiles(dir, *files); !status.ok()) return status;
  for (const Format& format : Formats()) {
    for (const std::string& name : format.files) {
      const bool written =
          std::any_of(files->begin(), files->end(), [&](const OutputFile& f) { return f.path == name; });
      std::error_code ignored;
      if (!written) fs::remove(fs::path(dir) / name, ignored);
    }
  }
  return Done{};
}

Result<RunData> ReadRunDirectory(const std::string& dir) {
  const fs::path root(dir);
  std::error_code error;
  if (!fs::exists(root, error)) return Error(fmt::format("cannot open '{}': no such directory", dir));
  if (!fs::is_directory(root, error)) {
    return Error(fmt::format("'{}' is not a run directory", dir),
                 "name a directory made by `spillway run -o DIR`");
  }
  if (!fs::exists(root / "summary.json", error)) {
    return Error(fmt::format("'{}' has no summary.json: not a run directory", dir),
                 "name a directory made by `spillway run -o DIR`");
  }
  const Result<std::string> json = ReadFile((root / "summary.json").string());
  if (!json.ok()) return json.errors();
  Result<timeline::Summary> summary = ReadSummaryJson(*json, dir + "/summary.json");
  if (!summary.ok()) return summary.errors();
  RunData run;
  run.summary = std::move(*summary);

  TimelineTables tables;
  const std::pair<const char*, std::string*> parts[] = {
      {"slices.csv", &tables.slices}, {"counters.csv", &tables.counters}, {"tracks.csv", &tables.tracks}};
  for (const auto& [name, text] : parts) {
    Result<std::string> contents = ReadIfThere(root / name);
    if (!contents.ok()) return contents.errors();
    *text = std::move(*contents);
  }
  if (tables.slices.empty()) return run;
  Result<timeline::Timeline> timeline = ReadTimelineTables(tables, run.summary.ops);
  if (!timeline.ok()) return InDirectory(timeline.errors(), dir);
  run.timeline = std::move(*timeline);
  return run;
}

}  // namespace spillway::output
