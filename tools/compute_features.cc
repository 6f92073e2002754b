// SPDX-License-Identifier: Apache-2.0
// Prints what the compute model counts in each op of HLO modules, and the slots that their bundles use where a
// directory of bundles is given. One JSON object a line; reports/compute_fit.py reads it.
//   spillway_compute_features CHIP (HLO [LLO_DIRECTORY|-])...
#include <cstdio>
#include <nlohmann/json.hpp>

#include "sim/base/file.h"
#include "sim/compute/features.h"
#include "sim/compute/mosaic_cost.h"
#include "sim/compute/tile_cost.h"
#include "sim/config/config_loader.h"
#include "sim/hlo/attributes.h"
#include "sim/hlo/module.h"
#include "sim/llo/describe.h"
#include "sim/llo/dump.h"
#include "sim/plan/bundle_source.h"
#include "sim/plan/kernel.h"

namespace {

using namespace spillway;

std::unique_ptr<llo::Dump> OpenDump(const std::string& directory, const hlo::Module& module) {
  if (directory == "-") return nullptr;
  std::vector<std::string> ops;
  for (const hlo::Computation& computation : module.computations) {
    for (const hlo::Instruction& instruction : computation.instructions) ops.emplace_back(instruction.name);
  }
  auto dump = llo::Dump::Open(directory, ops);
  if (!dump.ok()) return nullptr;
  return std::make_unique<llo::Dump>(std::move(dump).value());
}

/// Executed bundles of an op, and the slots that they use where the dump tells.
void AddBundles(const llo::Dump& dump, const std::string& op, const config::ChipConfig& chip, nlohmann::json& line) {
  auto code = dump.Load(op);
  if (!code.ok()) return;
  plan::BundleTotals totals = plan::DryRun(*code.value(), plan::MachineOptionsOf(chip));
  if (!totals.failure.empty()) return;
  line["bundles"] = totals.bundles;
  auto utilization = dump.LoadUtilization(op, *code.value());
  if (!utilization.ok()) return;
  for (const llo::SlotUse& slot : llo::Describe(*code.value(), plan::MachineOptionsOf(chip), &utilization.value()).slots) {
    line["slots"][slot.slot] = slot.used;
  }
}

void PrintOp(const std::string& file, const hlo::Computation& computation, const hlo::Instruction& instruction,
             const config::ChipConfig& chip, const llo::Dump* dump) {
  plan::KernelInputs inputs;
  inputs.instruction = &instruction;
  inputs.chip = &chip;
  plan::Kernel kernel = plan::BuildKernel(inputs);
  compute::MatrixShape mxu{static_cast<double>(chip.core.mxu_rows), static_cast<double>(chip.core.mxu_columns)};
  compute::KernelFeatures features = compute::FeaturesOf(instruction, mxu, static_cast<double>(kernel.grid.steps));
  nlohmann::json line;
  line["file"] = file;
  line["computation"] = computation.is_entry ? "ENTRY" : std::string(computation.name);
  line["op"] = std::string(instruction.name);
  line["opcode"] = std::string(instruction.opcode_name);
  line["class"] = features.op_class;
  line["unmodelled"] = features.unmodelled;
  line["why"] = features.why;
  line["coverage"] = features.coverage;
  std::optional<compute::MosaicWork> work;
  if (features.unmodelled) work = compute::MosaicWorkOf(instruction, mxu.rows, mxu.columns);
  if (work) {
    line["mosaic"] = true;
    line["unmodelled"] = !work->why.empty();
    line["why"] = work->why;
    features.counts = work->counts;
    features.steps = work->steps;
  }
  line["counts"] = features.counts;
  line["cycles"] = kernel.cost.total_cycles;
  if (auto config = hlo::BackendConfigOf(instruction); config && config->window) {
    line["estimated_cycles"] = config->window->estimated_cycles;
  }
  if (dump != nullptr) {
    AddBundles(*dump, std::string(instruction.name), chip, line);
  }
  std::printf("%s\n", line.dump().c_str());
}

bool RunsOnCore(const hlo::Instruction& instruction) {
  switch (instruction.opcode) {
    case hlo::Opcode::kCopyStart:
    case hlo::Opcode::kCopyDone:
    case hlo::Opcode::kAsyncStart:
    case hlo::Opcode::kAsyncDone:
    case hlo::Opcode::kAsyncUpdate:
    case hlo::Opcode::kWhile:
    case hlo::Opcode::kConditional:
    case hlo::Opcode::kCall:
      return false;
    default:
      return !hlo::IsFree(instruction.opcode);
  }
}

int Run(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s CHIP (HLO [LLO_DIRECTORY|-])...\n", argv[0]);
    return 2;
  }
  config::ChipRequest request;
  request.chip = argv[1];
  auto loaded = config::LoadChip(request);
  if (!loaded.ok()) {
    for (const Diagnostic& error : loaded.errors()) std::fprintf(stderr, "%s\n", Render(error).c_str());
    return 1;
  }
  const config::ChipConfig& chip = loaded->config;
  for (int i = 2; i + 1 < argc; i += 2) {
    auto text = ReadFile(argv[i]);
    if (!text.ok()) {
      std::fprintf(stderr, "%s: unreadable\n", argv[i]);
      return 1;
    }
    auto modules = hlo::ParseModules(std::move(text).value(), argv[i]);
    if (!modules.ok()) {
      std::fprintf(stderr, "%s: no HLO\n", argv[i]);
      return 1;
    }
    for (const auto& module : modules.value()) {
      auto dump = OpenDump(argv[i + 1], *module);
      for (const hlo::Computation& computation : module->computations) {
        for (const hlo::Instruction& instruction : computation.instructions) {
          // Ops with a schedule of their own: those that the compiler gave a window or that move arrays.
          bool called = !computation.is_entry && !instruction.Attr("backend_config");
          if (RunsOnCore(instruction) && !called) PrintOp(argv[i], computation, instruction, chip, dump.get());
        }
      }
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return Run(argc, argv); }
