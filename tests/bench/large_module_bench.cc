// SPDX-License-Identifier: Apache-2.0
// How parse, plan and replay grow with the program: layers of the bundled transformer layer, one after the other. 190
// layers are 10^4 ops in the schedule, which move 0.5 GiB each; those after the first few are recalled, not replayed.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/base/file.h"
#include "sim/config/config_loader.h"
#include "sim/engine/simulate.h"
#include "sim/hlo/module.h"
#include "sim/plan/plan_choice.h"

namespace spillway {
namespace {

bool IsName(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-'; }

// Every `%name` of the line gets the suffix, or becomes what `instead` says.
std::string Renamed(const std::string& line, const std::string& suffix, const std::map<std::string, std::string>& instead) {
  std::string out;
  for (std::size_t i = 0; i < line.size();) {
    out += line[i];
    if (line[i++] != '%' || i == line.size() || !IsName(line[i])) continue;
    std::size_t end = i;
    while (end < line.size() && IsName(line[end])) ++end;
    const std::string name = line.substr(i, end - i);
    const auto found = instead.find(name);
    out += found != instead.end() ? found->second : name + suffix;
    i = end;
  }
  return out;
}

struct Layer {
  std::string header, entry;                       // The `HloModule` and the ENTRY line.
  std::vector<std::string> callees, parameters, body;  // Lines.
  std::string input, output;                       // Names.
};

std::string NameIn(const std::string& line) {
  const std::size_t at = line.find('%') + 1;
  return line.substr(at, line.find(' ', at) - at);
}

Layer ReadLayer() {
  const std::string text =
      ReadFile(SPILLWAY_SOURCE_DIR "/workloads/hlo/transformer_layer.v6e.S512.hlo.gz").value();
  Layer layer;
  bool callees = false, entry = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    at = end + 1;
    if (layer.header.empty()) {
      layer.header = "HloModule layers, is_scheduled=true";
    } else if (line.rfind("ENTRY", 0) == 0) {
      layer.entry = line;
      entry = true;
    } else if (entry) {
      if (line.find('=') == std::string::npos) continue;
      const bool parameter = line.find(" parameter(") != std::string::npos;
      if (line.find(" parameter(0)") != std::string::npos) layer.input = NameIn(line);
      if (line.find("ROOT ") != std::string::npos) {
        layer.output = NameIn(line);
        line.replace(line.find("ROOT "), 5, "");
      }
      (parameter ? layer.parameters : layer.body).push_back(line);
    } else if (callees || line.front() == '%') {
      callees = true;
      layer.callees.push_back(line);
    }
  }
  return layer;
}

std::string Stacked(int layers) {
  const Layer layer = ReadLayer();
  std::string callees, body, previous;
  for (const std::string& line : layer.parameters) body += line + "\n";
  for (int i = 0; i < layers; ++i) {
    const std::string suffix = fmt::format(".L{}", i);
    std::map<std::string, std::string> instead;
    for (const std::string& line : layer.parameters) instead[NameIn(line)] = NameIn(line);
    if (i > 0) instead[layer.input] = previous;
    for (const std::string& line : layer.callees) callees += Renamed(line, suffix, {}) + "\n";
    const std::string output = layer.output + suffix;
    for (const std::string& line : layer.body) {
      std::string renamed = Renamed(line, suffix, instead);
      const bool last = i + 1 == layers && renamed.rfind("  %" + output + " ", 0) == 0;
      body += last ? "  ROOT " + renamed.substr(2) + "\n" : renamed + "\n";
    }
    previous = output;
  }
  return layer.header + "\n\n" + callees + "\n" + layer.entry + "\n" + body + "}\n";
}

config::ChipConfig Chip() {
  config::ChipRequest request;
  request.chip = "v6e";
  request.search = {SPILLWAY_SOURCE_DIR "/configs"};
  return config::LoadChip(request).value().config;
}

using Modules = std::vector<std::unique_ptr<hlo::Module>>;

Modules Parsed(const std::string& text) { return hlo::ParseModules(text, "layers").value(); }

plan::Program Planned(const hlo::Module& module, const config::ChipConfig& chip) {
  plan::PlanInputs inputs;
  inputs.module = &module;
  inputs.chip = &chip;
  Diagnostics messages;
  return plan::MakePlan(inputs, plan::ChoosePlan("as-compiled").value(), messages).value();
}

void Report(benchmark::State& state, const Modules& modules) {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["ops"] = static_cast<double>(modules.front()->entry->instructions.size());
  state.counters["peak_MB"] = static_cast<double>(usage.ru_maxrss) / 1024;
}

void Parse(benchmark::State& state) {
  const std::string text = Stacked(static_cast<int>(state.range(0)));
  Modules modules;
  for (auto _ : state) modules = Parsed(text);
  Report(state, modules);
}

void Plan(benchmark::State& state) {
  const Modules modules = Parsed(Stacked(static_cast<int>(state.range(0))));
  const config::ChipConfig chip = Chip();
  for (auto _ : state) benchmark::DoNotOptimize(Planned(*modules.front(), chip));
  Report(state, modules);
}

void Replay(benchmark::State& state) {
  const Modules modules = Parsed(Stacked(static_cast<int>(state.range(0))));
  const config::ChipConfig chip = Chip();
  const plan::Program program = Planned(*modules.front(), chip);
  for (auto _ : state) benchmark::DoNotOptimize(engine::Simulate(program, chip, {}));
  Report(state, modules);
}

BENCHMARK(Parse)->Name("layers/parse")->Arg(19)->Arg(190)->Unit(benchmark::kMillisecond);
BENCHMARK(Plan)->Name("layers/plan")->Arg(19)->Arg(190)->Unit(benchmark::kMillisecond);
BENCHMARK(Replay)->Name("layers/replay")->Arg(19)->Arg(190)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace spillway
