// SPDX-License-Identifier: Apache-2.0
#include "sim/explain/advice.h"

#include <fmt/format.h>

#include <algorithm>

namespace spillway::explain {
namespace {

/// "'a', 'b' and 2 more".
std::string Names(const Dataflow& flow, const std::vector<int>& ops) {
  constexpr std::size_t kShown = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(ops.size(), kShown); ++i) {
    const char* joint = i == 0 ? "" : (i + 1 == ops.size() ? " and " : ", ");
    text += fmt::format("{}'{}'", joint, flow.op(ops[i]).name);
  }
  if (ops.size() > kShown) text += fmt::format(" and {} more", ops.size() - kShown);
  return text;
}

std::string Name(const Dataflow& flow, int op) { return op < 0 ? "the caller" : "'" + flow.op(op).name + "'"; }

const plan::Buffer& BufferOf(const Dataflow& flow, const Boundary& boundary) {
  return flow.program().buffers[static_cast<std::size_t>(boundary.buffer)];
}

/// The relayout kernel of a `layout` boundary, and whether it makes the tensor (else it reads it).
struct Relayout {
  int op = -1;
  bool makes = false;
  std::string from, to;   ///< Layouts.
};
Relayout RelayoutOf(const Dataflow& flow, const Boundary& boundary) {
  Relayout relayout;
  relayout.makes = IsRelayout(flow, boundary.producer);
  relayout.op = relayout.makes || boundary.consumers.empty() ? boundary.producer : boundary.consumers.front();
  const hlo::Instruction* copy = relayout.op >= 0 ? flow.instruction(relayout.op) : nullptr;
  if (copy == nullptr || copy->operands.empty()) return relayout;
  const hlo::Shape& result = copy->shape.IsTuple() && !copy->shape.elements.empty() ? copy->shape.elements[0] : copy->shape;
  relayout.from = LayoutText(copy->operands[0]->shape);
  relayout.to = LayoutText(result);
  return relayout;
}

void AdviseLayout(const Dataflow& flow, Boundary& boundary) {
  const Relayout relayout = RelayoutOf(flow, boundary);
  const std::string change = relayout.from.empty() ? "changes the layout" : fmt::format("turns layout {} into {}", relayout.from, relayout.to);
  if (!relayout.makes) {
    boundary.reason = fmt::format("{} reads it only to change its layout: it {}", Name(flow, relayout.op), change);
    std::vector<int> beyond;
    for (int element = 0; element < 4; ++element) {
      const int made = flow.Made(relayout.op, element);
      if (made < 0) continue;
      for (int op : flow.Consumers(made)) beyond.push_back(op);
    }
    const std::string users = beyond.empty() ? "the result" : Names(flow, beyond);
    boundary.advice = fmt::format(
        "make {} write {} itself (order its output dimensions so), or let {} take its operand in {}: the copy goes with it",
        Name(flow, boundary.producer), relayout.to.empty() ? "the other layout" : relayout.to, users,
        relayout.from.empty() ? "this layout" : relayout.from);
    return;
  }
  const hlo::Instruction* copy = flow.instruction(relayout.op);
  const std::string source = copy != nullptr && !copy->operands.empty() ? std::string(copy->operands[0]->name) : "its operand";
  boundary.reason = fmt::format("{} made it only to change the layout of '{}': it {}", Name(flow, relayout.op), source, change);
  std::string operands;
  bool contracted = false;
  for (const Value& entry : flow.Entries(boundary.tensor)) {
    contracted |= IsContracted(flow, entry);
    const int parameter = flow.graph(entry.op).nodes[static_cast<std::size_t>(entry.node)].parameter;
    operands += fmt::format("{}operand {} of '{}'", operands.empty() ? "" : ", ", parameter, flow.op(entry.op).name);
    if (operands.size() > 120) break;
  }
  boundary.advice = fmt::format("let {} take layout {} ({}), or produce '{}' in {}",
                                operands.empty() ? "its user" : operands, relayout.from,
                                contracted ? "swap the operand's dimensions in the contraction instead of in memory" : "compute in that dimension order",
                                source, relayout.to);
}

void AdviseMeeting(const Dataflow& flow, Boundary& boundary) {
  const MeetingPoint& point = boundary.meeting;
  const std::string at = Name(flow, point.op);
  const std::string tensor = BufferOf(flow, boundary).name;
  switch (point.meeting) {
    case Meeting::kSoftmax:
      boundary.reason = fmt::format("a softmax: {} needs a finished {} over a whole row before it can use the row's elements", at, point.reduction);
      boundary.advice = point.contracted
          ? "compute the softmax online (running maximum and sum, rescale the accumulator) in one kernel with the matmul that follows, as flash attention does: the rows then exist as tiles in VMEM only"
          : "carry a running maximum and a rescaled sum in one pass (online softmax): one read of the data less";
      return;
    case Meeting::kVariance:
      boundary.reason = fmt::format("a variance in two passes: {} subtracts the finished mean before it sums the squares", at);
      boundary.advice = "sum x and x*x in one pass (E[x^2] - E[x]^2, or Welford's update in f32): one read of the data less";
      return;
    case Meeting::kSoftmaxResult:
      boundary.reason = fmt::format("{} writes normalised values: the {} over a whole row must be finished before the first of them", at, point.reduction);
      boundary.advice = "keep a block of whole rows in VMEM in one kernel that reduces and then normalises it: the data is read once; or hand on unnormalised values and the row sums";
      return;
    case Meeting::kNormalisation:
    case Meeting::kNone:
      break;
  }
  boundary.reason = fmt::format("{} scales the data with a statistic of it: the full reduction ({}) must finish first", at, point.reduction);
  boundary.advice = point.contracted
      ? fmt::format("the scale of a row commutes with the matmul: multiply the product of {} by it instead of its operand, and the reduction can run in the same pass", at)
      : "write one kernel over blocks of whole rows that reduces a block and scales it while it is in VMEM: the data is read once";
}

void AdviseCapacity(const Dataflow& flow, Bytes usable, Boundary& boundary) {
  const plan::Buffer& buffer = BufferOf(flow, boundary);
  const Tensor& tensor = flow.tensors()[static_cast<std::size_t>(boundary.tensor)];
  if (tensor.producer >= 0 && flow.IsAsync(tensor.producer)) {
    boundary.reason = fmt::format("the compiler moved it out of VMEM ('{}') and has it fetched again later, to make room", flow.op(tensor.producer).name);
    boundary.advice = fmt::format("shorten its life (compute it next to {}) or recompute it there; {} to and fro is little unless it is waited for",
                                  Names(flow, boundary.consumers), FormatBytes(buffer.allocated_bytes));
    return;
  }
  boundary.reason = buffer.allocated_bytes > usable
      ? fmt::format("{} are more than all of VMEM ({} usable)", FormatBytes(buffer.allocated_bytes), FormatBytes(usable))
      : fmt::format("{} are {} too many beside what VMEM holds during '{}'", FormatBytes(buffer.allocated_bytes),
                    FormatBytes(boundary.excess_bytes), boundary.at_op);
  boundary.advice = fmt::format("merge {} and {} into one kernel that makes and uses it block by block, or cut the batch so that {} shrinks below the room there is",
                                Name(flow, boundary.producer), Names(flow, boundary.consumers), buffer.name);
}

void AdviseOther(const Dataflow& flow, Boundary& boundary) {
  const Tensor& tensor = flow.tensors()[static_cast<std::size_t>(boundary.tensor)];
  const std::string consumers = Names(flow, boundary.consumers);
  const std::string room = boundary.could_stay ? "; it also fits in VMEM whole" : "";
  switch (boundary.verdict) {
    case Verdict::kAlgorithm:   // An online-softmax kernel reads the scores.
      boundary.reason = fmt::format("{} is an online softmax that takes its scores from HBM", consumers);
      boundary.advice = fmt::format("compute the scores inside {} (flash attention): multiply a block of queries with a block of keys there, and they never leave VMEM", consumers);
      return;
    case Verdict::kDependency: {
      std::string what;
      for (const Value& entry : flow.Entries(boundary.tensor)) {
        if (what.empty()) what = NeedsAll(flow, entry);
      }
      boundary.reason = what.empty() ? fmt::format("{} finishes a reduction; {} can start only with its result", Name(flow, boundary.producer), consumers)
                                     : fmt::format("{} needs every element before its first result ({})", consumers, what);
      boundary.advice = what.empty() ? fmt::format("fold the work of {} into the epilogue of {}", consumers, Name(flow, boundary.producer))
                                     : fmt::format("nothing short of another algorithm than '{}' removes it; keep the array small before it", what);
      return;
    }
    case Verdict::kShared:
      if (tensor.producer < 0) {
        boundary.reason = fmt::format("{} each read this argument", consumers);
        boundary.advice = fmt::format("merge {} into one kernel with several results, or prefetch it into VMEM once for both", consumers);
      } else if (IsPlainCopy(flow, boundary.producer)) {
        boundary.reason = fmt::format("{} copies an array as it is, because {} overwrites it and its owner still needs it", Name(flow, boundary.producer), consumers);
        boundary.advice = "donate the argument (donate_argnums) or drop the last other use, and the update happens in place";
      } else {
        boundary.reason = tensor.result ? fmt::format("the caller gets it, and {} read it again", consumers) : fmt::format("{} all need it", consumers);
        boundary.advice = fmt::format("merge {} into one kernel with several results, so that it is read once{}", consumers, room);
      }
      return;
    default:
      boundary.reason = fmt::format("nothing forbids it: {} takes it piece by piece as {} makes it", consumers, Name(flow, boundary.producer));
      boundary.advice = fmt::format("fuse {} into {} (same loop order and tile on both sides; slices, pads and concatenations between them are what usually stops the compiler){}",
                                    Name(flow, boundary.producer), consumers, room);
      return;
  }
}

}  // namespace

std::string LayoutText(const hlo::Shape& shape) {
  const std::string text = hlo::ToString(shape);
  const std::size_t brace = text.find('{');
  return brace == std::string::npos ? "" : text.substr(brace);
}

void Advise(const Dataflow& flow, Bytes vmem_usable, Boundary& boundary) {
  if (boundary.verdict == Verdict::kLayout) return AdviseLayout(flow, boundary);
  if (boundary.verdict == Verdict::kCapacity) return AdviseCapacity(flow, vmem_usable, boundary);
  if (boundary.meeting.meeting != Meeting::kNone) return AdviseMeeting(flow, boundary);
  AdviseOther(flow, boundary);
}

}  // namespace spillway::explain
