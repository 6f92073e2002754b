// SPDX-License-Identifier: Apache-2.0
// Replay speed: executed bundles a second of one core, and parse speed.
#include <string>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "sim/base/file.h"
#include "sim/llo/dump.h"
#include "sim/llo/machine.h"

namespace spillway::llo {
namespace {

MachineOptions Options(bool v5e) {
  MachineOptions options;
  options.hbm_unit_bytes = v5e ? 512 : 32;
  options.matrix.units = v5e ? 4 : 2;
  options.matrix.columns = v5e ? 128 : 256;
  options.matrix.cycles = {{"bf16", v5e ? 16 : 8}, {"f32", v5e ? 8 : 4}};
  return options;
}

void Replay(benchmark::State& state, const Kernel& kernel, bool v5e) {
  std::int64_t bundles = 0, events = 0;
  for (auto _ : state) {
    Machine machine(kernel, Options(v5e));
    Event event;
    do {
      event = machine.Next();
      ++events;
    } while (event.kind != Event::Kind::kEnd && event.kind != Event::Kind::kError);
    bundles += machine.bundles();
  }
  state.counters["bundles/s"] = benchmark::Counter(static_cast<double>(bundles), benchmark::Counter::kIsRate);
  state.counters["events/s"] = benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
}

void ReplayShared(benchmark::State& state, const std::string& directory, const std::string& op) {
  Result<Dump> dump = Dump::Open(SPILLWAY_SHARED_DIR "/" + directory);
  if (!dump.ok()) {
    state.SkipWithError("no shared dumps");
    return;
  }
  Result<std::shared_ptr<const Kernel>> kernel = dump->Load(op);
  if (!kernel.ok()) {
    state.SkipWithError("no such kernel");
    return;
  }
  Replay(state, **kernel, directory.find("v5e") != std::string::npos);
}

// The worst case: scalar work in every bundle, a short loop.
void ScalarLoop(benchmark::State& state) {
  std::string text =
      "     0   :  { %s1_s1 = smov 0  ;;  %s2_s2 = smov 7 }\n"
      "   0x1   :  { %s3_s1 = sadd.s32 1, %s1_s1  ;;  %s4_s3 = smul.u32 3, %s2_s2 } /* Start region 1 */\n"
      "   0x2   :  { %s5_s2 = sxor.u32 %s4_s3, %s3_s1  ;;  %p1_p1 = scmp.lt.s32.totalorder %s3_s1, 1000000 }\n"
      "   0x3   :  { %4 = sbr.rel (%p1_p1) target = $region1  ;;  %s6_s4 = sadd.s32 %s6_s4, %s5_s2 }\n"
      "   0x4   :  { %s7_s5 = sshll.u32 %s6_s4, 3 }\n   0x5   :  { %s8_s6 = sadd.s32 %s7_s5, %s5_s2 }\n"
      "   0x6   :  { %s9_s7 = sand.u32 255, %s8_s6 }\n   0x7   :  {}\n";
  Result<Kernel> kernel = Kernel::Parse(text, "scalar loop");
  if (!kernel.ok()) {
    state.SkipWithError("listing");
    return;
  }
  Replay(state, *kernel, false);
}
BENCHMARK(ScalarLoop)->Unit(benchmark::kMillisecond);

BENCHMARK_CAPTURE(ReplayShared, v5e_matmul_16384, "validation/v5e-mm_16384_16384_16384/llo", "fusion")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(ReplayShared, v6e_gemm_8192_28672, "validation/v6e-mm_8192_8192_28672/llo", "fusion")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(ReplayShared, v5e_small_blocks, "validation/v5e-pscale_128_128/llo", "tpu_custom_call.1")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(ReplayShared, v5e_cumsum, "validation/v5e-cumsum_268435456/llo", "reduce-window")
    ->Unit(benchmark::kMillisecond);

void ParseKernel(benchmark::State& state) {
  Result<std::string> text =
      ReadFile(SPILLWAY_SHARED_DIR "/corpus/llo/v6e-jax062-attn_naive__s8192_d128/fusion-03-final_bundles.txt.gz");
  if (!text.ok()) {
    state.SkipWithError("no shared dumps");
    return;
  }
  for (auto _ : state) benchmark::DoNotOptimize(Kernel::Parse(*text, "fusion"));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(text->size()));
}
BENCHMARK(ParseKernel)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace spillway::llo
