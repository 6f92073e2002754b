// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/input.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>

#include "sim/base/file.h"
#include "sim/base/units.h"
#include "sim/cli/options.h"
#include "sim/cli/paths.h"
#include "sim/cli/workloads.h"

namespace spillway::cli {
namespace {

using Modules = std::vector<std::unique_ptr<hlo::Module>>;

constexpr const char* kDumpHint =
    "XLA_FLAGS=\"--xla_dump_to=DIR --xla_dump_hlo_as_text\" writes *after_optimizations.txt, the file needed "
    "here";

// Names of the file that holds a module's final HLO, the preferred first.
const char* const kFinalHlo[] = {
    "after_optimizations.txt",    "after_optimizations.hlo",    "after_optimizations.txt.gz",
    "after_optimizations.hlo.gz", "after_optimizations.hlo.pb", "after_optimizations.hlo.pb.gz",
};

/// A byte that HLO text cannot contain.
bool IsBinary(const std::string& bytes) {
  const std::size_t probe = std::min<std::size_t>(bytes.size(), 4096);
  return std::any_of(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(probe), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 && byte != '\n' && byte != '\r' && byte != '\t' && byte != '\f';
  });
}

bool NamedProto(const std::string& file) { return EndsWith(file, ".pb") || EndsWith(file, ".pb.gz"); }

std::size_t SizeOf(const hlo::Module& module) {
  std::size_t instructions = 0;
  for (const hlo::Computation& computation : module.computations)
    instructions += computation.instructions.size();
  return instructions;
}

/// XLA's buffer assignment of the module whose final HLO is `file`; empty if it is not there.
std::string AssignmentBeside(const std::string& file) {
  const std::string stage = "after_optimizations";
  const std::size_t at = file.rfind(stage);
  if (at == std::string::npos || file.find('/', at) != std::string::npos) return "";
  for (const char* suffix : {"-buffer-assignment.txt", "-buffer-assignment.txt.gz"}) {
    const std::string path = file.substr(0, at + stage.size()) + suffix;
    if (Exists(path)) return path;
  }
  return "";
}

Diagnostic Note(std::string message, std::string hint) {
  Diagnostic note = Warning(std::move(message), std::move(hint));
  note.severity = Severity::kNote;
  return note;
}

/// One of the modules of a file: the wanted, else the largest (the first of equals).
Result<std::unique_ptr<hlo::Module>> Pick(Modules modules, const std::string& wanted, const std::string& file,
                                          Diagnostics& notes) {
  if (modules.empty()) return Error(fmt::format("'{}' holds no HLO module", file));
  if (!wanted.empty()) {
    std::vector<std::string> names;
    for (auto& module : modules) {
      if (module->name == wanted) return std::move(module);
      names.emplace_back(module->name);
    }
    Diagnostic error = UnknownWord("module", wanted, names);
    error.file = file;
    return error;
  }
  const auto largest = std::max_element(modules.begin(), modules.end(),
                                        [](const auto& a, const auto& b) { return SizeOf(*a) < SizeOf(*b); });
  if (modules.size() > 1) {
    notes.push_back(Note(fmt::format("'{}' holds {} modules; the largest, '{}', is used", file,
                                     modules.size(), (*largest)->name),
                         "--module NAME picks another"));
  }
  return std::move(*largest);
}

/// "module_0007.jit_step.tpu" answers to its whole name and to each part between dots.
bool Answers(const DumpModule& module, const std::string& wanted) {
  return module.name == wanted || ("." + module.name + ".").find("." + wanted + ".") != std::string::npos;
}

std::string ListModules(const std::vector<DumpModule>& modules) {
  constexpr std::size_t kMost = 20;
  std::string list;
  for (std::size_t i = 0; i < std::min(modules.size(), kMost); ++i) {
    list += fmt::format("{}{}", i == 0 ? "" : ", ", modules[i].name);
  }
  if (modules.size() > kMost) list += fmt::format(" and {} more", modules.size() - kMost);
  return list;
}

Result<DumpModule> PickDump(const std::string& directory, const std::string& wanted, Diagnostics& notes) {
  std::vector<DumpModule> modules = FindDumpModules(directory);
  if (modules.empty()) {
    if (Exists(JoinPath(directory, "summary.json"))) {
      return Error(fmt::format("'{}' is the result of a run, not a dump", directory),
                   "'spillway report' and 'spillway export' read it");
    }
    return Error(fmt::format("directory '{}' holds no *after_optimizations.txt", directory), kDumpHint);
  }
  if (!wanted.empty()) {
    std::vector<DumpModule> hits;
    for (const DumpModule& module : modules) {
      if (Answers(module, wanted)) hits.push_back(module);
    }
    if (hits.size() == 1) return hits.front();
    const std::string hint = fmt::format("modules: {}", ListModules(hits.empty() ? modules : hits));
    return hits.empty()
               ? Error(fmt::format("no module '{}' in '{}'", wanted, directory), hint)
               : Error(fmt::format("{} modules of '{}' are named '{}'", hits.size(), directory, wanted),
                       hint);
  }
  const auto largest =
      std::max_element(modules.begin(), modules.end(),
                       [](const DumpModule& a, const DumpModule& b) { return a.size < b.size; });
  if (modules.size() > 1) {
    notes.push_back(Note(fmt::format("'{}' holds {} modules; the largest, '{}', is used", directory,
                                     modules.size(), largest->name),
                         "--module NAME picks another of: " + ListModules(modules)));
  }
  return *largest;
}

Result<Input> LoadFile(const InputRequest& request, const std::string& file, Diagnostics& notes) {
  Result<std::string> bytes = ReadFile(file);
  if (!bytes.ok()) return bytes.errors();
  const std::string shown = file == "-" ? "<stdin>" : file;
  Result<Modules> modules = ReadModules(std::move(*bytes), shown);
  if (!modules.ok()) return modules.errors();
  Result<std::unique_ptr<hlo::Module>> module = Pick(std::move(*modules), request.module, shown, notes);
  if (!module.ok()) return module.errors();
  Input input;
  input.name = request.name;
  input.file = file;
  input.chip = request.chip;
  input.module = std::move(*module);
  return input;
}

Result<Input> LoadDump(const InputRequest& request, const std::string& directory, Diagnostics& notes) {
  Result<DumpModule> dump = PickDump(directory, request.module, notes);
  if (!dump.ok()) return dump.errors();
  InputRequest inner = request;
  inner.module.clear();
  Result<Input> input = LoadFile(inner, dump->file, notes);
  if (!input.ok()) return input;
  input->assignment_file = dump->assignment;
  input->llo_directory = FindBundles(directory);
  return input;
}

/// Rewrites the input's shapes, unless nothing changes. What the compiler said of the original, such as addresses
/// and bundles, is not for the result.
void SetRebind(hlo::RebindRequest rebind, Input& input) {
  const bool same = std::all_of(rebind.bindings.begin(), rebind.bindings.end(),
                                [](const hlo::Binding& binding) { return binding.from == binding.to; });
  if (same) return;
  input.rebind = std::move(rebind);
  input.assignment_file.clear();
  input.llo_directory.clear();
  input.expect.clear();
}

Result<Input> LoadWorkloadInput(const InputRequest& request, const std::string& path, Diagnostics& notes) {
  if (!request.bind_from.empty() || !request.bind_dimensions.empty()) {
    return Error(fmt::format("--bind-from and --bind-dimensions are for dumps; '{}' is a workload", request.name),
                 "a workload says it itself: 'bind:' and 'dimensions:'");
  }
  const Result<config::WorkloadConfig> workload = config::LoadWorkload(path);
  if (!workload.ok()) return workload.errors();
  const Result<config::WorkloadPoint> point =
      config::SelectPoint(*workload, request.chip, request.variant, request.bind);
  if (!point.ok()) return point.errors();
  InputRequest inner = request;
  inner.chip = point->chip;
  const std::string& place = point->dump.empty() ? point->hlo : point->dump;
  if (!Exists(place)) {
    return Error(fmt::format("workload '{}' has no file '{}'", workload->name, place),
                 "the compiler may have refused that size: MANIFEST.json beside the workload says so");
  }
  Result<Input> input = IsDirectory(place) ? LoadDump(inner, place, notes) : LoadFile(inner, place, notes);
  if (!input.ok()) return input;
  input->symbols = point->symbols;
  for (const config::WorkloadExpectation& each : workload->expect) {
    const bool same_compiler = each.variant.empty() || each.variant == point->variant;
    if (each.chip == point->chip && each.symbols == point->symbols && same_compiler)
      input->expect.push_back(each);
  }
  if (!point->compiled.empty() && point->dump.empty()) {
    hlo::RebindRequest rebind;
    rebind.dimensions = point->dimensions;
    for (const auto& [symbol, from] : point->compiled) rebind.bindings.push_back({symbol, from, point->symbols.at(symbol)});
    SetRebind(std::move(rebind), *input);
  }
  return input;
}

Diagnostic NothingThere(const std::string& name) {
  Diagnostic error = Error(fmt::format("there is no file, directory or workload '{}'", name));
  std::vector<std::string> known;
  for (const NamedWorkload& workload : BundledWorkloads()) known.push_back(workload.name);
  const std::string near = Nearest(name, known);
  error.hint = near.empty() ? "'spillway list workloads' prints the workloads"
                            : fmt::format("did you mean '{}'?", near);
  return error;
}

/// "S=8192" into `values`.
Status ReadValues(const std::vector<std::string>& texts, std::map<std::string, std::int64_t>& values) {
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const char* end = text.data() + text.size();
    std::int64_t number = 0;
    const char* digits = equals == std::string::npos ? end : text.data() + equals + 1;
    const auto [stop, code] = std::from_chars(digits, end, number);
    if (equals == 0 || digits == end || code != std::errc() || stop != end || number < 1) {
      return Error(fmt::format("'{}' is not of the form SYMBOL=SIZE", text), "for example S=8192");
    }
    values[text.substr(0, equals)] = number;
  }
  return Done{};
}

