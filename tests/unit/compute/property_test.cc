// SPDX-License-Identifier: Apache-2.0
// Cost never falls when a dimension grows, and is finite and not negative.
#include <catch2/catch.hpp>
#include <rapidcheck.h>
#include <string>

#include "sim/compute/tile_cost.h"
#include "sim/config/config_loader.h"
#include "sim/hlo/module.h"

namespace spillway::compute {
namespace {

config::ChipConfig Chip(const std::string& name) {
  config::ChipRequest request;
  request.chip = std::string(SPILLWAY_SOURCE_DIR) + "/configs/chips/" + name + ".yaml";
  auto loaded = config::LoadChip(request);
  RC_ASSERT(loaded.ok());
  return loaded->config;
}

std::string F32(int rows, int columns) {
  return "f32[" + std::to_string(rows) + "," + std::to_string(columns) + "]{1,0:T(8,128)}";
}

Cycles CostOfText(const std::string& entry, const config::ChipConfig& chip) {
  auto modules = hlo::ParseModules(
      "HloModule m\nadd {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT s = f32[] add(x, y)\n}\nENTRY e {\n" +
          entry + "}\n", "property.hlo");
  RC_ASSERT(modules.ok());
  KernelCost cost = CostOf(*modules.value().front()->entry->root, chip, 1);
  RC_ASSERT(cost.total_cycles >= 0);
  RC_ASSERT(cost.total_cycles < Cycles{1} << 53);
  RC_ASSERT(cost.total_cycles >= cost.bundles);
  return cost.total_cycles;
}

std::string Kernel(int kind, int rows, int columns) {
  std::string in = "  a = " + F32(rows, columns) + " parameter(0)\n  z = f32[] constant(0)\n";
  switch (kind) {
    case 0: return in + "  ROOT r = " + F32(rows, columns) + " exponential(a)\n";
    case 1: return in + "  ROOT r = f32[" + std::to_string(rows) + "]{0} reduce(a, z), dimensions={1}, to_apply=add\n";
    case 2: return in + "  ROOT r = f32[" + std::to_string(columns) + "]{0} reduce(a, z), dimensions={0}, to_apply=add\n";
    case 3: return in + "  ROOT r = f32[" + std::to_string(columns) + "," + std::to_string(rows) +
                   "]{1,0:T(8,128)} transpose(a), dimensions={1,0}\n";
    default:
      return in + "  b = " + F32(columns, columns) + " parameter(1)\n  ROOT r = " + F32(rows, columns) +
             " dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n";
  }
}

TEST_CASE("compute cost is monotone in size, finite and not negative") {
  for (const char* name : {"v5e", "v6e"}) {
    const config::ChipConfig chip = Chip(name);
    CHECK(rc::check(std::string("monotone ") + name, [&chip] {
      int kind = *rc::gen::inRange(0, 5);
      int rows = *rc::gen::inRange(1, 5000), columns = *rc::gen::inRange(1, 5000);
      int more_rows = rows + *rc::gen::inRange(0, 5000), more_columns = columns + *rc::gen::inRange(0, 5000);
      Cycles small = CostOfText(Kernel(kind, rows, columns), chip);
      Cycles large = CostOfText(Kernel(kind, more_rows, more_columns), chip);
      RC_ASSERT(large >= small);
    }));
  }
}

}  // namespace
}  // namespace spillway::compute
