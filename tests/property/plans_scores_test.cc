// SPDX-License-Identifier: Apache-2.0
// Score matrices of attention grow with the square of the sequence length.
#include <fmt/format.h>
#include <rapidcheck.h>

#include "sim/plan/plan_check.h"
#include "sim/plan/rebind_plan.h"
#include "tests/support/plan_modules.h"

namespace spillway::plan {
namespace {

using namespace testing;
using Kind = PlanChoice::Kind;

/// Arrays with two dimensions of length `size`.
struct Scores {
  Bytes hbm_bytes = 0;      ///< Allocated in HBM.
  Bytes vmem_bytes = 0;     ///< Allocated in VMEM.
  Bytes moved = 0;          ///< Read and written in HBM.
  int count = 0;
};

Scores ScoresOf(const Program& program, std::int64_t size) {
  const HbmTraffic traffic = CountHbm(program);
  Scores scores;
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    const Buffer& buffer = program.buffers[b];
    const auto shape = hlo::ParseShape(buffer.shape);
    if (!shape.ok() || std::count(shape->dimensions.begin(), shape->dimensions.end(), size) != 2) continue;
    (buffer.space == Space::kHbm ? scores.hbm_bytes : scores.vmem_bytes) += buffer.allocated_bytes;
    scores.moved += traffic.read_by_buffer[b] + traffic.written_by_buffer[b];
    ++scores.count;
  }
  return scores;
}

TEST_CASE("doubling S multiplies score bytes by four: bundled attention") {
  int pairs = 0, in_hbm = 0;
  for (const char* family : {"attention", "attention_f32_causal", "attention_batched", "attention_batched_causal"}) {
    for (const char* chip : {"v5e", "v6e"}) {
      for (const char* variant : {"", ".jax062"}) {
        Scores before, before_unfused;
        for (std::int64_t size : {512, 1024, 2048, 4096, 8192, 16384, 32768}) {
          const std::string name = fmt::format("{}.{}.S{}{}", family, chip, size, variant);
          const std::vector<std::string> names = BundledNames(name + ".hlo");
          if (names.empty()) continue;
          INFO(name);
          auto module = BundledModule(name);
          const Program compiled = PlanBy(Kind::kAsCompiled, *module, ChipOf(name));
          const Program unfused = PlanBy(Kind::kUnfused, *module, ChipOf(name));
          const Scores now = ScoresOf(compiled, size), now_unfused = ScoresOf(unfused, size);
          REQUIRE(now.count > 0);
          // The compiler may fuse otherwise at another size; as long as it makes the same arrays, each is four times as large.
          if (before.count == now.count) {
            CHECK(now.hbm_bytes + now.vmem_bytes == 4 * (before.hbm_bytes + before.vmem_bytes));
            ++pairs;
          }
          if (before.count == now.count && before.vmem_bytes == 0 && now.vmem_bytes == 0) {
            CHECK(now.moved == 4 * before.moved);
            ++in_hbm;
          }
          if (before_unfused.count == now_unfused.count) {
            CHECK(now_unfused.hbm_bytes + now_unfused.vmem_bytes == 4 * (before_unfused.hbm_bytes + before_unfused.vmem_bytes));
          }
          before = now;
          before_unfused = now_unfused;
        }
      }
    }
  }
  CHECK(pairs >= 30);
  CHECK(in_hbm >= 8);
}

TEST_CASE("doubling S multiplies score bytes by four: any S") {
  const std::string name = "attention.v6e.S8192.jax062";
  auto module = BundledModule(name);
  CHECK(rc::check("rebound to S and 2S", [&] {
    const std::int64_t size = 512 * *rc::gen::inRange<std::int64_t>(17, 64);
    Scores scores[2];
    for (int doubled = 0; doubled < 2; ++doubled) {
      hlo::RebindRequest request;
      request.bindings = {{"S", 8192, size << doubled}};
      auto bound = RebindForChip(*module, request, ChipOf(name));
      if (!bound.ok()) RC_FAIL(bound.errors().front().message);
      const Program program = PlanBy(Kind::kAsCompiled, *bound->module, ChipOf(name));
      scores[doubled] = ScoresOf(program, size << doubled);
      RC_ASSERT(scores[doubled].count > 0);
      RC_ASSERT(scores[doubled].vmem_bytes == 0);
    }
    RC_ASSERT(scores[1].hbm_bytes == 4 * scores[0].hbm_bytes);
    RC_ASSERT(scores[1].moved == 4 * scores[0].moved);
  }));
}

}  // namespace
}  // namespace spillway::plan
