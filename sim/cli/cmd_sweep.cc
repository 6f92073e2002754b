// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sched.h>

#include <chrono>
#include <cstdlib>
#include <algorithm>
#include <filesystem>

#include "sim/base/file.h"
#include "sim/base/worker_pool.h"
#include "sim/cli/commands.h"
#include "sim/cli/common_options.h"
#include "sim/cli/interrupt.h"
#include "sim/cli/options.h"
#include "sim/cli/paths.h"
#include "sim/cli/session.h"
#include "sim/cli/sweep_output.h"
#include "sim/cli/sweep_points.h"
#include "sim/cli/workloads.h"
#include "sim/sweep/resolved_spec.h"
#include "sim/sweep/shards.h"
#include "sim/sweep/tables.h"

namespace spillway::cli {
namespace {

constexpr int kMaxJobs = 1024;

int AvailableCores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

Result<int> JobsOf(const Arguments& arguments) {
  if (!arguments.Has("jobs")) return AvailableCores();
  const std::string text = arguments.Get("jobs");
  const bool digits = text.size() <= 4 && text.find_first_not_of("0123456789") == std::string::npos;
  const int jobs = digits ? std::atoi(text.c_str()) : 0;
  if (jobs < 1 || jobs > kMaxJobs) return Error(fmt::format("-j {}: it must be 1 to {}", text, kMaxJobs));
  return jobs;
}

/// Whether something of the sweep varies `key`.
bool Varies(const config::SweepConfig& sweep, const std::string& key) {
  const auto is = [&](const config::SweepAxis& axis) { return axis.key == key; };
  return std::any_of(sweep.axes.begin(), sweep.axes.end(), is) ||
         std::any_of(sweep.zips.begin(), sweep.zips.end(),
                     [&](const auto& group) { return std::any_of(group.begin(), group.end(), is); });
}

/// An option of the command line over what the file says.
Status Fix(config::SweepConfig& sweep, const std::string& key, const std::string& value, const std::string& option) {
  if (Varies(sweep, key)) {
    return Error(fmt::format("{}: '{}' is an axis of this sweep", option, key),
                 fmt::format("--axis {}={} makes it one value", key, value));
  }
  config::SweepSetting setting{key, value, {std::make_shared<config::YamlSource>(config::YamlSource{"", option}), 0}};
  for (config::SweepSetting& old : sweep.base) {
    if (old.key != key) continue;
    old = std::move(setting);
    return Done{};
  }
  sweep.base.push_back(std::move(setting));
  return Done{};
}

/// SPEC as a sweep: a sweep file, or anything that `run` takes.
Result<config::SweepConfig> ReadSpec(const std::string& name) {
  if (name != "-" && Exists(name) && !IsDirectory(name) && IsYamlName(name)) {
    const Result<std::string> text = ReadFile(name);
    if (!text.ok()) return text.errors();
    if (config::LooksLikeSweep(*text)) return config::LoadSweep(name);
  }
  config::SweepConfig sweep;
  sweep.base.push_back({"workload", name, {std::make_shared<config::YamlSource>(config::YamlSource{"", "SPEC"}), 0}});
  return sweep;
}

/// A path of the command line is relative to here, not to the sweep file.
std::string FromHere(const config::SweepConfig& sweep, const std::string& path) {
  return sweep.file.empty() || !Exists(path) ? path : std::filesystem::absolute(path).lexically_normal().string();
}

/// Options that fix one key of the sweep.
Diagnostics FixOptions(const Arguments& arguments, config::SweepConfig& sweep) {
  Diagnostics errors;
  const auto fix = [&](const std::string& key, const std::string& value, const std::string& option) {
    const Status fixed = Fix(sweep, key, value, option);
    if (!fixed.ok()) errors.insert(errors.end(), fixed.errors().begin(), fixed.errors().end());
  };
  for (const std::string name : {"chip", "plan", "variant", "module", "llo"}) {
    if (!arguments.Has(name)) continue;
    const std::string value = arguments.Get(name);
    const bool file = (name == "chip" && IsYamlName(value)) || (name == "llo" && value != "none");
    fix(name, file ? FromHere(sweep, value) : value, fmt::format("--{} {}", name, value));
  }
  for (const char* name : {"bind", "set"}) {
    for (const std::string& text : arguments.All(name)) {
      const std::size_t equals = text.find('=');
      if (equals == 0 || equals == std::string::npos || equals + 1 == text.size()) {
        errors.push_back(Error(fmt::format("--{} '{}' is not of the form KEY=VALUE", name, text)));
      } else {
        fix(text.substr(0, equals), text.substr(equals + 1), fmt::format("--{} {}", name, text));
      }
    }
  }
  return errors;
}

Result<config::SweepConfig> SweepOf(const Arguments& arguments) {
  Result<config::SweepConfig> sweep = ReadSpec(arguments.positionals().front());
  if (!sweep.ok()) return sweep;
  Diagnostics errors;
  std::vector<std::string> seen;
  for (const std::string& text : arguments.All("axis")) {
    Result<config::SweepAxis> axis = config::ParseAxis(text);
    if (!axis.ok()) {
      errors.insert(errors.end(), axis.errors().begin(), axis.errors().end());
      continue;
    }
    if (std::find(seen.begin(), seen.end(), axis->key) != seen.end()) {
      errors.push_back(Error(fmt::format("--axis {} is given twice", axis->key)));
    }
    seen.push_back(axis->key);
    const Status done = config::OverrideAxis(*sweep, std::move(*axis));
    if (!done.ok()) errors.insert(errors.end(), done.errors().begin(), done.errors().end());
  }
  const Diagnostics fixed = FixOptions(arguments, *sweep);
  errors.insert(errors.end(), fixed.begin(), fixed.end());
  for (const std::string& file : arguments.All("config")) sweep->config_files.push_back(FromHere(*sweep, file));
  if (!errors.empty()) return errors;
  return sweep;
}

Result<sweep::Shard> ShardOf(const Arguments& arguments) {
  if (arguments.Has("shard")) return sweep::ParseShard(arguments.Get("shard"));
  Result<std::optional<sweep::Shard>> shard =
      sweep::ShardOfArrayJob([](const char* name) -> const char* { return std::getenv(name); });
  if (!shard.ok()) return shard.errors();
  return shard->value_or(sweep::Shard{});
}

/// The value of `key` that all points share; empty if it varies or is not set.
std::string BaseValue(const config::SweepConfig& sweep, const std::string& key) {
  for (const config::SweepSetting& setting : sweep.base) {
    if (setting.key == key) return setting.value;
  }
  return "";
}

std::string TitleOf(const config::SweepConfig& sweep) {
  if (!sweep.description.empty()) return sweep.description;
  const std::string workload = BaseValue(sweep, "workload");
  std::string title = workload.empty() ? "sweep" : std::filesystem::path(workload).stem().string();
  for (const config::SweepSetting& setting : sweep.base) {
    if (setting.key != "workload") title += fmt::format("  {}={}", setting.key, setting.value);
  }
  return title;
}

/// -o, or a folder named after the sweep; array tasks get a folder each.
std::string DirectoryFor(const Arguments& arguments, const config::SweepConfig& sweep, const sweep::Shard& shard) {
  std::string name = arguments.Get("output");
  if (name.empty()) {
    std::filesystem::path stem = sweep.file.empty() ? BaseValue(sweep, "workload") : sweep.file;
    if (!stem.has_filename()) stem = stem.parent_path();
    const std::string word = stem.stem().string();
    name = "sweep-" + (word.empty() || word == "-" ? "results" : word);
    if (shard.count > 1 && shard.origin.empty()) name += fmt::format("-{}-of-{}", shard.index, shard.count);
  }
  if (!shard.origin.empty()) name = JoinPath(name, fmt::format("shard-{}-of-{}", shard.index, shard.count));
  return name;
}

/// `sweep` with the paths of its base made independent of where the file lies.
std::string ResolvedOf(config::SweepConfig sweep) {
  const auto absolute = [&](std::string& name) {
    const std::string path = BesideSweep(sweep, name);
    if (Exists(path)) name = std::filesystem::absolute(path).lexically_normal().string();
  };
  for (config::SweepSetting& setting : sweep.base) {
    if (setting.key == "workload" || setting.key == "llo" || (setting.key == "chip" && IsYamlName(setting.value))) {
      absolute(setting.value);
    }
  }
  for (std::string& file : sweep.config_files) absolute(file);
  return sweep::ResolvedSweep(sweep);
}

/// What makes two sweeps the same list of points with the same settings.
std::string DigestOf(const config::SweepConfig& sweep, const sweep::PointList& list) {
  sweep::Digest digest;
  for (const config::SweepSetting& setting : sweep.base) digest.Add(setting.key).Add(setting.value);
  for (const std::string& file : sweep.config_files) {
    const Result<std::string> text = ReadFile(BesideSweep(sweep, file));
    digest.Add(text.ok() ? *text : "?");
  }
  digest.Add("axes");
  for (const std::string& key : list.Keys()) digest.Add(key);
  for (const sweep::Point& point : list.points) {
    for (const std::string& value : point) digest.Add(value);
  }
  return digest.Hex();
}

/// [done/total], rate, time left: a live line on a terminal, else with -v a line every ten seconds.
class SweepProgress {
 public:
  SweepProgress(Console& console, std::size_t total, double cost)
      : console_(console), total_(total), cost_(cost), start_(Clock::now()),
        next_(start_ + (console.ShowsProgress() ? std::chrono::milliseconds(0) : std::chrono::milliseconds(10'000))) {}
  ~SweepProgress() { console_.SetLine(""); }
  SweepProgress(const SweepProgress&) = delete;
  SweepProgress& operator=(const SweepProgress&) = delete;

  void Finished(bool ok, double cost) {
    ++done_;
    failed_ += ok ? 0 : 1;
    cost_done_ += cost;
  }

  void Show() {
    const Clock::time_point now = Clock::now();
    if (now < next_) return;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    std::string text = fmt::format("[{}/{}]", done_, total_);
    if (done_ > 0 && seconds > 0) {
      text += fmt::format("  {:.1f} points/s", static_cast<double>(done_) / seconds);
      const double left = seconds / cost_done_ * (cost_ - cost_done_);
      if (done_ < total_) text += left < 100 ? fmt::format("  about {:.0f} s left", left)
                                             : fmt::format("  about {:.0f} min left", left / 60);
    }
    if (failed_ > 0) text += fmt::format("  {} failed", failed_);
    if (console_.ShowsProgress()) {
      console_.SetLine(text);
      next_ = now + std::chrono::milliseconds(100);
    } else {
      console_.Say(1, text);
      next_ = now + std::chrono::seconds(10);
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  Console& console_;
  std::size_t total_, done_ = 0, failed_ = 0;
  double cost_, cost_done_ = 0;
  Clock::time_point start_, next_;
};

/// One call of the command.
class SweepRun {
 public:
  SweepRun(Session& session, const Arguments& arguments, const config::SweepConfig& sweep, const sweep::PointList& list,
           const sweep::Shard& shard, int jobs)
      : session_(session), arguments_(arguments), sweep_(sweep), list_(list), shard_(shard), jobs_(jobs),
        points_(sweep, list, ConfigSearchPath(arguments.All("config-path"))) {}

  ExitCode Plan() {
    if (!LoadAll()) return kExitInterrupted;
    if (const Diagnostics errors = points_.CheckValues(); !errors.empty()) return Refuse(errors);
    const std::vector<int> owners = sweep::Balance(costs_, shard_.count);
    sweep::JournalHeader header = Header();
    std::string text;
    std::size_t mine = 0;
    for (std::size_t i = 0; i < list_.points.size(); ++i) {
      if (owners[i] != shard_.index) continue;
      ++mine;
      text += fmt::format("{:>6}  {}\n", i, points_.Name(i));
    }
    session_.out.Write(text);
    session_.out.Write(shard_.count == 1 ? fmt::format("{} points of {} inputs\n", mine, points_.inputs_read())
                                         : fmt::format("shard {} of {}: {} of {} points\n", shard_.index, shard_.count,
                                                       mine, list_.points.size()));
    return kExitDone;
  }

  ExitCode Execute() {
    const std::string directory = DirectoryFor(arguments_, sweep_, shard_);
    if (!LoadAll()) return Interrupted(directory);
    if (const Diagnostics errors = points_.CheckValues(); !errors.empty()) return Refuse(errors);
    if (!arguments_.Has("output") || !shard_.origin.empty()) {
      Diagnostic note = Warning(fmt::format("results go to '{}'", directory));
      note.severity = Severity::kNote;
      session_.console.Print(note);
    }
    if (const Status made = MakeDirectory(directory); !made.ok()) return session_.Fail(made.errors());
    Result<sweep::JournalWriter> writer = sweep::JournalWriter::Lock(directory);
    if (!writer.ok()) return session_.Fail(writer.errors());
    const Result<std::vector<sweep::JournalEntry>> old = OldEntries(directory);
    if (!old.ok()) return session_.Fail(old.errors());
    Choose(*old);
    // The table of an earlier sweep must not look like that of this one.
    for (const char* name : {"sweep.csv", "sweep.svg"}) std::remove(JoinPath(directory, name).c_str());
    const Status started = writer->Start(Header(), entries_);
    if (!started.ok()) return session_.Fail(started.errors());
    session_.console.Say(1, fmt::format("{} points of {} inputs, {} of them done before, {} workers", mine_,
                                        points_.inputs_read(), entries_.size(), jobs_));
    const Result<bool> complete = RunAll(*writer);
    if (!complete.ok()) return session_.Fail(complete.errors());
    if (!*complete) return Interrupted(directory);
    std::sort(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) { return a.point < b.point; });
    return FinishSweep(session_, directory, Header(), entries_, ResolvedOf(sweep_));
  }

 private:
  /// Values that no point can use: bad input if a file says so.
  ExitCode Refuse(const Diagnostics& errors) {
    const bool in_file = !sweep_.file.empty() ||
                         std::any_of(errors.begin(), errors.end(), [](const Diagnostic& d) { return !d.file.empty(); });
    return session_.Fail(errors, in_file ? kExitBadInput : kExitUsage);
  }

  sweep::JournalHeader Header() const {
    sweep::JournalHeader header;
    header.version = Version();
    header.sweep = DigestOf(sweep_, list_);
    header.points = static_cast<std::int64_t>(list_.points.size());
    header.shard = shard_.index;
    header.shards = shard_.count;
    header.title = TitleOf(sweep_);
    for (const sweep::Axis& axis : list_.axes) {
      header.axes.push_back(axis.key);
      header.geometric.push_back(axis.geometric);
    }
    return header;
  }

  /// Reads every distinct input, before the workers split off. False: interrupted.
  bool LoadAll() {
    Diagnostics notes;
    for (std::size_t i = 0; i < list_.points.size(); ++i) {
      if (interrupt_.requested()) return false;
      const Diagnostics more = points_.Load(i);
      notes.insert(notes.end(), more.begin(), more.end());
      costs_.push_back(points_.Cost(i));
    }
    notes.insert(notes.end(), points_.rewriting_notes().begin(), points_.rewriting_notes().end());
    constexpr std::size_t kMostNotes = 5;
    if (notes.size() > kMostNotes) notes.resize(kMostNotes);
    session_.console.Print(notes);
    return true;
  }

  /// What the directory holds of an earlier, perhaps this very sweep.
  Result<std::vector<sweep::JournalEntry>> OldEntries(const std::string& directory) const {
    const std::string path = JoinPath(directory, "journal.jsonl");
    if (!Exists(path)) return std::vector<sweep::JournalEntry>{};
    Result<sweep::Journal> journal = sweep::ReadJournal(path);
    if (!journal.ok()) return journal.errors();
    if (arguments_.Has("resume")) return std::move(journal->entries);
    if (!journal->entries.empty() && !Exists(JoinPath(directory, "sweep.csv"))) {
      return Error(fmt::format("'{}' holds a sweep that was stopped after {} points", directory, journal->entries.size()),
                   "--resume goes on with it; to begin again, remove its journal.jsonl");
    }
    return std::vector<sweep::JournalEntry>{};
  }

  /// Splits the points of this shard into done (entries_) and to do (todo_), the longest first.
  void Choose(const std::vector<sweep::JournalEntry>& old) {
    std::map<std::string, const sweep::JournalEntry*> done;
    for (const sweep::JournalEntry& entry : old) {
      if (entry.result.ok()) done[entry.key] = &entry;
    }
    const std::vector<int> owners = sweep::Balance(costs_, shard_.count);
    keys_.resize(list_.points.size());
    for (std::size_t i = 0; i < list_.points.size(); ++i) {
      if (owners[i] != shard_.index) continue;
      ++mine_;
      keys_[i] = points_.Key(i);
      const auto it = done.find(keys_[i]);
      if (it == done.end()) {
        todo_.push_back(i);
      } else {
        Add(i, it->second->result);
      }
    }
    std::stable_sort(todo_.begin(), todo_.end(), [&](std::size_t a, std::size_t b) { return costs_[a] > costs_[b]; });
  }

  const sweep::JournalEntry& Add(std::size_t point, sweep::PointResult result) {
    entries_.push_back({static_cast<std::int64_t>(point), keys_[point], list_.points[point], std::move(result)});
    return entries_.back();
  }

  Result<bool> RunAll(sweep::JournalWriter& writer) {
    double cost = 0;
    for (const std::size_t point : todo_) cost += costs_[point];
    SweepProgress progress(session_.console, todo_.size(), cost);
    WorkerPool pool;
    pool.workers = jobs_;
    pool.work = [&](std::size_t point) { return sweep::EncodeResult(points_.Run(point)); };
    pool.done = [&](const std::vector<JobReply>& replies) -> Status {
      std::vector<sweep::JournalEntry> fresh;
      for (const JobReply& reply : replies) {
        std::optional<sweep::PointResult> result;
        if (!reply.died) result = sweep::DecodeResult(reply.text);
        if (!result) {
          result.emplace();
          result->status = reply.died ? reply.text : "the worker process sent nonsense";
        }
        progress.Finished(result->ok(), costs_[reply.job]);
        session_.console.Say(2, fmt::format("{}: {}", points_.Name(reply.job), result->status));
        fresh.push_back(Add(reply.job, std::move(*result)));
      }
      return writer.Append(fresh);
    };
    pool.stop = [&] {
      progress.Show();
      return interrupt_.requested().load();
    };
    return RunPool(todo_, pool);
  }

  ExitCode Interrupted(const std::string& directory) {
    session_.console.Print(Warning(fmt::format("interrupted: {} of {} points are done", entries_.size(), mine_),
                                   fmt::format("the same command with --resume goes on in '{}'", directory)));
    return kExitInterrupted;
  }

  Session& session_;
  const Arguments& arguments_;
  const config::SweepConfig& sweep_;
  const sweep::PointList& list_;
  const sweep::Shard& shard_;
  int jobs_;
  SweepPoints points_;
  InterruptScope interrupt_;
  std::vector<double> costs_;             // of all points
  std::vector<std::string> keys_;         // of the points of this shard
  std::vector<std::size_t> todo_;
  std::vector<sweep::JournalEntry> entries_;
  std::size_t mine_ = 0;
};

ExitCode RunSweep(Session& session, const Arguments& arguments) {
  const Result<int> jobs = JobsOf(arguments);
  if (!jobs.ok()) return session.Fail(jobs.errors(), kExitUsage);
  const Result<sweep::Shard> shard = ShardOf(arguments);
  if (!shard.ok()) return session.Fail(shard.errors(), kExitUsage);
  const bool from_file = IsYamlName(arguments.positionals().front());
  const Result<config::SweepConfig> sweep = SweepOf(arguments);
  if (!sweep.ok()) {
    const bool in_file = !sweep.errors().front().file.empty();
    return session.Fail(sweep.errors(), in_file ? kExitBadInput : kExitUsage);
  }
  if (const Diagnostics errors = CheckSweepKeys(*sweep); !errors.empty()) {
    return session.Fail(errors, from_file ? kExitBadInput : kExitUsage);
  }
  const Result<sweep::PointList> list = sweep::Expand(*sweep);
  if (!list.ok()) {
    Diagnostics errors = list.errors();
    errors.front().hint = "for example --axis S=512:8192:x2 --axis chip=v5e,v6e";
    return session.Fail(errors, kExitUsage);
  }
  if (!shard->origin.empty()) {
    session.console.Say(0, fmt::format("shard {} of {} ({}); --shard 1/1 would run everything", shard->index, shard->count,
                                       shard->origin));
  }
  SweepRun run(session, arguments, *sweep, *list, *shard, *jobs);
  return arguments.Has("dry-run") ? run.Plan() : run.Execute();
}

}  // namespace

Command SweepCommand() {
  Command command;
  command.name = "sweep";
  command.summary = "run a program for many sizes, chips, plans or chip parameters";
  command.positionals = {{"SPEC", "a sweep file (schema spillway.sweep/1), or an INPUT of 'run'", 1, 1, Complete::kInput}};
  command.options = {
      {"axis", 0, "KEY=VALUES", "vary KEY: a,b,c or 512:32768:x2 or 8:64:+8; KEY is a symbol of the workload, chip, plan, "
       "variant, llo, workload or a key of the chip", true},
      {"jobs", 'j', "N", "worker processes (default: the cores there are)"},
      {"resume", 0, "", "keep the points that DIR has already"},
      {"shard", 0, "I/N", "run part I of N only; array jobs of Slurm, Grid Engine and LSF say it by themselves"},
      {"dry-run", 'n', "", "print the points and stop"},
      {"output", 'o', "DIR", "where the results go (default: sweep-NAME)", false, Complete::kDirectory},
      {"plan", 0, "PLAN", "the plan of all points"},
  };
  command.options.front().in_usage = true;
  for (Option& option : ChipOptions()) command.options.push_back(std::move(option));
  for (Option& option : InputOptions()) command.options.push_back(std::move(option));
  command.options.push_back(BundlesOption());
  command.notes = {"DIR gets sweep.csv (one row a point), sweep.svg (the curve), sweep.gp and sweep.dat for gnuplot, "
                   "journal.jsonl and config.resolved.yaml, which is itself a SPEC.",
                   "Points without a result have the reason in column 'status'; the others go on, and the exit code is "
                   "1. Ctrl-C stops at once and keeps the journal."};
  command.examples = {
      {"spillway sweep attention --axis S=512:32768:x2 --axis chip=v5e,v6e", "a curve for each chip"},
      {"spillway sweep attention --chip v6e --axis hbm.channels=16:128:x2 -o out", "what more channels would bring"},
      {"spillway sweep big.yaml --shard 2/8 -o part2", "one eighth of it; 'spillway merge' joins them"}};
  command.run = RunSweep;
  return command;
}

}  // namespace spillway::cli
