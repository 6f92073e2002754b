// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/result.h"
#include "sim/base/units.h"
#include "sim/hlo/inline_list.h"

namespace spillway::hlo {

/// Short integer lists (dimensions, layouts): no allocation up to rank 4.
using Dims = InlineList<std::int64_t, 4>;

/// XLA primitive types (xla_data.proto), by the names HLO text uses.
enum class ElementType : std::uint8_t {
  kInvalid, kPred, kS1, kS2, kS4, kS8, kS16, kS32, kS64, kU1, kU2, kU4, kU8, kU16, kU32, kU64,
  kF4E2M1FN, kF8E3M4, kF8E4M3, kF8E4M3FN, kF8E4M3B11FNUZ, kF8E4M3FNUZ, kF8E5M2, kF8E5M2FNUZ, kF8E8M0FNU,
  kF16, kBF16, kF32, kF64, kC64, kC128, kToken, kOpaque, kTuple,
  kBuffer,  ///< `b(f32[4])`: a buffer that holds the one member.
};
/// kInvalid if `name` is no element type.
ElementType ElementTypeFromName(std::string_view name);
std::string_view ElementTypeName(ElementType type);
/// Size of one element in bits when stored by default (pred is 8); 0 for token, opaque, tuple.
int ElementBits(ElementType type);
bool IsFloating(ElementType type);

/// One level of tiling, `(8,128)`; kCombine stands for `*` (merge with the next dimension).
struct Tile {
  static constexpr std::int64_t kCombine = -1;
  InlineList<std::int64_t, 2> dims;
  bool operator==(const Tile& other) const { return dims == other.dims; }
};

/// How an array lies in memory. Without `tiles` it is plain minor-to-major order.
struct Layout {
  Dims minor_to_major;
  InlineList<Tile, 2> tiles;
  std::int64_t memory_space = 0;               ///< `S(n)`; which memory n is, the chip config says.
  std::int64_t element_size_bits = 0;          ///< `E(n)`: size in memory; 0 = the type's own.
  std::int64_t tail_padding_alignment = 1;     ///< `L(n)`, in elements.
  std::int64_t metadata_prefix_bytes = 0;      ///< `M(n)`: run-time sizes of a dynamic shape.
  /// Suffixes Spillway keeps but gives no meaning: `SC(0:3)`, `D(X,C)`, `P(…)`, `#(…)`, `*(…)`.
  InlineList<char, 8> other;
  bool operator==(const Layout& other) const;
};

/// A dimension printed `?`: no bound is known. Such shapes have no size (IsUnbounded).
constexpr std::int64_t kUnboundedDimension = -1;
/// Most dimensions a shape may have, and deepest nesting of tuples.
constexpr int kMaxRank = 64;
constexpr int kMaxNesting = 200;

/// An array type with dimensions and layout, or a tuple of shapes.
struct Shape {
  ElementType type = ElementType::kInvalid;
  Dims dimensions;
  std::uint64_t dynamic_mask = 0;  ///< Bit i: dimension i is bounded dynamic (`<=n`).
  bool has_layout = false;
  Layout layout;                   ///< REQUIRES has_layout; else row-major, untiled, space 0.
  std::vector<Shape> elements;     ///< Tuple members; of a buffer, the one it holds.

  bool IsTuple() const { return type == ElementType::kTuple; }
  bool IsArray() const { return type != ElementType::kInvalid && type < ElementType::kToken; }
  int rank() const { return static_cast<int>(dimensions.size()); }
  std::int64_t ElementCount() const;
  /// The dimension that is `i`-th from the most minor in memory.
  std::int64_t MinorDimension(int i) const;
  bool operator==(const Shape& other) const;
};

/// True if a dimension of the shape (or of a tuple member) is `?`: it has no size, and the size
/// functions count it as 0 bytes.
bool IsUnbounded(const Shape& shape);

/// Bytes without padding. Tuples: the sum of their members. Tokens and opaque: 0.
Bytes LogicalBytes(const Shape& shape);

/// Bytes as XLA:TPU allocates them: dimensions, in memory order, padded to the first tile, at the
/// layout's element size. Tuples: the sum of their members (not the pointer table).
/// Source: openxla docs/tiled_layout.md; checked against the sizes the compiler prints.
/// Saturates at the largest Bytes; the parser refuses shapes that would (SizeOverflows).
Bytes AllocatedBytes(const Shape& shape);
/// Its elements or bytes, logical or allocated, do not fit 62 bits.
bool SizeOverflows(const Shape& shape);

/// Bytes of the buffer that the compiler's buffer assignment lists for a value of this shape:
/// - an array: AllocatedBytes; one without tiles in memory space 0 is taken with the tiles XLA:TPU
///   gives it (WithImpliedTiles);
/// - a tuple: its index table (the members are buffers of their own), 8 bytes a member, rounded up to
///   `granule`: 32 bytes where HBM is addressed in 32-byte granules (v6e), 512 on v5e.
Bytes BufferBytes(const Shape& shape, Bytes granule = 32);

/// The shape with XLA:TPU's usual tiles where the text has none: rank 2 and more
/// T(min(8, second-minor rounded up to a power of two), 128), with (2,1) or (4,1) packing for 16-
/// and 8-bit types; rank 1 T(1024), for long vectors of narrow types T(1024)(128)(p,1).
Shape WithImpliedTiles(const Shape& shape);

/// The tiled view of an array: what window bounds count. Dimensions here are in *logical* order;
/// the tiled ones are divided (rounding up) by their tile length, the others unchanged.
struct TileGrid {
  Dims tile;        ///< Tile length of each logical dimension (1 if untiled).
  Dims count;       ///< Tiles along each logical dimension, ceil(dim / tile).
  Bytes tile_bytes = 0;
};
TileGrid GridOf(const Shape& shape);

/// `bf16[8192,128]{1,0:T(8,128)(2,1)S(1)}`, as XLA prints it.
std::string ToString(const Shape& shape);

/// Parses one shape from the start of `text`; the whole text must be the shape.
Result<Shape> ParseShape(std::string_view text);

}  // namespace spillway::hlo
