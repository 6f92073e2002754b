// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/recorder.h"

#include <algorithm>
#include <utility>

#include "sim/base/result.h"

namespace spillway::engine {

using plan::Direction;
using timeline::OpSummary;
using timeline::Slice;
using timeline::Stall;

namespace {

constexpr int kCoreTrack = 0;
constexpr int kStepTrack = 1;
constexpr int kFirstDmaTrack = 2;
constexpr std::size_t kNoSlice = static_cast<std::size_t>(-1);
enum CounterIndex : std::size_t { kReadRate, kWriteRate, kVmem };

const char* SourceName(plan::ComputeSource source) {
  switch (source) {
    case plan::ComputeSource::kBundles: return "bundles";
    case plan::ComputeSource::kModel: return "model";
    case plan::ComputeSource::kHint: return "hint";
    case plan::ComputeSource::kNone: return "none";
  }
  return "none";
}

OpSummary Describe(const plan::Op& op) {
  OpSummary summary;
  summary.name = op.name;
  summary.opcode = op.opcode;
  summary.kind = op.kind;
  summary.op_class = op.op_class;
  summary.op_name = op.op_name;
  summary.executions = 0;
  summary.start_ps = -1;
  summary.compute_source = SourceName(op.compute_source);
  summary.estimated_cycles = op.estimated_cycles;
  summary.unmodelled = op.unmodelled;
  summary.why = op.why;
  summary.error_band = op.error_band;
  summary.scoped_vmem_bytes = op.scoped_vmem;
  return summary;
}

const char* SpaceName(plan::Space space) {
  switch (space) {
    case plan::Space::kHbm: return "hbm";
    case plan::Space::kVmem: return "vmem";
    case plan::Space::kSmem: return "smem";
    case plan::Space::kOther: return "other";
  }
  return "other";
}

// What sets the pace of an op: the larger of compute and transfer time at peak, unless both together
// explain less than half of the time it took.
std::string BoundOf(const OpSummary& op, double peak, const config::ChipConfig& chip) {
  const double compute = static_cast<double>(chip.CyclesToPicos(op.compute_cycles));
  const double transfer = static_cast<double>(op.hbm_read_bytes + op.hbm_write_bytes) * 1e12 / peak;
  const double time = static_cast<double>(std::max(op.busy_ps, op.end_ps - op.start_ps));
  if (std::max(compute, transfer) < 0.5 * static_cast<double>(op.busy_ps) || time == 0) return "latency";
  return compute >= transfer ? "compute" : "memory";
}

}  // namespace

Recorder::Recorder(const plan::Program& program, const config::ChipConfig& chip, bool timeline)
    : program_(program), chip_(chip), record_(timeline) {
  for (const plan::Op& op : program.ops) ops_.push_back(Describe(op));
  timeline_.tracks.push_back({"core", timeline::TrackKind::kCore});
  timeline_.tracks.push_back({"core steps", timeline::TrackKind::kSteps});
  for (int i = 0; i < std::max(1, chip.dma.threads); ++i) {
    timeline_.tracks.push_back({"dma " + std::to_string(i), timeline::TrackKind::kDmaQueue});
  }
  timeline_.counters = {{"hbm read", "B/s", {}}, {"hbm write", "B/s", {}}, {"vmem bytes", "B", {}}};
  for (const plan::Buffer& buffer : program.buffers) timeline_.buffers.push_back(buffer.name);
}

std::size_t Recorder::AddSlice(Slice slice) {
  if (!record_) return kNoSlice;
  timeline_.slices.push_back(std::move(slice));
  return timeline_.slices.size() - 1;
}

Slice Recorder::CoreSlice(const char* kind, Picos start, Picos end) const {
  Slice slice;
  slice.start = start;
  slice.end = end;
  slice.track = kCoreTrack;
  slice.kind = kind;
  slice.op = op_;
  return slice;
}

void Recorder::OpBegin(int op, Picos now) {
  now += skipped_;
  SPILLWAY_CHECK(op_ < 0);
  op_ = op;
  op_start_ = now;
  computed_ = false;
  OpSummary& summary = current();
  ++summary.executions;
  if (summary.start_ps < 0 || now < summary.start_ps) summary.start_ps = now;
}

void Recorder::OpEnd(Picos now) {
  now += skipped_;
  FlushWaits(computed_);
  EndStep(now);
  OpSummary& summary = current();
  summary.end_ps = std::max(summary.end_ps, now);
  summary.busy_ps += now - op_start_;
  if (now > op_start_) AddSlice(CoreSlice("op", op_start_, now));
  op_ = -1;
}

void Recorder::EndStep(Picos now) {
  steps_ahead_.clear();
  if (step_start_ < 0) return;
  Slice slice = CoreSlice("step", step_start_, now);
  slice.track = kStepTrack;
  step_start_ = -1;
  if (now > slice.start) AddSlice(std::move(slice));
}

void Recorder::Step(Picos now, Cycles cycles) {
  now += skipped_;
  ++current().steps;
  if (!record_) return;
  if (cycles > 0) {
    steps_ahead_.push_back(cycles);
    return;
  }
  EndStep(now);
  step_start_ = now;
}

void Recorder::Compute(Picos start, Picos end, Cycles cycles, Cycles bundles) {
  start += skipped_;
  end += skipped_;
  OpSummary& op = current();
  op.compute_cycles += cycles;
  op.bundles += bundles;
  const Picos own = std::min(chip_.CyclesToPicos(cycles), end - start);
  op.stall_ps.other += end - start - own;
  // Time lost to VMEM contention is spread evenly.
  for (Cycles before : std::exchange(steps_ahead_, {})) {
    const double share = static_cast<double>(before) / static_cast<double>(std::max<Cycles>(cycles, 1));
    const Picos begin = start + static_cast<Picos>(static_cast<double>(end - start) * std::min(share, 1.0));
    EndStep(begin);
    step_start_ = begin;
  }
  if (cycles == 0) return;
  FlushWaits(false);
  computed_ = true;
  if (end > start) AddSlice(CoreSlice("compute", start, end));
}

void Recorder::Wait(Picos start, Picos end, Direction direction, int flow) {
  start += skipped_;
  end += skipped_;
  if (end <= start) return;
  Slice slice = CoreSlice("wait", start, end);
  slice.flow = flow;
  slice.stall = direction == Direction::kVmemToHbm ? Stall::kDmaWrite : Stall::kDmaRead;
  waits_.push_back({end - start, direction, AddSlice(std::move(slice))});
}

void Recorder::WaitOther(Picos start, Picos end) {
  start += skipped_;
  end += skipped_;
  if (end <= start) return;
  current().stall_ps.other += end - start;
  Slice slice = CoreSlice("wait", start, end);
  slice.stall = Stall::kOther;
  AddSlice(std::move(slice));
}

// Waits before the first compute of an op fill its pipeline, those after the last one drain it.
void Recorder::FlushWaits(bool draining) {
  for (const PendingWait& wait : waits_) {
    timeline::StallTimes& stall = current().stall_ps;
    Stall kind = wait.direction == Direction::kVmemToHbm ? Stall::kDmaWrite : Stall::kDmaRead;
    if (draining) kind = Stall::kDrain;
    if (!computed_) kind = Stall::kFill;
    switch (kind) {
      case Stall::kFill: stall.fill += wait.picos; break;
      case Stall::kDrain: stall.drain += wait.picos; break;
      case Stall::kDmaWrite: stall.dma_write += wait.picos; break;
      default: stall.dma_read += wait.picos; break;
    }
    if (wait.slice != kNoSlice) timeline_.slices[wait.slice].stall = kind;
  }
  waits_.clear();
}

void Recorder::DmaDone(const plan::Transfer& transfer, int op, int flow, Picos issued, Picos end) {
  issued += skipped_;
  end += skipped_;
  const bool reads = transfer.direction == Direction::kHbmToVmem || transfer.direction == Direction::kHbmToHbm;
  const bool writes = transfer.direction == Direction::kVmemToHbm || transfer.direction == Direction::kHbmToHbm;
  OpSummary& summary = ops_[static_cast<std::size_t>(op)];
  const Bytes bytes = transfer.bytes();
  ++summary.dma_count;
  if (reads) summary.hbm_read_bytes += bytes;
  if (writes) summary.hbm_write_bytes += bytes;
  if (reads) read_bytes_ += bytes;
  if (writes) write_bytes_ += bytes;
  summary.end_ps = std::max(summary.end_ps, end);
  Slice slice;
  slice.start = issued;
  slice.end = end;
  slice.track = kFirstDmaTrack + transfer.thread % std::max(1, chip_.dma.threads);
  slice.kind = transfer.direction == Direction::kVmemToHbm ? "dma_write" : "dma_read";
  slice.op = op;
  slice.buffer = transfer.buffer;
  slice.bytes = bytes;
  slice.address = transfer.address;
  slice.flow = flow;
  AddSlice(std::move(slice));
}

void Recorder::AddPoint(timeline::Counter& counter, Picos now, double value) {
  if (!record_) return;
  auto& points = counter.points;
  if (!points.empty() && points.back().first == now) {
    points.back().second = value;
    if (points.size() > 1 && points[points.size() - 2].second == value) points.pop_back();
  } else if (points.empty() || points.back().second != value) {
    points.emplace_back(now, value);
  }
}

void Recorder::HbmBusy(Picos now, bool busy) {
  now += skipped_;
  if (busy && hbm_busy_since_ < 0) hbm_busy_since_ = now;
  if (!busy && hbm_busy_since_ >= 0) {
    hbm_busy_ += now - hbm_busy_since_;
    hbm_busy_since_ = -1;
  }
}

void Recorder::Skip(Picos now, Picos end, Picos hbm_busy, Bytes read, Bytes written) {
  const Picos took = end - now;
  if (took <= 0) return;
  const Bytes bytes[] = {read, written};
  for (const CounterIndex index : {kReadRate, kWriteRate}) {
    timeline::Counter& counter = timeline_.counters[index];
    const double before = counter.points.empty() ? 0 : counter.points.back().second;
    AddPoint(counter, now + skipped_, static_cast<double>(bytes[index]) * static_cast<double>(kPicosPerSecond) / static_cast<double>(took));
    AddPoint(counter, end + skipped_, before);
  }
  hbm_busy_ += hbm_busy;
  if (hbm_busy_since_ >= 0) hbm_busy_since_ += took;
  skipped_ += took;
}

void Recorder::HbmRates(Picos now, double read, double write) {
  now += skipped_;
  AddPoint(timeline_.counters[kReadRate], now, read);
  AddPoint(timeline_.counters[kWriteRate], now, write);
}

void Recorder::VmemHeld(Picos now, Bytes bytes) {
  now += skipped_;
  AddPoint(timeline_.counters[kVmem], now, static_cast<double>(bytes));
}

timeline::Summary Recorder::TakeSummary(Picos end) {
  timeline::Summary summary;
  end += skipped_;
  if (hbm_busy_since_ >= 0) hbm_busy_ += end - hbm_busy_since_;
  summary.module = program_.module;
  summary.chip = chip_.name;
  summary.plan = program_.plan;
  summary.makespan_ps = end;
  summary.cycles = static_cast<Cycles>(static_cast<double>(end) * chip_.core.clock_hz / 1e12 + 0.5);
  summary.hbm_read_bytes = read_bytes_;
  summary.hbm_write_bytes = write_bytes_;
  summary.hbm_busy_ps = hbm_busy_;
  if (end > 0) {
    summary.hbm_bytes_per_second =
        static_cast<double>(read_bytes_ + write_bytes_) * 1e12 / static_cast<double>(end);
  }
  summary.hbm_peak_bytes_per_second = chip_.hbm.PeakBytesPerSecond();
  summary.hbm_allocated_bytes = program_.hbm_allocated_bytes;
  summary.vmem_capacity_bytes = chip_.vmem.capacity;
  summary.notes = program_.notes;
  Picos guessed = 0;
  for (OpSummary& op : ops_) {
    op.start_ps = std::max<Picos>(op.start_ps, 0);
    if (const plan::KernelReport* report = program_.ops[static_cast<std::size_t>(&op - ops_.data())].report.get()) {
      op.slots = report->slot_use;
      op.steps = report->iterations * op.executions;
    }
    op.flops = program_.ops[static_cast<std::size_t>(&op - ops_.data())].flops * static_cast<double>(op.executions);
    op.bound = BoundOf(op, summary.hbm_peak_bytes_per_second, chip_);
    if (op.unmodelled) {
      guessed += op.busy_ps;
      summary.unmodelled_ops.push_back(op.name);
    }
  }
  if (end > 0) summary.recalled_share_of_time = static_cast<double>(skipped_) / static_cast<double>(end);
  if (end > 0) summary.unmodelled_share_of_time = static_cast<double>(guessed) / static_cast<double>(end);
  const auto op_name = [&](int op) {
    return op >= 0 && op < static_cast<int>(ops_.size()) ? program_.ops[static_cast<std::size_t>(op)].name
                                                         : std::string();
  };
  for (const plan::Buffer& buffer : program_.buffers) {
    summary.buffers.push_back({buffer.name, buffer.shape, SpaceName(buffer.space), buffer.logical_bytes,
                               buffer.allocated_bytes, buffer.offset, op_name(buffer.first_op),
                               op_name(buffer.last_op), buffer.exact_offset});
  }
  summary.ops = std::move(ops_);
  return summary;
}

timeline::Timeline Recorder::TakeTimeline() {
  std::stable_sort(timeline_.slices.begin(), timeline_.slices.end(), [](const Slice& a, const Slice& b) {
    if (a.start != b.start) return a.start < b.start;
    if (a.track != b.track) return a.track < b.track;
    return a.end > b.end;
  });
  return std::move(timeline_);
}

}  // namespace spillway::engine
