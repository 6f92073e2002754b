// SPDX-License-Identifier: Apache-2.0
#include "sim/explain/boundary.h"

#include <algorithm>

#include "sim/explain/advice.h"
#include "sim/plan/plan_check.h"

namespace spillway::explain {
namespace {

/// An argument counts as read again when the bytes read exceed its size by this factor (halves of one array that
/// two kernels take are one read).
constexpr double kReadAgain = 1.5;

/// Scalars and the like: what moves them costs nothing worth a line.
constexpr Bytes kSmall = Bytes{4} << 10;

class Finder {
 public:
  Finder(const Dataflow& flow, const Surroundings& surroundings)
      : flow_(flow), around_(surroundings), live_(plan::LiveVmem(flow.program())) {}

  std::vector<Boundary> Run() {
    std::vector<Boundary> found, arguments;
    for (std::size_t i = 0; i < flow_.tensors().size(); ++i) {
      const Tensor& tensor = flow_.tensors()[i];
      if (BufferOf(tensor).space != plan::Space::kHbm || BufferOf(tensor).allocated_bytes < kSmall) continue;
      if (around_.hbm_bytes[static_cast<std::size_t>(tensor.buffer)] <= 0) continue;
      Boundary boundary;
      boundary.tensor = static_cast<int>(i);
      boundary.buffer = tensor.buffer;
      boundary.producer = flow_.Maker(boundary.tensor);
      boundary.consumers = flow_.Consumers(boundary.tensor);
      DropInPlace(tensor, boundary);
      for (const Use& use : tensor.uses) Touch(boundary, use.op);
      if (tensor.producer >= 0) {
        Touch(boundary, tensor.producer);
        if (boundary.consumers.empty()) continue;
        Judge(tensor, boundary);
        found.push_back(std::move(boundary));
      } else if (tensor.argument && IsReadAgain(tensor, boundary)) {
        Judge(tensor, boundary);
        arguments.push_back(std::move(boundary));
      }
    }
    std::sort(found.begin(), found.end(), [&](const Boundary& a, const Boundary& b) {
      return std::make_pair(a.producer, a.tensor) < std::make_pair(b.producer, b.tensor);
    });
    for (Boundary& argument : arguments) found.push_back(std::move(argument));
    return found;
  }

 private:
  const plan::Buffer& BufferOf(const Tensor& tensor) const {
    return flow_.program().buffers[static_cast<std::size_t>(tensor.buffer)];
  }

  static void Touch(Boundary& boundary, int op) {
    auto at = std::lower_bound(boundary.touching.begin(), boundary.touching.end(), op);
    if (at == boundary.touching.end() || *at != op) boundary.touching.insert(at, op);
  }

  /// An update in place does not read what it leaves alone.
  void DropInPlace(const Tensor& tensor, Boundary& boundary) const {
    auto updates = [&](int op) { return op == tensor.producer; };
    boundary.consumers.erase(std::remove_if(boundary.consumers.begin(), boundary.consumers.end(), updates), boundary.consumers.end());
  }

  bool IsReadAgain(const Tensor& tensor, const Boundary& boundary) const {
    std::set<int> readers;
    for (const Use& use : tensor.uses) readers.insert(use.op);
    const double bytes = static_cast<double>(BufferOf(tensor).allocated_bytes);
    return readers.size() > 1 && boundary.consumers.size() > 1 &&
           static_cast<double>(around_.read_bytes[static_cast<std::size_t>(tensor.buffer)]) > kReadAgain * bytes;
  }

  /// Whether it can stay in VMEM whole; says why not.
  void Fit(const Tensor& tensor, Boundary& boundary) const {
    const plan::Buffer& buffer = BufferOf(tensor);
    for (const plan::Residency& line : around_.residency) {
      if (line.tensor != buffer.name) continue;
      boundary.could_stay = line.why.empty();
      boundary.why_not = line.why;
      boundary.excess_bytes = line.excess_bytes;
      boundary.at_op = line.at_op;
      if (line.why.empty() || line.excess_bytes > 0) return;
    }
    // The plan cannot move it: count for ourselves whether it would fit.
    int first = std::max(buffer.first_op, 0), last = buffer.last_op;
    for (int op = first; op <= last && op < static_cast<int>(live_.size()); ++op) {
      const Bytes held = live_[static_cast<std::size_t>(op)] + flow_.op(op).scoped_vmem;
      const Bytes excess = held + buffer.allocated_bytes - around_.vmem_usable;
      if (excess <= boundary.excess_bytes) continue;
      boundary.excess_bytes = excess;
      boundary.at_op = flow_.op(op).name;
    }
    if (boundary.why_not.empty()) {
      boundary.why_not = tensor.producer < 0 ? "it is an argument" : "an asynchronous copy made it";
    }
  }

