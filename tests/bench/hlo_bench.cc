// SPDX-License-Identifier: Apache-2.0
// Speed of the HLO reader. `bytes_per_second` of parse/* is the figure to watch (>= 200 MB/s).
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "sim/base/file.h"
#include "sim/hlo/module.h"

namespace {

namespace fs = std::filesystem;
using spillway::hlo::ParseModules;

constexpr std::size_t kTargetBytes = 8u << 20;

// A module of our own making: long elementwise chains with the attributes of a TPU dump.
std::string Synthetic() {
  std::string text = "HloModule chain, is_scheduled=true\n\nENTRY %main (p: bf16[8192,128]) -> bf16[8192,128] {\n";
  text += "  %v.0 = bf16[8192,128]{1,0:T(8,128)(2,1)} parameter(0)\n";
  for (int i = 1; text.size() < kTargetBytes; ++i) {
    text += fmt::format(
        "  %v.{} = bf16[8192,128]{{1,0:T(8,128)(2,1)S(1)}} add(%v.{}, %v.{}), metadata={{op_name=\"jit(f)/add\" "
        "stack_frame_id={}}}, backend_config={{\"flag_configs\":[],\"window_config\":{{\"output_window_bounds\":"
        "[\"64\",\"1\"],\"estimated_cycles\":\"1234\"}}}}\n",
        i, i - 1, i / 2, i);
  }
  return text + "}\n";
}

// The largest texts of a folder, each one several times, as one text of many modules.
std::string Concatenated(const char* folder) {
  std::vector<std::pair<std::uintmax_t, std::string>> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(fs::path(SPILLWAY_SHARED_DIR) / "corpus" / folder, error)) {
    if (entry.path().extension() == ".hlo") files.emplace_back(entry.file_size(), entry.path().string());
  }
  std::sort(files.rbegin(), files.rend());
  files.resize(std::min<std::size_t>(files.size(), 10));
  std::string once;
  for (const auto& [size, path] : files) {
    auto text = spillway::ReadFile(path);
    if (text.ok()) once += *text + "\n";
  }
  std::string all;
  while (!once.empty() && all.size() < kTargetBytes) all += once;
  return all;
}

void Parse(benchmark::State& state, const std::string& text) {
  if (text.empty()) {
    state.SkipWithError("no corpus beside the project");
    return;
  }
  for (auto _ : state) {
    state.PauseTiming();
    std::string given = text;  // a file's text is moved in, too
    state.ResumeTiming();
    auto modules = ParseModules(std::move(given), "bench");
    if (!modules.ok()) {
      state.SkipWithError(modules.errors().front().message.c_str());
      return;
    }
    benchmark::DoNotOptimize(modules);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
  state.counters["MB/s"] = benchmark::Counter(static_cast<double>(state.iterations() * text.size()) / 1e6,
                                              benchmark::Counter::kIsRate);
}

void ParseSynthetic(benchmark::State& state) { Parse(state, Synthetic()); }
void ParseCorpusV6e(benchmark::State& state) { Parse(state, Concatenated("v6e")); }
void ParseCorpusV5e(benchmark::State& state) { Parse(state, Concatenated("v5e")); }

BENCHMARK(ParseSynthetic)->Name("parse/synthetic")->Unit(benchmark::kMillisecond);
BENCHMARK(ParseCorpusV6e)->Name("parse/corpus_v6e")->Unit(benchmark::kMillisecond);
BENCHMARK(ParseCorpusV5e)->Name("parse/corpus_v5e")->Unit(benchmark::kMillisecond);

}  // namespace
