// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/bundle_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/llo/describe.h"

namespace spillway::plan {
namespace {

using llo::Dma;
using llo::Event;

// HBM buffers by address, to name what a DMA moves.
class AddressIndex {
 public:
  explicit AddressIndex(const std::vector<Buffer>& buffers) {
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const Buffer& buffer = buffers[i];
      if (buffer.space != Space::kHbm || buffer.alias_of >= 0) continue;
      ranges_.push_back({buffer.offset, buffer.offset + buffer.allocated_bytes, static_cast<int>(i)});
    }
    std::sort(ranges_.begin(), ranges_.end());
  }

  // The kernel's own arguments come first: other buffers may have had the same place at other times.
  int Find(std::int64_t address, const std::vector<int>& arguments, const std::vector<Buffer>& buffers) const {
    for (const int index : arguments) {
      if (index < 0) continue;
      const Buffer& buffer = buffers[static_cast<std::size_t>(index)];
      if (buffer.space == Space::kHbm && address >= buffer.offset &&
          address < buffer.offset + buffer.allocated_bytes) {
        return index;
      }
    }
    auto it = std::upper_bound(ranges_.begin(), ranges_.end(), Range{address, INT64_MAX, 0});
    if (it == ranges_.begin()) return -1;
    --it;
    return address < it->end ? it->buffer : -1;
  }

 private:
  struct Range {
    std::int64_t begin, end;
    int buffer;
    bool operator<(const Range& other) const {
      return begin != other.begin ? begin < other.begin : end < other.end;
    }
  };
  std::vector<Range> ranges_;
};

Transfer ToTransfer(const Dma& dma) {
  Transfer transfer;
  transfer.thread = dma.thread;
  transfer.chunk_bytes = std::max<Bytes>(dma.chunk_bytes, 1);
  transfer.stride = dma.stride;
  transfer.outer = std::max<std::int64_t>(dma.outer, 1);
  transfer.outer_stride = dma.outer_stride;
  transfer.chunks = dma.bytes / (transfer.chunk_bytes * transfer.outer);
  if (transfer.bytes() != dma.bytes) {  // a ragged pattern: only its size is sure
    transfer.chunk_bytes = dma.bytes;
    transfer.chunks = transfer.outer = 1;
  }
  switch (dma.kind) {
    case Dma::Kind::kVmemToHbm:
    case Dma::Kind::kSmemToHbm:
      transfer.direction = Direction::kVmemToHbm;
      transfer.address = dma.destination;
      break;
    case Dma::Kind::kHbmToHbm:
      transfer.direction = Direction::kHbmToHbm;
      transfer.address = dma.source;
      transfer.destination = dma.destination;
      break;
    case Dma::Kind::kVmemToVmem:
    case Dma::Kind::kOther: transfer.direction = Direction::kVmemToVmem; break;
    case Dma::Kind::kHbmToVmem:
    case Dma::Kind::kHbmToSmem: transfer.address = dma.source; break;
  }
  return transfer;
}

// What all executions of one kernel share.
struct KernelCode {
  std::shared_ptr<const llo::Kernel> kernel;
  llo::MachineOptions options;
  std::vector<int> arguments;
  std::shared_ptr<const AddressIndex> index;
  std::shared_ptr<const std::vector<Buffer>> buffers;
  Bytes granule = 32;
  std::string op;
  std::shared_ptr<const llo::Utilization> utilization;  // null: the dump has no table
  std::shared_ptr<KernelReport> report;
};

class BundleSource final : public ActionSource {
 public:
  explicit BundleSource(std::shared_ptr<const KernelCode> code)
      : code_(std::move(code)), machine_(*code_->kernel, code_->options) {}

  bool Next(Action& action) override {
    if (!have_event_) {
      event_ = machine_.Next();
      have_event_ = true;
      if (event_.cycles > 0) {
        action.kind = Action::Kind::kCompute;
        action.cycles = event_.cycles;
        action.bundles = event_.bundles;
        action.loads = event_.loads;
        action.stores = event_.stores;
        return true;
      }
    }
    have_event_ = false;
    return Translate(action);
  }

  std::string Failure() const override { return failure_; }
  void OnStall(Cycles cycles) override { machine_.Stalled(cycles); }

