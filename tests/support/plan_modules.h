// SPDX-License-Identifier: Apache-2.0
// Modules and chips for tests of plans: HLO text, bundled workloads, the shipped chips, and programs planned from them.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/base/file.h"
#include "sim/config/config_loader.h"
#include "sim/plan/plan_choice.h"

namespace spillway::plan::testing {

inline std::unique_ptr<hlo::Module> ParseModule(const std::string& text) {
  auto modules = hlo::ParseModules(text, "test.hlo");
  if (!modules.ok()) FAIL(Render(modules.errors()[0]) << "\n" << text);
  return std::move((*modules)[0]);
}

/// `name` below workloads/hlo, without .hlo.gz.
inline std::unique_ptr<hlo::Module> BundledModule(const std::string& name) {
  auto text = ReadFile((std::filesystem::path(SPILLWAY_SOURCE_DIR) / "workloads" / "hlo" / (name + ".hlo.gz")).string());
  if (!text.ok()) FAIL(name);
  return ParseModule(*text);
}

/// Names, in order, that contain `part`.
inline std::vector<std::string> BundledNames(const std::string& part) {
  const std::string suffix = ".hlo.gz";
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(SPILLWAY_SOURCE_DIR) / "workloads" / "hlo")) {
    const std::string name = entry.path().filename().string();
    if (name.find(part) != std::string::npos) names.push_back(name.substr(0, name.size() - suffix.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// A chip of configs/.
inline const config::ChipConfig& ShippedChip(const std::string& name) {
  static std::map<std::string, config::ChipConfig> cache;
  auto it = cache.find(name);
  if (it == cache.end()) {
    config::ChipRequest request;
    request.chip = name;
    request.search = {std::string(SPILLWAY_SOURCE_DIR) + "/configs"};
    auto loaded = config::LoadChip(request);
    if (!loaded.ok()) FAIL(Render(loaded.errors()[0]));
    it = cache.emplace(name, loaded->config).first;
  }
  return it->second;
}

/// The chip that a bundled module was compiled for.
inline const config::ChipConfig& ChipOf(const std::string& name) {
  return ShippedChip(name.find("v5e") != std::string::npos ? "v5e" : "v6e");
}

inline PlanInputs InputsOf(const hlo::Module& module, const config::ChipConfig& chip) {
  PlanInputs inputs;
  inputs.module = &module;
  inputs.chip = &chip;
  return inputs;
}

inline Program PlanBy(PlanChoice::Kind kind, const hlo::Module& module, const config::ChipConfig& chip, PlanReport* report = nullptr) {
  PlanChoice choice;
  choice.kind = kind;
  Diagnostics warnings;
  auto program = MakePlan(InputsOf(module, chip), choice, warnings, report);
  if (!program.ok()) FAIL(Render(program.errors()[0]));
  return std::move(*program);
}

}  // namespace spillway::plan::testing