/// "q:0,1" into `dimensions`.
Status ReadDimensions(const std::vector<std::string>& texts, std::map<std::string, std::vector<int>>& dimensions) {
  for (const std::string& text : texts) {
    const std::size_t colon = text.rfind(':');
    bool good = colon != std::string::npos && colon > 0;
    std::vector<int> list;
    for (std::size_t at = good ? colon + 1 : text.size(); good;) {
      const std::size_t end = std::min(text.find(',', at), text.size());
      int number = 0;
      const auto [stop, code] = std::from_chars(text.data() + at, text.data() + end, number);
      good = end > at && code == std::errc() && stop == text.data() + end && number >= 0 && number < hlo::kMaxRank;
      list.push_back(number);
      if (end == text.size()) break;
      at = end + 1;
    }
    if (!good) {
      return Error(fmt::format("'{}' is not of the form PARAMETER:DIMENSION,…", text), "for example q:0");
    }
    dimensions[text.substr(0, colon)] = list;
  }
  return Done{};
}

/// What --bind, --bind-from and --bind-dimensions ask of one dump.
Status RequestRebind(const InputRequest& request, Input& input) {
  if (request.bind_from.empty() && request.bind_dimensions.empty()) return Done{};
  std::map<std::string, std::int64_t> from, to;
  hlo::RebindRequest rebind;
  for (const Status& read : {ReadValues(request.bind_from, from), ReadValues(request.bind, to),
                             ReadDimensions(request.bind_dimensions, rebind.dimensions)}) {
    if (!read.ok()) return read.errors();
  }
  for (const auto& [symbol, value] : to) {
    if (from.count(symbol) == 0) {
      return Error(fmt::format("what {} was when '{}' was compiled is not given", symbol, request.name),
                   fmt::format("add --bind-from {}=SIZE", symbol));
    }
    rebind.bindings.push_back({symbol, from[symbol], value});
  }
  if (to.size() < from.size()) {
    return Error("--bind-from needs a --bind for the same symbol", "--bind S=16384 --bind-from S=8192");
  }
  if (to.empty()) return Error("--bind-dimensions needs --bind and --bind-from");
  SetRebind(std::move(rebind), input);
  return Done{};
}

