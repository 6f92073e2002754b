// SPDX-License-Identifier: Apache-2.0
// Shipped dumps, planned, for the tests of sim/explain.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "sim/base/file.h"
#include "sim/config/config_loader.h"
#include "sim/explain/boundary.h"
#include "sim/plan/planner.h"

namespace spillway::explain::testing {

struct Planned {
  std::unique_ptr<hlo::Module> module;
  config::ChipConfig chip;
  plan::Program program;

  plan::PlanInputs inputs() const {
    plan::PlanInputs inputs;
    inputs.module = module.get();
    inputs.chip = &chip;
    return inputs;
  }
};

inline std::unique_ptr<Planned> PlanText(const std::string& text, const std::string& chip, const std::string& file = "test.hlo") {
  auto planned = std::make_unique<Planned>();
  auto modules = hlo::ParseModules(text, file);
  if (!modules.ok()) FAIL(Render(modules.errors()[0]));
  planned->module = std::move((*modules)[0]);
  config::ChipRequest request;
  request.chip = chip;
  request.search = {std::string(SPILLWAY_SOURCE_DIR) + "/configs"};
  auto loaded = config::LoadChip(request);
  if (!loaded.ok()) FAIL(Render(loaded.errors()[0]));
  planned->chip = loaded->config;
  Diagnostics warnings;
  auto program = plan::PlanAsCompiled(planned->inputs(), warnings);
  if (!program.ok()) FAIL(Render(program.errors()[0]));
  planned->program = std::move(*program);
  return planned;
}

/// `dump`: path below the source tree, without .hlo.gz.
inline std::unique_ptr<Planned> PlanDump(const std::string& dump, const std::string& chip) {
  auto text = ReadFile(std::string(SPILLWAY_SOURCE_DIR) + "/" + dump + ".hlo.gz");
  if (!text.ok()) FAIL(dump);
  return PlanText(*text, chip, dump);
}

inline std::vector<Boundary> Boundaries(const Planned& planned, const Dataflow& flow) {
  auto around = SurroundingsOf(flow, planned.inputs());
  if (!around.ok()) FAIL(Render(around.errors()[0]));
  return FindBoundaries(flow, *around);
}

}  // namespace spillway::explain::testing
