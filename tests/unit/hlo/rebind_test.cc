// SPDX-License-Identifier: Apache-2.0
#include "sim/hlo/rebind.h"

#include <catch2/catch.hpp>

#include "sim/base/file.h"

using namespace spillway;
using namespace spillway::hlo;

namespace {

std::unique_ptr<Module> Parse(const std::string& text) {
  auto modules = ParseModules(text, "t.hlo");
  REQUIRE(modules.ok());
  return std::move(modules->front());
}

RebindRequest From(std::int64_t from, std::int64_t to, std::map<std::string, std::vector<int>> dimensions = {}) {
  RebindRequest request;
  request.bindings = {{"S", from, to}};
  request.dimensions = std::move(dimensions);
  return request;
}

std::string ShapeOf(const Module& module, const std::string& name) {
  for (const Computation& computation : module.computations) {
    if (const Instruction* found = computation.Find(name)) return ToString(found->shape);
  }
  return "none";
}

}  // namespace

TEST_CASE("rebind an element-wise module: layouts follow the size") {
  const auto module = Parse(R"(HloModule m, is_scheduled=true, entry_computation_layout={(f32[512]{0:T(512)})->f32[512]{0:T(512)}}
ENTRY e {
  p = f32[512]{0:T(512)} parameter(0)
  ROOT n = f32[512]{0:T(512)} negate(p)
})");
  const auto wide = Rebind(*module, From(512, 8192));
  REQUIRE(wide.ok());
  CHECK(ShapeOf(*wide->module, "n") == "f32[8192]{0:T(1024)}");
  CHECK(wide->bound == std::vector<std::string>{"p[0]"});
  const auto layout = wide->module->attributes;
  bool found = false;
  for (const Attribute& a : layout) {
    if (a.name == "entry_computation_layout") found = a.value.find("f32[8192]{0:T(1024)}") != std::string::npos;
  }
  CHECK(found);
}
