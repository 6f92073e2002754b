// SPDX-License-Identifier: Apache-2.0
// Dimensions that are split, merged or renamed in memory: reshapes and bitcasts.
#include "sim/hlo/attributes.h"
#include "sim/hlo/rebind_rules.h"

namespace spillway::hlo {
namespace {

std::int64_t Elements(const Shape& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t size : shape.dimensions) elements *= size;
  return elements;
}

std::int64_t PaddedElements(const Shape& shape) {
  std::int64_t elements = 1;
  const TileGrid grid = GridOf(shape);
  for (std::size_t d = 0; d < grid.tile.size(); ++d) elements *= grid.tile[d] * grid.count[d];
  return elements;
}

}  // namespace

/// Equal numbers of tiles of equal sizes: the sizes are one, also where the last tile will not be full.
void DimRules::EqualCounted(int a, int b, const Instruction* where) {
  const auto size_a = counted_.find(a), size_b = counted_.find(b);
  if (size_a != counted_.end() && size_b != counted_.end()) solver_.Equal(size_a->second, size_b->second, where);
}

/// Splits two lists with equal products into the shortest runs with equal products. A number of tiles that is one now
/// may be more later: it is part of the run that is open, or else of the next one.
void DimRules::Regroup(const std::vector<int>& a, const std::vector<int>& b, const Instruction* where) {
  std::vector<int> left, right;
  std::int64_t product_left = 1, product_right = 1;
  std::size_t i = 0, j = 0;
  const auto take = [&](const std::vector<int>& from, std::size_t& at, std::vector<int>& run, std::int64_t& product) {
    if (solver_.Old(from[at]) != 1 || !solver_.Value(from[at])) run.push_back(from[at]);
    return __builtin_mul_overflow(product, solver_.Old(from[at++]), &product) == 0;
  };
  while (i < a.size() || j < b.size()) {
    const bool from_left = j >= b.size() || (i < a.size() && product_left <= product_right);
    const bool fits = from_left ? take(a, i, left, product_left) : take(b, j, right, product_right);
    if (!fits || product_left == 0 || product_right == 0) return opaque_.push_back(where);
    if (product_left != product_right || product_left == 1) continue;
    if (left.size() == 1 && right.size() == 1) EqualCounted(left[0], right[0], where);
    solver_.Product(std::move(left), std::move(right), where);
    left.clear();
    right.clear();
    product_left = product_right = 1;
  }
  if (product_left != product_right) return opaque_.push_back(where);
  if (!left.empty() || !right.empty()) solver_.Product(std::move(left), std::move(right), where);
}

/// Dimensions in memory order; those that are tiled as number of tiles, then tile lengths.
std::vector<int> DimRules::Physical(const Shape& shape, const std::vector<int>& dims, const Instruction* where) {
  const TileGrid grid = GridOf(shape);
  std::vector<int> sizes, inner;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    const auto d = static_cast<std::size_t>(shape.MinorDimension(i));
    if (grid.tile[d] == 1) {
      sizes.push_back(dims[d]);
      continue;
    }
    const int count = solver_.New(grid.count[d], where);
    solver_.Count(count, dims[d], grid.tile[d], where);
    counted_[count] = dims[d];
    const int tile = solver_.New(grid.tile[d], where);
    solver_.Fix(tile, where);
    sizes.push_back(count);
    inner.push_back(tile);
  }
  sizes.insert(sizes.end(), inner.begin(), inner.end());
  return sizes;
}