/// --bind and --variant choose among the dumps of a workload; anything else is one dump already.
Diagnostics CheckWorkloadOptions(const InputRequest& request) {
  Diagnostics errors;
  if (!request.bind.empty() && request.bind_from.empty()) {
    errors.push_back(Error(fmt::format("--bind is for workloads; '{}' is one dump", request.name),
                           "to rewrite its shapes, say what they were compiled for, such as --bind-from S=8192"));
  }
  if (!request.variant.empty()) {
    errors.push_back(Error(fmt::format("--variant is for workloads; '{}' is one dump", request.name)));
  }
  return errors;
}

}  // namespace

Result<Modules> ReadModules(std::string bytes, const std::string& file) {
  const bool named_proto = NamedProto(file);
  if (!named_proto && !IsBinary(bytes)) return hlo::ParseModules(std::move(bytes), file);
  Result<std::unique_ptr<hlo::Module>> module = hlo::ReadProto(std::move(bytes), file);
  if (!module.ok()) {
    Diagnostics errors = module.errors();
    if (!named_proto) {
      Diagnostic error = Error("this is neither HLO text nor an HLO proto", kDumpHint);
      error.file = file;
      errors = {error};
    }
    return errors;
  }
  Modules modules;
  modules.push_back(std::move(*module));
  return modules;
}

