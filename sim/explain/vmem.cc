// SPDX-License-Identifier: Apache-2.0
#include "sim/explain/vmem.h"

#include <algorithm>

#include "sim/plan/plan_check.h"
#include "sim/plan/resident.h"

namespace spillway::explain {
namespace {

/// No tensor of a symbol as large as this fits anywhere: where the search stops.
constexpr std::int64_t kLargestSymbol = std::int64_t{1} << 32;

std::vector<VmemMoment> MomentsOf(const plan::Program& program) {
  std::vector<VmemMoment> moments(program.ops.size());
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const plan::Op& op = program.ops[i];
    moments[i].op = op.name;
    moments[i].scoped = op.scoped_vmem;
    if (op.scoped_vmem > 0) moments[i].holders.push_back({op.name, op.scoped_vmem, true});
  }
  for (const plan::Buffer& buffer : program.buffers) {
    if (buffer.space != plan::Space::kVmem || buffer.alias_of >= 0 || buffer.first_op < 0 || buffer.allocated_bytes == 0) continue;
    for (int op = buffer.first_op; op <= buffer.last_op && op < static_cast<int>(moments.size()); ++op) {
      VmemMoment& moment = moments[static_cast<std::size_t>(op)];
      moment.buffers += buffer.allocated_bytes;
      moment.holders.push_back({buffer.name, buffer.allocated_bytes, false});
    }
  }
  for (VmemMoment& moment : moments) {
    std::stable_sort(moment.holders.begin(), moment.holders.end(), [](const Holder& a, const Holder& b) { return a.bytes > b.bytes; });
  }
  return moments;
}

/// Bytes of `shape` if every dimension of size `from` had size `to`; -1 if that cannot be said.
Bytes BytesAt(hlo::Shape shape, std::int64_t from, std::int64_t to) {
  for (std::int64_t& dimension : shape.dimensions) {
    if (dimension == from) dimension = to;
  }
  return hlo::SizeOverflows(shape) ? -1 : hlo::AllocatedBytes(shape);
}

void FindLimit(const std::map<std::string, std::int64_t>& symbols, VmemCandidate& candidate) {
  const Result<hlo::Shape> shape = hlo::ParseShape(candidate.shape);
  if (!shape.ok() || !shape->IsArray()) return;
  for (const auto& [symbol, value] : symbols) {
    if (value <= 1 || std::find(shape->dimensions.begin(), shape->dimensions.end(), value) == shape->dimensions.end()) continue;
    candidate.symbol = symbol;
    candidate.value = value;
    std::int64_t low = 0, high = kLargestSymbol;   // Fits at `low` (nothing), does not at `high`.
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      const Bytes bytes = BytesAt(*shape, value, middle);
      (bytes >= 0 && bytes <= candidate.room ? low : high) = middle;
    }
    candidate.largest = low;
    return;
  }
}

}  // namespace

Result<VmemReport> VmemOf(const plan::PlanInputs& inputs, const plan::Program& program,
                          const std::map<std::string, std::int64_t>& symbols) {
  VmemReport report;
  report.capacity = inputs.chip->vmem.capacity;
  report.usable = inputs.chip->vmem.usable;
  report.moments = MomentsOf(program);
  for (const VmemMoment& moment : report.moments) {
    if (moment.total() <= report.peak) continue;
    report.peak = moment.total();
    report.peak_op = moment.op;
  }
  Result<std::vector<plan::Residency>> residency = plan::ResidencyOf(inputs);
  if (!residency.ok()) return residency.errors();
  for (const plan::Residency& line : *residency) {
    auto buffer = std::find_if(program.buffers.begin(), program.buffers.end(), [&](const plan::Buffer& b) { return b.name == line.tensor; });
    if (buffer == program.buffers.end() || line.hbm_bytes == 0) continue;
    VmemCandidate candidate;
    candidate.tensor = line.tensor;
    candidate.shape = line.shape;
    candidate.bytes = line.bytes;
    candidate.room = report.usable;
    for (int op = std::max(buffer->first_op, 0); op <= buffer->last_op && op < static_cast<int>(report.moments.size()); ++op) {
      const VmemMoment& moment = report.moments[static_cast<std::size_t>(op)];
      const Bytes room = std::max<Bytes>(report.usable - moment.total(), 0);
      const bool worst = line.excess_bytes > 0 ? moment.op == line.at_op : room < candidate.room || candidate.at_op.empty();
      if (!worst) continue;
      // The planner knows which windows the op would no longer need.
      candidate.room = line.excess_bytes > 0 ? line.bytes - line.excess_bytes : room;
      candidate.at_op = moment.op;
      candidate.holders = moment.holders;
    }
    if (line.excess_bytes == 0 && line.why.empty()) candidate.room = std::max(candidate.room, line.bytes);
    if (line.excess_bytes == 0) candidate.other_reason = line.why;
    FindLimit(symbols, candidate);
    report.candidates.push_back(std::move(candidate));
  }
  return report;
}

}  // namespace spillway::explain
