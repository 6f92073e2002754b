// SPDX-License-Identifier: Apache-2.0
#include "sim/explain/explain.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "sim/base/worker_pool.h"
#include "sim/engine/simulate.h"
#include "sim/explain/replay.h"
#include "sim/plan/plan_check.h"
#include "sim/plan/resident.h"

namespace spillway::explain {
namespace {

using timeline::Slice;

/// What the base replay says about transfers, by op and root buffer.
struct Measured {
  std::vector<std::map<int, Bytes>> read, written;   ///< [op][root].
  std::vector<Bytes> read_by_buffer, written_by_buffer;
  std::map<int, Picos> exposed;                      ///< By root.
  std::map<int, Picos> waited;                       ///< For the transfers of an asynchronous op.
  std::int64_t transfers = 0;
};

class Explainer {
 public:
  explicit Explainer(const ExplainInputs& inputs)
      : inputs_(inputs), program_(*inputs.program), flow_(*inputs.module, *inputs.program) {}

  Result<Report> Run() {
    if (inputs_.replay) {
      Result<engine::RunResult> base = Simulate(program_, true);
      if (!base.ok()) return base.errors();
      report_.summary = base->summary;
      Measure(*base);
    } else {
      CountOnly();
    }
    plan::PlanInputs plan_inputs;
    plan_inputs.module = inputs_.module;
    plan_inputs.chip = inputs_.chip;
    plan_inputs.assignment = inputs_.assignment;
    Result<Surroundings> around = SurroundingsOf(flow_, plan_inputs);
    if (!around.ok()) return around.errors();
    boundaries_ = FindBoundaries(flow_, *around);
    Lines();
    if (inputs_.replay && report_.summary.complete) {   // Costs are differences to the whole run.
      if (Status priced = Price(plan_inputs); !priced.ok()) return priced.errors();
    }
    report_.complete = report_.summary.complete && !Interrupted();
    return std::move(report_);
  }

 private:
  bool Interrupted() const { return inputs_.interrupted != nullptr && inputs_.interrupted->load(); }

  Result<engine::RunResult> Simulate(const plan::Program& program, bool record) const {
    engine::SimulateOptions options;
    options.record_timeline = record;
    options.interrupted = inputs_.interrupted;
    return engine::Simulate(program, *inputs_.chip, options);
  }

  void Measure(const engine::RunResult& run) {
    measured_.read.resize(program_.ops.size());
    measured_.written.resize(program_.ops.size());
    measured_.read_by_buffer.resize(program_.buffers.size());
    measured_.written_by_buffer.resize(program_.buffers.size());
    std::map<int, int> carried, issuer;   // Flow -> root buffer, op.
    for (const Slice& slice : run.timeline.slices) {
      if (slice.kind != "dma_read" && slice.kind != "dma_write") continue;
      ++measured_.transfers;
      const int root = flow_.Root(slice.buffer);
      if (root < 0 || slice.op < 0) continue;
      if (slice.flow != 0) {
        carried[slice.flow] = root;
        issuer[slice.flow] = slice.op;
      }
      const bool read = slice.kind == "dma_read";
      (read ? measured_.read : measured_.written)[static_cast<std::size_t>(slice.op)][root] += slice.bytes;
      (read ? measured_.read_by_buffer : measured_.written_by_buffer)[static_cast<std::size_t>(root)] += slice.bytes;
    }
    for (const Slice& slice : run.timeline.slices) {
      if (slice.kind != "wait" || slice.flow == 0) continue;
      auto at = carried.find(slice.flow);
      if (at == carried.end()) continue;
      measured_.exposed[at->second] += slice.end - slice.start;
      const int op = issuer[slice.flow];
      if (flow_.IsAsync(op)) measured_.waited[op] += slice.end - slice.start;
    }
  }

  /// Bytes without time.
  void CountOnly() {
    measured_.read.resize(program_.ops.size());
    measured_.read_by_buffer.resize(program_.buffers.size());
    measured_.written_by_buffer.resize(program_.buffers.size());
    const plan::HbmTraffic traffic = plan::CountHbm(program_);
    for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
      const auto root = static_cast<std::size_t>(flow_.Root(static_cast<int>(i)));
      measured_.read_by_buffer[root] += traffic.read_by_buffer[i];
      measured_.written_by_buffer[root] += traffic.written_by_buffer[i];
    }
    timeline::Summary& summary = report_.summary;
    summary.module = program_.module;
    summary.chip = inputs_.chip->name;
    summary.plan = program_.plan;
    summary.hbm_read_bytes = traffic.read_bytes;
    summary.hbm_write_bytes = traffic.write_bytes;
    for (const plan::Op& op : program_.ops) {
      timeline::OpSummary line;
      line.name = op.name;
      summary.ops.push_back(std::move(line));
      if (op.unmodelled) summary.unmodelled_ops.push_back(op.name);
    }
  }

