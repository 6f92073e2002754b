// SPDX-License-Identifier: Apache-2.0
// What the model counts, by small examples worked out by hand, and how counts become cycles.
#include <catch2/catch.hpp>
#include <cmath>
#include <memory>
#include <string>

#include "sim/compute/features.h"
#include "sim/compute/matmul.h"
#include "sim/compute/registers.h"
#include "sim/compute/tile_cost.h"
#include "sim/hlo/module.h"
#include "tests/support/test_chip.h"

namespace spillway::compute {
namespace {

struct Parsed {
  std::unique_ptr<hlo::Module> module;
  const hlo::Instruction& root() const { return *module->entry->root; }
};

Parsed Parse(const std::string& text) {
  auto modules = hlo::ParseModules("HloModule m, is_scheduled=true\n" + text, "test.hlo");
  REQUIRE(modules.ok());
  return {std::move(modules.value().front())};
}

KernelFeatures Count(const Parsed& parsed, MatrixShape mxu = {128, 128}) { return FeaturesOf(parsed.root(), mxu, 1); }

double At(const KernelFeatures& features, const std::string& key) {
  auto it = features.counts.find(key);
  return it != features.counts.end() ? it->second : 0;
}

std::string Fused(const std::string& parameters, const std::string& body, const std::string& arguments,
                  const std::string& result, const std::string& extra = "") {
  return "f {\n" + parameters + body + "}\nENTRY e {\n" + arguments + "  ROOT r = " + result + ", calls=f" + extra + "\n}\n";
}

TEST_CASE("registers count 8 x 128 elements, padded in the two minor dimensions") {
  auto registers = [](const char* text) { return Registers(hlo::ParseShape(text).value()); };
  CHECK(registers("f32[16,256]{1,0:T(8,128)}") == 4);
  CHECK(registers("f32[9,129]{1,0:T(8,128)}") == 4);
  CHECK(registers("bf16[16,256]{0,1:T(8,128)(2,1)}") == 32);   // 16 lanes of 128 used, 256 sublanes.
  CHECK(registers("f32[3000]{0:T(1024)}") == 3);
  CHECK(registers("f32[]") == 0);
  CHECK(registers("(f32[8,128]{1,0}, f32[8,128]{1,0})") == 2);
}

TEST_CASE("an elementwise fusion counts each operation once a register") {
  Parsed parsed = Parse(Fused(
      "  a = f32[64,256]{1,0:T(8,128)} parameter(0)\n  b = f32[64,256]{1,0:T(8,128)} parameter(1)\n",
      "  m = f32[64,256]{1,0:T(8,128)} multiply(a, b)\n  same = f32[64,256]{1,0:T(8,128)} multiply(a, b)\n"
      "  x = f32[64,256]{1,0:T(8,128)} exponential(m)\n  ROOT s = f32[64,256]{1,0:T(8,128)} add(x, same)\n",
      "  p = f32[64,256]{1,0:T(8,128)} parameter(0)\n  q = f32[64,256]{1,0:T(8,128)} parameter(1)\n",
      "f32[64,256]{1,0:T(8,128)} fusion(p, q), kind=kLoop"));
  KernelFeatures features = Count(parsed);
  CHECK(At(features, "multiply.f32") == 16);
  CHECK(At(features, "exponential.f32") == 16);
  CHECK(At(features, "add.f32") == 16);
  CHECK(At(features, "load.32") == 32);
  CHECK(At(features, "store.32") == 16);
  CHECK(features.op_class == "elementwise");
}

TEST_CASE("what only depends on a broadcast row is computed once for all rows") {
  Parsed parsed = Parse(Fused(
      "  a = f32[64,256]{1,0:T(8,128)} parameter(0)\n  g = bf16[256]{0:T(256)(128)(2,1)} parameter(1)\n",
      "  w = bf16[64,256]{1,0:T(8,128)(2,1)} broadcast(g), dimensions={1}\n  c = f32[64,256]{1,0:T(8,128)} convert(w)\n"
      "  ROOT m = f32[64,256]{1,0:T(8,128)} multiply(a, c)\n",
      "  p = f32[64,256]{1,0:T(8,128)} parameter(0)\n  q = bf16[256]{0:T(256)(128)(2,1)} parameter(1)\n",
      "f32[64,256]{1,0:T(8,128)} fusion(p, q), kind=kLoop"));
  KernelFeatures features = Count(parsed);
  CHECK(At(features, "convert.bf16.f32") == 2);   // Two registers of lanes, not 16.
  CHECK(At(features, "multiply.f32") == 16);
  CHECK(At(features, "broadcast.sublanes") == 2);
}

TEST_CASE("an op of its own on bf16 converts around f32 arithmetic") {
  Parsed parsed = Parse(
      "ENTRY e {\n  a = bf16[64,256]{1,0:T(8,128)(2,1)} parameter(0)\n"
      "  ROOT r = bf16[64,256]{1,0:T(8,128)(2,1)} add(a, a)\n}\n");
  KernelFeatures features = Count(parsed);
  CHECK(At(features, "add.f32") == 16);
  CHECK(At(features, "convert.bf16.f32") == 32);
  CHECK(At(features, "convert.f32.bf16") == 16);
  CHECK(At(features, "load.16") == 8);            // One value, passed twice: loaded once.
}

TEST_CASE("reductions count the combining of registers and the work across lanes by rows") {
  auto reduce = [](const char* dimensions, const char* result) {
    return Parse(std::string("add {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT s = f32[] add(x, y)\n}\n") +
                 "ENTRY e {\n  a = f32[64,512]{1,0:T(8,128)} parameter(0)\n  z = f32[] constant(0)\n  ROOT r = " + result +
                 " reduce(a, z), dimensions={" + dimensions + "}, to_apply=add\n}\n");
  };
  KernelFeatures rows = Count(reduce("1", "f32[64]{0:T(128)}"));
  CHECK(At(rows, "reduce.alone.f32") == 32);
  CHECK(At(rows, "reduce.lanes") == 8);           // One for each 8 rows.
  KernelFeatures columns = Count(reduce("0", "f32[512]{0:T(512)}"));
  CHECK(At(columns, "reduce.sublanes") == 4);
  CHECK(At(columns, "reduce.lanes") == 0);
  CHECK(At(columns, "reduce.serial.sublanes.f32") == 8);   // 8 registers long, four chains side by side.
}

TEST_CASE("matmuls fill the array tile by tile") {
  const char* text =
      "ENTRY e {\n  a = bf16[256,384]{1,0:T(8,128)(2,1)} parameter(0)\n  b = bf16[384,512]{1,0:T(8,128)(2,1)} parameter(1)\n"
      "  ROOT r = bf16[256,512]{1,0:T(8,128)(2,1)} convolution(a, b), dim_labels=bf_io->bf\n}\n";
  KernelFeatures small = Count(Parse(text), {128, 128});
  CHECK(At(small, "matmul.bf16") == 16 * 3 * 4);  // 256 / 16 rows, 3 x 4 tiles.
  CHECK(At(small, "push") == 24 * 4);             // 384 / 16 rows of weights, 4 tiles wide.
  CHECK(At(small, "pop.result") == 32 * 4);
  KernelFeatures large = Count(Parse(text), {256, 256});
  CHECK(At(large, "matmul.bf16") == 16 * 2 * 2);  // A ragged contraction costs a whole tile.
  CHECK(small.op_class == "matmul");
}

TEST_CASE("dot and convolution of the same matmul count the same, and precision costs passes") {
  const char* head = "ENTRY e {\n  a = f32[256,384]{1,0:T(8,128)} parameter(0)\n  b = f32[384,512]{1,0:T(8,128)} parameter(1)\n";
  KernelFeatures dot = Count(Parse(std::string(head) +
      "  ROOT r = f32[256,512]{1,0:T(8,128)} dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n"));
  KernelFeatures conv = Count(Parse(std::string(head) +
      "  ROOT r = f32[256,512]{1,0:T(8,128)} convolution(a, b), dim_labels=bf_io->bf\n}\n"));
  KernelFeatures exact = Count(Parse(std::string(head) +
      "  ROOT r = f32[256,512]{1,0:T(8,128)} convolution(a, b), dim_labels=bf_io->bf, operand_precision={highest,highest}\n}\n"));
  CHECK(At(dot, "matmul.bf16") == At(conv, "matmul.bf16"));
  CHECK(At(dot, "push") == At(conv, "push"));
  CHECK(At(exact, "matmul.bf16") == 6 * At(conv, "matmul.bf16"));
}

TEST_CASE("a batch dimension of a convolution has one tap, a spatial one all of them") {
  Parsed batch = Parse(
      "ENTRY e {\n  a = bf16[4,128,128]{2,1,0:T(8,128)(2,1)} parameter(0)\n  b = bf16[4,128,256]{2,1,0:T(8,128)(2,1)} parameter(1)\n"
      "  ROOT r = bf16[4,128,256]{2,1,0:T(8,128)(2,1)} convolution(a, b), window={size=4 stride=3 lhs_dilate=4}, dim_labels=0bf_0io->0bf\n}\n");
  CHECK(At(Count(batch), "matmul.bf16") == 4 * 8 * 2);
  Parsed image = Parse(
      "ENTRY e {\n  a = bf16[8,16,16,128]{3,0,2,1:T(8,128)(2,1)} parameter(0)\n  b = bf16[3,3,128,128]{3,2,1,0:T(8,128)(2,1)} parameter(1)\n"
      "  ROOT r = bf16[8,16,16,128]{3,0,2,1:T(8,128)(2,1)} convolution(a, b), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f\n}\n");
  CHECK(At(Count(image), "matmul.bf16") == 8 * 16 * 16 / 16 * 9);
}

TEST_CASE("operands are computed again for each window of the other side") {
  std::string config =
      ", backend_config={\"window_config\":{\"kernel_window_bounds\":[\"16\",\"1\"],\"output_window_bounds\":[\"32\",\"1\"],"
      "\"input_window_bounds\":[\"32\",\"1\"],\"iteration_bounds\":[\"4\",\"1\",\"1\"]}}";
  Parsed parsed = Parse(Fused(
      "  a = f32[256,128]{1,0:T(8,128)} parameter(0)\n  b = bf16[128,512]{1,0:T(8,128)(2,1)} parameter(1)\n",
      "  t = f32[256,128]{1,0:T(8,128)} tanh(a)\n  c = bf16[256,128]{1,0:T(8,128)(2,1)} convert(t)\n"
      "  ROOT d = bf16[256,512]{1,0:T(8,128)(2,1)} convolution(c, b), dim_labels=bf_io->bf\n",
      "  p = f32[256,128]{1,0:T(8,128)} parameter(0)\n  q = bf16[128,512]{1,0:T(8,128)(2,1)} parameter(1)\n",
      "bf16[256,512]{1,0:T(8,128)(2,1)} fusion(p, q), kind=kOutput", config));
  KernelFeatures features = Count(parsed);
  CHECK(features.steps == 4);
  CHECK(At(features, "tanh.f32") == 4 * 32);
  CHECK(At(features, "push") == 8 * 4);           // Weights stay: their window moves, the rows' does not.
}

TEST_CASE("relayouts cost by what happens to the two minor dimensions") {
  auto copy = [](const char* from, const char* to) {
    return Count(Parse(std::string("ENTRY e {\n  a = ") + from + " parameter(0)\n  ROOT r = " + to + " copy(a)\n}\n"));
  };
  CHECK(At(copy("f32[256,256]{1,0:T(8,128)}", "f32[256,256]{0,1:T(8,128)}"), "transpose.32") == 64);
  CHECK(At(copy("f32[16,16,256]{2,1,0:T(8,128)}", "f32[16,16,256]{2,0,1:T(8,128)}"), "transpose.sublanes.alone.32") == 64 * 4);
  CHECK(At(copy("f32[16,16,128]{2,1,0:T(8,128)}", "f32[16,16,128]{2,0,1:T(8,128)}"), "transpose.sublanes.alone.32") == 32 * 2);
  CHECK(At(copy("f32[16,16,2048]{2,1,0:T(8,128)}", "f32[16,16,2048]{2,0,1:T(8,128)}"), "transpose.sublanes.alone.32") == 512 * 8);
  CHECK(At(copy("bf16[16,16,128]{2,1,0:T(8,128)(2,1)}", "bf16[16,16,128]{2,0,1:T(8,128)(2,1)}"), "transpose.strided.alone.16") == 32);
  CHECK(At(copy("bf16[256,256]{1,0:T(8,128)(2,1)}", "bf16[256,256]{1,0:T(8,128)(2,1)S(1)}"), "copy.16") == 64);
}

TEST_CASE("a transposing copy copies windows into and out of VMEM") {
  auto copies = [](const std::string& from, const std::string& to, const char* window) {
    std::string config = std::string("{\"window_config\":{\"kernel_window_bounds\":[],\"input_window_bounds\":[],") + window + "}}";
    Parsed parsed = Parse("ENTRY e {\n  a = f32[256,512]" + from + " parameter(0)\n  ROOT r = f32[256,512]" + to +
                          " copy(a), backend_config=" + config + "\n}\n");
    return At(FeaturesOf(parsed.root(), MatrixShape(), 1), "copy.window");
  };
  const char* ragged = "\"output_window_bounds\":[\"24\",\"2\"],\"iteration_bounds\":[\"3\",\"1\"]";
  const char* even = "\"output_window_bounds\":[\"32\",\"2\"],\"iteration_bounds\":[\"2\",\"1\"]";
  const char* whole = "\"output_window_bounds\":[\"64\",\"2\"],\"iteration_bounds\":[\"1\",\"1\"]";
  const std::string hbm = "{1,0:T(8,128)}", vmem = "{1,0:T(8,128)S(1)}", turned = "{0,1:T(8,128)}", turned_vmem = "{0,1:T(8,128)S(1)}";
  CHECK(copies(hbm, turned, even) == 0);
  CHECK(copies(vmem, turned, even) == 128);
  CHECK(copies(hbm, turned_vmem, even) == 0);
  CHECK(copies(hbm, turned_vmem, ragged) == 128 * 72 / 64);
  CHECK(copies(vmem, turned_vmem, whole) == 0);
  CHECK(copies(vmem, "{1,0:T(8,128)}", even) == 0);   // Whole registers move: nothing is turned.
}

TEST_CASE("the busiest unit sets the pace") {
  config::ChipConfig chip = test::SmallChip();
  chip.core.op_slots = {{"elementwise", {{"valu", 1}}}, {"exponential", {{"eup", 8}}}, {"load", {{"vload", 1}}}};
  chip.core.sharpness = 100;
  chip.core.kernel_overhead = 7;
  chip.core.step_overhead = 10;
  Parsed parsed = Parse(
      "ENTRY e {\n  a = f32[64,256]{1,0:T(8,128)} parameter(0)\n  ROOT r = f32[64,256]{1,0:T(8,128)} exponential(a)\n}\n");
  KernelCost cost = CostOf(parsed.root(), chip, 3);
  CHECK(cost.use.eup == 16 * 8);
  CHECK(cost.busiest == "EUP");
  CHECK(cost.bundles == 128 + 7 + 30);
  CHECK(cost.total_cycles == cost.bundles);
  chip.core.packing = {{"eup", 0.5}};
  CHECK(CostOf(parsed.root(), chip, 3).bundles == 256 + 7 + 30);
}

TEST_CASE("matrix units stall what is scheduled closer than they run") {
  config::ChipConfig chip = test::SmallChip();
  chip.core.matmul_cycles = {{"bf16", 16}};
  chip.core.op_slots = {{"matmul", {{"mxu_cycles", 12}}}};
  Parsed parsed = Parse(
      "ENTRY e {\n  a = bf16[256,128]{1,0:T(8,128)(2,1)} parameter(0)\n  b = bf16[128,128]{1,0:T(8,128)(2,1)} parameter(1)\n"
      "  ROOT r = bf16[256,128]{1,0:T(8,128)(2,1)} convolution(a, b), dim_labels=bf_io->bf\n}\n");
  KernelCost cost = CostOf(parsed.root(), chip, 1);
  CHECK(cost.total_cycles == 16 * 16);
  CHECK(cost.bundles < cost.total_cycles);
}

TEST_CASE("unknown work is said, with a band, and never fails") {
  config::ChipConfig chip = test::SmallChip();
  chip.core.error_band = {{"elementwise", 0.2}, {"custom", 0.3}};   // Of Mosaic kernels; not of unknown calls.
  Parsed call = Parse(
      "ENTRY e {\n  a = f32[64,256]{1,0:T(8,128)} parameter(0)\n"
      "  ROOT r = f32[64,256]{1,0:T(8,128)} custom-call(a), custom_call_target=\"TopK\"\n}\n");
  KernelCost cost = CostOf(call.root(), chip, 1);
  CHECK(cost.unmodelled);
  CHECK(cost.why.find("custom-call") != std::string::npos);
  CHECK(cost.error_band == 1.0);
  Parsed known = Parse("ENTRY e {\n  a = f32[64,256]{1,0:T(8,128)} parameter(0)\n  ROOT r = f32[64,256]{1,0:T(8,128)} abs(a)\n}\n");
  CHECK(CostOf(known.root(), chip, 1).error_band == 0.2);
  CHECK_FALSE(CostOf(known.root(), chip, 1).unmodelled);
  Parsed sort = Parse(
      "c {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT l = pred[] compare(x, y), direction=LT\n}\n"
      "ENTRY e {\n  a = f32[64,256]{0,1:T(8,128)} parameter(0)\n"
      "  ROOT r = f32[64,256]{0,1:T(8,128)} sort(a), dimensions={1}, to_apply=c\n}\n");
  CHECK(CostOf(sort.root(), chip, 1).total_cycles >= 0);
  CHECK(At(Count(sort), "sort") == 32 * 36);      // Bitonic network of 256: 8 x 9 / 2 steps.
}

}  // namespace
}  // namespace spillway::compute
