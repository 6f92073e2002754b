// SPDX-License-Identifier: Apache-2.0
#include "sim/hlo/rebind_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/hlo/attributes.h"

namespace spillway::hlo {
namespace {

template <class S>
void Collect(S& shape, std::vector<S*>& arrays) {
  if (shape.elements.empty()) {
    if (!shape.IsTuple()) arrays.push_back(&shape);
    return;
  }
  for (auto& element : shape.elements) Collect(element, arrays);
}

bool Has(const Dims& dims, std::int64_t d) { return std::find(dims.begin(), dims.end(), d) != dims.end(); }

/// One element of a batch at a time: how XLA:TPU writes a batch dimension as a spatial one.
bool IsBatch(const WindowDimension& w, std::int64_t in, std::int64_t kernel, std::int64_t out) {
  return w.size > 1 && w.size == in && w.size == kernel && w.size == out && w.base_dilation == w.size &&
         w.stride == w.size - 1;
}

}  // namespace

std::vector<const Shape*> ArraysOf(const Shape& shape) {
  std::vector<const Shape*> arrays;
  Collect(shape, arrays);
  return arrays;
}

std::vector<Shape*> ArraysOf(Shape& shape) {
  std::vector<Shape*> arrays;
  Collect(shape, arrays);
  return arrays;
}

DimRules::DimRules(const Module& module, const RebindRequest& request)
    : module_(module), request_(request), solver_(module) {
  for (const Computation& computation : module.computations) Allocate(computation);
  array_dims_ = solver_.count();
  for (const Computation& computation : module.computations) {
    for (const Instruction& instruction : computation.instructions) Relate(instruction);
  }
  GroupSlices();
}

void DimRules::Allocate(const Computation& computation) {
  for (const Instruction& instruction : computation.instructions) {
    std::vector<std::vector<int>>& arrays = dims_[&instruction];
    for (const Shape* array : ArraysOf(instruction.shape)) {
      std::vector<int>& dims = arrays.emplace_back();
      for (const std::int64_t size : array->dimensions) {
        dims.push_back(solver_.New(size, &instruction));
        // Nothing grows from one or from none: such a dimension is no symbol.
        if (size <= 1) solver_.Fix(dims.back(), &instruction);
      }
    }
  }
}

const std::vector<int>& DimRules::Dims(const Instruction& instruction, int array) const {
  static const std::vector<int> kNone;
  const auto& arrays = dims_.at(&instruction);
  return array >= 0 && array < static_cast<int>(arrays.size()) ? arrays[static_cast<std::size_t>(array)] : kNone;
}

int DimRules::ArrayCount(const Instruction& instruction) const {
  return static_cast<int>(dims_.at(&instruction).size());
}

const std::vector<int>& DimRules::Operand(const Instruction& instruction, std::size_t i) const {
  static const std::vector<int> kNone;
  return i < instruction.operands.size() ? Dims(*instruction.operands[i]) : kNone;
}

void DimRules::EqualAll(const std::vector<int>& a, const std::vector<int>& b, const Instruction* where) {
  if (a.size() != b.size()) return;
  for (std::size_t i = 0; i < a.size(); ++i) solver_.Equal(a[i], b[i], where);
}

void DimRules::SameValue(ArrayRef a, ArrayRef b, const Instruction* where) {
  EqualAll(Dims(*a.instruction, a.array), Dims(*b.instruction, b.array), where);
  same_value_.emplace_back(a, b);
}

void DimRules::SameTree(const Instruction& a, const Instruction& b, const Instruction* where) {
  if (ArrayCount(a) != ArrayCount(b)) return;
  for (int i = 0; i < ArrayCount(a); ++i) SameValue({&a, i}, {&b, i}, where);
}

void DimRules::Call(const Instruction& instruction, const Computation* callee, std::size_t first_operand) {
  if (callee == nullptr) return;
  for (std::size_t i = 0; i < callee->parameters.size(); ++i) {
    if (callee->parameters[i] == nullptr || first_operand + i >= instruction.operands.size()) continue;
    SameTree(*instruction.operands[first_operand + i], *callee->parameters[i], &instruction);
  }
}

void DimRules::Tuple(const Instruction& instruction) {
  int at = 0;
  for (const Instruction* operand : instruction.operands) {
    for (int i = 0; i < ArrayCount(*operand); ++i) SameValue({operand, i}, {&instruction, at++}, &instruction);
  }
}

/// The result is member `element` of the operand.
void DimRules::TupleElement(const Instruction& instruction, int element) {
  if (instruction.operands.empty()) return;
  const Instruction& tuple = *instruction.operands[0];
  if (!tuple.shape.IsTuple() || element < 0 || element >= static_cast<int>(tuple.shape.elements.size())) return;
  int at = 0;
  for (int i = 0; i < element; ++i) {
    at += static_cast<int>(ArraysOf(tuple.shape.elements[static_cast<std::size_t>(i)]).size());
  }
  for (int i = 0; i < ArrayCount(instruction); ++i) SameValue({&tuple, at + i}, {&instruction, i}, &instruction);
}

void DimRules::CopyStart(const Instruction& instruction) {
  for (int i = 0; i < 2; ++i) EqualAll(Operand(instruction, 0), Dims(instruction, i), &instruction);
  if (!instruction.operands.empty()) same_value_.push_back({{instruction.operands[0], 0}, {&instruction, 1}});
}

// ((operands), outputs, state …)
void DimRules::AsyncStart(const Instruction& instruction) {
  int at = 0;
  for (const Instruction* operand : instruction.operands) {
    for (int i = 0; i < ArrayCount(*operand); ++i) SameValue({operand, i}, {&instruction, at++}, &instruction);
  }
  const std::vector<std::vector<int>>& arrays = dims_.at(&instruction);
  const Computation* callee = instruction.called.empty() ? nullptr : instruction.called.front();
  if (callee != nullptr && callee->root != nullptr) {
    Call(instruction, callee, 0);
    for (int i = 0; i < ArrayCount(*callee->root); ++i) {
      SameValue({callee->root, i}, {&instruction, at + i}, &instruction);
    }
    return;
  }
  const std::string_view name = instruction.opcode_name.substr(0, instruction.opcode_name.rfind('-'));
  if (at < static_cast<int>(arrays.size())) RelateByOpcode(instruction, OpcodeFromName(name), {arrays[static_cast<std::size_t>(at)]});
}

void DimRules::While(const Instruction& instruction) {
  if (instruction.operands.empty()) return;
  SameTree(*instruction.operands[0], instruction, &instruction);
  Call(instruction, instruction.Called("condition"), 0);
  const Computation* body = instruction.Called("body");
  if (body == nullptr || body->root == nullptr) return;
  Call(instruction, body, 0);
  SameTree(*body->root, instruction, &instruction);
}

void DimRules::Conditional(const Instruction& instruction) {
  for (std::size_t i = 0; i < instruction.called.size(); ++i) {
    const Computation* branch = instruction.called[i];
    if (i + 1 < instruction.operands.size() && !branch->parameters.empty()) {
      SameTree(*instruction.operands[i + 1], *branch->parameters[0], &instruction);
    }
    if (branch->root != nullptr) SameTree(*branch->root, instruction, &instruction);
  }
}

void DimRules::Elementwise(const Instruction& instruction, const std::vector<std::vector<int>>& result) {
  for (const Instruction* operand : instruction.operands) {
    const auto& arrays = dims_.at(operand);
    if (arrays.size() == 1) {
      for (const std::vector<int>& each : result) EqualAll(arrays[0], each, &instruction);
    }
  }
}

void DimRules::Dot(const Instruction& instruction) {
  const DotDimensions dot = DotOf(instruction);
  const std::vector<int>&lhs = Operand(instruction, 0), &rhs = Operand(instruction, 1), &out = Dims(instruction);
  const auto at = [](const std::vector<int>& dims, std::int64_t d) { return dims[static_cast<std::size_t>(d)]; };
  std::size_t next = 0;
  const std::size_t batches = std::min(dot.lhs_batch.size(), dot.rhs_batch.size());
  for (std::size_t i = 0; i < batches; ++i) {
    solver_.Equal(at(lhs, dot.lhs_batch[i]), at(rhs, dot.rhs_batch[i]), &instruction);
    if (next < out.size()) solver_.Equal(at(lhs, dot.lhs_batch[i]), out[next++], &instruction);
  }
  for (std::size_t i = 0; i < std::min(dot.lhs_contracting.size(), dot.rhs_contracting.size()); ++i) {
    solver_.Equal(at(lhs, dot.lhs_contracting[i]), at(rhs, dot.rhs_contracting[i]), &instruction);
  }
  const auto free = [&](const std::vector<int>& side, const hlo::Dims& batch, const hlo::Dims& contracting) {
    for (std::size_t d = 0; d < side.size(); ++d) {
      const auto number = static_cast<std::int64_t>(d);
      if (!Has(batch, number) && !Has(contracting, number) && next < out.size()) {
        solver_.Equal(side[d], out[next++], &instruction);
      }
    }
  };
  free(lhs, dot.lhs_batch, dot.lhs_contracting);
  free(rhs, dot.rhs_batch, dot.rhs_contracting);
}

void DimRules::Convolution(const Instruction& instruction) {
  const auto labels = ConvolutionOf(instruction);
  const bool grouped = IntAttr(instruction, "feature_group_count").value_or(1) != 1 ||
                       IntAttr(instruction, "batch_group_count").value_or(1) != 1;
  if (!labels || grouped) return opaque_.push_back(&instruction);
  const std::vector<int>&in = Operand(instruction, 0), &kernel = Operand(instruction, 1), &out = Dims(instruction);
  const auto at = [](const std::vector<int>& dims, std::int64_t d) { return dims[static_cast<std::size_t>(d)]; };
  solver_.Equal(at(in, labels->input_batch), at(out, labels->output_batch), &instruction);
  solver_.Equal(at(in, labels->input_feature), at(kernel, labels->kernel_input_feature), &instruction);
  solver_.Equal(at(kernel, labels->kernel_output_feature), at(out, labels->output_feature), &instruction);
  const auto window = WindowOf(instruction);
  for (std::size_t s = 0; s < labels->input_spatial.size(); ++s) {
    const int i = at(in, labels->input_spatial[s]), k = at(kernel, labels->kernel_spatial[s]);
    const int o = at(out, labels->output_spatial[s]);
    const WindowDimension w = window && s < window->size() ? (*window)[s] : WindowDimension{};
    if (IsBatch(w, solver_.Old(i), solver_.Old(k), solver_.Old(o))) {
      solver_.Equal(i, k, &instruction);
      solver_.Equal(i, o, &instruction);
    } else {
      solver_.Fix(k, &instruction);
      solver_.Window(o, i, w, &instruction);
    }
  }
}

void DimRules::Reduce(const Instruction& instruction) {
  const hlo::Dims gone = DimensionsOf(instruction);
  const std::size_t arrays = instruction.operands.size() / 2;
  for (std::size_t i = 0; i < arrays; ++i) {
    const std::vector<int>& in = Operand(instruction, i);
    EqualAll(in, Operand(instruction, 0), &instruction);
    const std::vector<int>& out = Dims(instruction, static_cast<int>(i));
    std::size_t next = 0;
    for (std::size_t d = 0; d < in.size(); ++d) {
      if (!Has(gone, static_cast<std::int64_t>(d)) && next < out.size()) solver_.Equal(in[d], out[next++], &instruction);
    }
  }
}

void DimRules::ReduceWindow(const Instruction& instruction) {
  const auto window = WindowOf(instruction);
  const std::vector<int>&in = Operand(instruction, 0), &out = Dims(instruction);
  if (!window || window->size() != in.size() || out.size() != in.size() || instruction.operands.size() != 2) {
    return opaque_.push_back(&instruction);
  }
  for (std::size_t d = 0; d < in.size(); ++d) solver_.Window(out[d], in[d], (*window)[d], &instruction);
}

void DimRules::Concatenate(const Instruction& instruction, std::int64_t dimension) {
  const std::vector<int>& out = Dims(instruction);
  for (std::size_t d = 0; d < out.size(); ++d) {
    std::vector<int> parts;
    for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
      const std::vector<int>& part = Operand(instruction, i);
      if (d >= part.size()) continue;
      if (static_cast<std::int64_t>(d) == dimension) {
        parts.push_back(part[d]);
      } else {
        solver_.Equal(part[d], out[d], &instruction);
      }
    }
    if (!parts.empty()) solver_.Sum(out[d], std::move(parts), &instruction);
  }
}