  void Lines() {
    for (const plan::Op& op : program_.ops) report_.ops.push_back(op.name);
    for (std::size_t i = 0; i < program_.ops.size(); ++i) {
      const plan::Op& op = program_.ops[i];
      if (op.op_class == "async" || i >= report_.summary.ops.size()) continue;
      const timeline::OpSummary& ran = report_.summary.ops[i];
      KernelLine line{op.name, op.opcode, op.kind, op.op_class, op.op_name, ran.bound, ran.hbm_read_bytes, ran.hbm_write_bytes, 0, 0, ran.busy_ps, ran.executions};
      for (int buffer : op.vmem_reads) line.vmem_read_bytes += ran.executions * program_.buffers[static_cast<std::size_t>(buffer)].allocated_bytes;
      for (int buffer : op.vmem_writes) line.vmem_write_bytes += ran.executions * program_.buffers[static_cast<std::size_t>(buffer)].allocated_bytes;
      report_.kernels.push_back(std::move(line));
    }
    for (const Boundary& boundary : boundaries_) report_.boundaries.push_back(LineOf(boundary));
    for (const LayoutCopy& copy : FindLayoutCopies(flow_)) {
      const timeline::OpSummary& ran = report_.summary.ops[static_cast<std::size_t>(copy.op)];
      const double span = static_cast<double>(std::max<Picos>(report_.summary.makespan_ps, 1));
      report_.layout_copies.push_back({ran.name, copy.from, copy.to, ran.hbm_read_bytes, ran.hbm_write_bytes, ran.busy_ps, static_cast<double>(ran.busy_ps) / span});
    }
    report_.padding = FindPadding(flow_);
    report_.rereads = FindRereads(flow_, measured_.read);
  }

  BoundaryLine LineOf(const Boundary& boundary) const {
    const plan::Buffer& buffer = program_.buffers[static_cast<std::size_t>(boundary.buffer)];
    BoundaryLine line;
    line.tensor = buffer.name;
    line.shape = buffer.shape;
    if (boundary.producer >= 0) {
      const plan::Op& op = flow_.op(boundary.producer);
      line.producer = op.name;
      line.kind_from = op.kind.empty() ? op.opcode : op.kind;
      line.class_from = op.op_class;
    }
    for (int consumer : boundary.consumers) {
      const plan::Op& op = flow_.op(consumer);
      line.consumers.push_back(op.name);
      line.kind_to.push_back(op.kind.empty() ? op.opcode : op.kind);
      line.class_to.push_back(op.op_class);
    }
    line.bytes = buffer.allocated_bytes;
    line.hbm_read_bytes = measured_.read_by_buffer[static_cast<std::size_t>(boundary.buffer)];
    line.hbm_write_bytes = measured_.written_by_buffer[static_cast<std::size_t>(boundary.buffer)];
    line.verdict = boundary.verdict;
    line.reason = boundary.reason;
    line.advice = boundary.advice;
    line.could_stay = boundary.could_stay;
    line.why_not = boundary.why_not;
    line.excess_bytes = boundary.excess_bytes;
    auto exposed = measured_.exposed.find(boundary.buffer);
    if (exposed != measured_.exposed.end()) line.exposed_dma_ps = exposed->second;
    return line;
  }

  bool FromBundles() const {
    return std::any_of(program_.ops.begin(), program_.ops.end(),
                       [](const plan::Op& op) { return op.compute_source == plan::ComputeSource::kBundles; });
  }

