// SPDX-License-Identifier: Apache-2.0
#include "sim/hlo/verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/hlo/attributes.h"
#include "sim/hlo/cursor.h"

namespace spillway::hlo {
namespace {

constexpr int kAny = 1 << 30;

struct Arity {
  int low, high;
};

Arity ArityOf(Opcode opcode) {
  switch (opcode) {
    case Opcode::kIota: case Opcode::kPartitionId: case Opcode::kReplicaId: case Opcode::kRngGetAndUpdateState:
      return {0, 0};
    case Opcode::kBitcast: case Opcode::kBroadcast: case Opcode::kCopyStart: case Opcode::kCopyDone:
    case Opcode::kReshape: case Opcode::kReverse: case Opcode::kSlice: case Opcode::kTranspose:
    case Opcode::kGetTupleElement: case Opcode::kWhile: case Opcode::kGetDimensionSize: case Opcode::kCholesky:
    case Opcode::kFft: case Opcode::kOptimizationBarrier: case Opcode::kRngBitGenerator: case Opcode::kRecv:
    case Opcode::kDomain: case Opcode::kSendDone: case Opcode::kRecvDone: case Opcode::kAllGatherDone:
    case Opcode::kAllReduceDone: case Opcode::kCollectivePermuteDone: return {1, 1};
    case Opcode::kAdd: case Opcode::kAnd: case Opcode::kAtan2: case Opcode::kCompare: case Opcode::kComplex:
    case Opcode::kDivide: case Opcode::kMaximum: case Opcode::kMinimum: case Opcode::kMultiply: case Opcode::kOr:
    case Opcode::kPower: case Opcode::kRemainder: case Opcode::kShiftLeft: case Opcode::kShiftRightArithmetic:
    case Opcode::kShiftRightLogical: case Opcode::kSubtract: case Opcode::kXor: case Opcode::kDot:
    case Opcode::kConvolution: case Opcode::kPad: case Opcode::kAddDependency: case Opcode::kSetDimensionSize:
    case Opcode::kSend: case Opcode::kTriangularSolve: case Opcode::kStochasticConvert: case Opcode::kGather:
      return {2, 2};
    case Opcode::kSelect: case Opcode::kClamp: case Opcode::kBatchNormTraining: case Opcode::kSelectAndScatter:
      return {3, 3};
    case Opcode::kBatchNormGrad: case Opcode::kBatchNormInference: return {5, 5};
    case Opcode::kDynamicUpdateSlice: case Opcode::kReduce: case Opcode::kReduceWindow: return {2, kAny};
    case Opcode::kScatter: return {3, kAny};
    case Opcode::kDynamicSlice: case Opcode::kConcatenate: case Opcode::kConditional: case Opcode::kSort:
    case Opcode::kMap: case Opcode::kAsyncUpdate: case Opcode::kAsyncDone: case Opcode::kDynamicReshape:
    case Opcode::kAllGather: case Opcode::kCollectivePermute: return {1, kAny};
    default: return IsElementwise(opcode) ? Arity{1, 1} : Arity{0, kAny};
  }
}

std::string CheckArity(const Instruction& instruction) {
  const Arity arity = ArityOf(instruction.opcode);
  const int count = static_cast<int>(instruction.operands.size());
  if (count >= arity.low && count <= arity.high) return "";
  return fmt::format("'{}' takes {}{} operand{}, found {}", instruction.opcode_name,
                     arity.high == kAny ? "at least " : "", arity.low, arity.low == 1 ? "" : "s", count);
}

// Attributes without which an opcode means nothing.
std::string_view RequiredAttribute(Opcode opcode) {
  switch (opcode) {
    case Opcode::kBroadcast: case Opcode::kTranspose: case Opcode::kConcatenate: case Opcode::kReverse:
    case Opcode::kAllGather: case Opcode::kReduceScatter: return "dimensions";
    case Opcode::kReduce: case Opcode::kCall: return "to_apply";
    case Opcode::kGetTupleElement: return "index";
    case Opcode::kPad: return "padding";
    case Opcode::kSlice: return "slice";
    case Opcode::kDynamicSlice: return "dynamic_slice_sizes";
    case Opcode::kFusion: return "calls";
    case Opcode::kWhile: return "body";
    case Opcode::kCompare: return "direction";
    case Opcode::kConvolution: return "dim_labels";
    case Opcode::kCustomCall: return "custom_call_target";
    case Opcode::kIota: return "iota_dimension";
    default: return "";
  }
}

bool InRange(const Dims& dims, int rank) {
  return std::all_of(dims.begin(), dims.end(), [rank](std::int64_t d) { return d >= 0 && d < rank; });
}

bool Distinct(Dims dims) {
  std::sort(dims.begin(), dims.end());
  return std::adjacent_find(dims.begin(), dims.end()) == dims.end();
}

std::string Malformed(const Instruction& instruction, std::string_view attribute) {
  return fmt::format("attribute '{}={}' is malformed or does not fit the shapes of '{}'", attribute,
                     instruction.Attr(attribute).value_or(""), instruction.opcode_name);
}

std::string CheckDimensions(const Instruction& instruction, int rank, int count) {
  const auto dims = IntListAttr(instruction, "dimensions");
  if (!dims && !instruction.Attr("dimensions")) return "";
  const bool well = dims && InRange(*dims, rank) && Distinct(*dims) &&
                    (count < 0 || static_cast<int>(dims->size()) == count);
  return well ? "" : Malformed(instruction, "dimensions");
}

std::string CheckDot(const Instruction& instruction) {
  for (const char* name : {"lhs_batch_dims", "rhs_batch_dims", "lhs_contracting_dims", "rhs_contracting_dims"}) {
    const auto dims = IntListAttr(instruction, name);
    if (!dims && !instruction.Attr(name)) continue;
    const Shape& side = instruction.operands[name[0] == 'l' ? 0 : 1]->shape;
    if (!dims || !InRange(*dims, side.rank()) || !Distinct(*dims)) return Malformed(instruction, name);
  }
  return "";
}

std::string CheckConvolution(const Instruction& instruction) {
  const auto labels = ConvolutionOf(instruction);
  const auto fits = [](const Dims& spatial, int rank) { return static_cast<int>(spatial.size()) + 2 == rank; };
  if (!labels || !fits(labels->input_spatial, instruction.operands[0]->shape.rank()) ||
      !fits(labels->kernel_spatial, instruction.operands[1]->shape.rank()) ||
      !fits(labels->output_spatial, instruction.shape.rank())) {
    return Malformed(instruction, "dim_labels");
  }
  if (instruction.Attr("window")) {
    const auto window = WindowOf(instruction);
    if (!window || window->size() != labels->input_spatial.size()) return Malformed(instruction, "window");
  }
  return "";
}

std::string CheckTupleElement(const Instruction& instruction) {
  const Shape& tuple = instruction.operands[0]->shape;
  const auto index = IntAttr(instruction, "index");
  if (!tuple.IsTuple()) return fmt::format("the operand of get-tuple-element is no tuple but {}", ToString(tuple));
  if (!index || *index < 0 || *index >= static_cast<std::int64_t>(tuple.elements.size())) {
    return fmt::format("index {} is outside the tuple's {} members", instruction.Attr("index").value_or("?"),
                       tuple.elements.size());
  }
  return "";
}

std::string CheckSameCount(const Instruction& instruction) {
  const Shape& from = instruction.operands[0]->shape;
  const bool static_sizes = from.dynamic_mask == 0 && instruction.shape.dynamic_mask == 0;
  if (!static_sizes || from.ElementCount() == instruction.shape.ElementCount()) return "";
  return fmt::format("'{}' changes the number of elements from {} to {}", instruction.opcode_name,
                     from.ElementCount(), instruction.shape.ElementCount());
}

std::string CheckConditional(const Instruction& instruction) {
  const Shape& selector = instruction.operands[0]->shape;
  const bool scalar = selector.IsArray() && selector.rank() == 0;
  if (!scalar || (selector.type != ElementType::kPred && selector.type != ElementType::kS32)) {
    return "the first operand of a conditional must be a scalar of type pred or s32";
  }
  const bool two = instruction.Attr("true_computation") && instruction.Attr("false_computation");
  if (selector.type == ElementType::kPred && !two) {
    return "a conditional on a pred needs true_computation and false_computation";
  }
  return "";
}

std::string_view SugarOf(const Instruction& instruction) {
  return instruction.opcode_name.substr(0, instruction.opcode_name.rfind('-'));
}

std::string_view ThreadOf(const Instruction& instruction) {
  return instruction.Attr("async_execution_thread").value_or("\"main\"");
}

// An update or a done belongs to the start it takes: same op, computation and thread.
std::string CheckAsyncChain(const Instruction& instruction) {
  const Instruction& previous = *instruction.operands[0];
  if (previous.opcode == Opcode::kAsyncDone) {
    return fmt::format("'{}' cannot follow '{}', which is done", instruction.opcode_name, previous.name);
  }
  if (previous.opcode != Opcode::kAsyncStart && previous.opcode != Opcode::kAsyncUpdate) return "";
  const std::string_view mine = SugarOf(instruction), its = SugarOf(previous);
  if (mine != its && mine != "async" && its != "async") {
    return fmt::format("'{}' follows a '{}'", instruction.opcode_name, previous.opcode_name);
  }
  const auto calls = instruction.Attr("calls"), its_calls = previous.Attr("calls");
  if (calls && its_calls && *calls != *its_calls) {
    return fmt::format("'{}' calls {} but the operation it follows calls {}", instruction.opcode_name, *calls,
                       *its_calls);
  }
  if (instruction.Attr("async_execution_thread") && ThreadOf(instruction) != ThreadOf(previous)) {
    return fmt::format("'{}' runs on {} but the operation it follows on {}", instruction.opcode_name,
                       ThreadOf(instruction), ThreadOf(previous));
  }
  return "";
}

std::string CheckAsyncStart(const Instruction& instruction) {
  const Shape& shape = instruction.shape;
  if (shape.IsTuple() && shape.elements.size() >= 2 && shape.elements[0].IsTuple()) return "";
  return fmt::format("the shape of '{}' must be ((operands), outputs, state …)", instruction.opcode_name);
}

std::string CheckPredecessors(const Instruction& instruction) {
  const auto text = instruction.Attr("control-predecessors");
  if (!text) return "";
  Cursor cursor(*text);
  if (!cursor.Consume('{')) return Malformed(instruction, "control-predecessors");
  if (cursor.Consume('}')) return "";
  do {
    const std::string_view name = cursor.PercentName();
    if (instruction.parent->Find(name) == nullptr) {
      return fmt::format("control predecessor '{}' is not defined in computation '{}'", name,
                         instruction.parent->name);
    }
  } while (cursor.Consume(','));
  return cursor.Consume('}') ? "" : Malformed(instruction, "control-predecessors");
}

std::string CheckCustomCall(const Instruction& instruction) {
  const auto version = instruction.Attr("api_version");
  if (version && version->rfind("API_VERSION_", 0) != 0) return Malformed(instruction, "api_version");
  return "";
}

template <class List>
bool HasRank(const std::optional<List>& list, int rank) {
  return list && static_cast<int>(list->size()) == rank;
}

// `data-start` of an op that has asynchronous forms of its own, or `copy-update`.
std::string CheckSugar(const Instruction& instruction) {
  const std::string_view base = SugarOf(instruction);
  for (const std::string_view own : {"all-gather", "all-reduce", "collective-permute", "copy", "send", "recv"}) {
    if (base == own) return fmt::format("there is no opcode '{}'", instruction.opcode_name);
  }
  return "";
}

std::string CheckByOpcode(const Instruction& instruction) {
  const auto rank_of = [&](std::size_t i) { return instruction.operands[i]->shape.rank(); };
  switch (instruction.opcode) {
    case Opcode::kBroadcast: return CheckDimensions(instruction, instruction.shape.rank(), rank_of(0));
    case Opcode::kTranspose: return CheckDimensions(instruction, rank_of(0), rank_of(0));
    case Opcode::kReduce: return CheckDimensions(instruction, rank_of(0), -1);
    case Opcode::kReverse: return CheckDimensions(instruction, rank_of(0), -1);
    case Opcode::kConcatenate: case Opcode::kAllGather: return CheckDimensions(instruction, rank_of(0), 1);
    case Opcode::kReduceScatter:
      return instruction.operands.empty() ? "" : CheckDimensions(instruction, rank_of(0), 1);
    case Opcode::kDot: return CheckDot(instruction);
    case Opcode::kConvolution: return CheckConvolution(instruction);
    case Opcode::kGetTupleElement: return CheckTupleElement(instruction);
    case Opcode::kReshape: return CheckSameCount(instruction);
    case Opcode::kDynamicReshape:
      if (static_cast<int>(instruction.operands.size()) != instruction.shape.rank() + 1) {
        return "dynamic-reshape takes its input and one size for each dimension of the result";
      }
      return "";
    case Opcode::kSlice: return HasRank(SliceOf(instruction), rank_of(0)) ? "" : Malformed(instruction, "slice");
    case Opcode::kPad: return HasRank(PaddingOf(instruction), rank_of(0)) ? "" : Malformed(instruction, "padding");
    case Opcode::kDynamicSlice:
      return HasRank(IntListAttr(instruction, "dynamic_slice_sizes"), rank_of(0))
                 ? "" : Malformed(instruction, "dynamic_slice_sizes");
    case Opcode::kIota: {
      const Dims dimension = DimensionsOf(instruction);
      return dimension.size() == 1 && InRange(dimension, instruction.shape.rank())
                 ? "" : Malformed(instruction, "iota_dimension");
    }
    case Opcode::kConditional: return CheckConditional(instruction);
    case Opcode::kAsyncStart: return CheckSugar(instruction) + CheckAsyncStart(instruction);
    case Opcode::kAsyncUpdate: case Opcode::kAsyncDone:
      return CheckSugar(instruction) + CheckAsyncChain(instruction);
    case Opcode::kCustomCall: return CheckCustomCall(instruction);
    case Opcode::kRecv: return instruction.shape.IsTuple() ? "" : "the shape of recv must be a tuple";
    case Opcode::kConstant: return CheckLiteral(instruction.shape, instruction.literal);
    default: return "";
  }
}

}  // namespace

bool Compatible(const Shape& a, const Shape& b) {
  return a.type == b.type && a.dimensions == b.dimensions &&
         std::equal(a.elements.begin(), a.elements.end(), b.elements.begin(), b.elements.end(), Compatible);
}

std::string CheckInstruction(const Instruction& instruction) {
  if (instruction.opcode == Opcode::kUnknown) return "";
  std::string problem = CheckArity(instruction);
  if (!problem.empty()) return problem;
  const std::string_view required = RequiredAttribute(instruction.opcode);
  const bool scalar_broadcast = instruction.opcode == Opcode::kBroadcast && instruction.operands[0]->shape.rank() == 0;
  if (!required.empty() && !instruction.Attr(required) && !scalar_broadcast) {
    return fmt::format("'{}' needs the attribute '{}'", instruction.opcode_name, required);
  }
  problem = CheckByOpcode(instruction);
  return problem.empty() ? CheckPredecessors(instruction) : problem;
}

std::string CheckCalls(const Instruction& instruction) {
  const auto takes = [](const Computation* computation, std::size_t count) {
    return computation == nullptr || computation->parameters.size() == count;
  };
  const std::size_t count = instruction.operands.size();
  if (instruction.opcode == Opcode::kFusion && !takes(instruction.Called("calls"), count)) {
    return fmt::format("'{}' passes {} operands to a computation with {} parameters", instruction.name, count,
                       instruction.Called("calls")->parameters.size());
  }
  if (instruction.opcode == Opcode::kCall && !takes(instruction.Called("to_apply"), count)) {
    return fmt::format("'{}' passes {} operands to a computation with {} parameters", instruction.name, count,
                       instruction.Called("to_apply")->parameters.size());
  }
  if (instruction.opcode == Opcode::kWhile) {
    if (instruction.Called("condition") == nullptr) return "'while' needs the attribute 'condition'";
    if (!takes(instruction.Called("body"), 1) || !takes(instruction.Called("condition"), 1)) {
      return "the body and the condition of a while take one parameter";
    }
  }
  return "";
}

}  // namespace spillway::hlo