/// Dimensions at the same place of equal tiles are the same ones, from the minor one on as far as they agree. If all
/// tiled ones do, the others regroup: true.
bool DimRules::SameTiles(const Instruction& from, const Instruction& to) {
  const int tiled = static_cast<int>(from.shape.layout.tiles.empty() ? 0 : from.shape.layout.tiles[0].dims.size());
  if (tiled < 1 || from.shape.rank() < tiled || to.shape.rank() < tiled) return false;
  const std::vector<int>&in = Dims(from), &out = Dims(to);
  const auto minor = [](const Shape& shape, const std::vector<int>& dims, int i) {
    return dims[static_cast<std::size_t>(shape.MinorDimension(i))];
  };
  for (int i = 0; i < tiled; ++i) {
    const int a = minor(from.shape, in, i), b = minor(to.shape, out, i);
    if (solver_.Old(a) != solver_.Old(b)) return false;
    solver_.Equal(a, b, &to);
  }
  std::vector<int> left, right;
  for (int i = from.shape.rank() - 1; i >= tiled; --i) left.push_back(minor(from.shape, in, i));
  for (int i = to.shape.rank() - 1; i >= tiled; --i) right.push_back(minor(to.shape, out, i));
  Regroup(left, right, &to);
  return true;
}

void DimRules::Bitcast(const Instruction& instruction) {
  const Instruction& from = *instruction.operands[0];
  if (!from.shape.IsArray() || !instruction.shape.IsArray()) return SameTree(from, instruction, &instruction);
  same_value_.push_back({{&from, 0}, {&instruction, 0}});
  const std::vector<int>&in = Dims(from), &out = Dims(instruction);
  if (from.shape.dimensions == instruction.shape.dimensions) return EqualAll(in, out, &instruction);
  const auto tile_of = [](const Shape& s) { return s.has_layout && !s.layout.tiles.empty() ? s.layout.tiles[0] : Tile{}; };
  // With the same tiles the bytes say it; else only the order of elements does.
  if (tile_of(from.shape) == tile_of(instruction.shape) && PaddedElements(from.shape) == PaddedElements(instruction.shape) &&
      from.shape.rank() >= 2 && instruction.shape.rank() >= 2) {
    if (SameTiles(from, instruction)) return;
    return Regroup(Physical(from.shape, in, &instruction), Physical(instruction.shape, out, &instruction), &instruction);
  }
  if (ElementBits(from.shape.type) == ElementBits(instruction.shape.type)) return Regroup(in, out, &instruction);
  const bool padding = Elements(from.shape) * ElementBits(from.shape.type) !=
                       Elements(instruction.shape) * ElementBits(instruction.shape.type);
  Regroup(Bits(from.shape, in, padding, &instruction), Bits(instruction.shape, out, padding, &instruction), &instruction);
}

/// What multiplies to the size in bits, in memory order; with the padding of tiles if that is wanted.
std::vector<int> DimRules::Bits(const Shape& shape, std::vector<int> dims, bool padding, const Instruction* where) {
  if (padding && shape.rank() >= 2) dims = Physical(shape, dims, where);
  dims.push_back(solver_.New(ElementBits(shape.type), where));
  solver_.Fix(dims.back(), where);
  return dims;
}

/// Adjacent pieces named as one array: along one of its dimensions, or as flat bytes.
bool DimRules::JoinPieces(const Instruction& instruction) {
  const std::vector<int>& out = Dims(instruction);
  std::vector<int> flat;
  for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
    if (Operand(instruction, i).size() == 1) flat.push_back(Operand(instruction, i)[0]);
  }
  for (std::size_t d = 0; d < out.size(); ++d) {
    std::int64_t sum = 0;
    bool same_rank = true;
    for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
      const std::vector<int>& part = Operand(instruction, i);
      same_rank = same_rank && part.size() == out.size();
      if (same_rank) sum += solver_.Old(part[d]);
    }
    if (!same_rank || sum != solver_.Old(out[d])) continue;
    Concatenate(instruction, static_cast<std::int64_t>(d));
    return true;
  }
  if (flat.empty() || flat.size() != instruction.operands.size()) return false;
  std::int64_t elements = 0;
  for (const int part : flat) elements += solver_.Old(part);
  const int total = solver_.New(elements, &instruction);
  solver_.Sum(total, std::move(flat), &instruction);
  const Shape& piece = instruction.operands[0]->shape;
  const bool padding = elements * ElementBits(piece.type) != Elements(instruction.shape) * ElementBits(instruction.shape.type);
  Regroup(Bits(piece, {total}, false, &instruction), Bits(instruction.shape, out, padding, &instruction), &instruction);
  return true;
}

}  // namespace spillway::hlo
