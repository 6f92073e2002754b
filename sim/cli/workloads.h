// SPDX-License-Identifier: Apache-2.0
// Workloads by name.
#pragma once

#include <string>
#include <vector>

#include "sim/base/result.h"
#include "sim/config/workload_config.h"

namespace spillway::cli {

/// A workload file of the share directory.
struct NamedWorkload {
  std::string name;  ///< The file's name without `.yaml`.
  std::string path;
};

/// The bundled workloads, by name. YAML files of other kinds are left out.
std::vector<NamedWorkload> BundledWorkloads();

/// The path of the bundled workload `name`; empty if there is none.
std::string FindWorkload(const std::string& name);

/// Whether `path` is named like a YAML file.
bool IsYamlName(const std::string& path);

}  // namespace spillway::cli
