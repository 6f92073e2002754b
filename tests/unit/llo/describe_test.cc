// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <catch2/catch.hpp>

#include "sim/llo/describe.h"
#include "tests/unit/llo/llo_test_util.h"

namespace spillway::llo {
namespace {

constexpr const char* kListing =
    R"(     0   :  { %s1_s0 = inlined_call_operand.hbm [shape: bf16[8,8], index: 3, kind: input, shape index: {}]  ;;  %s2_s1 = smov 0 } /* entry bundle: %add.1 = add(%a) */
   0x1 LB: > { %s3_s1 = sadd.s32 1, %s2_s1  ;;  %v1_v0 = vld [vmem:[%s9_s9]] } /* Start region 5 */
   0x2   : > { %s4_s2 = sand.u32 1, %s3_s1  ;;  %s6_s4 = smov [#allocation0] }
   0x3   : > { %s5_s3 = scalar_lea.sflag [#allocation1], %s4_s2 }
   0x4   : > { %7 = dma.hbm_to_vmem [thread:$0]  %s1_s0, 1024, %s6_s4, %s5_s3 }
   0x5   : > { %8 = dma.done.wait %s5_s3, 1024 }
   0x6   : > { %p1_p0 = scmp.lt.s32.totalorder %s3_s1, 5 }
   0x7   :  { %9 = sbr.rel (%p1_p0) target = $region5 }
   0x8   :  {}
   0x9   :  {}
   0xa   :  {}
   0xb   :  {}
   0xc   :  {}
)";

TEST_CASE("a description gives loops with trip counts, DMAs with operands and flags, waits and slots", "[llo]") {
  Result<Kernel> kernel = Kernel::Parse(kListing, "add.txt");
  REQUIRE(kernel.ok());
  std::string rows = "== CAPACTIY:\nVLOAD, SALU\n 3 2\n== UTILIZATION:\n0 2\n1 1\n";
  for (int i = 2; i < 13; ++i) rows += "0 1\n";
  Result<Utilization> table = Utilization::Parse(rows, "table.txt");
  REQUIRE(table.ok());
  KernelDescription d = Describe(*kernel, ChipOptions(false), &*table);
  CHECK(d.entry == "%add.1 = add(%a)");
  CHECK(d.bundles == 1 + 5 * 11 + 1);
  CHECK(d.loads == 5);
  REQUIRE(d.loops.size() == 1);
  CHECK(d.loops[0].begin == 1);
  CHECK(d.loops[0].end == 12);
  CHECK(d.loops[0].iterations == 5);
  CHECK(d.loops[0].entries == 1);
  CHECK(d.loops[0].bundles == 55);
  REQUIRE(d.dmas.size() == 1);
  CHECK(d.dmas[0].count == 5);
  CHECK(d.dmas[0].total == 5 * 32768);
  CHECK(d.dmas[0].operand == 3);
  CHECK(d.dmas[0].loop == 0);
  CHECK(d.dmas[0].flags == "#allocation1+0..1");
  REQUIRE(d.waits.size() == 1);
  CHECK(d.waits[0].bytes == 32768);
  REQUIRE(d.slots.size() == 2);
  CHECK(d.slots[0].used == 5);
  CHECK(d.slots[1].used == 2 + 5 * 11 + 1);
  CHECK(DescriptionLines(d) ==
        std::vector<std::string>{
            "%add.1 = add(%a)", "  13 bundles, 57 executed in 57 cycles, 5 vector loads, 0 stores",
            "  slots: VLOAD 2.9% SALU 50.9%", "  loop 0x1..0xb: 5 iterations, 11.0 bundles each",
            "    dma  0x4: HBM -> VMEM operand 3, 5 x 32.0 KiB, contiguous, thread 0, flag #allocation1+0..1 (line 5)",
            "    wait 0x5: 5 times for 32.0 KiB on flag #allocation1+0..1 (line 6)"});
}

TEST_CASE("utilisation tables of both compilers are read, others refused with a line", "[llo]") {
  Result<Utilization> bars = Utilization::Parse("== CAPACTIY:\n  MXU|  XLU| VALU\n 2 2 4\n== UTILIZATION:\n0 0 1\n", "u");
  REQUIRE(bars.ok());
  CHECK(bars->slots == std::vector<std::string>{"MXU", "XLU", "VALU"});
  CHECK(bars->use == std::vector<std::int32_t>{0, 0, 1});
  CHECK(bars->bundles() == 1);
  Result<Utilization> ragged = Utilization::Parse("== CAPACTIY:\nA, B\n1 1\n== UTILIZATION:\n0 0 1\n", "u.txt");
  REQUIRE(!ragged.ok());
  CHECK(ragged.errors()[0].line == 5);
  CHECK(ragged.errors()[0].message == "expected one number for each slot");
  // The slots of a row must be those of the one list.
  CHECK(!Utilization::Parse("== CAPACTIY:\nA\n1\n== CAPACTIY:\nB\n== UTILIZATION:\n0 0\n", "u").ok());
  CHECK(!Utilization::Parse("", "u").ok());
  CHECK(!Utilization::Parse("nonsense\n", "u").ok());
}

}  // namespace
}  // namespace spillway::llo
