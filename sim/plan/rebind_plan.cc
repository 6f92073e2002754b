// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/rebind_plan.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/hlo/text_util.h"
#include "sim/plan/fused_graph.h"
#include "sim/plan/grid.h"
#include "sim/plan/kernel_windows.h"
#include "sim/plan/plan_check.h"
#include "sim/plan/planner.h"

namespace spillway::plan {
namespace {

using nlohmann::ordered_json;

constexpr int kMaxMoves = 256;

ordered_json Numbers(const std::vector<std::int64_t>& values) {
  ordered_json list = ordered_json::array();
  for (std::int64_t value : values) list.push_back(std::to_string(value));
  return list;
}

/// `backend_config` with other windows; without any if `windows` is empty.
std::string WithWindows(std::string_view raw, const std::optional<hlo::WindowConfig>& windows) {
  ordered_json config = ordered_json::parse(hlo::Unescape(raw), nullptr, false);
  if (!config.is_object() || !config.contains("window_config") || !config["window_config"].is_object()) return std::string(raw);
  if (windows) {
    ordered_json& object = config["window_config"];
    object["kernel_window_bounds"] = Numbers(windows->kernel_bounds);
    object["output_window_bounds"] = Numbers(windows->output_bounds);
    object["input_window_bounds"] = Numbers(windows->input_bounds);
    object["iteration_bounds"] = Numbers(windows->iteration_bounds);
    object["estimated_cycles"] = "0";   // The compiler's figure was for the old shapes.
  } else {
    config.erase("window_config");
  }
  std::string text = config.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  return raw.front() == '"' ? hlo::Quote(text) : text;
}

Result<Program> PlanOf(const hlo::Module& module, const config::ChipConfig& chip) {
  PlanInputs inputs;
  inputs.module = &module;
  inputs.chip = &chip;
  Diagnostics ignored;
  return PlanAsCompiled(inputs, ignored);
}

/// The largest VMEM tensor that lives at `op`; null if there is none.
const Buffer* LargestAt(const Program& program, int op, const std::vector<std::string>& refused) {
  const Buffer* largest = nullptr;
  for (const Buffer& buffer : program.buffers) {
    bool live = buffer.space == Space::kVmem && buffer.alias_of < 0 && buffer.first_op <= op && op <= buffer.last_op;
    if (!live || std::find(refused.begin(), refused.end(), buffer.name) != refused.end()) continue;
    if (largest == nullptr || buffer.allocated_bytes > largest->allocated_bytes) largest = &buffer;
  }
  return largest;
}

Status FitVmem(const config::ChipConfig& chip, Bytes allowed, ReboundPlan& plan) {
  std::vector<std::string> refused;
  for (int moves = 0; moves < kMaxMoves; ++moves) {
    Result<Program> program = PlanOf(*plan.module, chip);
    if (!program.ok()) return program.errors();
    int at = -1;
    if (PeakVmem(*program, &at) <= allowed || at < 0) return Done{};
    const Buffer* buffer = LargestAt(*program, at, refused);
    if (buffer == nullptr) return Done{};
    hlo::ModuleEdits edits = MoveToHbm(*plan.module, buffer->name);
    if (edits.empty()) {
      refused.push_back(buffer->name);
      continue;
    }
    auto moved = hlo::Rewrite(*plan.module, edits, plan.module->file);
    if (!moved.ok()) return moved.errors();
    plan.moved.push_back(buffer->name);
    plan.module = std::move(*moved);
  }
  return Done{};
}

}  // namespace

hlo::ModuleEdits WindowEdits(const hlo::Module& original, const hlo::Module& module,
                             std::vector<std::string>& unwindowed) {
  hlo::ModuleEdits edits;
  for (const hlo::Computation& computation : module.computations) {
    const hlo::Computation* before = original.Find(computation.name);
    if (before == nullptr) continue;
    for (const hlo::Instruction& instruction : computation.instructions) {
      auto raw = instruction.Attr("backend_config");
      const hlo::Instruction* old = before->Find(instruction.name);
      auto config = raw ? hlo::BackendConfigOf(instruction) : std::nullopt;
      if (!config || !config->window || old == nullptr || config->window->output_bounds.empty()) continue;
      FusedGraph from = FlattenKernel(*old), to = FlattenKernel(instruction);
      auto windows = RebindWindows(from, *config->window, to);
      if (windows && windows->iteration_bounds == config->window->iteration_bounds &&
          windows->output_bounds == config->window->output_bounds &&
          windows->kernel_bounds == config->window->kernel_bounds &&
          windows->input_bounds == config->window->input_bounds) {
        continue;
      }
      if (!windows) {
        // Stated bounds that nobody could read must not happen to fit the new shapes.
        bool same = old->shape == instruction.shape;
        for (std::size_t i = 0; same && i < old->operands.size() && i < instruction.operands.size(); ++i) {
          same = old->operands[i]->shape == instruction.operands[i]->shape;
        }
        if (same) continue;
        unwindowed.emplace_back(instruction.name);
      }
      edits[&instruction].attributes["backend_config"] = WithWindows(*raw, windows);
    }
  }
  return edits;
}

Result<ReboundPlan> RebindForChip(const hlo::Module& module, hlo::RebindRequest request,
                                  const config::ChipConfig& chip) {
  if (!request.kernel_windows) request.kernel_windows = KernelWindowsOf;
  Result<hlo::Rebound> rebound = hlo::Rebind(module, request);
  if (!rebound.ok()) return rebound.errors();
  ReboundPlan plan;
  plan.bound = std::move(rebound->bound);
  plan.assumptions = std::move(rebound->assumptions);
  plan.module = std::move(rebound->module);
  hlo::ModuleEdits edits = WindowEdits(module, *plan.module, plan.unwindowed);
  auto windowed = hlo::Rewrite(*plan.module, edits, plan.module->file);
  if (!windowed.ok()) return windowed.errors();
  plan.module = std::move(*windowed);
  Result<Program> before = PlanOf(module, chip);
  if (!before.ok()) return before.errors();
  Status fitted = FitVmem(chip, std::max(chip.vmem.capacity, PeakVmem(*before)), plan);
  if (!fitted.ok()) return fitted.errors();
  return plan;
}

}  // namespace spillway::plan