std::vector<DumpModule> FindDumpModules(const std::string& directory) {
  const std::vector<std::string> files = FilesIn(directory);
  std::map<std::string, DumpModule> modules;
  for (const char* end : kFinalHlo) {
    for (const std::string& name : files) {
      if (!EndsWith(name, end)) continue;
      DumpModule module;
      module.name = name.substr(0, name.size() - std::string(end).size());
      while (!module.name.empty() && module.name.back() == '.') module.name.pop_back();
      if (module.name.empty()) module.name = "module";
      if (modules.count(module.name) > 0) continue;
      module.file = JoinPath(directory, name);
      std::error_code ignored;
      module.size = std::filesystem::file_size(module.file, ignored);
      module.assignment = AssignmentBeside(module.file);
      modules.emplace(module.name, module);
    }
  }
  std::vector<DumpModule> list;
  for (auto& entry : modules) list.push_back(std::move(entry.second));
  return list;
}

std::string FindBundles(const std::string& directory) {
  for (const std::string& folder : {directory, JoinPath(directory, "llo")}) {
    for (const std::string& name : FilesIn(folder)) {
      if (name.find("final_bundles") != std::string::npos) return folder;
    }
  }
  return "";
}

Result<Input> LoadInput(const InputRequest& request, Diagnostics& notes) {
  const bool standard_input = request.name == "-";
  const bool on_disk = standard_input || Exists(request.name);
  if (on_disk && IsYamlName(request.name)) return LoadWorkloadInput(request, request.name, notes);
  if (!on_disk) {
    const std::string workload = FindWorkload(request.name);
    if (workload.empty()) return NothingThere(request.name);
    return LoadWorkloadInput(request, workload, notes);
  }
  if (Diagnostics errors = CheckWorkloadOptions(request); !errors.empty()) return errors;
  const bool directory = !standard_input && IsDirectory(request.name);
  Result<Input> input = directory ? LoadDump(request, request.name, notes) : LoadFile(request, request.name, notes);
  if (!input.ok()) return input;
  if (!directory && !standard_input) input->assignment_file = AssignmentBeside(request.name);
  const Status rebind = RequestRebind(request, *input);
  if (!rebind.ok()) return rebind.errors();
  return input;
}

}  // namespace spillway::cli
