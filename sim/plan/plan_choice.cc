// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/plan_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "sim/base/file.h"
#include "sim/plan/unfused.h"

namespace spillway::plan {
namespace {

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::vector<StreamedRequest> RequestsOf(const std::vector<config::PlanGroup>& groups) {
  std::vector<StreamedRequest> requests;
  for (const config::PlanGroup& group : groups) {
    StreamedRequest request;
    request.name = group.name;
    request.ops = group.ops;
    for (const config::PlanTile& tile : group.tiles) request.tiles.push_back({tile.value, tile.dimension, tile.length});
    requests.push_back(std::move(request));
  }
  return requests;
}

/// The file's base, then its tensors, then its groups.
Result<Program> PlanFile(const PlanInputs& inputs, const config::PlanConfig& file, Diagnostics& warnings, PlanReport* report) {
  PlanInputs base = inputs;
  std::unique_ptr<hlo::Module> unfused;
  if (file.base == "unfused") {
    unfused = UnfuseModule(*inputs.module);
    base.module = unfused.get();
  }
  std::vector<StreamedRequest> requests = RequestsOf(file.groups);
  bool streams = !requests.empty() || file.base == "streamed";
  auto groups = [&](const PlanInputs& moved, Diagnostics& found) {
    return streams ? PlanStreamed(moved, requests, found, report != nullptr ? &report->groups : nullptr) : PlanAsCompiled(moved, found);
  };
  bool keeps = !file.keep.empty() || file.base == "resident";
  ResidentOptions options;
  options.tensors = file.keep;
  options.then = groups;
  Result<Program> program = keeps ? PlanResident(base, options, warnings, report != nullptr ? &report->tensors : nullptr)
                                  : groups(base, warnings);
  if (!program.ok()) return program;
  program->plan = file.name;
  if (unfused != nullptr) {
    for (Op& op : program->ops) op.as_compiled = false;
  }
  program->notes.insert(program->notes.begin(), fmt::format("the plan is that of {}, on top of the plan {}", file.file, file.base));
  return program;
}

}  // namespace

const std::vector<std::string>& PlanNames() { return config::PlanBases(); }

bool IsPlanFile(const std::string& name_or_file) {
  return EndsWith(name_or_file, ".yaml") || EndsWith(name_or_file, ".yml") || name_or_file.find('/') != std::string::npos;
}

Result<PlanChoice> ChoosePlan(const std::string& name_or_file) {
  PlanChoice choice;
  if (name_or_file == "as-compiled") return choice;
  if (name_or_file == "unfused") choice.kind = PlanChoice::Kind::kUnfused;
  if (name_or_file == "resident") choice.kind = PlanChoice::Kind::kResident;
  if (name_or_file == "streamed") choice.kind = PlanChoice::Kind::kStreamed;
  if (choice.kind != PlanChoice::Kind::kAsCompiled) return choice;
  if (!IsPlanFile(name_or_file)) {
    std::string near = Nearest(name_or_file, PlanNames());
    std::string known = fmt::format("there are {}, or a plan file (FILE.yaml)", fmt::join(PlanNames(), ", "));
    return Error(fmt::format("unknown plan '{}'", name_or_file), near.empty() ? known : fmt::format("did you mean '{}'?  {}", near, known));
  }
  Result<config::PlanConfig> read = config::LoadPlan(name_or_file);
  if (!read.ok()) return read.errors();
  choice.kind = PlanChoice::Kind::kFile;
  choice.file = std::move(*read);
  return choice;
}

Result<Program> MakePlan(const PlanInputs& inputs, const PlanChoice& choice, Diagnostics& warnings, PlanReport* report) {
  switch (choice.kind) {
    case PlanChoice::Kind::kAsCompiled:
      return PlanAsCompiled(inputs, warnings);
    case PlanChoice::Kind::kUnfused:
      return PlanUnfused(inputs, warnings);
    case PlanChoice::Kind::kResident: {
      ResidentOptions options;
      options.tensors = choice.tensors;
      options.ignore_capacity = choice.ignore_capacity;
      return PlanResident(inputs, options, warnings, report != nullptr ? &report->tensors : nullptr);
    }
    case PlanChoice::Kind::kStreamed:
      return PlanStreamed(inputs, choice.groups, warnings, report != nullptr ? &report->groups : nullptr);
    case PlanChoice::Kind::kFile:
      return PlanFile(inputs, choice.file, warnings, report);
  }
  SPILLWAY_CHECK(false);
  return Error("no such plan");
}

}  // namespace spillway::plan