  bool AllConsumers(const Boundary& boundary, bool (*test)(const Dataflow&, int)) const {
    return std::all_of(boundary.consumers.begin(), boundary.consumers.end(),
                       [&](int op) { return test(flow_, op); });
  }

  Verdict VerdictOf(const Tensor& tensor, Boundary& boundary) const {
    Fit(tensor, boundary);
    if (tensor.producer >= 0 && flow_.IsAsync(tensor.producer)) return Verdict::kCapacity;   // Evicted from VMEM.
    if (IsRelayout(flow_, boundary.producer) || AllConsumers(boundary, IsRelayout)) return Verdict::kLayout;
    boundary.meeting = FindMeeting(flow_, boundary.tensor);
    switch (boundary.meeting.meeting) {
      case Meeting::kSoftmax:
      case Meeting::kVariance:
        return Verdict::kAlgorithm;
      case Meeting::kSoftmaxResult:
      case Meeting::kNormalisation:
        return Verdict::kDependency;
      case Meeting::kNone:
        break;
    }
    bool contracted = false;
    for (int op : boundary.consumers) {
      const hlo::Instruction* instruction = flow_.instruction(op);
      if (instruction != nullptr && tensor.producer >= 0 && IsOnlineSoftmax(*instruction)) return Verdict::kAlgorithm;
    }
    for (const Value& entry : flow_.Entries(boundary.tensor)) {
      if (!NeedsAll(flow_, entry).empty()) return Verdict::kDependency;
      contracted |= IsContracted(flow_, entry);
    }
    if (IsStatistic(flow_, boundary.tensor)) return Verdict::kDependency;
    if (IsPlainCopy(flow_, boundary.producer) || AllConsumers(boundary, IsPlainCopy)) return Verdict::kShared;
    const bool shared = boundary.consumers.size() > 1 || tensor.result || tensor.producer < 0;
    if (tensor.producer >= 0 && (shared || contracted) && boundary.excess_bytes > 0) return Verdict::kCapacity;
    return shared ? Verdict::kShared : Verdict::kMissed;
  }

  void Judge(const Tensor& tensor, Boundary& boundary) const {
    boundary.verdict = VerdictOf(tensor, boundary);
    Advise(flow_, around_.vmem_usable, boundary);
  }

  const Dataflow& flow_;
  const Surroundings& around_;
  const std::vector<Bytes> live_;
};

}  // namespace

const char* VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kDependency: return "dependency";
    case Verdict::kAlgorithm: return "algorithm";
    case Verdict::kLayout: return "layout";
    case Verdict::kCapacity: return "capacity";
    case Verdict::kShared: return "shared";
    case Verdict::kMissed: return "missed";
  }
  return "missed";
}

Result<Surroundings> SurroundingsOf(const Dataflow& flow, const plan::PlanInputs& inputs) {
  Surroundings around;
  Result<std::vector<plan::Residency>> residency = plan::ResidencyOf(inputs);
  if (!residency.ok()) return residency.errors();
  around.residency = std::move(*residency);
  around.vmem_usable = inputs.chip->vmem.usable;
  const plan::HbmTraffic traffic = plan::CountHbm(flow.program());
  around.hbm_bytes.resize(flow.program().buffers.size());
  around.read_bytes.resize(flow.program().buffers.size());
  for (std::size_t i = 0; i < around.hbm_bytes.size(); ++i) {
    const auto root = static_cast<std::size_t>(flow.Root(static_cast<int>(i)));
    around.hbm_bytes[root] += traffic.read_by_buffer[i] + traffic.written_by_buffer[i];
    around.read_bytes[root] += traffic.read_by_buffer[i];
  }
  return around;
}

std::vector<Boundary> FindBoundaries(const Dataflow& flow, const Surroundings& surroundings) {
  return Finder(flow, surroundings).Run();
}

}  // namespace spillway::explain
