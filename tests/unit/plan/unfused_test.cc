// SPDX-License-Identifier: Apache-2.0
// Unfused traffic against as-compiled traffic. The identity, with B(t) the allocated bytes of a tensor in HBM:
//   unfused - as-compiled = sum over the tensors t that fusion removed of  B(t) x (1 write + reads(t))
//                         + sum over the operands o of fusions of          B(o) x (reads of o inside - reads of the fusion)
//                         + sum over the results r of fusions of           B(r) x reads of r inside
//                         + what a kernel's own windows fetch again (matmuls only)
// where reads() counts instructions that are no longer one kernel. A tensor with one user gives 2 x B(t).
#include "sim/plan/unfused.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <map>
#include <set>

#include "sim/hlo/attributes.h"
#include "sim/plan/plan_check.h"
#include "tests/support/plan_modules.h"

namespace spillway::plan {
namespace {

using namespace testing;

Program Plan(const hlo::Module& module, const config::ChipConfig& chip, bool unfused) {
  return PlanBy(unfused ? PlanChoice::Kind::kUnfused : PlanChoice::Kind::kAsCompiled, module, chip);
}

Bytes InHbm(const hlo::Shape& shape) {
  bool hbm = shape.IsArray() && shape.rank() > 0 && (!shape.has_layout || shape.layout.memory_space == 0);
  return hbm ? hlo::AllocatedBytes(shape) : 0;
}

/// Counted from the text of the fused computations alone. Only for modules without nested fusions.
class Removed {
 public:
  explicit Removed(const hlo::Module& module) {
    for (const hlo::Instruction& instruction : module.entry->instructions) {
      if (instruction.opcode == hlo::Opcode::kFusion) Count(instruction);
    }
  }
  Bytes once = 0;        ///< Removed tensors.
  Bytes difference = 0;  ///< The identity's right side, without refetches.

 private:
  bool Uniform(const hlo::Instruction& i) const {
    if (i.opcode == hlo::Opcode::kConstant) return true;
    if (i.opcode == hlo::Opcode::kParameter || i.operands.empty()) return false;
    if (!hlo::IsElementwise(i.opcode) && i.opcode != hlo::Opcode::kBroadcast && i.opcode != hlo::Opcode::kConvert) return false;
    for (const auto* operand : i.operands) {
      if (!Uniform(*operand) && operand->shape.rank() > 0) return false;
    }
    return true;
  }

