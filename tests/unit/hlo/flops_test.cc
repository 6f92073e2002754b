// SPDX-License-Identifier: Apache-2.0
#include "sim/hlo/flops.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/base/file.h"

namespace spillway::hlo {
namespace {

double FlopsOf(const std::string& parameters, const std::string& line) {
  auto modules = ParseModules(fmt::format("HloModule m\n\n%add (p: f32[], q: f32[]) -> f32[] {{\n  %p = f32[] parameter(0)\n  %q = f32[] parameter(1)\n"
                                          "  ROOT %s = f32[] add(%p, %q)\n}}\n\nENTRY %main () -> {2} {{\n{0}  ROOT %r = {1}\n}}\n",
                                          parameters, line, line.substr(0, line.find(' '))), "t.hlo");
  if (!modules.ok()) FAIL(Render(modules.errors()[0]));
  return Flops(*modules->front()->entry->root);
}

TEST_CASE("flops: arithmetic counts an element, moves count nothing") {
  const std::string x = "  %x = f32[6,10] parameter(0)\n  %z = f32[] constant(0)\n";
  CHECK(FlopsOf(x, "f32[6,10] multiply(%x, %x)") == 60);
  CHECK(FlopsOf(x, "f32[6,10] exponential(%x)") == 60);
  CHECK(FlopsOf(x, "bf16[6,10] convert(%x)") == 0);
  CHECK(FlopsOf(x, "f32[10,6] transpose(%x), dimensions={1,0}") == 0);
  CHECK(FlopsOf(x, "f32[6] reduce(%x, %z), dimensions={1}, to_apply=%add") == 54);
}

TEST_CASE("flops: products count two a multiply-add") {
  const std::string ab = "  %a = f32[4,8,16] parameter(0)\n  %b = f32[4,16,32] parameter(1)\n";
  CHECK(FlopsOf(ab, "f32[4,8,32] dot(%a, %b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}") ==
        2.0 * 4 * 8 * 16 * 32);
  // The same as a convolution: the batch is a spatial dimension that meets one position of the window each.
  CHECK(FlopsOf(ab, "f32[4,8,32] convolution(%a, %b), window={size=4 pad=0_0 lhs_dilate=4 stride=3}, dim_labels=0bf_0io->0bf") ==
        2.0 * 4 * 8 * 16 * 32);
  const std::string image = "  %a = f32[2,10,3] parameter(0)\n  %b = f32[3,3,5] parameter(1)\n";
  // Ten outputs of three taps each, one of which falls into the padding at either end.
  CHECK(FlopsOf(image, "f32[2,10,5] convolution(%a, %b), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f") == 2.0 * 2 * 5 * 3 * (10 * 3 - 2));
}

TEST_CASE("flops: naive attention does 4 S S d in its products") {
  auto text = ReadFile(SPILLWAY_SOURCE_DIR "/workloads/hlo/attention.v6e.S8192.jax062.hlo.gz");
  REQUIRE(text.ok());
  auto modules = ParseModules(*text, "attention");
  REQUIRE(modules.ok());
  double flops = 0;
  for (const Instruction& instruction : modules->front()->entry->instructions) flops += Flops(instruction);
  const double scores = 8192.0 * 8192, products = 4 * scores * 128;
  CHECK(flops >= products);
  CHECK(flops <= products + 12 * scores);   // Scaling, softmax in two passes.
}

}  // namespace
}  // namespace spillway::hlo