/// False if nothing is known about it.
bool DimRules::CustomCall(const Instruction& instruction) {
  const std::string_view target = instruction.Attr("custom_call_target").value_or("");
  if (target == "\"AllocateBuffer\"") return true;
  if (target == "\"ConcatBitcast\"") return JoinPieces(instruction);
  if (!request_.kernel_windows) return false;
  std::optional<KernelWindows> windows = request_.kernel_windows(instruction);
  std::vector<const std::vector<int>*> arrays;
  for (std::size_t i = 0; i < instruction.operands.size(); ++i) arrays.push_back(&Operand(instruction, i));
  for (int i = 0; i < ArrayCount(instruction); ++i) arrays.push_back(&Dims(instruction, i));
  if (!windows || windows->windows.size() != arrays.size()) return false;
  Kernel kernel;
  for (const std::int64_t bound : windows->grid) kernel.grid.push_back(solver_.New(bound, &instruction));
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (windows->windows[i].size() != arrays[i]->size()) return false;
    for (std::size_t d = 0; d < arrays[i]->size(); ++d) {
      const KernelWindows::Dimension& w = windows->windows[i][d];
      const int dim = (*arrays[i])[d];
      if (w.axis >= 0 && w.axis < static_cast<int>(kernel.grid.size())) {
        solver_.Count(kernel.grid[static_cast<std::size_t>(w.axis)], dim, w.length, &instruction);
      } else {
        solver_.Fix(dim, &instruction);
      }
    }
  }
  kernel.windows = std::move(*windows);
  kernels_.emplace(&instruction, std::move(kernel));
  return true;
}