 private:
  bool Translate(Action& action) {
    action.flag = static_cast<int>(event_.flag);
    action.bytes = event_.granules * code_->granule;
    action.consume = false;
    switch (event_.kind) {
      case Event::Kind::kDma:
        action.kind = Action::Kind::kIssue;
        action.flag = static_cast<int>(event_.dma.flag);
        action.transfer = ToTransfer(event_.dma);
        if (action.transfer.direction != Direction::kVmemToVmem) {
          action.transfer.buffer = code_->index->Find(action.transfer.address, code_->arguments, *code_->buffers);
          SpreadGatheredRows(action.transfer);
        }
        return true;
      case Event::Kind::kWait: action.kind = Action::Kind::kWait; return true;
      case Event::Kind::kFlag:
        action.kind = Action::Kind::kFlag;
        action.set = event_.set;
        return true;
      case Event::Kind::kCall: return Next(action);
      case Event::Kind::kError: failure_ = fmt::format("'{}': {}", code_->op, event_.message); return false;
      case Event::Kind::kEnd: Report(); return false;
    }
    return false;
  }

  void Report() {
    const llo::Kernel& kernel = *code_->kernel;
    std::int64_t most = 0;
    for (const llo::LoopDescription& loop : llo::FindLoops(kernel, machine_)) {
      if (loop.depth > 0 || loop.bundles <= most) continue;
      most = loop.bundles;
      code_->report->iterations = loop.iterations;
    }
    if (!code_->utilization) return;
    for (const llo::SlotUse& use : llo::ExecutedUse(kernel, machine_.block_runs(), *code_->utilization)) {
      code_->report->slot_use[use.slot] = use.share;
    }
  }

  // Which rows a gather reads is data: in the dump every index is 0. A descriptor that reads one place again and
  // again into changing places is spread over its buffer, as the planner does without bundles.
  void SpreadGatheredRows(Transfer& transfer) {
    if (transfer.direction != Direction::kHbmToVmem || transfer.buffer < 0) return;
    LastRead& last = last_reads_[transfer.buffer];
    const bool repeated = last.source == event_.dma.source && last.destination != event_.dma.destination;
    last = {event_.dma.source, event_.dma.destination};
    if (!repeated) return;
    const Buffer& buffer = (*code_->buffers)[static_cast<std::size_t>(transfer.buffer)];
    const Bytes span = (transfer.chunks - 1) * transfer.stride + (transfer.outer - 1) * transfer.outer_stride +
                       transfer.chunk_bytes;
    constexpr Bytes kRow = 512;  // a sublane of 32-bit values, the smallest row of a tile
    const Bytes places = (buffer.offset + buffer.allocated_bytes - transfer.address - span) / kRow;
    if (places <= 0 || machine_.notes().empty()) return;
    transfer.address += static_cast<std::int64_t>(++spread_ * 0x9e3779b97f4a7c15ULL % static_cast<std::uint64_t>(places)) * kRow;
  }

  struct LastRead {
    std::int64_t source = -1, destination = -1;
  };

  std::shared_ptr<const KernelCode> code_;
  llo::Machine machine_;
  std::map<int, LastRead> last_reads_;  // by buffer
  std::uint64_t spread_ = 0;
  Event event_;
  bool have_event_ = false;
  std::string failure_;
};

template <class Function>
void ForEachKernel(std::vector<Item>& items, const Function& function) {
  for (Item& item : items) {
    if (item.kind == Item::Kind::kLoop) ForEachKernel(item.body, function);
    if (item.kind == Item::Kind::kKernel) function(item);
  }
}

std::vector<std::int64_t> Addresses(const std::vector<int>& arguments, const std::vector<Buffer>& buffers) {
  std::vector<std::int64_t> addresses;
  for (const int index : arguments) {
    const bool hbm = index >= 0 && buffers[static_cast<std::size_t>(index)].space == Space::kHbm;
    addresses.push_back(hbm ? buffers[static_cast<std::size_t>(index)].offset : -1);
  }
  return addresses;
}

}  // namespace

