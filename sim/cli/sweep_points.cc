// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/sweep_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <new>
#include <set>

#include "sim/base/file.h"
#include "sim/cli/options.h"
#include "sim/cli/paths.h"
#include "sim/cli/session.h"
#include "sim/cli/workloads.h"
#include "sim/engine/simulate.h"
#include "sim/plan/plan_choice.h"

namespace spillway::cli {
namespace {

/// The name of the workload file that `name` means; empty if it is a dump.
std::string WorkloadFileOf(const std::string& name) {
  if (name == "-") return "";
  if (Exists(name)) return IsYamlName(name) && !IsDirectory(name) ? name : "";
  return FindWorkload(name);
}

bool IsChipKey(const std::string& key) {
  static const std::vector<config::KeyInfo> keys = config::ListKeys();
  return std::any_of(keys.begin(), keys.end(), [&](const config::KeyInfo& info) {
    // A key that is a map has members below it: core.matmul_cycles.bf16.
    return info.key == key || (key.size() > info.key.size() && key.rfind(info.key + ".", 0) == 0);
  });
}

std::string DigestOfFiles(const std::vector<std::string>& files) {
  sweep::Digest digest;
  for (const std::string& file : files) {
    const Result<std::string> text = ReadFile(file);
    digest.Add(BaseName(file)).Add(text.ok() ? *text : "?");
  }
  return digest.Hex();
}

std::string DigestOf(const Input& input) {
  std::vector<std::string> files = {input.file};
  if (!input.assignment_file.empty()) files.push_back(input.assignment_file);
  if (!input.llo_directory.empty()) {
    for (const std::string& name : FilesIn(input.llo_directory)) files.push_back(JoinPath(input.llo_directory, name));
  }
  return DigestOfFiles(files);
}

std::string StatusOf(const Diagnostics& errors) {
  std::string text;
  for (const Diagnostic& error : errors) {
    if (error.severity != Severity::kError) continue;
    if (!text.empty()) text += "; ";
    text += error.message;
  }
  return sweep::OneLine(text.empty() ? "error" : text);
}

sweep::PointResult Figures(const timeline::Summary& summary) {
  sweep::PointResult result;
  result.makespan_ps = summary.makespan_ps;
  result.cycles = summary.cycles;
  result.hbm_read_bytes = summary.hbm_read_bytes;
  result.hbm_write_bytes = summary.hbm_write_bytes;
  result.hbm_busy_ps = summary.hbm_busy_ps;
  result.hbm_allocated_bytes = summary.hbm_allocated_bytes;
  result.vmem_peak_bytes = summary.vmem_peak_bytes;
  result.vmem_buffers_bytes = summary.vmem_buffers_bytes;
  for (const timeline::OpSummary& op : summary.ops) {
    result.dma_count += op.dma_count;
    result.stall_ps += op.stall_ps.total();
  }
  result.unmodelled_share = summary.unmodelled_share_of_time;
  return result;
}

/// A measured device time is the better one to show.
void AddMeasurement(const std::vector<config::WorkloadExpectation>& expect, sweep::PointResult& result) {
  for (const config::WorkloadExpectation& each : expect) {
    if (!result.timer.empty() && (result.timer == "device" || each.timer != "device")) continue;
    result.measured_us = each.measured_us;
    result.timer = each.timer;
  }
}

/// HBM bytes of all executions of `items`.
double BytesMoved(const std::vector<plan::Item>& items) {
  double bytes = 0;
  for (const plan::Item& item : items) {
    double once = 0;
    for (const plan::Transfer& transfer : item.transfers) once += static_cast<double>(transfer.bytes());
    if (item.kind == plan::Item::Kind::kLoop) once += BytesMoved(item.body);
    if (item.source) {
      const std::unique_ptr<plan::ActionSource> source = item.source();
      for (plan::Action action; source->Next(action);) {
        if (action.kind == plan::Action::Kind::kIssue) once += static_cast<double>(action.transfer.bytes());
      }
    }
    bytes += once * static_cast<double>(item.kind == plan::Item::Kind::kLoop ? std::max<std::int64_t>(item.trips, 0) : 1);
  }
  return bytes;
}

/// All keys that `sweep` sets or varies, with their places.
std::vector<std::pair<std::string, config::YamlLocation>> KeysOf(const config::SweepConfig& sweep) {
  std::vector<std::pair<std::string, config::YamlLocation>> keys;
  for (const config::SweepSetting& setting : sweep.base) keys.emplace_back(setting.key, setting.at);
  for (const config::SweepAxis& axis : sweep.axes) keys.emplace_back(axis.key, axis.at);
  for (const auto& group : sweep.zips) {
    for (const config::SweepAxis& axis : group) keys.emplace_back(axis.key, axis.at);
  }
  return keys;
}

std::set<std::string> WorkloadsOf(const config::SweepConfig& sweep) {
  std::set<std::string> names;
  for (const config::SweepSetting& setting : sweep.base) {
    if (setting.key == "workload") names.insert(setting.value);
  }
  const auto add = [&](const config::SweepAxis& axis) {
    if (axis.key == "workload") names.insert(axis.values.begin(), axis.values.end());
  };
  std::for_each(sweep.axes.begin(), sweep.axes.end(), add);
  for (const auto& group : sweep.zips) std::for_each(group.begin(), group.end(), add);
  return names;
}

Diagnostic UnknownKey(const std::string& key, const config::YamlLocation& at, std::vector<std::string> symbols) {
  std::vector<std::string> known = symbols;
  known.insert(known.end(), SweepKeys().begin(), SweepKeys().end());
  for (const config::KeyInfo& info : config::ListKeys()) known.push_back(info.key);
  const std::string near = Nearest(key, known);
  std::string hint;
  if (!near.empty()) {
    hint = fmt::format("did you mean '{}'?", near);
  } else if (key.find('.') != std::string::npos) {
    hint = "'spillway list keys' prints the keys of a chip";
  } else if (symbols.empty()) {
    hint = fmt::format("this input has no symbols; there are {} and keys of the chip", fmt::join(SweepKeys(), ", "));
  } else {
    hint = fmt::format("the workload has {}; there are also {} and keys of the chip", fmt::join(symbols, ", "),
                       fmt::join(SweepKeys(), ", "));
  }
  const std::string message = fmt::format("there is no key '{}' to set or vary", key);
  return at.source == nullptr || at.source->file.empty() ? Error(message, hint) : config::ErrorAtNode(at, message, hint);
}

}  // namespace

const std::vector<std::string>& SweepKeys() {
  static const std::vector<std::string> keys = {"workload", "chip", "plan", "variant", "module", "llo", "tag"};
  return keys;
}

std::string BesideSweep(const config::SweepConfig& sweep, const std::string& name) {
  if (sweep.file.empty() || name == "-") return name;
  const std::string beside = JoinPath(DirectoryOf(sweep.file), name);
  return Exists(beside) ? beside : name;
}

Diagnostics CheckSweepKeys(const config::SweepConfig& sweep) {
  Diagnostics errors;
  const std::set<std::string> workloads = WorkloadsOf(sweep);
  if (workloads.empty()) {
    errors.push_back(Error("the sweep names no workload", "write 'base: {workload: attention}', or an axis 'workload'"));
    return errors;
  }
  std::vector<std::string> symbols;
  for (const std::string& name : workloads) {
    const std::string file = WorkloadFileOf(BesideSweep(sweep, name));
    if (file.empty()) continue;
    const Result<config::WorkloadConfig> workload = config::LoadWorkload(file);
    if (!workload.ok()) {
      errors.insert(errors.end(), workload.errors().begin(), workload.errors().end());
      continue;
    }
    for (const config::WorkloadSymbol& symbol : workload->symbols) symbols.push_back(symbol.name);
  }
  if (!errors.empty()) return errors;
  for (const auto& [key, at] : KeysOf(sweep)) {
    const bool known = std::count(SweepKeys().begin(), SweepKeys().end(), key) > 0 ||
                       std::count(symbols.begin(), symbols.end(), key) > 0 || IsChipKey(key);
    if (!known) errors.push_back(UnknownKey(key, at, symbols));
  }
  return errors;
}

SweepPoints::SweepPoints(const config::SweepConfig& sweep, const sweep::PointList& list, std::vector<std::string> search)
    : sweep_(sweep), list_(list), search_(std::move(search)) {
  for (const std::string& file : sweep_.config_files) config_files_.push_back(BesideSweep(sweep_, file));
  config_digest_ = DigestOfFiles(config_files_);
  for (const config::SweepSetting& setting : sweep_.base) {
    if (IsChipKey(setting.key)) base_sets_.push_back(setting.key + "=" + setting.value);
  }
}

void SweepPoints::Apply(const std::string& key, const std::string& value, Request& request) const {
  if (key == "workload") {
    request.input.name = BesideSweep(sweep_, value);
  } else if (key == "chip") {
    request.input.chip = IsYamlName(value) ? BesideSweep(sweep_, value) : value;
  } else if (key == "plan") {
    request.plan.plan = plan::IsPlanFile(value) ? BesideSweep(sweep_, value) : value;
  } else if (key == "variant") {
    request.input.variant = value;
  } else if (key == "module") {
    request.input.module = value;
  } else if (key == "llo") {
    if (value != "auto") request.plan.llo = value == "none" ? value : BesideSweep(sweep_, value);
  } else if (key == "tag") {
    // A name for people.
  } else if (IsChipKey(key)) {
    request.sets.push_back(key + "=" + value);
  } else {
    request.input.bind.push_back(key + "=" + value);
  }
}

SweepPoints::Request SweepPoints::RequestOf(std::size_t point) const {
  Request request;
  for (const config::SweepSetting& setting : sweep_.base) Apply(setting.key, setting.value, request);
  for (std::size_t i = 0; i < list_.axes.size(); ++i) Apply(list_.axes[i].key, list_.points[point][i], request);
  return request;
}

InputRequest SweepPoints::InputRequestFor(const Request& request) {
  InputRequest input = request.input;
  auto known = is_workload_.find(input.name);
  if (known == is_workload_.end()) known = is_workload_.emplace(input.name, !WorkloadFileOf(input.name).empty()).first;
  if (!known->second) {
    input.chip.clear();  // a dump is the same for all chips
  } else if (IsYamlName(input.chip)) {
    // The chip picks the dump of a workload; a file says itself which chip it is.
    const BaseChip& chip = BaseChipOf(input.chip);
    if (chip.chip != nullptr) input.chip = chip.chip->config.name;
  }
  return input;
}

SweepPoints::LoadedInput& SweepPoints::InputOf(const Request& request) {
  const InputRequest input = InputRequestFor(request);
  return inputs_[fmt::format("{}\n{}\n{}\n{}\n{}", input.name, input.chip, input.module, input.variant,
                             fmt::join(input.bind, "\n"))];
}

Diagnostics SweepPoints::Load(std::size_t point) {
  const Request request = RequestOf(point);
  LoadedInput& loaded = InputOf(request);
  if (!loaded.digest.empty()) return {};
  Diagnostics notes;
  Result<Input> input = LoadInput(InputRequestFor(request), notes);
  if (!input.ok()) {
    loaded.errors = input.errors();
    loaded.digest = sweep::Digest().Add(StatusOf(loaded.errors)).Hex();
    return notes;
  }
  loaded.prepared = std::make_unique<Prepared>();
  loaded.prepared->input = std::move(*input);
  loaded.digest = DigestOf(loaded.prepared->input);
  if (loaded.prepared->input.rebind) {
    sweep::Digest digest;
    digest.Add(loaded.digest);
    for (const hlo::Binding& b : loaded.prepared->input.rebind->bindings) {
      digest.Add(fmt::format("{}={} to {}", b.symbol, b.from, b.to));
    }
    for (const auto& [name, dims] : loaded.prepared->input.rebind->dimensions) {
      digest.Add(fmt::format("{}:{}", name, fmt::join(dims, ",")));
    }
    loaded.digest = digest.Hex();
  }
  LoadAssignment(*loaded.prepared, notes);
  return notes;
}

Result<config::LoadedChip> SweepPoints::LoadChip(const std::string& chip, const std::vector<std::string>& sets,
                                                 bool want_resolved) {
  if (chip.empty()) return Error("no chip is given", "add --chip NAME or an axis 'chip'");
  return config::LoadChip({chip, config_files_, sets, search_, want_resolved, &chip_files_});
}

const SweepPoints::BaseChip& SweepPoints::BaseChipOf(const std::string& chip) {
  const auto [it, fresh] = chips_.try_emplace(chip);
  if (!fresh) return it->second;
  Result<config::LoadedChip> loaded = LoadChip(chip, base_sets_, true);
  if (loaded.ok()) {
    it->second.digest = sweep::Digest().Add(loaded->resolved_yaml).Hex();
    it->second.chip = std::make_shared<config::LoadedChip>(std::move(*loaded));
  } else {
    it->second.digest = sweep::Digest().Add(StatusOf(loaded.errors())).Hex();
  }
  return it->second;
}

std::string SweepPoints::Key(std::size_t point) {
  const Request request = RequestOf(point);
  const LoadedInput& input = InputOf(request);
  const std::string chip = input.prepared == nullptr || !request.input.chip.empty() ? request.input.chip
                                                                                     : input.prepared->input.chip;
  sweep::Digest digest;
  digest.Add(Version()).Add(input.digest).Add(chip).Add(BaseChipOf(chip).digest).Add(config_digest_);
  digest.Add(request.input.module).Add(request.input.variant).Add(request.plan.plan);
  digest.Add(request.plan.llo.value_or("auto"));
  if (request.plan.llo && *request.plan.llo != "none") {
    std::vector<std::string> files;
    for (const std::string& name : FilesIn(*request.plan.llo)) files.push_back(JoinPath(*request.plan.llo, name));
    digest.Add(DigestOfFiles(files));
  }
  for (const std::string& bind : request.input.bind) digest.Add(bind);
  for (const std::string& set : request.sets) digest.Add(set);
  return digest.Hex();
}

/// What is known to be wrong with a point before it runs.
const Diagnostics& SweepPoints::ErrorsOf(std::size_t point) {
  const auto [it, fresh] = errors_.try_emplace(point);
  if (!fresh) return it->second;
  const Request request = RequestOf(point);
  const LoadedInput& input = InputOf(request);
  if (input.prepared == nullptr) return it->second = input.errors;
  if (!input.rewriting_errors.empty()) return it->second = input.rewriting_errors;
  const Result<plan::PlanChoice> plan = plan::ChoosePlan(request.plan.plan);
  if (!plan.ok()) return it->second = plan.errors();
  if (request.plan.llo && *request.plan.llo != "none" && !IsDirectory(*request.plan.llo)) {
    return it->second = {Error(fmt::format("there is no directory '{}'", *request.plan.llo),
                               "auto: the bundles of the dump, if it has any; none: the model")};
  }
  const std::string& name = request.input.chip.empty() ? input.prepared->input.chip : request.input.chip;
  const Result<config::LoadedChip> chip = LoadChip(name, request.sets, false);
  if (!chip.ok()) it->second = chip.errors();
  return it->second;
}

config::YamlLocation SweepPoints::PlaceOf(const std::string& key) const {
  for (const config::SweepAxis& axis : sweep_.axes) {
    if (axis.key == key) return axis.at;
  }
  for (const auto& group : sweep_.zips) {
    for (const config::SweepAxis& axis : group) {
      if (axis.key == key) return axis.at;
    }
  }
  return {};
}

Diagnostics SweepPoints::CheckValues() {
  const std::size_t all = list_.points.size();
  const auto works = [&](std::size_t point) { return ErrorsOf(point).empty(); };
  std::size_t first = 0;
  while (first < all && !works(first)) ++first;
  if (first == all) return ErrorsOf(0);
  Diagnostics errors;
  for (std::size_t axis = 0; axis < list_.axes.size(); ++axis) {
    std::map<std::string, std::vector<std::size_t>> points;
    for (std::size_t i = 0; i < all; ++i) points[list_.points[i][axis]].push_back(i);
    const std::string& key = list_.axes[axis].key;
    for (const std::string& value : list_.axes[axis].values) {
      const std::vector<std::size_t>& mine = points[value];  // empty: excluded
      if (mine.empty() || std::any_of(mine.begin(), mine.end(), works)) continue;
      Diagnostic why = ErrorsOf(mine.front()).front();
      why.message = fmt::format("{}={}: {}", key, value, why.message);
      const config::YamlLocation at = PlaceOf(key);
      const bool in_file = at.source != nullptr && !at.source->file.empty();
      errors.push_back(in_file ? config::ErrorAtNode(at, why.message, why.hint) : std::move(why));
    }
  }
  return errors;
}

double SweepPoints::BytesOf(const Request& request, LoadedInput& input) {
  const std::string chip = request.input.chip.empty() ? input.prepared->input.chip : request.input.chip;
  const std::string key = fmt::format("{}\n{}\n{}", input.digest, chip, request.plan.plan);
  const auto [it, fresh] = bytes_.emplace(key, 0);
  if (!fresh) return it->second;
  const BaseChip& base = BaseChipOf(chip);
  if (base.chip == nullptr) return 0;
  Prepared& prepared = *input.prepared;
  prepared.chip = *base.chip;
  PlanRequest plan = request.plan;
  plan.llo = "none";  // the bytes are the same, and the model is faster to walk through
  Diagnostics messages;
  if (const Status planned = MakeProgram(plan, prepared, messages); planned.ok()) {
    it->second = BytesMoved(prepared.program.items);
  } else if (prepared.input.module == nullptr) {
    input.rewriting_errors = planned.errors();  // whatever the chip and the plan
  }
  for (Diagnostic& message : messages) {
    const auto same = [&](const Diagnostic& d) { return d.message == message.message; };
    const bool known = std::any_of(rewriting_notes_.begin(), rewriting_notes_.end(), same);
    if (prepared.input.rebind && !known) rewriting_notes_.push_back(std::move(message));
  }
  prepared.program = {};
  return it->second;
}

double SweepPoints::Cost(std::size_t point) {
  // Loading a chip and planning take about as long as the replay of 64 MiB at run level; the command level of
  // the HBM model is an order of magnitude slower.
  constexpr double kBytesOfSmallPoint = 64.0 * 1024 * 1024, kCommandLevel = 10;
  const Request request = RequestOf(point);
  LoadedInput& input = InputOf(request);
  if (input.prepared == nullptr) return 1;
  bool command = false;
  for (const std::string& set : request.sets) {
    if (set.rfind("hbm.fidelity=", 0) == 0) command = set == "hbm.fidelity=command";
  }
  return 1 + BytesOf(request, input) / kBytesOfSmallPoint * (command ? kCommandLevel : 1);
}

sweep::PointResult SweepPoints::Run(std::size_t point) {
  sweep::PointResult result;
  const Request request = RequestOf(point);
  LoadedInput& input = InputOf(request);
  if (input.prepared == nullptr) {
    result.status = StatusOf(input.errors);
    return result;
  }
  Prepared& prepared = *input.prepared;
  try {
    Result<config::LoadedChip> chip =
        LoadChip(request.input.chip.empty() ? prepared.input.chip : request.input.chip, request.sets, false);
    if (!chip.ok()) {
      result.status = StatusOf(chip.errors());
      return result;
    }
    prepared.program = {};  // it refers to the chip
    prepared.chip = std::move(*chip);
    Diagnostics ignored;
    if (const Status planned = MakeProgram(request.plan, prepared, ignored); !planned.ok()) {
      result.status = StatusOf(planned.errors());
      return result;
    }
    engine::SimulateOptions options;
    options.record_timeline = false;
    const Result<engine::RunResult> run = engine::Simulate(prepared.program, prepared.chip.config, options);
    if (!run.ok()) {
      result.status = StatusOf(run.errors());
    } else if (run->limit_reached) {
      result.status = StatusOf({run->limit});
    } else {
      result = Figures(run->summary);
    }
    // What was measured is the compiler's program, not one of our plans.
    if (result.ok() && prepared.program.plan == "as-compiled") AddMeasurement(prepared.input.expect, result);
  } catch (const std::bad_alloc&) {
    result = {};
    result.status = "out of memory";
  } catch (const std::exception& e) {
    result = {};
    result.status = sweep::OneLine(fmt::format("internal error: {}", e.what()));
  }
  return result;
}

std::string SweepPoints::Name(std::size_t point) const {
  std::string name;
  for (std::size_t i = 0; i < list_.axes.size(); ++i) {
    name += fmt::format("{}{}={}", i == 0 ? "" : " ", list_.axes[i].key, list_.points[point][i]);
  }
  return name;
}

}  // namespace spillway::cli
