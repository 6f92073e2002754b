// SPDX-License-Identifier: Apache-2.0
#include "sim/llo/dump.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "sim/base/file.h"
#include "sim/llo/bundle_text.h"

namespace spillway::llo {
namespace {

constexpr std::string_view kBundlesSuffix = "-final_bundles.txt";
constexpr std::string_view kUtilizationSuffix = "-final_hlo-static-per-bundle-utilization.txt";
constexpr std::string_view kDeduplicationSuffix = "-deduplication-map.txt";
constexpr std::string_view kProgram = "TLP";
constexpr std::size_t kMaxThreads = 8;

bool IsDigits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool TakeSuffix(std::string_view* text, std::string_view suffix) {
  if (text->size() < suffix.size() || text->substr(text->size() - suffix.size()) != suffix) return false;
  text->remove_suffix(suffix.size());
  return true;
}

enum class FileKind { kBundles, kUtilization, kDeduplication };

struct FileName {
  FileKind kind = FileKind::kBundles;
  std::string stamp;     // Digits before the op, may be empty.
  std::string op;
  std::string path;
};

// `1795977240665001423-multiply_reduce_fusion-03-final_bundles.txt.gz`
bool ParseName(const std::filesystem::path& path, FileName* out) {
  std::string name = path.filename().string();
  std::string_view rest = name;
  TakeSuffix(&rest, ".gz");
  if (TakeSuffix(&rest, kBundlesSuffix)) {
    out->kind = FileKind::kBundles;
  } else if (TakeSuffix(&rest, kUtilizationSuffix)) {
    out->kind = FileKind::kUtilization;
  } else if (TakeSuffix(&rest, kDeduplicationSuffix)) {
    out->kind = FileKind::kDeduplication;
  } else {
    return false;
  }
  std::size_t dash = rest.rfind('-');
  if (dash != std::string_view::npos && IsDigits(rest.substr(dash + 1))) rest = rest.substr(0, dash);
  dash = rest.find('-');
  if (dash != std::string_view::npos && dash >= 12 && IsDigits(rest.substr(0, dash))) {
    out->stamp = std::string(rest.substr(0, dash));
    rest.remove_prefix(dash + 1);
  }
  out->op = std::string(rest);
  out->path = path.string();
  return !out->op.empty();
}

// Time order: stamps are numbers of one length in practice; shorter ones are older.
bool Before(const FileName& a, const FileName& b) {
  if (a.stamp.size() != b.stamp.size()) return a.stamp.size() < b.stamp.size();
  if (a.stamp != b.stamp) return a.stamp < b.stamp;
  if ((a.op == kProgram) != (b.op == kProgram)) return a.op == kProgram;
  return a.path < b.path;
}

std::string WithoutClones(std::string name) {
  for (std::size_t at = name.rfind(".clone"); at != std::string::npos; at = name.rfind(".clone")) {
    std::string_view after = std::string_view(name).substr(at + 6);
    if (!after.empty() && (after.front() != '.' || !IsDigits(after.substr(1)))) break;
    name.resize(at);
  }
  return name;
}

std::map<std::string, std::string> ReadDuplicates(const std::string& path) {
  std::map<std::string, std::string> duplicates;
  Result<std::string> text = ReadFile(path);
  if (!text.ok()) return duplicates;
  std::string key;
  std::string_view all = *text;
  for (std::size_t at = 0; at < all.size();) {
    std::size_t end = std::min(all.find('\n', at), all.size());
    std::string_view line = all.substr(at, end - at);
    at = end + 1;
    if (line.substr(0, 4) == "key:") {
      key = std::string(Trim(line.substr(4)));
    } else if (line.substr(0, 2) == "  " && !key.empty() && Trim(line) != key) {
      duplicates[std::string(Trim(line))] = key;
    }
  }
  return duplicates;
}

Result<std::shared_ptr<const Kernel>> ReadKernel(const std::string& path, DecodeOptions options) {
  const Result<std::string> text = ReadFile(path);
  if (!text.ok()) return text.errors();
  Result<Kernel> kernel = Kernel::Parse(*text, path, options);
  if (!kernel.ok()) return kernel.errors();
  return std::shared_ptr<const Kernel>(std::make_shared<const Kernel>(std::move(*kernel)));
}

struct Module {
  std::vector<FileName> files;
};

std::vector<Module> SplitModules(std::vector<FileName> files) {
  std::sort(files.begin(), files.end(), Before);
  std::vector<Module> modules;
  std::string program_stamp;
  for (FileName& file : files) {
    bool program = file.op == kProgram && !file.stamp.empty();
    if (modules.empty() || (program && !program_stamp.empty() && file.stamp != program_stamp)) {
      modules.emplace_back();
    }
    if (program) program_stamp = file.stamp;
    modules.back().files.push_back(std::move(file));
  }
  return modules;
}

std::size_t Score(const Module& module, const std::set<std::string>& ops) {
  std::set<std::string> found;
  for (const FileName& file : module.files) {
    if (file.kind == FileKind::kBundles && (ops.empty() || ops.count(file.op) > 0)) found.insert(file.op);
  }
  return found.size();
}

}  // namespace

Result<Dump> Dump::Open(const std::string& directory, const std::vector<std::string>& ops,
                        DecodeOptions options) {
  std::error_code code;
  if (!std::filesystem::is_directory(directory, code)) {
    Diagnostic error = Error("not a directory of LLO files");
    error.file = directory;
    return error;
  }
  std::vector<FileName> files;
  bool any_bundles = false;
  for (std::filesystem::directory_iterator it(directory, code), end; !code && it != end; it.increment(code)) {
    FileName file;
    if (!ParseName(it->path(), &file)) continue;
    any_bundles |= file.kind == FileKind::kBundles;
    files.push_back(std::move(file));
  }
  if (code || !any_bundles) {
    Diagnostic error = Error(code ? "cannot read the directory: " + code.message()
                                  : "no `*-final_bundles.txt` in this directory");
    error.file = directory;
    error.hint = "dump them with LIBTPU_INIT_ARGS=\"--xla_jf_dump_to=DIR --xla_jf_dump_llo_text=true\"";
    return error;
  }
  std::vector<Module> modules = SplitModules(std::move(files));
  std::set<std::string> wanted(ops.begin(), ops.end());
  const Module* best = &modules.front();
  for (const Module& module : modules) {
    if (Score(module, wanted) >= Score(*best, wanted)) best = &module;
  }
  Dump dump;
  dump.directory_ = directory;
  dump.options_ = options;
  dump.modules_ = static_cast<int>(modules.size());
  std::map<std::string, KernelFiles> kernels;
  for (const FileName& file : best->files) {
    if (file.kind == FileKind::kDeduplication) {
      dump.duplicates_ = ReadDuplicates(file.path);
      continue;
    }
    KernelFiles& entry = file.op == kProgram ? dump.program_ : kernels[file.op];
    entry.op = file.op;
    (file.kind == FileKind::kBundles ? entry.bundles : entry.utilization) = file.path;
  }
  for (auto& [op, entry] : kernels) {
    if (op.front() == '<') continue;
    if (!entry.bundles.empty()) dump.without_clones_.emplace(WithoutClones(op), op);
    dump.kernels_.push_back(std::move(entry));
  }
  return dump;
}

const KernelFiles* Dump::Find(const std::string& name) const {
  const auto before = [](const KernelFiles& entry, const std::string& op) { return entry.op < op; };
  const auto found = std::lower_bound(kernels_.begin(), kernels_.end(), name, before);
  return found != kernels_.end() && found->op == name ? &*found : nullptr;
}

std::string Dump::Resolve(const std::string& op) const {
  const auto has = [this](const std::string& name) {
    const KernelFiles* files = Find(name);
    return files != nullptr && !files->bundles.empty();
  };
  const std::string bare = WithoutClones(op);
  for (const std::string* name : {&op, &bare}) {
    if (has(*name)) return *name;
    const auto shared = duplicates_.find(*name);
    if (shared != duplicates_.end() && has(shared->second)) return shared->second;
  }
  const auto clone = without_clones_.find(bare);
  return clone != without_clones_.end() ? clone->second : std::string();
}

Result<std::shared_ptr<const Kernel>> Dump::LoadFile(const std::string& path) const {
  auto cached = cache_.find(path);
  if (cached != cache_.end()) return cached->second;
  Result<std::shared_ptr<const Kernel>> kernel = ReadKernel(path, options_);
  if (kernel.ok()) cache_[path] = *kernel;
  return kernel;
}

// Empty if there are no bundles of `op`.
std::string Dump::PathOf(const std::string& op) const {
  const KernelFiles* files = Find(Resolve(op));
  return files != nullptr ? files->bundles : std::string();
}

Result<std::shared_ptr<const Kernel>> Dump::Load(const std::string& op) const {
  const std::string path = PathOf(op);
  if (!path.empty()) return LoadFile(path);
  return Error(fmt::format("no bundles of `{}` in {}", op, directory_));
}

void Dump::Preload(const std::vector<std::string>& ops) const {
  std::map<std::string, std::shared_ptr<const Kernel>> wanted;
  for (const std::string& op : ops) {
    std::string path = PathOf(op);
    if (!path.empty() && cache_.count(path) == 0) wanted.emplace(std::move(path), nullptr);
  }
  std::vector<std::pair<std::uintmax_t, decltype(wanted)::iterator>> files;
  for (auto it = wanted.begin(); it != wanted.end(); ++it) {
    std::error_code ignored;
    files.emplace_back(std::filesystem::file_size(it->first, ignored), it);
  }
  // The largest first: the threads then end at about the same time.
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < files.size(); i = next++) {
      Result<std::shared_ptr<const Kernel>> kernel = ReadKernel(files[i].second->first, options_);
      if (kernel.ok()) files[i].second->second = std::move(*kernel);
    }
  };
  std::vector<std::thread> helpers;
  const std::size_t cores = std::min<std::size_t>({std::thread::hardware_concurrency(), files.size(), kMaxThreads});
  try {
    while (helpers.size() + 1 < cores) helpers.emplace_back(work);
  } catch (const std::system_error&) {
    // No more threads to be had: this one does what is left.
  }
  work();
  for (std::thread& helper : helpers) helper.join();
  for (auto& [path, kernel] : wanted) {
    if (kernel != nullptr) cache_[path] = std::move(kernel);
  }
}

Result<std::shared_ptr<const Kernel>> Dump::LoadProgram() const {
  if (!has_program()) return Error(fmt::format("no top-level program (TLP) in {}", directory_));
  return LoadFile(program_.bundles);
}

Result<Utilization> Dump::LoadUtilization(const std::string& op, const Kernel& kernel) const {
  const KernelFiles* files = Find(Resolve(op));
  if (files == nullptr || files->utilization.empty()) {
    return Error(fmt::format("no utilisation table of `{}` in {}", op, directory_));
  }
  const Result<std::string> text = ReadFile(files->utilization);
  if (!text.ok()) return text.errors();
  Result<Utilization> table = Utilization::Parse(*text, files->utilization);
  if (table.ok() && static_cast<std::int64_t>(table->bundles()) != kernel.bundle_count()) {
    Diagnostic error = Error(fmt::format("{} rows for {} bundles", table->bundles(), kernel.bundle_count()));
    error.file = files->utilization;
    return error;
  }
  return table;
}

std::vector<std::string> Dump::Missing(const std::vector<std::string>& ops) const {
  std::vector<std::string> missing;
  for (const std::string& op : ops) {
    if (Resolve(op).empty()) missing.push_back(op);
  }
  return missing;
}

}  // namespace spillway::llo
