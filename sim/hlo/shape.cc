// SPDX-License-Identifier: Apache-2.0
#include "sim/hlo/shape.h"

#include <fmt/format.h>

#include <algorithm>

namespace spillway::hlo {
namespace {

// Sizes saturate here: sums of a few still fit 64 bits.
constexpr std::int64_t kCap = std::int64_t{1} << 62;

std::int64_t Times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) || product > kCap ? kCap : product;
}
std::int64_t Plus(std::int64_t a, std::int64_t b) { return a > kCap - b ? kCap : a + b; }
std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

std::int64_t BitsToBytes(std::int64_t elements, std::int64_t bits) {
  if (bits % 8 == 0) return Times(elements, bits / 8);
  const std::int64_t total = Times(elements, bits);
  return total == kCap ? kCap : CeilDiv(total, 8);
}

std::int64_t StoredBits(const Shape& shape) {
  const bool explicit_size = shape.has_layout && shape.layout.element_size_bits > 0;
  return explicit_size ? shape.layout.element_size_bits : ElementBits(shape.type);
}

// Dimensions from the most major to the most minor in memory.
Dims PhysicalDimensions(const Shape& shape) {
  Dims dims;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    dims.push_back(shape.dimensions[static_cast<std::size_t>(shape.MinorDimension(i))]);
  }
  return dims;
}

// Multiplies the dimensions marked `*` into their more minor neighbour (docs/tiled_layout.md).
Tile Combine(const Tile& tile, Dims* dims) {
  Tile rest;
  std::size_t at = dims->size() - tile.dims.size();
  for (const std::int64_t length : tile.dims) {
    if (length == Tile::kCombine) {
      (*dims)[at + 1] = Times((*dims)[at], (*dims)[at + 1]);
      dims->erase(dims->begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      rest.dims.push_back(length);
      ++at;
    }
  }
  return rest;
}

// One level of tiling splits each covered dimension d into ceil(d / t) tiles of t.
void ApplyTile(const Tile& tile, Dims* dims) {
  while (dims->size() < tile.dims.size()) dims->insert(dims->begin(), 1);
  const Tile plain = Combine(tile, dims);
  const std::size_t first = dims->size() - plain.dims.size();
  for (std::size_t i = 0; i < plain.dims.size(); ++i) {
    (*dims)[first + i] = CeilDiv((*dims)[first + i], plain.dims[i]);
    dims->push_back(plain.dims[i]);
  }
}

std::int64_t Product(const Dims& dims) {
  std::int64_t product = 1;
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  for (const std::int64_t d : dims) product = Times(product, d);
  return product;
}

void AppendShape(const Shape& shape, std::string* out);

void AppendLayout(const Layout& layout, std::string* out) {
  *out += fmt::format("{{{}", fmt::join(layout.minor_to_major, ","));
  std::string suffix;
  if (!layout.tiles.empty()) suffix += 'T';
  for (const Tile& tile : layout.tiles) {
    suffix += '(';
    for (std::size_t i = 0; i < tile.dims.size(); ++i) {
      if (i > 0) suffix += ',';
      suffix += tile.dims[i] == Tile::kCombine ? "*" : std::to_string(tile.dims[i]);
    }
    suffix += ')';
  }
  if (layout.tail_padding_alignment != 1) suffix += fmt::format("L({})", layout.tail_padding_alignment);
  if (layout.element_size_bits != 0) suffix += fmt::format("E({})", layout.element_size_bits);
  if (layout.memory_space != 0) suffix += fmt::format("S({})", layout.memory_space);
  if (layout.metadata_prefix_bytes != 0) suffix += fmt::format("M({})", layout.metadata_prefix_bytes);
  suffix.append(layout.other.begin(), layout.other.end());
  if (!suffix.empty()) *out += ':' + suffix;
  *out += '}';
}

void AppendShape(const Shape& shape, std::string* out) {
  if (shape.IsTuple() || shape.type == ElementType::kBuffer) {
    *out += shape.IsTuple() ? "(" : "b(";
    for (std::size_t i = 0; i < shape.elements.size(); ++i) {
      if (i > 0) *out += ", ";
      AppendShape(shape.elements[i], out);
    }
    *out += ')';
    return;
  }
  *out += ElementTypeName(shape.type);
  *out += '[';
  for (int i = 0; i < shape.rank(); ++i) {
    if (i > 0) *out += ',';
    const std::int64_t dimension = shape.dimensions[static_cast<std::size_t>(i)];
    if (dimension == kUnboundedDimension) {
      *out += '?';
      continue;
    }
    if ((shape.dynamic_mask >> i & 1) != 0) *out += "<=";
    *out += std::to_string(dimension);
  }
  *out += ']';
  if (shape.has_layout) AppendLayout(shape.layout, out);
}

std::int64_t PowerOfTwoUpTo(std::int64_t value, std::int64_t low, std::int64_t high) {
  while (low < high && low < value) low *= 2;
  return low;
}

}  // namespace

bool Layout::operator==(const Layout& other_layout) const {
  return minor_to_major == other_layout.minor_to_major && tiles == other_layout.tiles &&
         memory_space == other_layout.memory_space && element_size_bits == other_layout.element_size_bits &&
         tail_padding_alignment == other_layout.tail_padding_alignment &&
         metadata_prefix_bytes == other_layout.metadata_prefix_bytes && other == other_layout.other;
}

bool Shape::operator==(const Shape& other) const {
  return type == other.type && dimensions == other.dimensions && dynamic_mask == other.dynamic_mask &&
         has_layout == other.has_layout && (!has_layout || layout == other.layout) &&
         elements == other.elements;
}

