// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/paths.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace spillway::cli {
namespace {

namespace fs = std::filesystem;

std::string ExecutableDirectory() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? "" : self.parent_path().string();
}

}  // namespace

bool IsDirectory(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

bool Exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

std::string BaseName(const std::string& path) { return fs::path(path).filename().string(); }

std::string DirectoryOf(const std::string& path) { return fs::path(path).parent_path().string(); }

std::string JoinPath(const std::string& directory, const std::string& name) {
  return directory.empty() ? name : (fs::path(directory) / name).string();
}

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::vector<std::string> FilesIn(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (it->is_regular_file(ignored)) names.push_back(it->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string ShareDirectory() {
  if (const char* share = std::getenv("SPILLWAY_SHARE"); share != nullptr && *share != '\0') return share;
  if (const std::string bin = ExecutableDirectory(); !bin.empty()) {
    const std::string share = (fs::path(bin) / "../share/spillway").lexically_normal().string();
    if (IsDirectory(JoinPath(share, "configs"))) return share;
  }
  return IsDirectory(JoinPath(SPILLWAY_SOURCE_DIR, "configs")) ? SPILLWAY_SOURCE_DIR : "";
}

std::vector<std::string> ConfigSearchPath(const std::vector<std::string>& extra) {
  std::vector<std::string> path = extra;
  if (const char* list = std::getenv("SPILLWAY_CONFIG_PATH"); list != nullptr) {
    const std::string text = list;
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(':', begin), text.size());
      if (end > begin) path.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  if (const std::string share = ShareDirectory(); !share.empty()) path.push_back(JoinPath(share, "configs"));
  return path;
}

std::string WorkloadDirectory() {
  const std::string share = ShareDirectory();
  return share.empty() ? "" : JoinPath(share, "workloads");
}

}  // namespace spillway::cli
