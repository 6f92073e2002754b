// SPDX-License-Identifier: Apache-2.0
#include "sim/compute/mosaic_cost.h"

#include <catch2/catch.hpp>

#include "sim/compute/tile_cost.h"
#include "tests/support/mosaic_samples.h"
#include "tests/support/test_chip.h"

namespace spillway::compute {
namespace {

MosaicWork WorkOf(const std::string& name) {
  auto sample = test::ReadMosaicSample(test::MosaicData(name + ".hlo.gz"));
  auto work = MosaicWorkOf(*sample.kernel, 128, 128);
  REQUIRE(work.has_value());
  CHECK(work->why.empty());
  return *work;
}

}  // namespace

TEST_CASE("a Pallas matmul counts branches as often as they are taken") {
  // 2 x 4 x 2 steps of [256,128] x [128,128]; zeroed in the first and rounded in the last of the two contraction steps.
  MosaicWork work = WorkOf("matmul");
  double steps = 16, ends = 8, tile = 256 * 128 / 1024.0;
  CHECK(work.steps == steps);
  CHECK(work.matmul);
  CHECK(work.counts["matmul.bf16"] == steps * 256 / 16);
  CHECK(work.counts["push"] == steps * 128 / 16);
  CHECK(work.counts["step.mxu"] == steps);
  CHECK(work.counts["pop.result"] == steps * tile);
  CHECK(work.counts["add.f32"] == steps * tile);
  CHECK(work.counts["store.32"] == (steps + ends) * tile);
  CHECK(work.counts["store.16"] == ends * tile / 2);
  CHECK(work.counts["convert.f32.bf16"] == ends * tile);
  // The loads that Pallas writes before each store are dead; operands come with the matmul.
  CHECK(work.counts["load.32"] == (steps + ends) * tile);
  CHECK(work.counts.count("load.16") == 0);
}

TEST_CASE("a loop of known length counts its trips") {
  MosaicWork work = WorkOf("whole");
  CHECK(work.reduces);
  CHECK(work.counts["reduce.f32"] == 8);
  CHECK(work.counts["reduce.sublanes"] == 8);
  CHECK(work.counts["exponential.f32"] == 8);
  CHECK(work.counts["subtract.f32"] == 8);
}

TEST_CASE("plain elementwise Pallas bodies") {
  MosaicWork grouped = WorkOf("grouped");
  CHECK(grouped.counts["multiply.f32"] == 8 * 16);
  CHECK(grouped.counts["broadcast.sublanes"] == 8);
  CHECK_FALSE(grouped.matmul);
  CHECK(WorkOf("prefetch").counts["add.f32"] == 16);
  CHECK(WorkOf("manual").counts["multiply.f32"] == 8);
}

TEST_CASE("a Mosaic kernel has an error band of its own") {
  auto sample = test::ReadMosaicSample(test::MosaicData("matmul.hlo.gz"));
  config::ChipConfig chip = test::SmallChip();
  chip.core.error_band = {{"matmul", 0.1}, {"custom", 0.3}};
  chip.core.op_slots = {{"elementwise", {{"valu", 1}}}};
  chip.core.matmul_latency = {{"bf16", 0}};
  KernelCost cost = CostOf(*sample.kernel, chip, 1);
  CHECK_FALSE(cost.unmodelled);
  CHECK(cost.error_class == "custom");
  CHECK(cost.error_band == 0.3);
  chip.core.matmul_latency = {{"bf16", 50}};   // 16 steps, each with a matmul.
  CHECK(CostOf(*sample.kernel, chip, 1).bundles == cost.bundles + 16 * 50);
}

TEST_CASE("no Mosaic body, no work") {
  auto sample = test::ReadMosaicSample(test::MosaicData("whole.hlo.gz"));
  CHECK_FALSE(MosaicWorkOf(*sample.kernel, 0, 128).has_value());
  CHECK_FALSE(MosaicWorkOf(*sample.kernel->operands[0], 128, 128).has_value());
}

}  // namespace spillway::compute
