// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/workloads.h"

#include "sim/base/file.h"
#include "sim/cli/paths.h"

namespace spillway::cli {

bool IsYamlName(const std::string& path) { return EndsWith(path, ".yaml") || EndsWith(path, ".yml"); }

std::vector<NamedWorkload> BundledWorkloads() {
  std::vector<NamedWorkload> workloads;
  const std::string directory = WorkloadDirectory();
  for (const std::string& file : FilesIn(directory)) {
    if (!EndsWith(file, ".yaml")) continue;
    const std::string path = JoinPath(directory, file);
    const Result<std::string> text = ReadFile(path);
    if (text.ok() && config::LooksLikeWorkload(*text))
      workloads.push_back({file.substr(0, file.size() - 5), path});
  }
  return workloads;
}

std::string FindWorkload(const std::string& name) {
  if (name.empty() || name.find('/') != std::string::npos) return "";
  const std::string path = JoinPath(WorkloadDirectory(), name + ".yaml");
  const Result<std::string> text = Exists(path) ? ReadFile(path) : Result<std::string>(std::string());
  return text.ok() && config::LooksLikeWorkload(*text) ? path : "";
}

}  // namespace spillway::cli
