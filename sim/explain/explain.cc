// SPDX-License-Identifier: Apache-2.0
#include "sim/explain/explain.h"

#include <algorithm>
#include <map>

#include "sim/engine/simulate.h"
#include "sim/explain/pricing.h"
#include "sim/plan/plan_check.h"

namespace spillway::explain {
namespace {

using timeline::Slice;

/// What the base replay says about transfers, by op and root buffer.
struct Measured {
  std::vector<std::map<int, Bytes>> read, written;   ///< [op][root].
  std::vector<Bytes> read_by_buffer, written_by_buffer;
  std::map<int, Picos> exposed;                      ///< By root.
  BaseReplay base;
};

class Explainer {
 public:
  explicit Explainer(const ExplainInputs& inputs)
      : inputs_(inputs), program_(*inputs.program), flow_(*inputs.module, *inputs.program) {}

  Result<Report> Run() {
    if (inputs_.replay) {
      engine::SimulateOptions options;
      options.interrupted = inputs_.interrupted;
      options.keep_experience = true;
      Result<engine::RunResult> base = engine::Simulate(program_, *inputs_.chip, options);
      if (!base.ok()) return base.errors();
      measured_.base.experience = base->experience;
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
      Status priced = PriceBoundaries(inputs_, plan_inputs, flow_, boundaries_, measured_.base, report_);
      if (!priced.ok()) return priced.errors();
    }
    report_.complete = report_.summary.complete && !Interrupted();
    return std::move(report_);
  }

 private:
  bool Interrupted() const { return inputs_.interrupted != nullptr && inputs_.interrupted->load(); }

  void Measure(const engine::RunResult& run) {
    measured_.read.resize(program_.ops.size());
    measured_.written.resize(program_.ops.size());
    measured_.read_by_buffer.resize(program_.buffers.size());
    measured_.written_by_buffer.resize(program_.buffers.size());
    std::map<int, int> carried, issuer;   // Flow -> root buffer, op.
    for (const Slice& slice : run.timeline.slices) {
      if (slice.kind != "dma_read" && slice.kind != "dma_write") continue;
      ++measured_.base.transfers;
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
      if (flow_.IsAsync(op)) measured_.base.waited[op] += slice.end - slice.start;
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

  const ExplainInputs& inputs_;
  const plan::Program& program_;
  const Dataflow flow_;
  Measured measured_;
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