std::int64_t Shape::ElementCount() const { return IsUnbounded(*this) ? 0 : Product(dimensions); }

std::int64_t Shape::MinorDimension(int i) const {
  if (has_layout && static_cast<int>(layout.minor_to_major.size()) == rank()) {
    return layout.minor_to_major[static_cast<std::size_t>(i)];
  }
  return rank() - 1 - i;
}

bool IsUnbounded(const Shape& shape) {
  const auto& dims = shape.dimensions;
  if (std::find(dims.begin(), dims.end(), kUnboundedDimension) != dims.end()) return true;
  return std::any_of(shape.elements.begin(), shape.elements.end(), IsUnbounded);
}

Bytes LogicalBytes(const Shape& shape) {
  if (!shape.elements.empty()) {
    Bytes sum = 0;
    for (const Shape& element : shape.elements) sum = Plus(sum, LogicalBytes(element));
    return sum;
  }
  return BitsToBytes(shape.ElementCount(), ElementBits(shape.type));
}

Bytes AllocatedBytes(const Shape& shape) {
  if (!shape.elements.empty()) {
    Bytes sum = 0;
    for (const Shape& element : shape.elements) sum = Plus(sum, AllocatedBytes(element));
    return sum;
  }
  if (!shape.IsArray() || IsUnbounded(shape)) return 0;
  if (!shape.has_layout) return LogicalBytes(shape);
  Dims dims = PhysicalDimensions(shape);
  for (const Tile& tile : shape.layout.tiles) ApplyTile(tile, &dims);
  const std::int64_t align = std::max<std::int64_t>(1, shape.layout.tail_padding_alignment);
  const std::int64_t elements = Times(CeilDiv(Product(dims), align), align);
  return Plus(BitsToBytes(elements, StoredBits(shape)), shape.layout.metadata_prefix_bytes);
}

bool SizeOverflows(const Shape& shape) {
  if (!shape.elements.empty()) return AllocatedBytes(shape) >= kCap || LogicalBytes(shape) >= kCap;
  // Padding multiplies by at most the tile's lengths: a cheap bound settles all but absurd shapes.
  double bound = 256;
  for (const std::int64_t d : shape.dimensions) bound *= static_cast<double>(std::max<std::int64_t>(d, 1));
  for (const Tile& tile : shape.layout.tiles) {
    for (const std::int64_t d : tile.dims) bound *= static_cast<double>(std::max<std::int64_t>(d, 1));
  }
  bound *= static_cast<double>(shape.layout.tail_padding_alignment);
  if (bound < 4e18) return false;
  return Times(shape.ElementCount(), 8) >= kCap || AllocatedBytes(shape) >= kCap || LogicalBytes(shape) >= kCap;
}

Shape WithImpliedTiles(const Shape& shape) {
  Shape tiled = shape;
  for (Shape& element : tiled.elements) element = WithImpliedTiles(element);
  if (!shape.IsArray() || (shape.has_layout && !shape.layout.tiles.empty())) return tiled;
  if (!shape.has_layout) {
    tiled.has_layout = true;
    for (int i = shape.rank() - 1; i >= 0; --i) tiled.layout.minor_to_major.push_back(i);
  }
  const std::int64_t packing = std::max<std::int64_t>(1, 32 / std::max<std::int64_t>(1, StoredBits(shape)));
  auto& tiles = tiled.layout.tiles;
  if (shape.rank() < 2) {
    const std::int64_t length = shape.rank() == 0 ? 1024 : shape.dimensions[0];
    tiles.push_back(Tile{{PowerOfTwoUpTo(length, 128 * packing, 1024)}});
    if (packing > 1) tiles.push_back(Tile{{128}});
  } else {
    const std::int64_t rows = shape.dimensions[static_cast<std::size_t>(shape.MinorDimension(1))];
    tiles.push_back(Tile{{PowerOfTwoUpTo(rows, packing, 8 * std::max<std::int64_t>(1, packing / 2)), 128}});
  }
  if (packing > 1) tiles.push_back(Tile{{packing, 1}});
  return tiled;
}

Bytes BufferBytes(const Shape& shape, Bytes granule) {
  if (shape.IsTuple()) {
    const Bytes table = 8 * static_cast<Bytes>(std::max<std::size_t>(1, shape.elements.size()));
    return Times(CeilDiv(table, granule), granule);
  }
  const bool untiled = !shape.has_layout || (shape.layout.tiles.empty() && shape.layout.memory_space == 0);
  return AllocatedBytes(untiled ? WithImpliedTiles(shape) : shape);
}

TileGrid GridOf(const Shape& shape) {
  TileGrid grid;
  grid.tile.assign(shape.dimensions.size(), 1);
  std::int64_t elements = 1;
  if (shape.has_layout && !shape.layout.tiles.empty()) {
    const auto& tile = shape.layout.tiles.front().dims;
    for (std::size_t i = 0; i < tile.size(); ++i) {
      const std::int64_t length = tile[tile.size() - 1 - i];
      if (length == Tile::kCombine) continue;  // counted as rows of one
      elements = Times(elements, length);
      if (static_cast<int>(i) < shape.rank()) {
        grid.tile[static_cast<std::size_t>(shape.MinorDimension(static_cast<int>(i)))] = length;
      }
    }
  }
  for (std::size_t i = 0; i < grid.tile.size(); ++i) {
    grid.count.push_back(CeilDiv(std::max<std::int64_t>(0, shape.dimensions[i]), grid.tile[i]));
  }
  grid.tile_bytes = BitsToBytes(elements, StoredBits(shape));
  return grid;
}

std::string ToString(const Shape& shape) {
  std::string out;
  AppendShape(shape, &out);
  return out;
}

}  // namespace spillway::hlo
