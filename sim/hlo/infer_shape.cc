// SPDX-License-Identifier: Apache-2.0
#include "sim/hlo/infer_shape.h"

#include <algorithm>

#include "sim/hlo/attributes.h"

namespace spillway::hlo {
namespace {

Shape TupleOf(std::vector<Shape> elements) {
  Shape tuple;
  tuple.type = ElementType::kTuple;
  tuple.elements = std::move(elements);
  return tuple;
}

Shape Scalar(ElementType type) {
  Shape shape;
  shape.type = type;
  return shape;
}

std::optional<Shape> Member(const Shape& tuple, std::optional<std::int64_t> index) {
  if (!index || *index < 0 || *index >= static_cast<std::int64_t>(tuple.elements.size())) return std::nullopt;
  return tuple.elements[static_cast<std::size_t>(*index)];
}

std::optional<Shape> Transposed(const Instruction& instruction) {
  const Shape& operand = instruction.operands[0]->shape;
  const Dims permutation = DimensionsOf(instruction);
  if (permutation.size() != operand.dimensions.size()) return std::nullopt;
  Shape shape = Scalar(operand.type);
  for (const std::int64_t d : permutation) {
    if (d < 0 || d >= operand.rank()) return std::nullopt;
    shape.dimensions.push_back(operand.dimensions[static_cast<std::size_t>(d)]);
  }
  return shape;
}

std::optional<Shape> Reduced(const Instruction& instruction) {
  if (instruction.operands.size() != 2) return std::nullopt;
  const Shape& operand = instruction.operands[0]->shape;
  const Dims gone = DimensionsOf(instruction);
  Shape shape = Scalar(operand.type);
  for (std::int64_t d = 0; d < operand.rank(); ++d) {
    if (std::find(gone.begin(), gone.end(), d) == gone.end()) {
      shape.dimensions.push_back(operand.dimensions[static_cast<std::size_t>(d)]);
    }
  }
  return shape;
}

std::optional<Shape> Sliced(const Instruction& instruction) {
  const Shape& operand = instruction.operands[0]->shape;
  const auto slices = SliceOf(instruction);
  if (!slices || static_cast<int>(slices->size()) != operand.rank()) return std::nullopt;
  Shape shape = Scalar(operand.type);
  for (const SliceDimension& s : *slices) {
    if (s.stride < 1 || s.limit < s.start) return std::nullopt;
    shape.dimensions.push_back((s.limit - s.start + s.stride - 1) / s.stride);
  }
  return shape;
}

// Batch dimensions, then what is free on the left, then on the right.
std::optional<Shape> Dotted(const Instruction& instruction) {
  if (instruction.operands.size() != 2) return std::nullopt;
  const DotDimensions dims = DotOf(instruction);
  Shape shape = Scalar(instruction.operands[0]->shape.type);
  const auto append = [&shape](const Shape& from, const Dims& batch, const Dims& contracting) {
    for (std::int64_t d = 0; d < from.rank(); ++d) {
      const bool is_batch = std::find(batch.begin(), batch.end(), d) != batch.end();
      const bool is_contracting = std::find(contracting.begin(), contracting.end(), d) != contracting.end();
      if (!is_contracting && !is_batch) {
        shape.dimensions.push_back(from.dimensions[static_cast<std::size_t>(d)]);
      }
    }
  };
  const Shape& lhs = instruction.operands[0]->shape;
  for (const std::int64_t d : dims.lhs_batch) {
    if (d < 0 || d >= lhs.rank()) return std::nullopt;
    shape.dimensions.push_back(lhs.dimensions[static_cast<std::size_t>(d)]);
  }
  append(lhs, dims.lhs_batch, dims.lhs_contracting);
  append(instruction.operands[1]->shape, dims.rhs_batch, dims.rhs_contracting);
  return shape;
}

}  // namespace

std::optional<Shape> InferShape(const Instruction& instruction) {
  for (const Instruction* operand : instruction.operands) {
    if (operand == nullptr) return std::nullopt;
  }
  const std::size_t count = instruction.operands.size();
  if (instruction.opcode == Opcode::kTuple) {
    std::vector<Shape> elements;
    for (const Instruction* operand : instruction.operands) elements.push_back(operand->shape);
    return TupleOf(std::move(elements));
  }
  if (instruction.opcode == Opcode::kAfterAll) return Scalar(ElementType::kToken);
  if (instruction.opcode == Opcode::kPartitionId || instruction.opcode == Opcode::kReplicaId) {
    return Scalar(ElementType::kU32);
  }
  if (count == 0) return std::nullopt;
  const Shape& first = instruction.operands[0]->shape;
  switch (instruction.opcode) {
    case Opcode::kGetTupleElement: return Member(first, IntAttr(instruction, "index"));
    case Opcode::kCompare: {
      Shape shape = first;
      shape.type = ElementType::kPred;
      return shape;
    }
    case Opcode::kSelect: case Opcode::kClamp: return count == 3 ? std::optional(instruction.operands[1]->shape)
                                                                 : std::nullopt;
    case Opcode::kConvert: case Opcode::kBitcastConvert: case Opcode::kComplex: case Opcode::kReal:
    case Opcode::kImag: case Opcode::kIsFinite: case Opcode::kMap: return std::nullopt;
    case Opcode::kCopyStart: return TupleOf({first, first, Scalar(ElementType::kU32)});
    case Opcode::kCollectivePermuteStart: return TupleOf({first, first});
    case Opcode::kCopyDone: return Member(first, 0);
    case Opcode::kCollectivePermuteDone: case Opcode::kAllGatherDone: case Opcode::kAsyncDone:
      return Member(first, 1);
    case Opcode::kAllReduceDone: case Opcode::kAsyncUpdate: case Opcode::kWhile: case Opcode::kOptimizationBarrier:
    case Opcode::kDynamicUpdateSlice: case Opcode::kReverse: case Opcode::kAddDependency:
    case Opcode::kCollectivePermute: case Opcode::kDomain: return first;
    case Opcode::kTranspose: return Transposed(instruction);
    case Opcode::kReduce: return Reduced(instruction);
    case Opcode::kDot: return Dotted(instruction);
    case Opcode::kSlice: return Sliced(instruction);
    default: break;
  }
  if (IsElementwise(instruction.opcode)) return first;
  return std::nullopt;
}

}  // namespace spillway::hlo
