// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/unit/llo/llo_test_util.h"

namespace spillway::llo {
namespace {

// One bundle a line, addresses added. A line may end in a region comment after "//".
std::string Listing(const std::vector<std::string>& bundles) {
  std::string text;
  for (std::size_t i = 0; i < bundles.size(); ++i) {
    std::size_t note = bundles[i].find("//");
    std::string body = bundles[i].substr(0, note);
    std::string address = i == 0 ? "     0" : fmt::format("{:#6x}", i);
    text += fmt::format("{}   :  {{ {} }}", address, body);
    if (note != std::string::npos) text += fmt::format(" /* {} */", bundles[i].substr(note + 2));
    text += "\n";
  }
  return text;
}

struct Program {
  explicit Program(const std::vector<std::string>& bundles, bool v5e = false)
      : kernel(std::move(*Kernel::Parse(Listing(bundles), "k.txt"))), options(ChipOptions(v5e)) {}
  RunTotals Run() {
    Machine machine(kernel, options);
    RunTotals totals = RunAll(machine, kernel, true);
    notes = machine.notes();
    return totals;
  }
  Kernel kernel;
  MachineOptions options;
  std::vector<std::string> notes;
};

// The value of an expression, seen through a flag.
std::int64_t Value(std::vector<std::string> bundles, const std::string& reg, bool v5e = false) {
  bundles.push_back("%999 = vsyncadd [#allocation9], " + reg);
  Program program(bundles, v5e);
  RunTotals run = program.Run();
  REQUIRE(run.message == "");
  REQUIRE(!run.events.empty());
  return run.events.back().granules;
}

TEST_CASE("scalar arithmetic", "[llo]") {
  auto op = [](const std::string& text) { return Value({"%s1_s1 = smov 100", "%s2_s2 = " + text}, "%s2_s2"); };
  CHECK(op("sadd.s32 4294967295, %s1_s1") == 99);
  CHECK(op("ssub.s32 7, %s1_s1") == -93);
  CHECK(op("smul.u32 3, %s1_s1") == 300);
  CHECK(op("smulhi.u32 2863311531, %s1_s1") == 66);
  CHECK(op("sand.u32 6, %s1_s1") == 4);
  CHECK(op("sor.u32 3, %s1_s1") == 103);
  CHECK(op("sxor.u32 5, %s1_s1") == 97);
  CHECK(op("sshll.u32 %s1_s1, 4") == 1600);
  CHECK(op("sshll.u32 %s1_s1, 40") == 0);
  CHECK(op("sshrl.u32 %s1_s1, 2") == 25);
  CHECK(op("smin.u32 %s1_s1, 4294967295") == 100);
  CHECK(op("smin.s32 %s1_s1, 4294967295") == -1);
  CHECK(op("smax.s32 %s1_s1, 4294967295") == 100);
  CHECK(op("scalar_lea.hbm %s1_s1, 28") == 128);
  CHECK(Value({"%s1_s1 = smov 4294967280", "%s2_s2 = sshra.s32 %s1_s1, 4"}, "%s2_s2") == -1);
  CHECK(Value({"%s1_s1 = smov 4294967280", "%s2_s2 = sshrl.u32 %s1_s1, 28"}, "%s2_s2") == 15);
}

TEST_CASE("comparison, selection and predicates", "[llo]") {
  std::string set = "%s2_s2 = scalar_select /*predicate=*/%p1_p1, /*on_true=*/1, /*on_false=*/0";
  auto compare = [&](const std::string& text) {
    return Value({"%s1_s1 = smov 4294967295", "%p1_p1 = " + text, set}, "%s2_s2");
  };
  CHECK(compare("scmp.lt.s32.totalorder %s1_s1, 5") == 1);
  CHECK(compare("scmp.lt.u32.totalorder %s1_s1, 5") == 0);
  CHECK(compare("scmp.ge.u32.totalorder %s1_s1, 5") == 1);
  CHECK(compare("scmp.ne.s32.totalorder %s1_s1, 4294967295") == 0);
  CHECK(compare("sc.u32 %s1_s1, 1") == 1);
  CHECK(compare("sc.u32 %s1_s1, 0") == 0);
  auto logic = [&](const std::string& text) {
    return Value({"%s1_s1 = smov 1", "%p5_p5 = scmp.eq.s32.totalorder %s1_s1, 1",
                  "%p6_p6 = scmp.eq.s32.totalorder %s1_s1, 0", "%p1_p1 = " + text, set}, "%s2_s2");
  };
  CHECK(logic("por %p5_p5, %p6_p6") == 1);
  CHECK(logic("pnand %p5_p5, %p6_p6") == 1);
  CHECK(logic("pnand %p5_p5, %p5_p5") == 0);
  CHECK(logic("pneg %p5_p5") == 0);
  CHECK(logic("pand %p5_p5, !%p6_p6") == 1);
}

TEST_CASE("a bundle reads all registers before it writes any", "[llo]") {
  std::vector<std::string> swap = {"%s1_s1 = smov 1  ;;  %s2_s2 = smov 2",
                                   "%s3_s1 = smov %s2_s2  ;;  %s4_s2 = smov %s1_s1",
                                   "%s5_s3 = sshll.u32 %s3_s1, 4", "%s6_s4 = sor.u32 %s5_s3, %s4_s2"};
  CHECK(Value(swap, "%s6_s4") == 0x21);
  std::vector<std::string> three = {
      "%s1_s1 = smov 1  ;;  %s2_s2 = smov 2", "%s3_s3 = smov 3",
      "%s4_s1 = smov %s2_s2  ;;  %s5_s2 = smov %s3_s3  ;;  %s6_s3 = smov %s1_s1",
      "%s7_s4 = smul.u32 100, %s4_s1", "%s8_s5 = smul.u32 10, %s5_s2", "%s9_s6 = sadd.s32 %s7_s4, %s8_s5",
      "%s10_s7 = sadd.s32 %s9_s6, %s6_s3"};
  CHECK(Value(three, "%s10_s7") == 231);
  // A predicate and its own guard in one bundle.
  std::vector<std::string> guard = {
      "%s1_s1 = smov 1", "%p1_p1 = scmp.eq.s32.totalorder %s1_s1, 1",
      "%p2_p1 = scmp.eq.s32.totalorder %s1_s1, 0  ;;  %s2_s1 = smov (%p1_p1), 42"};
  CHECK(Value(guard, "%s2_s1") == 42);
  // The load of a word sees what was there before a store in the same bundle.
  std::vector<std::string> memory = {"%s1_s1 = smov 8  ;;  %s2_s2 = smov 9", "%5 = sst [smem:[#allocation1]] %s1_s1",
                                     "%6 = sst [smem:[#allocation1]] %s2_s2  ;;  %s3_s3 = sld [smem:[#allocation1]]"};
  CHECK(Value(memory, "%s3_s3") == 8);
}

TEST_CASE("a predicated operation keeps or takes the value of the register named with it", "[llo]") {
  std::vector<std::string> start = {"%s1_s1 = smov 5", "%p1_p1 = scmp.eq.s32.totalorder %s1_s1, 5  ;;  %s9_s9 = smov 77"};
  auto with = [&](const std::string& op) {
    std::vector<std::string> bundles = start;
    bundles.push_back(op);
    return bundles;
  };
  CHECK(Value(with("%s2_s1 = smov (!%p1_p1, %s1_s1), 9"), "%s2_s1") == 5);
  CHECK(Value(with("%s2_s1 = smov (%p1_p1, %s1_s1), 9"), "%s2_s1") == 9);
  CHECK(Value(with("%s2_s3 = smov (!%p1_p1, %s9_s9), 9"), "%s2_s3") == 77);
  CHECK(Value(with("%s2_s3 = sadd.s32 (%p1_p1, %s9_s9), 9, %s1_s1"), "%s2_s3") == 14);
  CHECK(Value(with("%s2_s1 = sadd.s32 (!%p1_p1), 9, %s1_s1"), "%s2_s1") == 5);
}

TEST_CASE("two pops of a division give quotient and remainder, one gives the remainder", "[llo]") {
  std::vector<std::string> both = {"%s1_s1 = smov 23", "%7 = sdivrem.u32 %s1_s1, 6", "%s2_s2 = spop.drf %7",
                                   "%s3_s3 = spop.drf %7", "%s4_s4 = sshll.u32 %s2_s2, 8", "%s5_s5 = sor.u32 %s4_s4, %s3_s3"};
  CHECK(Value(both, "%s5_s5") == 0x305);
  CHECK(Value({"%s1_s1 = smov 23", "%7 = sdivrem.u32 %s1_s1, 6", "%s2_s2 = spop.drf %7"}, "%s2_s2") == 5);
  CHECK(Value({"%s1_s1 = smov 23", "%7 = sdivrem.u32 %s1_s1, 6 /* kRem */", "%s2_s2 = spop.drf %7"}, "%s2_s2") == 5);
  CHECK(Value({"%s1_s1 = smov 23", "%7 = sdivrem.u32 %s1_s1, 6 /* kDiv */", "%s2_s2 = spop.drf %7"}, "%s2_s2") == 3);
  // Two divisions in flight come out in order.
  std::vector<std::string> two = {"%s1_s1 = smov 23", "%7 = sdivrem.u32 %s1_s1, 6", "%8 = sdivrem.u32 %s1_s1, 5",
                                  "%s2_s2 = spop.drf %7", "%s3_s3 = spop.drf %8", "%s4_s4 = sshll.u32 %s2_s2, 8",
                                  "%s5_s5 = sor.u32 %s4_s4, %s3_s3"};
  CHECK(Value(two, "%s5_s5") == 0x503);
}

TEST_CASE("SMEM keeps words by computed address", "[llo]") {
  std::vector<std::string> bundles = {"%s1_s1 = smov [#allocation4]  ;;  %s2_s2 = smov 3",
                                      "%s3_s3 = scalar_lea.smem [#allocation4], 3  ;;  %s4_s4 = smov 11",
                                      "%7 = sst [smem:[%s3_s3]] %s4_s4",
                                      "%s5_s5 = sld [smem:[%s1_s1 + %s2_s2]]"};
  CHECK(Value(bundles, "%s5_s5") == 11);
  bundles.back() = "%s5_s5 = sld [smem:[#allocation4 + $0x3]]";
  CHECK(Value(bundles, "%s5_s5") == 11);
}

TEST_CASE("a branch acts after its delay slots, with the predicate it read", "[llo]") {
  // The loop runs 5 times; the delay slots execute every time, the predicate changes inside them.
  std::vector<std::string> loop = {
      "%s1_s1 = smov 0  ;;  %s9_s9 = smov 0",
      "%s2_s1 = sadd.s32 1, %s1_s1 //Start region 5",
      "%p1_p1 = scmp.lt.s32.totalorder %s2_s1, 5",
      "%4 = sbr.rel (%p1_p1) target = $region5",
      "%s3_s9 = sadd.s32 1, %s9_s9",
      "%p2_p1 = scmp.lt.s32.totalorder %s2_s1, 0", "", "",
      "%5 = vsyncadd [#allocation1], %s3_s9"};
  Program program(loop);
  RunTotals run = program.Run();
  REQUIRE(run.events.size() == 1);
  CHECK(run.events[0].granules == 5);
  CHECK(run.bundles == 1 + 5 * 7 + 1);
  CHECK(run.events[0].bundles == 1 + 5 * 7);
  // With other delay slots the same text means something else.
  Result<Kernel> two = Kernel::Parse(Listing(loop), "k.txt", DecodeOptions{2});
  REQUIRE(two.ok());
  Machine machine(*two, ChipOptions(false));
  CHECK(RunAll(machine, *two).bundles == 1 + 5 * 5 + 3);
}

TEST_CASE("the older form of a branch names a region beside a bundle number that is off", "[llo]") {
  Program program({"%s1_s1 = smov 0", "%4 = sbr.rel target bundleno = 3 (0x3), region = 46", "", "", "", "",
                   "%5 = vsyncadd [#allocation1], 1", "%6 = vsyncadd [#allocation1], 2 //Start/End empty region 46"});
  RunTotals run = program.Run();
  REQUIRE(run.events.size() == 1);
  CHECK(run.events[0].granules == 2);
  CHECK(run.bundles == 7);
}

TEST_CASE("a DMA reports bytes, runs, addresses, thread and flag", "[llo]") {
  std::vector<std::string> bundles = {
      "%s1_s0 = inlined_call_operand.hbm [shape: bf16[8,8], index: 0, kind: input, shape index: {}]",
      "%s2_s1 = smov 1024  ;;  %s3_s2 = smov 64", "%s4_s3 = smov 4  ;;  %s5_s4 = scalar_lea.sflag [#allocation1], 1",
      "%s6_s5 = smov [#allocation0]",
      "%7 = dma.hbm_to_vmem [thread:$1]  /*hbm=*/%s1_s0, /*size_in_granules=*/16384, /*vmem=*/%s6_s5, "
      "/*dst_syncflagno=*/%s5_s4, /*src_stride=*/%s2_s1, /*dst_stride=*/%s3_s2, /*steps_per_stride=*/%s4_s3 /* "
      "\nbase_bounds: (256, 16) */"};
  Program program(bundles);
  program.options.operand_addresses = {4096};
  RunTotals run = program.Run();
  REQUIRE(run.dmas == 1);
  const Dma& dma = run.events[0].dma;
  CHECK(dma.kind == Dma::Kind::kHbmToVmem);
  CHECK(dma.bytes == 524288);
  CHECK(dma.chunk_bytes == 2048);
  CHECK(dma.stride == 32768);
  CHECK(dma.source == 4096);
  CHECK(dma.thread == 1);
  CHECK(run.events[0].bundle == 4);
  // Flags of one object are neighbours; another object has others.
  Program other({"%1 = vsyncadd [#allocation1], 1", "%2 = vsyncadd [#allocation1 + $0x1], 1", "%3 = vsyncadd [#allocation2], 1"});
  RunTotals flags = other.Run();
  CHECK(flags.events[1].flag == flags.events[0].flag + 1);
  CHECK(flags.events[2].flag != flags.events[1].flag);
}

// 32 x 16 runs of 4 KiB: 4 tiles of 4 KiB apart, rows of 16 x 4 tiles, into a window of 32 rows.
std::vector<std::string> GeneralDma(bool to_hbm) {
  std::vector<std::string> bundles = {
      "%s1_s0 = inlined_call_operand.hbm [shape: f32[512,32,128], index: 0, kind: input, shape index: {}]",
      "%s2_s1 = smov 8192  ;;  %s3_s2 = smov 4096", "%s4_s3 = smov 16  ;;  %s5_s4 = smov 512",
      "%s6_s5 = smov 128  ;;  %s7_s6 = smov 8", "%s8_s7 = scalar_lea.hbm %s1_s0, 128",
      "%s9_s8 = scalar_lea.vmem [#allocation0], 64"};
  for (int i = 0; i < 6; ++i) {
    std::string at = i == 0 ? "" : fmt::format(" + $0x{}", i);
    bundles.push_back(fmt::format("%{} = sst [smem:[#allocation5{}]] %s{}_s{}", 20 + i, at, 2 + i, 1 + i));
  }
  std::string pointers = to_hbm ? "/*src=*/%s9_s8, /*size_in_granules=*/65536, /*dst=*/%s8_s7"
                                : "/*src=*/%s8_s7, /*size_in_granules=*/65536, /*dst=*/%s9_s8";
  bundles.push_back("%30 = dma.general " + pointers +
                    ", /*dst_syncflagno=*/[#allocation1], /*src_syncflagno=*/%s2_s1, /*stridedescaddr=*/[#allocation5], "
                    "/*overrides=*/%s2_s1, /*dst_syncflagno_1=*/0");
  return bundles;
}

TEST_CASE("a general DMA takes its strides from SMEM and its direction from its pointers", "[llo]") {
  Program read(GeneralDma(false));
  RunTotals run = read.Run();
  REQUIRE(run.dmas == 1);
  const Dma& dma = run.events[0].dma;
  CHECK(dma.kind == Dma::Kind::kHbmToVmem);
  CHECK(dma.bytes == 2097152);
  CHECK(dma.chunk_bytes == 4096);
  CHECK(dma.stride == 512 * 32);
  CHECK(dma.outer == 32);
  CHECK(dma.outer_stride == 8192 * 32);
  CHECK(dma.source == 128 * 32);
  Program write(GeneralDma(true));
  const Dma back = write.Run().events[0].dma;
  CHECK(back.kind == Dma::Kind::kVmemToHbm);
  // On the HBM side now lie the destination strides, where the runs touch: rows of 64 KiB.
  CHECK(back.chunk_bytes == 65536);
  CHECK(back.stride == 4096 * 32);
  CHECK(back.outer == 1);
  CHECK(back.destination == 128 * 32);
  // Strides that nobody wrote: one run.
  std::vector<std::string> bare = GeneralDma(false);
  bare[8] = "";
  Program contiguous(bare);
  CHECK(contiguous.Run().events[0].dma.chunk_bytes == 2097152);
}

TEST_CASE("a jump to a region whose mark the exit bundle's comment replaced goes there", "[llo]") {
  Program program({"%4 = sbr.rel target = $region97", "", "", "", "", "%5 = vsyncadd [#allocation1], 1",
                   "%6 = vsyncadd [#allocation1], 2 //exit bundle: %fusion = fusion(%a)"});
  RunTotals run = program.Run();
  REQUIRE(run.events.size() == 1);
  CHECK(run.events[0].granules == 2);
  CHECK(program.kernel.notes().empty());
  Program lost({"%4 = sbr.rel target = $region97", "", "", "", "", ""});
  CHECK(lost.Run().message == "k.txt:5: branch to a region that does not exist");
  CHECK(lost.kernel.notes().size() == 1);
}

TEST_CASE("HBM pointers count 512 bytes on v5e, a DMA operand 32 bytes on both chips", "[llo]") {
  std::vector<std::string> bundles = {
      "%s1_s0 = inlined_call_operand.hbm [shape: bf16[8,8], index: 0, kind: input, shape index: {}]",
      "%s2_s1 = scalar_lea.hbm %s1_s0, 2", "%s3_s2 = sshll.u32 %s2_s1, 4", "%s6_s5 = smov [#allocation0]",
      "%7 = dma.hbm_to_vmem [thread:$0]  %s3_s2, 16, %s6_s5, [#allocation1]"};
  Program program(bundles, true);
  program.options.operand_addresses = {8192};
  CHECK(program.Run().events[0].dma.source == 8192 + 1024);
}

TEST_CASE("predicated events happen or not, bounds checks never stop", "[llo]") {
  Program program({"%s1_s1 = smov 5", "%p1_p1 = scmp.eq.s32.totalorder %s1_s1, 6",
                   "%2 = dma.done.wait (%p1_p1), [#allocation1], 16", "%3 = shalt.err (!%p1_p1)",
                   "%4 = dma.done.wait (!%p1_p1), [#allocation1], 32"});
  RunTotals run = program.Run();
  CHECK(run.end == Event::Kind::kEnd);
  REQUIRE(run.events.size() == 1);
  CHECK(run.events[0].kind == Event::Kind::kWait);
  CHECK(run.events[0].granules == 32);
  REQUIRE(program.notes.size() == 1);
  CHECK(program.notes[0] == "1 bounds checks did not hold with the addresses assumed");
}

TEST_CASE("values that the dump lacks are taken as 0 and said", "[llo]") {
  Program program({"%s1_s1 = sld [smem:[#allocation7]]", "%2 = vpush %v1_v0", "%s3_s2 = spop %2",
                   "%4 = vsyncadd [#allocation1], %s3_s2"});
  RunTotals run = program.Run();
  CHECK(run.end == Event::Kind::kEnd);
  CHECK(run.events[0].granules == 0);
  REQUIRE(program.notes.size() == 2);
  CHECK(program.notes[0] == "1 values of the vector unit taken as 0");
  CHECK(program.notes[1] == "SMEM #allocation7 is not in the dump: read as 0");
  program.options.smem = {{"allocation7", 12}};
  CHECK(program.Run().events[0].granules == 0);
  CHECK(program.notes.size() == 1);
}

TEST_CASE("a loop in which nothing changes is found out, one that counts ends at the bundle limit", "[llo]") {
  Program still({"%s1_s1 = smov 0 //Start region 1", "%2 = sbr.rel target = $region1", "", "", "", ""});
  RunTotals stuck = still.Run();
  CHECK(stuck.end == Event::Kind::kError);
  CHECK(stuck.message == "k.txt:1: a loop that never ends: nothing changes in it");
  CHECK(stuck.bundles < 100'000);
  Program program({"%s2_s1 = sadd.s32 1, %s1_s1 //Start region 1", "%2 = sbr.rel target = $region1", "", "", "", ""});
  program.options.bundle_limit = 10'000;
  RunTotals run = program.Run();
  CHECK(run.end == Event::Kind::kError);
  CHECK(run.message == "k.txt:1: more than 10000 bundles: taken for an endless loop");
}

TEST_CASE("a long loop that stores or counts is not taken for an endless one", "[llo]") {
  Program counted({"%s1_s1 = smov 0", "%s2_s1 = sadd.s32 1, %s1_s1 //Start region 1",
                   "%p1_p1 = scmp.lt.s32.totalorder %s2_s1, 100000", "%4 = sbr.rel (%p1_p1) target = $region1", "", "", "", ""});
  CHECK(counted.Run().bundles == 1 + 7 * 100'000);
  // The counter lives in SMEM, the registers are the same at each turn.
  Program stored({"%s1_s1 = smov 0", "%5 = sst [smem:[#allocation1]] %s1_s1",
                  "%s3_s2 = sld [smem:[#allocation1]] //Start region 1", "%s4_s2 = sadd.s32 1, %s3_s2",
                  "%5 = sst [smem:[#allocation1]] %s4_s2", "%p1_p1 = scmp.lt.s32.totalorder %s4_s2, 100000",
                  "%4 = sbr.rel (%p1_p1) target = $region1", "", "", "", "%s6_s2 = smov 0", ""});
  CHECK(stored.Run().end == Event::Kind::kEnd);
}

TEST_CASE("delays cost cycles but no bundles", "[llo]") {
  Program program({"%1 = vdelay 10", "%s2_s1 = smov 20", "%3 = vdelay %s2_s1"});
  RunTotals run = program.Run();
  CHECK(run.bundles == 3);
  CHECK(run.cycles == 33);
}

std::vector<std::string> Multiplies(int count, int spacing, int pop_after) {
  std::vector<std::string> bundles(static_cast<std::size_t>(count * spacing + pop_after + 4));
  auto add = [&](std::size_t at, const std::string& op) {
    if (!bundles[at].empty()) bundles[at] += "  ;;  ";
    bundles[at] += op;
  };
  for (int i = 0; i < count; ++i) {
    std::size_t at = static_cast<std::size_t>(i * spacing);
    add(at, fmt::format("%{} = vmatmul.bf16.gmra.mxu0 %v1_v0", 1000 + i));
    add(at + static_cast<std::size_t>(pop_after), "%v2_v1 = vpop.f32.mrf.mxu0");
    add(at + static_cast<std::size_t>(pop_after) + 1, "%v3_v2 = vpop.f32.mrf.mxu0");
  }
  return bundles;
}

TEST_CASE("a matrix unit never runs faster than its cadence", "[llo]") {
  // 100 vmatmuls of 16 cycles, one every 12 bundles: the unit is the bottleneck.
  Program tight(Multiplies(100, 12, 40), true);
  RunTotals run = tight.Run();
  CHECK(run.multiplies == 100);
  CHECK(run.bundles == 1244);
  CHECK(run.cycles >= 100 * 16);
  CHECK(run.cycles <= 100 * 16 + 44);
  // One every 16: no stall at all.
  Program loose(Multiplies(100, 16, 40), true);
  RunTotals free_run = loose.Run();
  CHECK(free_run.cycles == free_run.bundles);
  // Without hazards cycles are bundles.
  tight.options.matrix.units = 0;
  CHECK(tight.Run().cycles == 1244);
}

TEST_CASE("a stated latency delays the first result, and time spent waiting drains the units", "[llo]") {
  Program program(Multiplies(1, 16, 40), true);
  program.options.matrix.latency = {{"bf16", 100}};
  CHECK(program.Run().cycles == program.kernel.bundle_count() + 60);
  std::vector<std::string> waits = Multiplies(1, 16, 40);
  waits[20] = "%77 = dma.done.wait [#allocation1], 16";
  Program waiting(waits, true);
  waiting.options.matrix.latency = {{"bf16", 100}};
  Machine machine(waiting.kernel, waiting.options);
  Event wait = machine.Next();
  REQUIRE(wait.kind == Event::Kind::kWait);
  CHECK(wait.bundles == 20);
  machine.Stalled(50);
  Event end = machine.Next();
  REQUIRE(end.kind == Event::Kind::kEnd);
  CHECK(end.cycles == end.bundles + 10);
}

TEST_CASE("a program reports its calls with the op they run", "[llo]") {
  Program program({"%s1_s1 = scalar_parameter_address 2",
                   "%5 = inlined_call %s1_s1 /* %add.1 = add(%a.1, %b.1) */", "%6 = call %s1_s1 /* <late-finalization> */"});
  program.options.parameter_addresses = {0, 32, 64};
  RunTotals run = program.Run();
  CHECK(run.callees == std::vector<std::string>{"add.1", "<late-finalization>"});
  CHECK(run.events[0].arguments == std::vector<std::uint32_t>{2});
  CHECK(program.kernel.is_program());
}

TEST_CASE("the launch flag lets a program run, the prefetch flag makes a warm run skip bytes", "[llo]") {
  std::vector<std::string> bundles = {
      "%s1_s1 = sld [smem:[#allocation4]]", "%p1_p1 = scmp.ne.s32.totalorder %s1_s1, 1",
      "%2 = sbr.rel (%p1_p1) target = $region4", "", "", "", "",
      "%s3_s2 = sld [smem:[#allocation12]]", "%p2_p2 = scmp.ne.s32.totalorder %s3_s2, 0",
      "%s4_s3 = scalar_select %p2_p2, 0, 1024  ;;  %s5_s4 = smov [#allocation7]",
      "%6 = dma.hbm_to_vmem [thread:$1]  %s5_s4, %s4_s3, %s5_s4, [#allocation8]",
      "%7 = inlined_call /* %fusion = fusion(%a) */", " //Start/End empty region 4"};
  Program program(bundles);
  CHECK(program.kernel.launch_flags() == std::vector<std::string>{"allocation4"});
  CHECK(program.kernel.prefetch_flags() == std::vector<std::string>{"allocation12"});
  CHECK(program.Run().in == 32768);
  program.options.warm = true;
  RunTotals warm = program.Run();
  CHECK(warm.in == 0);
  CHECK(warm.dmas == 1);
  CHECK(warm.callees.size() == 1);
}

}  // namespace
}  // namespace spillway::llo
