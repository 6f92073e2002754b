// SPDX-License-Identifier: Apache-2.0
#include "sim/compute/registers.h"

namespace spillway::compute {

const hlo::Shape& ArrayOf(const hlo::Shape& shape) {
  const hlo::Shape* at = &shape;
  while (at->IsTuple() && !at->elements.empty()) at = &at->elements.front();
  return *at;
}

bool IsScalar(const hlo::Shape& shape) { return shape.IsArray() && shape.rank() == 0; }

double MinorLength(const hlo::Shape& shape, int i) {
  return i < shape.rank() ? static_cast<double>(shape.dimensions[shape.MinorDimension(i)]) : 1;
}

double Registers(const hlo::Shape& shape) {
  if (shape.IsTuple()) {
    double sum = 0;
    for (const hlo::Shape& element : shape.elements) sum += Registers(element);
    return sum;
  }
  return DistinctRegisters(shape, ~std::uint64_t{0});
}

double DistinctRegisters(const hlo::Shape& shape, std::uint64_t varies) {
  if (!shape.IsArray() || shape.rank() == 0 || hlo::IsUnbounded(shape)) return 0;
  auto length = [&](int i) {
    std::int64_t dim = shape.MinorDimension(i);
    return ((varies >> dim) & 1) != 0 ? static_cast<double>(shape.dimensions[dim]) : 1;
  };
  if (shape.rank() == 1) return CeilDiv(length(0), kRegisterElements);
  double count = CeilDiv(length(0), kLanes) * CeilDiv(length(1), kSublanes);
  for (int i = 2; i < shape.rank(); ++i) count *= length(i);
  return count;
}

double MemoryRegisters(const hlo::Shape& shape) {
  if (hlo::IsUnbounded(shape)) return 0;
  return static_cast<double>(hlo::AllocatedBytes(shape)) / (4 * kRegisterElements);
}

std::string_view TypeClass(hlo::ElementType type) {
  using T = hlo::ElementType;
  if (type == T::kPred) return "pred";
  int bits = hlo::ElementBits(type);
  if (hlo::IsFloating(type)) return bits <= 8 ? "f8" : bits == 16 ? "bf16" : bits == 32 ? "f32" : "x64";
  return bits <= 8 ? "i8" : bits == 16 ? "i16" : bits == 32 ? "i32" : "x64";
}

}  // namespace spillway::compute