void DimRules::RelateByOpcode(const Instruction& instruction, Opcode opcode,
                              const std::vector<std::vector<int>>& result) {
  const std::vector<int> out = result.empty() ? std::vector<int>() : result[0];
  switch (opcode) {
    case Opcode::kParameter: case Opcode::kConstant: case Opcode::kIota: case Opcode::kAfterAll:
    case Opcode::kPartitionId: case Opcode::kReplicaId: case Opcode::kRng:
    case Opcode::kRngGetAndUpdateState: return;
    case Opcode::kTuple: return Tuple(instruction);
    case Opcode::kGetTupleElement:
      return TupleElement(instruction, static_cast<int>(IntAttr(instruction, "index").value_or(-1)));
    case Opcode::kCopyStart: return CopyStart(instruction);
    case Opcode::kCopyDone: return TupleElement(instruction, 0);
    case Opcode::kAsyncStart: return AsyncStart(instruction);
    case Opcode::kAsyncDone: return TupleElement(instruction, 1);
    case Opcode::kAsyncUpdate: case Opcode::kOptimizationBarrier: case Opcode::kAddDependency: case Opcode::kDomain:
      return SameTree(*instruction.operands[0], instruction, &instruction);
    case Opcode::kFusion: case Opcode::kCall: {
      const Computation* callee = instruction.called.empty() ? nullptr : instruction.called.front();
      Call(instruction, callee, 0);
      if (callee != nullptr && callee->root != nullptr) SameTree(*callee->root, instruction, &instruction);
      return;
    }
    case Opcode::kWhile: return While(instruction);
    case Opcode::kConditional: return Conditional(instruction);
    case Opcode::kBroadcast: {
      const hlo::Dims to = DimensionsOf(instruction);
      for (std::size_t i = 0; i < std::min(to.size(), Operand(instruction, 0).size()); ++i) {
        solver_.Equal(Operand(instruction, 0)[i], out[static_cast<std::size_t>(to[i])], &instruction);
      }
      return;
    }
    case Opcode::kTranspose: {
      const hlo::Dims from = DimensionsOf(instruction);
      for (std::size_t i = 0; i < std::min(from.size(), out.size()); ++i) {
        solver_.Equal(Operand(instruction, 0)[static_cast<std::size_t>(from[i])], out[i], &instruction);
      }
      return;
    }
    case Opcode::kReshape: return Regroup(Operand(instruction, 0), out, &instruction);
    case Opcode::kBitcast: return Bitcast(instruction);
    case Opcode::kDot: return Dot(instruction);
    case Opcode::kConvolution: return Convolution(instruction);
    case Opcode::kReduce: return Reduce(instruction);
    case Opcode::kReduceWindow: return ReduceWindow(instruction);
    case Opcode::kConcatenate: {
      const hlo::Dims along = DimensionsOf(instruction);
      return Concatenate(instruction, along.empty() ? -1 : along[0]);
    }
    case Opcode::kSlice: return Slice(instruction, out);
    case Opcode::kPad: return Pad(instruction);
    case Opcode::kDynamicSlice: return Blocks(instruction, Operand(instruction, 0), out);
    case Opcode::kDynamicUpdateSlice:
      EqualAll(Operand(instruction, 0), out, &instruction);
      return Blocks(instruction, out, Operand(instruction, 1));
    case Opcode::kGather: return Gather(instruction);
    case Opcode::kScatter: return Scatter(instruction);
    case Opcode::kSort: case Opcode::kReverse: case Opcode::kAllReduce: case Opcode::kCollectivePermute:
    case Opcode::kCollectiveBroadcast: case Opcode::kMap:
      return Elementwise(instruction, dims_.at(&instruction));
    case Opcode::kCustomCall:
      if (!CustomCall(instruction)) opaque_.push_back(&instruction);
      return;
    default: break;
  }
  if (IsElementwise(opcode) || opcode == Opcode::kSelect || opcode == Opcode::kClamp || opcode == Opcode::kCopy ||
      opcode == Opcode::kConvert || opcode == Opcode::kCompare || opcode == Opcode::kReducePrecision) {
    return Elementwise(instruction, result);
  }
  opaque_.push_back(&instruction);
}