  void Count(const hlo::Instruction& fusion) {
    const hlo::Computation& body = *fusion.called[0];
    std::set<const hlo::Instruction*> results = {body.root};
    if (body.root->opcode == hlo::Opcode::kTuple) results.insert(body.root->operands.begin(), body.root->operands.end());
    std::map<const hlo::Instruction*, int> reads;
    for (const hlo::Instruction& i : body.instructions) {
      if (hlo::IsFree(i.opcode) || (Uniform(i) && results.count(&i) == 0)) continue;
      std::set<const hlo::Instruction*> distinct(i.operands.begin(), i.operands.end());
      for (const auto* operand : distinct) {
        if (!Uniform(*operand)) ++reads[operand];
      }
    }
    for (const hlo::Instruction& i : body.instructions) {
      if (i.opcode == hlo::Opcode::kParameter) {
        difference += InHbm(i.shape) * (reads[&i] - 1);
      } else if (results.count(&i) != 0) {
        difference += InHbm(i.shape) * reads[&i];
      } else if (!hlo::IsFree(i.opcode) && !Uniform(i)) {
        once += InHbm(i.shape);
        difference += InHbm(i.shape) * (1 + reads[&i]);
      }
    }
  }
};

constexpr char kChain[] = R"(HloModule chain, is_scheduled=true

%fused (a: f32[2048,1024], b: f32[2048,1024]) -> f32[2048,1024] {
  %a = f32[2048,1024]{1,0:T(8,128)} parameter(0)
  %b = f32[2048,1024]{1,0:T(8,128)} parameter(1)
  %one = f32[]{:T(128)} constant(1)
  %ones = f32[2048,1024]{1,0:T(8,128)} broadcast(%one), dimensions={}
  %sum = f32[2048,1024]{1,0:T(8,128)} add(%a, %ones)
  %exp = f32[2048,1024]{1,0:T(8,128)} exponential(%sum)
  ROOT %out = f32[2048,1024]{1,0:T(8,128)} multiply(%exp, %b)
}

ENTRY %main (x: f32[2048,1024], y: f32[2048,1024]) -> f32[2048,1024] {
  %x = f32[2048,1024]{1,0:T(8,128)} parameter(0)
  %y = f32[2048,1024]{1,0:T(8,128)} parameter(1)
  ROOT %chain = f32[2048,1024]{1,0:T(8,128)} fusion(%x, %y), kind=kLoop, calls=%fused
}
)";

TEST_CASE("unfused: a chain costs twice the bytes of what fusion removed") {
  auto module = ParseModule(kChain);
  Program fused = Plan(*module, ShippedChip("v6e"), false), unfused = Plan(*module, ShippedChip("v6e"), true);
  CHECK(unfused.plan == "unfused");
  const Bytes tensor = 2048 * 1024 * 4;
  CHECK(CountHbm(fused).total() == 3 * tensor);
  CHECK(CountHbm(unfused).total() - CountHbm(fused).total() == 2 * (2 * tensor));
  CHECK(Removed(*module).once == 2 * tensor);
  REQUIRE(unfused.ops.size() == 3);
  CHECK(unfused.ops[0].name == "chain.sum");
  CHECK(unfused.ops[1].name == "chain.exp");
  CHECK(unfused.ops[2].name == "chain");
  CHECK(!unfused.ops[2].as_compiled);
}

constexpr char kSharing[] = R"(HloModule sharing, is_scheduled=true

%add (p: f32[], q: f32[]) -> f32[] {
  %p = f32[] parameter(0)
  %q = f32[] parameter(1)
  ROOT %s = f32[] add(%p, %q)
}

%fused (a: f32[2048,1024]) -> (f32[2048], f32[2048,1024]) {
  %a = f32[2048,1024]{1,0:T(8,128)} parameter(0)
  %zero = f32[]{:T(128)} constant(0)
  %square = f32[2048,1024]{1,0:T(8,128)} multiply(%a, %a)
  %exp = f32[2048,1024]{1,0:T(8,128)} exponential(%square)
  %out = f32[2048,1024]{1,0:T(8,128)} add(%exp, %a)
  %total = f32[2048]{0:T(1024)} reduce(%out, %zero), dimensions={1}, to_apply=%add
  ROOT %both = (f32[2048]{0:T(1024)}, f32[2048,1024]{1,0:T(8,128)}) tuple(%total, %out)
}

ENTRY %main (x: f32[2048,1024]) -> (f32[2048], f32[2048,1024]) {
  %x = f32[2048,1024]{1,0:T(8,128)} parameter(0)
  ROOT %pair = (f32[2048]{0:T(1024)}, f32[2048,1024]{1,0:T(8,128)}) fusion(%x), kind=kLoop, calls=%fused
}
)";

TEST_CASE("unfused: operands and results with several users are read by each, once") {
  auto module = ParseModule(kSharing);
  Program fused = Plan(*module, ShippedChip("v6e"), false), unfused = Plan(*module, ShippedChip("v6e"), true);
  const Bytes tensor = 2048 * 1024 * 4;
  // square and exp removed (2 x 2), x read by square and add (1 more), out read by the sum (1 more).
  CHECK(Removed(*module).difference == 6 * tensor);
  CHECK(CountHbm(unfused).total() - CountHbm(fused).total() == 6 * tensor);
}

TEST_CASE("unfused: the identity holds on compiled elementwise and reduction modules") {
  for (const char* name : {"softmax.v6e.S8192", "softmax.v5e.S4096", "rmsnorm.v6e.S8192", "rmsnorm.v5e.S2048"}) {
    INFO(name);
    auto module = BundledModule(name);
    const config::ChipConfig& chip = ChipOf(name);
    Program fused = Plan(*module, chip, false), unfused = Plan(*module, chip, true);
    Removed removed(*module);
    CHECK(removed.once > 0);
    CHECK(CountHbm(unfused).total() - CountHbm(fused).total() == removed.difference);
    CHECK(removed.difference >= 2 * removed.once);
    CHECK(PeakVmem(unfused) <= chip.vmem.usable);
  }
}

TEST_CASE("unfused: every bundled module can be planned and moves at least what the fused one does") {
  int modules = 0;
  for (const std::string& name : BundledNames(".S2048.")) {
    INFO(name);
    auto module = BundledModule(name);
    const config::ChipConfig& chip = ChipOf(name);
    Program fused = Plan(*module, chip, false), unfused = Plan(*module, chip, true);
    CHECK(unfused.ops.size() >= fused.ops.size());
    CHECK(PeakVmem(unfused) <= chip.vmem.usable);
    ++modules;
  }
  CHECK(modules >= 10);
}

}  // namespace
}  // namespace spillway::plan
