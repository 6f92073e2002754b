// SPDX-License-Identifier: Apache-2.0
#include "sim/explain/pricing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include "sim/base/worker_pool.h"
#include "sim/explain/excerpt.h"
#include "sim/explain/replay.h"
#include "sim/plan/resident.h"

namespace spillway::explain {
namespace {

// Transfers in all replays together that are simulated before other processes would have started.
constexpr std::int64_t kAloneTransfers = 5'000;

class Pricer {
 public:
  Pricer(const ExplainInputs& inputs, const plan::PlanInputs& plan_inputs, const Dataflow& flow,
         const std::vector<Boundary>& boundaries, const BaseReplay& base, Report& report)
      : inputs_(inputs), program_(*inputs.program), plan_inputs_(plan_inputs), flow_(flow), boundaries_(boundaries), base_(base),
        report_(report), kernels_(program_.ops.size(), nullptr) {
    FindKernels(program_.items);
    for (const Boundary& boundary : boundaries) {
      kept_.push_back(KeptOf(boundary));
      all_.insert(kept_.back().begin(), kept_.back().end());
    }
  }

  Status Price() {
    const Picos makespan = report_.summary.makespan_ps;
    whole_ = base_.transfers * static_cast<std::int64_t>(boundaries_.size()) <= kWholeReplayTransfers;
    const std::vector<Replay> replays = Replays();
    if (base_.transfers * static_cast<std::int64_t>(replays.size()) > kAloneTransfers) RunAll(replays);
    for (std::size_t i = 0; i < boundaries_.size() && !Interrupted(); ++i) {
      BoundaryLine& line = report_.boundaries[i];
      if (whole_) {
        const Result<Priced> without = TimeOf({-1, static_cast<int>(i)});
        if (!without.ok()) return without.errors();
        line.spill_cost_ps = makespan - without->time;
        line.method = without->method;
      } else {
        const Result<Picos> saved = SavedInExcerpts(boundaries_[i].touching, static_cast<int>(i));
        if (!saved.ok()) return saved.errors();
        line.spill_cost_ps = *saved;
        line.method = CostMethod::kExcerpt;
      }
    }
    if (boundaries_.empty() || Interrupted()) return Done{};
    const Result<Picos> joint = SavedByAll();
    if (!joint.ok()) return joint.errors();
    report_.joint_spill_cost_ps = *joint;
    return Done{};
  }

 private:
  bool Interrupted() const { return inputs_.interrupted != nullptr && inputs_.interrupted->load(); }

  Result<engine::RunResult> Simulate(const plan::Program& program, bool record) const {
    engine::SimulateOptions options;
    options.record_timeline = record;
    options.interrupted = inputs_.interrupted;
    options.experience = base_.experience;
    return engine::Simulate(program, *inputs_.chip, options);
  }

  void FindKernels(const std::vector<plan::Item>& items) {
    for (const plan::Item& item : items) {
      if (item.kind == plan::Item::Kind::kKernel) kernels_[static_cast<std::size_t>(item.op)] = &item;
      FindKernels(item.body);
    }
  }

  bool FromBundles() const {
    return std::any_of(program_.ops.begin(), program_.ops.end(),
                       [](const plan::Op& op) { return op.compute_source == plan::ComputeSource::kBundles; });
  }

  /// The makespan of the plan that keeps one tensor; empty if there is none.
  std::optional<Picos> Resident(const Boundary& boundary) const {
    plan::ResidentOptions options;
    options.tensors = {program_.buffers[static_cast<std::size_t>(boundary.buffer)].name};
    Diagnostics warnings;
    Result<plan::Program> program = plan::PlanResident(plan_inputs_, options, warnings);
    if (!program.ok()) return std::nullopt;
    Result<engine::RunResult> run = Simulate(*program, false);
    if (!run.ok()) return std::nullopt;
    return run->summary.makespan_ps;
  }

