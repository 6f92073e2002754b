// SPDX-License-Identifier: Apache-2.0
// 512 MiB of streaming reads and writes at run level, and the same rules at command level. Counters: decisions per
// GiB, and at the end the ratio of the two levels measured in this very run.
#include <benchmark/benchmark.h>

#include <ctime>
#include <string>

#include "sim/config/config_loader.h"
#include "tests/support/hbm_presets.h"

namespace spillway {
namespace {

config::HbmConfig Chip(const std::string& name) {
  config::ChipRequest request;
  request.chip = name;
  request.search = {std::string(SPILLWAY_SOURCE_DIR) + "/configs"};
  return config::LoadChip(request).value().config.hbm;
}

const char* NameOf(std::int64_t chip) { return chip == 0 ? "v5e" : "v6e"; }

/// The traffic of naive attention at S = 8192 is four passes over 128 MiB.
std::vector<test::StreamSpec> Streams(std::int64_t reads, std::int64_t writes, Bytes total, Bytes access_bytes) {
  std::vector<test::StreamSpec> streams;
  for (std::int64_t i = 0; i < reads + writes; ++i) {
    streams.push_back({i >= reads, (i << 28) + 3 * i * kMiB, total / (reads + writes), access_bytes, 2});
  }
  return streams;
}

/// Arguments: chip, read streams, write streams, KiB of a descriptor.
void RunLevel(benchmark::State& state) {
  const config::HbmConfig hbm = Chip(NameOf(state.range(0)));
  const auto streams = Streams(state.range(1), state.range(2), 512 * kMiB, state.range(3) * kKiB);
  std::int64_t events = 0;
  for (auto _ : state) {
    model::HbmMemory memory(hbm, model::kRunLevel);
    benchmark::DoNotOptimize(test::Drive(memory, streams));
    events = memory.counters().events;
  }
  state.counters["events_per_GiB"] = static_cast<double>(events) * 2;
  state.SetLabel(NameOf(state.range(0)));
}
BENCHMARK(RunLevel)
    ->ArgNames({"chip", "reads", "writes", "KiB"})
    ->ArgsProduct({{0, 1}, {1}, {0, 1}, {64, 1024, 2048}})
    ->Args({1, 2, 1, 1024})
    ->Unit(benchmark::kMillisecond);

/// A sixteenth of the traffic; the counter scales it to 512 MiB.
void CommandLevel(benchmark::State& state) {
  const config::HbmConfig hbm = Chip(NameOf(state.range(0)));
  const auto streams = Streams(1, state.range(1), 32 * kMiB, kMiB);
  const std::clock_t begin = std::clock();
  for (auto _ : state) {
    model::HbmMemory memory(hbm, model::kEveryCommand);
    benchmark::DoNotOptimize(test::Drive(memory, streams));
  }
  const double command = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC / static_cast<double>(state.iterations()) * 16;
  const auto all = Streams(1, state.range(1), 512 * kMiB, kMiB);
  const std::clock_t run_begin = std::clock();
  for (int i = 0; i < 5; ++i) {
    model::HbmMemory memory(hbm, model::kRunLevel);
    benchmark::DoNotOptimize(test::Drive(memory, all));
  }
  const double run = static_cast<double>(std::clock() - run_begin) / CLOCKS_PER_SEC / 5;
  state.counters["command_s_per_512MiB"] = command;
  state.counters["run_s_per_512MiB"] = run;
  state.counters["ratio"] = command / run;
  state.SetLabel(NameOf(state.range(0)));
}
BENCHMARK(CommandLevel)->ArgNames({"chip", "writes"})->ArgsProduct({{0, 1}, {0, 1}})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace spillway
