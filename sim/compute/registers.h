// SPDX-License-Identifier: Apache-2.0
// Shapes seen as vector registers of 8 sublanes x 128 lanes.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/hlo/shape.h"

namespace spillway::compute {

constexpr double kLanes = 128;
constexpr double kSublanes = 8;
constexpr double kRegisterElements = kLanes * kSublanes;

/// The shape itself, or the first member of a tuple (recursively).
const hlo::Shape& ArrayOf(const hlo::Shape& shape);

/// Elements / 1024 with the two minor dimensions (in memory order) padded to whole registers; a vector
/// fills registers. The unit of all counts, whatever the type: narrow types are packed more densely, which
/// the slots of the type say. Scalars and shapes without size: 0. Tuples: the sum.
double Registers(const hlo::Shape& shape);
/// Of them, those that differ: dimensions outside `varies` (bit d: dimension d) count once.
double DistinctRegisters(const hlo::Shape& shape, std::uint64_t varies);

/// Bytes in memory / 4096, tiles padded. Tuples: the sum.
double MemoryRegisters(const hlo::Shape& shape);

bool IsScalar(const hlo::Shape& shape);
/// Length of the i-th dimension from the most minor; 1 beyond the rank.
double MinorLength(const hlo::Shape& shape, int i);
/// Types of equal cost: "f32", "bf16" (all 16-bit floats), "f8", "i32", "i16", "i8", "pred", "x64".
std::string_view TypeClass(hlo::ElementType type);

inline double CeilDiv(double a, double b) {
  if (!(b > 0)) return 0;
  double quotient = a / b;
  double whole = static_cast<double>(static_cast<long long>(quotient < 9e18 ? quotient : 9e18));
  return whole < quotient ? whole + 1 : whole;
}

}  // namespace spillway::compute
