// SPDX-License-Identifier: Apache-2.0
#include "sim/output/files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "sim/base/file.h"

namespace spillway::output {
namespace {

namespace fs = std::filesystem;

// Removes what was made unless the work is declared finished.
class Cleanup {
 public:
  ~Cleanup() {
    std::error_code ignored;
    if (!stage_.empty()) fs::remove_all(stage_, ignored);
    if (keep_) return;
    for (auto dir = made_.rbegin(); dir != made_.rend(); ++dir) fs::remove(*dir, ignored);  // only if empty
  }
  void Stage(fs::path path) { stage_ = std::move(path); }
  void Made(const fs::path& path) { made_.push_back(path); }
  void Keep() { keep_ = true; }

 private:
  fs::path stage_;
  std::vector<fs::path> made_;
  bool keep_ = false;
};

Diagnostic Cannot(const char* action, const fs::path& path, const std::error_code& error) {
  return Error(fmt::format("cannot {} '{}': {}", action, path.string(), error.message()));
}

// Makes `dir` and its missing parents, noting each.
Status MakeDirectories(const fs::path& dir, Cleanup& cleanup) {
  std::error_code error;
  if (dir.empty() || fs::is_directory(dir, error)) return Done{};
  if (auto status = MakeDirectories(dir.parent_path(), cleanup); !status.ok()) return status;
  if (fs::create_directory(dir, error)) cleanup.Made(dir);
  if (error) return Cannot("create directory", dir, error);
  if (!fs::is_directory(dir, error))
    return Error(fmt::format("cannot create directory '{}': a file has that name", dir.string()));
  return Done{};
}

Status WriteStage(const fs::path& stage, const std::vector<OutputFile>& files, Cleanup& cleanup) {
  for (const OutputFile& file : files) {
    const fs::path path = stage / file.path;
    if (auto status = MakeDirectories(path.parent_path(), cleanup); !status.ok()) return status;
    if (auto status = WriteFileAtomically(path.string(), file.contents); !status.ok()) return status;
  }
  return Done{};
}

}  // namespace

Status WriteFiles(const std::string& dir, const std::vector<OutputFile>& files) {
  if (dir.empty()) return Error("the output directory has no name");
  fs::path target = fs::path(dir).lexically_normal();
  if (target.has_relative_path() && target.filename().empty()) target = target.parent_path();  // "out/"
  std::error_code error;
  const bool exists = fs::exists(target, error);
  if (exists && !fs::is_directory(target, error)) {
    return Error(fmt::format("'{}' is not a directory", dir), "choose another name for -o");
  }
  Cleanup cleanup;
  const std::string mark = fmt::format("tmp{}", getpid());
  const fs::path stage = exists ? target / (".spillway-" + mark) : fs::path(target.string() + "." + mark);
  if (auto status = MakeDirectories(stage.parent_path(), cleanup); !status.ok()) return status;
  if (!fs::create_directory(stage, error) && error) return Cannot("create directory", stage, error);
  cleanup.Stage(stage);
  if (auto status = WriteStage(stage, files, cleanup); !status.ok()) return status;
  if (!exists) {
    fs::rename(stage, target, error);
    if (error) return Cannot("create directory", target, error);
    cleanup.Keep();
    return Done{};
  }
  for (const OutputFile& file : files) {
    const fs::path to = target / file.path;
    if (auto status = MakeDirectories(to.parent_path(), cleanup); !status.ok()) return status;
    fs::rename(stage / file.path, to, error);
    if (error) return Cannot("write", to, error);
  }
  cleanup.Keep();
  return Done{};
}

}  // namespace spillway::output
