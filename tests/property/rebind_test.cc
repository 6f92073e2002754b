// SPDX-License-Identifier: Apache-2.0
// Rewriting for any size: there and back is the same module, and no request crashes.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

#include "sim/base/file.h"
#include "sim/hlo/rebind.h"

using namespace spillway;

namespace {

std::unique_ptr<hlo::Module> Load(const std::string& name) {
  auto text = ReadFile(SPILLWAY_SOURCE_DIR "/workloads/hlo/" + name + ".hlo.gz");
  REQUIRE(text.ok());
  auto modules = hlo::ParseModules(*text, name);
  REQUIRE(modules.ok());
  return std::move(modules->front());
}

hlo::RebindRequest Request(std::int64_t from, std::int64_t to, std::map<std::string, std::vector<int>> dimensions = {}) {
  hlo::RebindRequest request;
  request.bindings = {{"S", from, to}};
  request.dimensions = std::move(dimensions);
  return request;
}

}  // namespace

TEST_CASE("rebind there and back gives the shapes of before") {
  auto layer = Load("transformer_layer.v6e.S8192");
  auto softmax = Load("softmax.v5e.S8192");
  CHECK(rc::check("transformer layer by blocks, softmax by rows", [&] {
    // More blocks than before: with few of them (2, 8) their number is a size of other things as well.
    const std::int64_t blocks = *rc::gen::inRange<std::int64_t>(17, 200);
    // A size that equals another one of the program may be refused on the way back.
    const std::int64_t size = blocks * 512;
    RC_PRE(size != 5120 && size != 13824 && size != 8192);
    struct Case {
      const hlo::Module* module;
      std::string parameter;
    };
    for (const Case& each : {Case{layer.get(), "x"}, Case{softmax.get(), "x"}}) {
      auto there = hlo::Rebind(*each.module, Request(8192, size, {{each.parameter, {0}}}));
      if (!there.ok()) RC_FAIL(there.errors().front().message);
      auto back = hlo::Rebind(*there->module, Request(size, 8192, {{each.parameter, {0}}}));
      if (!back.ok()) RC_FAIL(back.errors().front().message);
      for (const hlo::Computation& computation : each.module->computations) {
        const hlo::Computation* same = back->module->Find(computation.name);
        RC_ASSERT(same != nullptr);
        for (const hlo::Instruction& instruction : computation.instructions) {
          const hlo::Instruction* other = same->Find(instruction.name);
          RC_ASSERT(other != nullptr);
          RC_ASSERT(hlo::ToString(other->shape) == hlo::ToString(instruction.shape));
          RC_ASSERT(other->literal == instruction.literal);
        }
      }
    }
  }));
}

TEST_CASE("rebind answers any request") {
  auto module = Load("decode_attention.v6e.S512");
  CHECK(rc::check("values and dimensions at random", [&] {
    const auto from = *rc::gen::element<std::int64_t>(512, 8, 128, 4, 32, 7, 1, 0, -5);
    const auto to = *rc::gen::element<std::int64_t>(1, 2, 3, 511, 513, 1024, std::int64_t{1} << 40, std::int64_t{1} << 62, 0, -1);
    std::map<std::string, std::vector<int>> dimensions;
    const int d = *rc::gen::inRange(-1, 5);
    if (*rc::gen::arbitrary<bool>()) dimensions["k_cache"] = {d};
    if (*rc::gen::arbitrary<bool>()) dimensions["1"] = {d, 0};
    auto result = hlo::Rebind(*module, Request(from, to, dimensions));
    const bool answered = result.ok() || (!result.errors().empty() && !result.errors().front().message.empty());
    RC_ASSERT(answered);
  }));
}