  /// The makespan of the plan that keeps one tensor; empty if there is none.
  std::optional<Picos> Resident(const plan::PlanInputs& inputs, const Boundary& boundary) const {
    plan::ResidentOptions options;
    options.tensors = {program_.buffers[static_cast<std::size_t>(boundary.buffer)].name};
    Diagnostics warnings;
    Result<plan::Program> program = plan::PlanResident(inputs, options, warnings);
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

  /// Time that one execution of `op` takes by itself.
  Result<Picos> BusyAlone(const plan::Program& excerpt, int op) const {
    const Result<engine::RunResult> run = Simulate(excerpt, false);
    if (!run.ok()) return run.errors();
    const timeline::OpSummary& ran = run->summary.ops[static_cast<std::size_t>(op)];
    return ran.busy_ps / std::max<std::int64_t>(ran.executions, 1);
  }

  /// Runs all excerpts that the boundaries need, beside each other; what fails here is run again where it is needed.
  void RunExcerpts() {
    std::set<std::pair<int, int>> needed;   // Op; boundary, or -1 for all transfers.
    for (std::size_t i = 0; i < boundaries_.size(); ++i) {
      for (int op : boundaries_[i].touching) {
        if (flow_.IsAsync(op)) continue;
        needed.insert({op, -1});
        needed.insert({op, static_cast<int>(i)});
      }
    }
    const std::vector<std::pair<int, int>> jobs(needed.begin(), needed.end());
    std::vector<std::size_t> numbers(jobs.size());
    std::iota(numbers.begin(), numbers.end(), std::size_t{0});
    WorkerPool pool;
    pool.workers = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    pool.work = [&](std::size_t i) {
      const Result<Picos> busy = Busy(jobs[i].first, jobs[i].second);
      return busy.ok() ? std::to_string(*busy) : "";
    };
    pool.done = [&](const std::vector<JobReply>& replies) -> Status {
      for (const JobReply& reply : replies) {
        if (!reply.died && !reply.text.empty()) alone_[jobs[reply.job]] = std::stoll(reply.text);
      }
      return Done{};
    };
    pool.stop = [&] { return inputs_.interrupted != nullptr && inputs_.interrupted->load(); };
    static_cast<void>(RunPool(numbers, pool));
  }

  /// One execution of `op` by itself, without the transfers of a boundary's tensor (-1: with all).
  Result<Picos> Busy(int op, int boundary) const {
    const auto known = alone_.find({op, boundary});
    if (known != alone_.end()) return known->second;
    const plan::Program excerpt = Excerpt(program_, op);
    if (boundary < 0) return BusyAlone(excerpt, op);
    return BusyAlone(WithoutTraffic(excerpt, KeptOf(boundaries_[static_cast<std::size_t>(boundary)])), op);
  }

  /// What the kernels that touch the tensor take less without its transfers, and the waits for its copies.
  Result<Picos> SavedInExcerpts(std::size_t index) const {
    Picos saved = 0;
    for (int op : boundaries_[index].touching) {
      if (flow_.IsAsync(op)) {
        auto waited = measured_.waited.find(op);
        if (waited != measured_.waited.end()) saved += waited->second;
        continue;
      }
      const Result<Picos> with = Busy(op, -1), without = Busy(op, static_cast<int>(index));
      if (!with.ok()) return with.errors();
      if (!without.ok()) return without.errors();
      saved += report_.summary.ops[static_cast<std::size_t>(op)].executions * (*with - *without);
    }
    return saved;
  }

  Status Price(const plan::PlanInputs& plan_inputs) {
    Kept all;
    const std::int64_t transfers = measured_.transfers * static_cast<std::int64_t>(boundaries_.size());
    const bool whole = transfers <= kWholeReplayTransfers, bundles = FromBundles();
    const Picos base = report_.summary.makespan_ps;
    if (!whole) RunExcerpts();
    for (std::size_t i = 0; i < boundaries_.size() && !Interrupted(); ++i) {
      const Boundary& boundary = boundaries_[i];
      BoundaryLine& line = report_.boundaries[i];
      all.insert(*KeptOf(boundary).begin());
      // Kernels of another plan do not run the compiler's bundles: the two sides would differ in more than the tensor.
      if (whole && boundary.could_stay && !bundles) {
        if (const std::optional<Picos> kept = Resident(plan_inputs, boundary)) {
          line.spill_cost_ps = base - *kept;
          line.method = CostMethod::kResident;
          continue;
        }
      }
      if (whole) {
        Result<engine::RunResult> without = Simulate(WithoutTraffic(program_, KeptOf(boundary)), false);
        if (!without.ok()) return without.errors();
        line.spill_cost_ps = base - without->summary.makespan_ps;
        line.method = CostMethod::kWhole;
        continue;
      }
      Result<Picos> saved = SavedInExcerpts(i);
      if (!saved.ok()) return saved.errors();
      line.spill_cost_ps = *saved;
      line.method = CostMethod::kExcerpt;
    }
    if (all.empty() || Interrupted()) return Done{};
    Result<engine::RunResult> joint = Simulate(WithoutTraffic(program_, all), false);
    if (!joint.ok()) return joint.errors();
    report_.joint_spill_cost_ps = base - joint->summary.makespan_ps;
    return Done{};
  }

  const ExplainInputs& inputs_;
  const plan::Program& program_;
  const Dataflow flow_;
  Measured measured_;
  std::map<std::pair<int, int>, Picos> alone_;   ///< Of Busy.
  std::vector<Boundary> boundaries_;
  Report report_;
};

}  // namespace

const char* CostMethodName(CostMethod method) {
  switch (method) {
    case CostMethod::kNone: return "none";
    case CostMethod::kResident: return "resident";
    case CostMethod::kWhole: return "whole";
    case CostMethod::kExcerpt: return "excerpt";
  }
  return "none";
}

Result<Report> Explain(const ExplainInputs& inputs) { return Explainer(inputs).Run(); }

}  // namespace spillway::explain
