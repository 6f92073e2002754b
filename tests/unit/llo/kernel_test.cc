// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <catch2/catch.hpp>

#include "sim/llo/kernel.h"
#include "tests/unit/llo/llo_test_util.h"

namespace spillway::llo {
namespace {

Kernel ParseOk(const std::string& text) {
  Result<Kernel> kernel = Kernel::Parse(text, "k.txt");
  REQUIRE(kernel.ok());
  return *kernel;
}

Diagnostic ParseError(const std::string& text) {
  Result<Kernel> kernel = Kernel::Parse(text, "k.txt");
  REQUIRE(!kernel.ok());
  return kernel.errors()[0];
}

TEST_CASE("the preamble is skipped, markers and loop depths are read", "[llo]") {
  Kernel kernel = ParseOk(
      "= control target key start\n"
      "LH: loop header\n"
      "= control target key end\n\n"
      "     0   :  { %s1_s0 = smov 1 } /* Start region 3 */\n"
      "   0x1 LB: > { %s2_s1 = sadd.s32 1, %s1_s0 }\n"
      "   0x2   : >> {}\n"
      "   0x3 PF:  {} /* exit bundle: %fusion = fusion(%a) */\n");
  CHECK(kernel.bundle_count() == 4);
  CHECK(kernel.line(0) == 5);
  CHECK(kernel.line(3) == 8);
  CHECK(kernel.depth(0) == 0);
  CHECK(kernel.depth(1) == 1);
  CHECK(kernel.depth(2) == 2);
  CHECK(kernel.notes().empty());
}

TEST_CASE("comments nest, span lines and may hold braces and separators", "[llo]") {
  Kernel kernel = ParseOk(
      "     0   :  { %9 = shalt.err (!%p1_p0) /* check [%s24] of %26 = dma.x  /*hbm=*/%s9, } ;; {\n"
      "hlo: copy-start\n"
      " */  ;;  %s1_s0 = smov 7 } /* Start region 1 */\n"
      "   0x1   :  { %s3_s1 = inlined_call_operand.hbm [shape: bf16[8,8], index: 0, kind: input, shape index: {}] }\n");
  CHECK(kernel.bundle_count() == 2);
  CHECK(kernel.line(1) == 4);
  CHECK(kernel.code().size() == 3);
  CHECK(kernel.notes().empty());
}

TEST_CASE("text that is no bundle listing is an error with its place", "[llo]") {
  CHECK(ParseError("").message == "no bundles in this file");
  CHECK(ParseError("hello\nworld\n").message == "no bundles in this file");
  Diagnostic gap = ParseError("     0   :  {}\n   0x2   :  {}\n");
  CHECK(gap.message == "bundle address out of sequence");
  CHECK(gap.line == 2);
  CHECK(gap.file == "k.txt");
  Diagnostic open = ParseError("     0   :  {}\n   0x1   :  { %s1_s0 = smov 1 \n");
  CHECK(open.message == "bundle without a closing brace");
  CHECK(open.line == 2);
  CHECK(ParseError("     0   :  { /* no end }\n").message == "comment without an end");
  Diagnostic stray = ParseError("     0   :  {}\nstray\n   0x1   :  {}\n");
  CHECK(stray.message == "not a bundle");
  CHECK(stray.line == 2);
  CHECK(ParseError("     0   :  {} trailing\n").message == "text after the closing brace of a bundle");
}

TEST_CASE("vector operations are counted by what they load, store and multiply", "[llo]") {
  Kernel kernel = ParseOk(
      "     0   :  { %v1_v0 = vld [vmem:[%s1_s0] sm:$0xff]  ;;  %v2_v1 = vld.sshfl [vmem:[%s1_s0]] }\n"
      "   0x1   :  { %3 = vst [vmem:[%s1_s0]] %v1_v0  ;;  %4 = vst.msk [vmem:[%s1_s0]] %vm1_vm0, %v1_v0 }\n"
      "   0x2   :  { %v5_v2 = vstv %s1_s0  ;;  %v9_v3 = vsel %vm1_vm0, %v1_v0, %v2_v1 }\n"
      "   0x3   :  { %6 = vmatmul.bf16.gmra.mxu1 %v1_v0  ;;  %7 = vmatmul.mubr.f32.gmra.mxu0 %v1_v0 }\n"
      "   0x4   :  { %v8_v4 = vpop.f32.mrf.mxu1  ;;  %v10_v5 = vpop.eup %9 }\n");
  CHECK(kernel.loads_before(5) == 2);
  CHECK(kernel.stores_before(1) == 0);
  CHECK(kernel.stores_before(5) == 2);
  CHECK(kernel.multiplies_before(5) == 2);
  REQUIRE(kernel.matrix_ops().size() == 3);
  CHECK(kernel.matrix_types() == std::vector<std::string>{"bf16", "f32"});
  CHECK(kernel.matrix_ops()[0].unit == 1);
  CHECK(kernel.matrix_ops()[1].type == 1);
  CHECK(kernel.matrix_ops()[2].kind == MatrixOp::Kind::kPop);
}

TEST_CASE("what cannot be executed is noted with file and line, and harmless until reached", "[llo]") {
  std::string text =
      "     0   :  { %s1_s0 = smov 0  ;;  %p1_p0 = scmp.eq.s32.totalorder %s1_s0, 5 }\n"
      "   0x1   :  { %p2_p1 = scmp.eq.s32.totalorder %s1_s0, 0 }\n"
      "   0x2   :  { %9 = sbr.rel (%p2_p1) target = $region7 }\n"
      "   0x3   :  {}\n   0x4   :  {}\n   0x5   :  {}\n   0x6   :  {}\n"
      "   0x7   :  { %s2_s1 = sfrobnicate.u32 %s1_s0 }\n"
      "   0x8   :  {} /* Start region 7 */\n";
  Kernel skipped = ParseOk(text);
  REQUIRE(skipped.notes().size() == 1);
  CHECK(skipped.notes()[0].line == 8);
  CHECK(skipped.notes()[0].file == "k.txt");
  CHECK(skipped.notes()[0].message == "cannot execute `sfrobnicate.u32`: unknown opcode");
  Machine jumps(skipped, ChipOptions(false));
  CHECK(RunAll(jumps, skipped).end == Event::Kind::kEnd);

  std::string falls = text;
  falls.replace(falls.find("%s1_s0, 0 }"), 11, "%s1_s0, 1 }");
  Kernel reached = ParseOk(falls);
  Machine machine(reached, ChipOptions(false));
  RunTotals run = RunAll(machine, reached);
  CHECK(run.end == Event::Kind::kError);
  CHECK(run.message == "k.txt:8: cannot execute `sfrobnicate.u32`: unknown opcode");
  CHECK(run.bundles == 7);
  CHECK(machine.Next().kind == Event::Kind::kError);
}

TEST_CASE("an unknown vector operation costs its bundle and is no reason to stop", "[llo]") {
  Kernel kernel = ParseOk("     0   :  { %v1_v0 = vnewfangled.f32 %v2_v1  ;;  %8 = vpush9 %v1_v0 }\n");
  CHECK(kernel.notes().empty());
  Machine machine(kernel, ChipOptions(false));
  CHECK(RunAll(machine, kernel).bundles == 1);
}

}  // namespace
}  // namespace spillway::llo
