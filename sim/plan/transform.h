// SPDX-License-Identifier: Apache-2.0
// How a window of one array follows from a window of another: the steps an index map is made of.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/hlo/attributes.h"
#include "sim/hlo/module.h"
#include "sim/plan/box.h"

namespace spillway::plan {

/// One dimension of an affine step. The positions it covers, inclusive, are
///   ceil((mul * x + add + mul2 * y) / div) … floor(…)
/// for x in the incoming interval `source` and y in `source2`, clipped to [0, size).
/// `source` < 0: the whole of [0, size).
struct AffineDim {
  int source = -1;
  int source2 = -1;
  std::int64_t mul = 1, add = 0, mul2 = 0, div = 1;
  std::int64_t extra = 0;  ///< Further positions covered after the last one (window reach).
  std::int64_t size = 1;
  bool operator==(const AffineDim& other) const;
};

/// One step: affine per dimension, or a reshape of row-major dimensions.
struct Transform {
  enum class Kind : std::uint8_t { kAffine, kReshape };
  Kind kind = Kind::kAffine;
  std::vector<AffineDim> dims;   ///< kAffine: one an outgoing dimension.
  hlo::Dims from, to;            ///< kReshape.
  bool operator==(const Transform& other) const;

  Box Apply(const Box& box) const;
  /// Dimensions of the outgoing box.
  std::size_t Rank() const { return kind == Kind::kAffine ? dims.size() : to.size(); }
  /// Size of outgoing dimension `i`.
  std::int64_t OutSize(std::size_t i) const { return kind == Kind::kAffine ? dims[i].size : to[i]; }
  /// True if it changes no window that comes out of `before` (it may still clip others).
  bool KeepsWindowsOf(const Transform& before) const;
  /// True if it changes nothing for boxes of rank Rank() inside its sizes.
  bool IsIdentity() const;
};

/// A sequence of steps, applied first to last.
using Path = std::vector<Transform>;
Box ApplyPath(const Path& path, const Box& box);
void Append(Path& path, Transform step);

/// Outgoing dimension i is incoming dimension `order[i]`, of size `sizes[i]`.
Transform Select(const hlo::Dims& order, const hlo::Dims& sizes);
/// The whole array, whatever comes in.
Transform Whole(const hlo::Dims& sizes);
/// Row-major reshape.
Transform Reshape(const hlo::Dims& from, const hlo::Dims& to);

/// Steps from the window of `shape` `from` to the window of `to`, which hold the same bytes in the
/// same physical order (a bitcast). Empty optional if the element counts differ.
std::optional<Path> BitcastPath(const hlo::Shape& from, const hlo::Shape& to);

/// Window of operand `operand` that a window of the result needs. Steps are appended to `path`.
/// An opcode that is not known to keep windows needs the whole operand; `exact` is then false.
/// For dot and convolution the incoming box is the result's dimensions followed by the
/// contraction dimensions (see ContractionSizes).
struct Backward {
  Path path;
  bool exact = true;
  bool skip = false;   ///< The operand's elements are not needed (DUS base in place, indices, …).
};
Backward OperandWindow(const hlo::Instruction& instruction, int operand);

/// Sizes of the contraction dimensions: dot: each contracted dimension; convolution: input
/// features, then kernel spatial dimensions. Empty for other opcodes.
hlo::Dims ContractionSizes(const hlo::Instruction& instruction);

/// Window of the result made from a window of operand `operand`: only where that is a function
/// (elementwise, bitcast, transpose, reduce, convert, copy, reverse, …).
std::optional<Path> ResultWindow(const hlo::Instruction& instruction, int operand);

/// A spatial dimension of a convolution that stands for a batch dimension: output position i uses
/// input position i and kernel position i only.
bool IsBatchLike(std::int64_t size, std::int64_t stride, std::int64_t base_dilation);

/// Major-to-minor logical dimension numbers of a shape.
hlo::Dims PhysicalOrder(const hlo::Shape& shape);

}  // namespace spillway::plan