void DimRules::Relate(const Instruction& instruction) {
  RelateByOpcode(instruction, instruction.opcode, dims_.at(&instruction));
}

bool DimRules::IsOldSize(std::int64_t size) {
  for (int v = 0; v < solver_.count(); ++v) {
    if (solver_.Old(v) == size && solver_.Changed(v)) return true;
  }
  return false;
}

Diagnostics DimRules::CheckOpaque() {
  Diagnostics errors;
  for (const Instruction* instruction : opaque_) {
    bool changed = false;
    const auto look = [&](const Instruction& each) {
      for (const std::vector<int>& array : dims_.at(&each)) {
        for (const int v : array) changed = changed || solver_.Changed(v);
      }
    };
    look(*instruction);
    for (const Instruction* operand : instruction->operands) look(*operand);
    if (!changed) continue;
    const bool kernel = instruction->opcode == Opcode::kCustomCall;
    errors.push_back(module_.ErrorAt(
        *instruction,
        kernel ? fmt::format("the custom kernel '{}' was compiled for these shapes and cannot be rewritten", instruction->name)
               : fmt::format("'{}' takes a dimension that changes, and how it would look is not known",
                             instruction->opcode_name),
        kernel ? "compile it for the wanted value: 'spillway-capture' needs no TPU; a workload file may name a dump for each value"
               : "use a dump compiled for the wanted value"));
  }
  return errors;
}

}  // namespace spillway::hlo