llo::MachineOptions MachineOptionsOf(const config::ChipConfig& chip) {
  llo::MachineOptions options;
  options.hbm_unit_bytes = chip.dma.hbm_address_unit;
  options.warm = chip.run.warm;
  options.matrix.units = chip.core.mxus;
  options.matrix.columns = chip.core.mxu_columns;
  for (const auto& [type, cycles] : chip.core.matmul_cycles) {
    options.matrix.cycles[type] = static_cast<Cycles>(std::llround(cycles));
  }
  // No result latency: the compiler's schedule already keeps each pop that far behind its vmatmul. What
  // it does not see is queueing, so only the cadence can stall a bundle.
  return options;
}

BundleTotals DryRun(const llo::Kernel& kernel, const llo::MachineOptions& options) {
  llo::Machine machine(kernel, options);
  BundleTotals totals;
  for (;;) {
    const Event event = machine.Next();
    if (event.kind == Event::Kind::kEnd) break;
    if (event.kind == Event::Kind::kError) {
      totals.failure = event.message;
      break;
    }
    if (event.kind != Event::Kind::kDma) continue;
    ++totals.dmas;
    const Transfer transfer = ToTransfer(event.dma);
    const Direction direction = transfer.direction;
    if (direction == Direction::kHbmToVmem || direction == Direction::kHbmToHbm) totals.read_bytes += event.dma.bytes;
    if (direction == Direction::kVmemToHbm || direction == Direction::kHbmToHbm) totals.write_bytes += event.dma.bytes;
  }
  totals.bundles = machine.bundles();
  totals.cycles = machine.cycles();
  return totals;
}

void AttachBundles(Program& program, const llo::Dump& dump, const config::ChipConfig& chip) {
  const auto buffers = std::make_shared<const std::vector<Buffer>>(program.buffers);
  const auto index = std::make_shared<const AddressIndex>(*buffers);
  std::vector<std::string> missing, compiled;
  ForEachKernel(program.items, [&](Item& item) {
    const Op& op = program.ops[static_cast<std::size_t>(item.op)];
    if (op.as_compiled) compiled.push_back(op.name);
  });
  dump.Preload(compiled);
  ForEachKernel(program.items, [&](Item& item) {
    Op& op = program.ops[static_cast<std::size_t>(item.op)];
    if (!op.as_compiled) return;
    if (dump.Resolve(op.name).empty()) {
      if (op.compute_source != ComputeSource::kBundles) missing.push_back(op.name);
      return;
    }
    Result<std::shared_ptr<const llo::Kernel>> kernel = dump.Load(op.name);
    if (!kernel.ok()) {
      program.notes.push_back(fmt::format("bundles of '{}' not used: {}", op.name, kernel.errors()[0].message));
      return;
    }
    auto code = std::make_shared<KernelCode>();
    code->kernel = *kernel;
    code->options = MachineOptionsOf(chip);
    code->options.operand_addresses = Addresses(op.arguments, *buffers);
    code->arguments = op.arguments;
    code->index = index;
    code->buffers = buffers;
    code->granule = chip.dma.granule;
    code->op = op.name;
    // A kernel without open questions cannot fail half way; any other is tried out first.
    if (!code->kernel->notes().empty()) {
      const BundleTotals trial = DryRun(*code->kernel, code->options);
      if (!trial.failure.empty()) {
        program.notes.push_back(fmt::format("bundles of '{}' not used: {}", op.name, trial.failure));
        return;
      }
    }
    Result<llo::Utilization> utilization = dump.LoadUtilization(op.name, *code->kernel);
    if (utilization.ok()) code->utilization = std::make_shared<llo::Utilization>(std::move(utilization).value());
    op.report = code->report = std::make_shared<KernelReport>();
    op.compute_source = ComputeSource::kBundles;
    op.unmodelled = false;
    op.why.clear();
    op.error_band = 0;
    item.source = [code] { return std::make_unique<BundleSource>(code); };
  });
  if (missing.empty()) return;
  std::string names;
  for (std::size_t i = 0; i < std::min<std::size_t>(missing.size(), 5); ++i) names += (i ? ", " : "") + missing[i];
  if (missing.size() > 5) names += fmt::format(" and {} more", missing.size() - 5);
  program.notes.push_back(fmt::format("no bundles in the dump for {} ops, which keep the model: {}", missing.size(), names));
}

}  // namespace spillway::plan