  /// An argument has to be read once.
  static Kept KeptOf(const Boundary& boundary) {
    const bool argument = boundary.producer < 0 && !boundary.touching.empty();
    return {{boundary.buffer, argument ? boundary.touching.front() : -1}};
  }

  /// A replay to price tensors by.
  struct Replay {
    int op = -1;         ///< Only this kernel; -1: the whole program.
    int boundary = kAll; ///< Without the transfers of its tensor; or
    static constexpr int kNone = -1, kAll = -2;   ///< with all transfers, without those of any of the tensors.
    bool operator<(const Replay& o) const { return std::tie(op, boundary) < std::tie(o.op, o.boundary); }
  };

  /// All replays that are needed, the whole programs first.
  std::vector<Replay> Replays() {
    std::set<Replay> replays;
    if (whole_ && !boundaries_.empty()) replays.insert(Replay{});
    for (std::size_t i = 0; i < boundaries_.size(); ++i) {
      const int boundary = static_cast<int>(i);
      if (whole_) replays.insert(Replay{-1, boundary});
      for (int op : boundaries_[i].touching) {
        if (whole_ || flow_.IsAsync(op)) continue;
        for (const int without : {Replay::kNone, Replay::kAll, boundary}) replays.insert(Like({op, without}));
      }
    }
    return {replays.begin(), replays.end()};
  }

  /// The first of the replays of kernels that do the same but for addresses: layers of a model are priced once.
  Replay Like(const Replay& replay) {
    const auto [known, inserted] = like_.emplace(replay, replay);
    if (!inserted) return known->second;
    const SourceMaker maker = SourceFor(replay);
    if (!maker) return replay;
    const std::uint64_t with = ContentOf(*kernels_[static_cast<std::size_t>(replay.op)]->source());
    const std::uint64_t without = ContentOf(*maker());
    if (with != 0) known->second = first_.emplace(std::make_pair(with, without), replay).first->second;
    return known->second;
  }

  SourceMaker SourceFor(const Replay& replay) const {
    const plan::Item* kernel = kernels_[static_cast<std::size_t>(replay.op)];
    if (kernel == nullptr) return {};
    return replay.boundary == Replay::kNone ? kernel->source : WithoutTraffic(program_, *kernel, KeptBy(replay));
  }

  /// Runs them beside each other; what fails here is run again where it is needed.
  void RunAll(const std::vector<Replay>& replays) {
    std::vector<std::size_t> numbers(replays.size());
    std::iota(numbers.begin(), numbers.end(), std::size_t{0});
    WorkerPool pool;
    pool.workers = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    pool.work = [&](std::size_t i) {
      const Result<Priced> priced = TimeOf(replays[i]);
      return priced.ok() ? fmt::format("{} {}", priced->time, static_cast<int>(priced->method)) : "";
    };
    pool.done = [&](const std::vector<JobReply>& replies) -> Status {
      for (const JobReply& reply : replies) {
        if (reply.died || reply.text.empty()) continue;
        char* end = nullptr;
        const Picos time = std::strtoll(reply.text.c_str(), &end, 10);
        known_[replays[reply.job]] = {time, static_cast<CostMethod>(std::atoi(end))};
      }
      return Done{};
    };
    pool.stop = [&] { return Interrupted(); };
    static_cast<void>(RunPool(numbers, pool));
  }

  const Kept& KeptBy(const Replay& replay) const {
    return replay.boundary == Replay::kAll ? all_ : kept_[static_cast<std::size_t>(replay.boundary)];
  }

  struct Priced {
    Picos time = 0;      ///< Makespan, or of the one kernel.
    CostMethod method = CostMethod::kNone;
  };

