// SPDX-License-Identifier: Apache-2.0
#include "sim/compute/tile_cost.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "sim/compute/features.h"
#include "sim/compute/mosaic_cost.h"

namespace spillway::compute {
namespace {

using hlo::Opcode;

constexpr double kMaxCycles = 9e15;
constexpr int kUnits = 9;
constexpr double kUnknownBand = 1.0;   // No cross-validation says anything: may be off by as much again.
constexpr const char* kOverheads[] = {"kernel", "step", "step.stream", "step.mxu"};

/// A functional unit: key in the tables, name in reports, its sum in UnitUse.
struct Unit {
  const char* key;
  const char* name;
  double UnitUse::*use;
};
constexpr std::array<Unit, kUnits> kUnitTable = {{{"valu", "VALU", &UnitUse::valu},
                                                  {"eup", "EUP", &UnitUse::eup},
                                                  {"xlu", "XLU", &UnitUse::xlu},
                                                  {"mxu_cycles", "MXU", &UnitUse::mxu_cycles},
                                                  {"mxu_push", "MXU push", &UnitUse::mxu_push},
                                                  {"mxu_pop", "pop", &UnitUse::mxu_pop},
                                                  {"vload", "VLOAD", &UnitUse::vload},
                                                  {"vstore", "VSTORE", &UnitUse::vstore},
                                                  {"serial", "latency", &UnitUse::serial}}};

double SlotsOf(const config::ChipConfig& chip, int unit) {
  const config::CoreConfig& core = chip.core;
  const int slots[kUnits] = {core.valu_slots, core.eup_slots,        core.xlu_slots,        core.mxus, core.mxus,
                             core.pop_slots,  chip.vmem.load_slots, chip.vmem.store_slots, 1};
  return std::max(slots[unit], 1);
}

double Lookup(const std::map<std::string, double>& map, const std::string& key, double otherwise) {
  auto it = map.find(key);
  return it != map.end() ? it->second : otherwise;
}

/// The entry of `key`, else of what stands before its last dot; arithmetic without an entry is "elementwise".
const std::map<std::string, double>* TableOf(const config::CoreConfig& core, std::string key) {
  for (;;) {
    auto it = core.op_slots.find(key);
    if (it != core.op_slots.end()) return &it->second;
    std::size_t dot = key.rfind('.');
    if (dot == std::string::npos) break;
    key.resize(dot);
  }
  auto it = core.op_slots.find("elementwise");
  return it != core.op_slots.end() ? &it->second : nullptr;
}

bool IsOverhead(const std::string& key) {
  return std::any_of(std::begin(kOverheads), std::end(kOverheads), [&](const char* name) { return key == name; });
}

/// Matmul instructions at the cadence of the matrix units: what the bundles cannot be faster than.
double MatrixCycles(const KernelFeatures& features, const config::CoreConfig& core) {
  double cycles = 0;
  for (const auto& [key, count] : features.counts) {
    if (key.rfind("matmul.", 0) != 0) continue;
    cycles += count * Lookup(core.matmul_cycles, key.substr(7), Lookup(core.matmul_cycles, "bf16", 8));
  }
  return cycles / std::max(core.mxus, 1);
}

UnitUse UseOf(const KernelFeatures& features, const config::CoreConfig& core) {
  UnitUse use;
  for (const auto& [key, count] : features.counts) {
    if (IsOverhead(key)) continue;
    const std::map<std::string, double>* table = TableOf(core, key);
    if (table == nullptr) {
      use.valu += count;   // A chip file without tables: one operation a register.
      continue;
    }
    for (const Unit& unit : kUnitTable) use.*unit.use += count * Lookup(*table, unit.key, 0);
  }
  return use;
}

void Contains(const hlo::Instruction& instruction, int depth, bool& matmul, bool& reduce) {
  matmul = matmul || instruction.opcode == Opcode::kConvolution || instruction.opcode == Opcode::kDot;
  reduce = reduce || instruction.opcode == Opcode::kReduce || instruction.opcode == Opcode::kReduceWindow;
  if (instruction.opcode != Opcode::kFusion || instruction.called.empty() || depth >= 64) return;
  for (const hlo::Instruction& inner : instruction.called.front()->instructions) Contains(inner, depth + 1, matmul, reduce);
}

std::string ClassOf(const hlo::Instruction& instruction) {
  if (instruction.opcode == Opcode::kCustomCall) return "custom";
  if (instruction.opcode == Opcode::kCopy || instruction.opcode == Opcode::kTranspose) return "copy";
  bool matmul = false, reduce = false;
  Contains(instruction, 0, matmul, reduce);
  return matmul ? "output" : reduce ? "input" : "loop";
}

/// The body of a Mosaic kernel says what it computes; nothing else of the custom call does.
bool AddMosaicBody(const hlo::Instruction& instruction, const MatrixShape& mxu, KernelFeatures& features) {
  if (instruction.opcode != Opcode::kCustomCall) return false;
  auto work = MosaicWorkOf(instruction, mxu.rows, mxu.columns);
  if (!work) return false;
  features.counts = std::move(work->counts);
  features.steps = work->steps;
  features.op_class = work->matmul ? "matmul" : work->reduces ? "reduce" : "elementwise";
  features.unmodelled = !work->why.empty();
  features.why = work->why;
  return true;
}

Cycles Bounded(double cycles) {
  return static_cast<Cycles>(std::isfinite(cycles) ? std::clamp(cycles, 0.0, kMaxCycles) : kMaxCycles);
}

}  // namespace

KernelCost CostOf(const hlo::Instruction& instruction, const config::ChipConfig& chip, std::int64_t steps) {
  KernelCost cost;
  cost.op_class = ClassOf(instruction);
  if (hlo::IsFree(instruction.opcode)) return cost;
  const config::CoreConfig& core = chip.core;
  MatrixShape mxu{std::max<double>(core.mxu_rows, 1), std::max<double>(core.mxu_columns, 1)};
  KernelFeatures features = FeaturesOf(instruction, mxu, static_cast<double>(steps));
  // What the compiler's own kernels cost is fitted; other bodies are counted.
  bool mosaic = features.unmodelled && AddMosaicBody(instruction, mxu, features);
  cost.unmodelled = features.unmodelled;
  cost.why = features.why;
  // The tables are not fitted to Mosaic kernels, so these have a band of their own; of other calls nothing is known.
  cost.error_class = mosaic ? "custom" : features.op_class;
  bool known = mosaic || features.op_class != "custom";
  cost.error_band = known ? Lookup(core.error_band, cost.error_class, kUnknownBand) : kUnknownBand;
  cost.use = UseOf(features, core);

  double sharpness = std::max(core.sharpness, 1.0), busiest = 0, loads[kUnits];
  for (int u = 0; u < kUnits; ++u) {
    double packing = std::max(Lookup(core.packing, kUnitTable[u].key, 1), 0.01);
    loads[u] = cost.use.*kUnitTable[u].use / (SlotsOf(chip, u) * packing);
    if (!std::isfinite(loads[u])) loads[u] = kMaxCycles;
    if (loads[u] >= busiest) {
      busiest = loads[u];
      cost.busiest = kUnitTable[u].name;
    }
  }
  double sum = 0;
  for (double load : loads) sum += busiest > 0 ? std::pow(load / busiest, sharpness) : 0;
  double steady = busiest * std::pow(sum, 1 / sharpness);
  double step = static_cast<double>(core.step_overhead) * features.steps +
                static_cast<double>(core.stream_overhead) * Lookup(features.counts, "step.stream", 0) +
                Lookup(core.matmul_latency, "bf16", 0) * Lookup(features.counts, "step.mxu", 0);
  double overhead = static_cast<double>(core.kernel_overhead);
  cost.prologue_cycles = core.kernel_overhead;
  cost.bundles = Bounded(steady + step + overhead);
  cost.total_cycles = std::max(cost.bundles, Bounded(MatrixCycles(features, core) + overhead));
  return cost;
}

}  // namespace spillway::compute
