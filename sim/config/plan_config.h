// SPDX-License-Identifier: Apache-2.0
// A plan file (schema spillway.plan/1): which ops run as one kernel, which tensors stay in VMEM, which windows.
#pragma once

#include <string>
#include <vector>

#include "sim/base/result.h"

namespace spillway::config {

/// Tiles of `length` along dimension `dimension` of a value of the module, and of all that is walked together with it.
struct PlanTile {
  std::string value;
  int dimension = 0;
  std::int64_t length = 1;
};

struct PlanGroup {
  std::string name;                ///< Of the kernel; may be empty.
  std::vector<std::string> ops;
  std::vector<PlanTile> tiles;     ///< What is not named is searched for.
};

struct PlanConfig {
  std::string file, name, description;
  std::string base = "as-compiled";   ///< as-compiled, unfused, resident or streamed.
  std::vector<std::string> keep;      ///< Tensors that stay whole in VMEM.
  std::vector<PlanGroup> groups;      ///< Ops fused tile by tile; a `windows` entry is a group of one.
};

/// Bases that a plan file may name.
const std::vector<std::string>& PlanBases();

/// Strict: unknown keys, wrong types and missing values are errors with their place.
Result<PlanConfig> LoadPlan(const std::string& path);
Result<PlanConfig> ReadPlan(const std::string& text, const std::string& file);

}  // namespace spillway::config