  Result<Priced> TimeOf(const Replay& asked) const {
    const auto like = like_.find(asked);
    const Replay& replay = like != like_.end() ? like->second : asked;
    const auto known = known_.find(replay);
    if (known != known_.end()) return known->second;
    if (replay.op >= 0) return TimeOfKernel(replay);
    // Kernels of another plan do not run the compiler's bundles: the two sides would differ in more than the tensor.
    if (replay.boundary >= 0 && boundaries_[static_cast<std::size_t>(replay.boundary)].could_stay && !FromBundles()) {
      const std::optional<Picos> resident = Resident(boundaries_[static_cast<std::size_t>(replay.boundary)]);
      if (resident) return Priced{*resident, CostMethod::kResident};
    }
    const Result<engine::RunResult> without = Simulate(WithoutTraffic(program_, KeptBy(replay)), false);
    if (!without.ok()) return without.errors();
    return Priced{without->summary.makespan_ps, CostMethod::kWhole};
  }

  Result<Priced> TimeOfKernel(const Replay& replay) const {
    SourceMaker source = SourceFor(replay);
    if (!source) return Priced{0, CostMethod::kExcerpt};
    // With and without a tensor the same steps are left out.
    const std::vector<Omission> omissions = FindOmissions(*kernels_[static_cast<std::size_t>(replay.op)]->source());
    source = Omit(std::move(source), omissions);
    const plan::Op& op = program_.ops[static_cast<std::size_t>(replay.op)];
    const Result<engine::RunResult> run = Simulate(Excerpt(op, std::move(source)), !omissions.empty());
    if (!run.ok()) return run.errors();
    return Priced{WholeTime(omissions, run->summary.ops.front().busy_ps, run->timeline), CostMethod::kExcerpt};
  }

  /// What those ops take less without the transfers of a boundary's tensor, or of all: their kernels, and the waits for
  /// copies.
  Result<Picos> SavedInExcerpts(const std::vector<int>& ops, int boundary) const {
    Picos saved = 0;
    for (const int op : ops) {
      if (flow_.IsAsync(op)) {
        const auto waited = base_.waited.find(op);
        if (waited != base_.waited.end()) saved += waited->second;
        continue;
      }
      const Result<Priced> with = TimeOf({op, Replay::kNone}), without = TimeOf({op, boundary});
      if (!with.ok()) return with.errors();
      if (!without.ok()) return without.errors();
      saved += report_.summary.ops[static_cast<std::size_t>(op)].executions * (with->time - without->time);
    }
    return saved;
  }

  Result<Picos> SavedByAll() const {
    if (whole_) {
      const Result<Priced> joint = TimeOf({});
      if (!joint.ok()) return joint.errors();
      return report_.summary.makespan_ps - joint->time;
    }
    std::set<int> ops;
    for (const Boundary& boundary : boundaries_) ops.insert(boundary.touching.begin(), boundary.touching.end());
    return SavedInExcerpts({ops.begin(), ops.end()}, Replay::kAll);
  }

  const ExplainInputs& inputs_;
  const plan::Program& program_;
  const plan::PlanInputs& plan_inputs_;
  const Dataflow& flow_;
  const std::vector<Boundary>& boundaries_;
  const BaseReplay& base_;
  Report& report_;
  std::vector<Kept> kept_;          ///< By boundary.
  Kept all_;
  std::vector<const plan::Item*> kernels_;   ///< By op; null: an asynchronous copy.
  std::map<Replay, Replay> like_;   ///< Of kernels.
  std::map<std::pair<std::uint64_t, std::uint64_t>, Replay> first_;   ///< By content with and without the tensor.
  bool whole_ = false;              ///< Tensors are priced by replays of the whole program.
  std::map<Replay, Priced> known_;  ///< What has been replayed beside each other.
};

}  // namespace

Status PriceBoundaries(const ExplainInputs& inputs, const plan::PlanInputs& plan_inputs, const Dataflow& flow,
                       const std::vector<Boundary>& boundaries, const BaseReplay& base, Report& report) {
  return Pricer(inputs, plan_inputs, flow, boundaries, base, report).Price();
}

}  // namespace spillway::explain
