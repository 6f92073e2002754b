// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/rebind.h"

#include <fmt/format.h>

#include "sim/plan/rebind_plan.h"

namespace spillway::cli {
namespace {

/// "a, b, c and 4 more".
std::string Few(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 6;
  const std::size_t shown = std::min(names.size(), kMost);
  std::string text = fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

Diagnostic Note(std::string message) {
  Diagnostic note = Warning(std::move(message));
  note.severity = Severity::kNote;
  return note;
}

}  // namespace

Status ApplyRebind(Prepared& prepared, Diagnostics& messages) {
  Input& input = prepared.input;
  if (!input.rebind) return Done{};
  if (input.compiled == nullptr) input.compiled = std::move(input.module);
  prepared.program = {};
  Result<plan::ReboundPlan> plan = plan::RebindForChip(*input.compiled, *input.rebind, prepared.chip.config);
  if (!plan.ok()) return plan.errors();
  input.module = std::move(plan->module);
  std::vector<std::string> sizes;
  for (const hlo::Binding& binding : input.rebind->bindings) {
    sizes.push_back(fmt::format("{}={} to {}", binding.symbol, binding.from, binding.to));
  }
  messages.push_back(Warning(fmt::format("shapes are rewritten from {} ({}); a real compiler may choose another plan",
                                         fmt::join(sizes, ", "), Few(plan->bound)),
                             "a dump compiled for that size is exact"));
  for (const std::string& assumption : plan->assumptions) messages.push_back(Note(assumption));
  if (!plan->moved.empty()) {
    messages.push_back(Warning(fmt::format("no longer fits VMEM and is kept in HBM: {}; a real compiler would choose "
                                           "another plan", Few(plan->moved))));
  }
  if (!plan->unwindowed.empty()) {
    messages.push_back(Note(fmt::format("windows of {} do not follow: the planner cuts its own", Few(plan->unwindowed))));
  }
  return Done{};
}

}  // namespace spillway::cli
