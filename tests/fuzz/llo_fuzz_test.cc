// SPDX-License-Identifier: Apache-2.0
// Mutated bundle listings: a value, an error or a bounded run, never a crash or an endless loop.
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include "sim/base/file.h"
#include "sim/llo/describe.h"
#include "sim/llo/machine.h"
#include "sim/llo/utilization.h"

namespace spillway::llo {
namespace {

// A window loop as the compiler writes it: two slots, strided DMAs, a wait on each side, vector work.
constexpr std::string_view kSeed =
    R"(= control target key start
LB: loop body
= control target key end

     0   :  { %3 = vsyncpa [#allocation4], 0  ;;  %s88_s0 = inlined_call_operand.hbm [shape: bf16[2048,2048], index: 0, kind: input, shape index: {}] /* operand 0 */ } /* entry bundle: %fusion = fusion(%a) */
   0x1   :  { %s10_s14 = smov.u32 0 /* copy for cssa */  ;;  %s11_s13 = smov 0 }
   0x2 LB: > { %s73_s16 = sadd.s32 1, %s12_s13  ;;  %s13_s14 = sphi %s10_s14, %s14_s14 /* phi copy */  ;;  %26 = sdivrem.u32 %s10_s14, 6 } /* Start region 19 */
   0x3   : > { %p35_p0 = scmp.ge.s32.totalorder %s73_s16, 16  ;;  %s70_s17 = sadd.s32 1, %s10_s14  ;;  %s27_s18 = spop.drf %26 }
   0x4   : > { %s90_s13 = smov.u32 (%p35_p0, %s73_s16), 0  ;;  %p83_p4 = scmp.ne.s32.totalorder %s10_s14, %s12_s13 }
   0x5   : > { %s23_s23 = sshll.u32 %s10_s14, 10  ;;  %p50_p6 = pnand %p35_p0, %p83_p4 }
   0x6   : > { %s31_s28 = scalar_lea.hbm %s88_s0, %s23_s23  ;;  %s30_s30 = scalar_lea.vmem [#allocation3], %s23_s23 }
   0x7   : > { %s32_s29 = sshll.u32 %s31_s28, 4  ;;  %s4_s4 = scalar_lea.sflag [#allocation4], %s27_s18  ;;  %s33_s29 = int_to_ptr.hbm [resolvable:$true] %s32_s29 }
   0x8   : > { %2 = shalt.err (!%p50_p6) /* BoundsCheck 0 [deref of %s1] for %26 = dma.hbm_to_vmem [thread:$1]  /*hbm=*/%s9, 65536
hlo: copy-start
 */ }
   0x9   : > { %s5_s5 = smov 1024 /* materialized constant */  ;;  %s6_s6 = smov 4  ;;  %s7_s7 = sld [smem:[#allocation9 + $0x2]] }
   0xa   : > { %98 = dma.hbm_to_vmem [thread:$0]  (%p50_p6), /*hbm=*/%s33_s29, /*size_in_granules=*/16384, /*vmem=*/%s30_s30, /*dst_syncflagno=*/%s4_s4, /*src_stride=*/%s5_s5, /*dst_stride=*/%s5_s5, /*steps_per_stride=*/%s6_s6 /*
window_bounds: (256, 1) */ }
   0xb   : > { %v1_v0 = vld [vmem:[%s30_s30] sm:$0xff]  ;;  %29 = vmatmul.bf16.gmra.mxu0 %v1_v0  ;;  %v2_v1 = vpop.f32.mrf.mxu0 }
   0xc   : > { %34 = dma.done.wait (%p50_p6), %s4_s4, 16384  ;;  %5 = vst [vmem:[%s30_s30]] %v2_v1 }
   0xd   : > { %36 = vsyncadd (%p50_p6), %s4_s4, 4294950912  ;;  %6 = sst [smem:[#allocation9]] %s5_s5 }
   0xe   : > { %s14_s14 = sadd.s32 1, %s10_s14  ;;  %s15_s13 = smov %s73_s16 }
   0xf   : > { %p38_p3 = scmp.ge.s32.totalorder %s14_s14, 12 /* loop exit test */ }
  0x10   :  { %40 = sbr.rel (!%p38_p3) target = $region19 }
  0x11   :  {}
  0x12   :  {}
  0x13   :  {}
  0x14   :  {}
  0x15   :  { %57 = dma.general (%p38_p3), /*src=*/%s30_s30, /*size_in_granules=*/65536, /*dst=*/%s31_s28, /*dst_syncflagno=*/%s4_s4, /*src_syncflagno=*/%s5_s5, /*stridedescaddr=*/[#allocation9], /*overrides=*/%s6_s6, /*dst_syncflagno_1=*/0 }
  0x16 PF:  { %54 = inlined_call %s88_s0 /* %add.1 = add(%a.1, %b.1) */  ;;  %7 = vdelay 1 } /* Start/End empty region 4 */
  0x17   :  { %8 = sbr.rel (%p38_p3) target bundleno = 260 (0x104), region = 4 }
  0x18   :  { %22 = vsyncpa [#allocation4], 1 }
)";

// xorshift: the same mutations on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 2654435769U + 88172645463325252U) {}
  std::size_t Below(std::size_t n) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return n == 0 ? 0 : static_cast<std::size_t>(state_ % n);
  }

 private:
  std::uint64_t state_;
};

constexpr std::string_view kTokens[] = {
    "{", "}", ";;", "/*", "*/", "[", "]", "(", ")", "%s1_s0", "%s9_s99", "%p1_p15", "%s_", "%", "#allocation4",
    "$region19", "$region", "4294967295", "99999999999999999999", "-1", "0x", "\n", "\r\n", "sbr.rel", "smov",
    "dma.general", "dma.done.wait", "spop.drf", "[smem:[", "@", "=", "target = $region19", "vdelay 4294967295",
    "  0x16   :  {}", "/* Start region 19 */", "sdivrem.u32", "!", ",", "1e999", "nan", "0x"};

std::string Mutate(std::string text, Random& random) {
  std::size_t edits = 1 + random.Below(6);
  for (std::size_t i = 0; i < edits && !text.empty(); ++i) {
    std::size_t at = random.Below(text.size());
    std::size_t length = 1 + random.Below(random.Below(4) == 0 ? 200 : 8);
    std::string_view token = kTokens[random.Below(std::size(kTokens))];
    switch (random.Below(6)) {
      case 0: text.erase(at, length); break;
      case 1: text.insert(at, token); break;
      case 2: text.replace(at, std::min(length, text.size() - at), token); break;
      case 3: text[at] = static_cast<char>(random.Below(256)); break;
      case 4: text.insert(at, text.substr(random.Below(text.size()), length)); break;
      default:
        if (text[at] >= '0' && text[at] <= '9') text[at] = static_cast<char>('0' + random.Below(10));
        else text.resize(text.size() - random.Below(text.size() / 8 + 1));
    }
  }
  return text;
}

MachineOptions SmallOptions() {
  MachineOptions options;
  options.matrix.units = 2;
  options.matrix.cycles = {{"bf16", 8}};
  options.bundle_limit = 20'000;
  return options;
}

// Runs a listing to its end; the number of events is bounded by the bundle limit.
void Exercise(const std::string& text) {
  Result<Kernel> kernel = Kernel::Parse(text, "fuzz.txt");
  if (!kernel.ok()) {
    CHECK(!kernel.errors().empty());
    return;
  }
  Machine machine(*kernel, SmallOptions());
  std::int64_t events = 0;
  Event event;
  do {
    event = machine.Next();
    ++events;
  } while (event.kind != Event::Kind::kEnd && event.kind != Event::Kind::kError && events < 5'000'000);
  CHECK(events < 5'000'000);
  CHECK((event.kind == Event::Kind::kEnd || !event.message.empty()));
  CHECK(machine.bundles() <= 20'000 + kernel->bundle_count());
  CHECK(machine.cycles() >= machine.bundles());
}

TEST_CASE("the seed listing itself runs", "[fuzz][llo]") {
  Result<Kernel> kernel = Kernel::Parse(kSeed, "seed.txt");
  REQUIRE(kernel.ok());
  CHECK(kernel->notes().empty());
  Machine machine(*kernel, SmallOptions());
  int dmas = 0;
  Event event;
  do {
    event = machine.Next();
    dmas += event.kind == Event::Kind::kDma;
  } while (event.kind != Event::Kind::kEnd && event.kind != Event::Kind::kError);
  CHECK(dmas == 13);  // One an iteration (the guard is always true here) and a general one at the end.
}

TEST_CASE("mutated listings never crash or hang", "[fuzz][llo]") {
  for (std::uint64_t seed = 1; seed <= 6000; ++seed) {
    Random random(seed);
    Exercise(Mutate(std::string(kSeed), random));
  }
}

TEST_CASE("mutated listings can be described", "[fuzz][llo]") {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Random random(seed + 1'000'000);
    Result<Kernel> kernel = Kernel::Parse(Mutate(std::string(kSeed), random), "fuzz.txt");
    if (kernel.ok()) CHECK(!DescriptionLines(Describe(*kernel, SmallOptions())).empty());
  }
}

TEST_CASE("mutated listings of the compiler never crash or hang", "[fuzz][llo][shared]") {
  for (const char* name : {"v6e-ew_add__bf16_2048x2048/add.1-03-final_bundles.txt.gz",
                           "v5e-matmul__bf16_2048/TLP-05-final_bundles.txt.gz"}) {
    Result<std::string> text = ReadFile(std::string(SPILLWAY_SHARED_DIR "/corpus/llo/") + name);
    if (!text.ok()) {
      WARN("no shared corpus: skipped");
      return;
    }
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
      Random random(seed);
      Exercise(Mutate(*text, random));
    }
  }
}

TEST_CASE("mutated utilisation tables never crash", "[fuzz][llo]") {
  std::string seed_table =
      "== CAPACTIY:\nMATMUL, MATPUSH, XLU\n    4     4     3\n== UTILIZATION:\n0 0 1\n0 2 0\n1 1 1\n";
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    Random random(seed);
    Result<Utilization> table = Utilization::Parse(Mutate(seed_table, random), "table.txt");
    if (!table.ok()) {
      CHECK(!table.errors().empty());
      continue;
    }
    CHECK(table->use.size() == table->bundles() * table->slots.size());
    CHECK(table->capacity.size() == table->slots.size());
  }
}

TEST_CASE("deep brackets, long lines and huge counts are refused or run", "[fuzz][llo]") {
  Exercise("     0   :  { %s1_s0 = smov " + std::string(100'000, '[') + " }\n");
  Exercise("     0   :  { " + std::string(100'000, '{') + "\n");
  Exercise("     0   :  { " + std::string(50'000, '/') + "*" + std::string(50'000, '*') + "\n");
  std::string wide = "     0   :  { %s1_s0 = smov 1";
  for (int i = 0; i < 3000; ++i) wide += "  ;;  %s" + std::to_string(i) + "_s1 = sadd.s32 %s1_s0, %s2_s1";
  Exercise(wide + " }\n");
  std::string many;
  for (int i = 0; i < 70'000; ++i) {
    many += (i == 0 ? std::string("0") : "0x" + [](int v) {
              char buffer[16];
              std::snprintf(buffer, sizeof buffer, "%x", v);
              return std::string(buffer);
            }(i)) + " : { %s1_s0 = smov " + std::to_string(i + 1000) + " }\n";
  }
  Exercise(many);
}

}  // namespace
}  // namespace spillway::llo
