// SPDX-License-Identifier: Apache-2.0
// Text to Shape: the part of the grammar that types and layouts use.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "sim/hlo/cursor.h"

namespace spillway::hlo {
namespace {

constexpr std::ptrdiff_t kMaxCachedText = 96;
constexpr std::int64_t kMaxTileLength = std::int64_t{1} << 40;

void Keep(std::string_view suffix, Layout* layout) {
  layout->other.insert(layout->other.end(), suffix.begin(), suffix.end());
}

bool IsOtherSuffix(std::string_view name) {
  return name == "SC" || name == "D" || name == "P" || name == "B" || name == "Q";
}

}  // namespace

bool Cursor::ReadDimensions(Shape* shape) {
  if (!Expect('[', "before the dimensions")) return false;
  if (Consume(']')) return true;
  do {
    if (shape->rank() == kMaxRank) return Fail(fmt::format("more than {} dimensions", kMaxRank));
    if (Consume('?')) {
      shape->dynamic_mask |= std::uint64_t{1} << shape->rank();
      shape->dimensions.push_back(kUnboundedDimension);
      continue;
    }
    if (Peek() == '<') {
      if (!ConsumeText("<=")) return Fail("expected '<=' before the bound of a dynamic dimension");
      shape->dynamic_mask |= std::uint64_t{1} << shape->rank();
      if (Consume('?')) {
        shape->dimensions.push_back(kUnboundedDimension);
        continue;
      }
    }
    const std::size_t where = offset();
    std::int64_t dimension = 0;
    if (!Integer(&dimension, "a dimension")) return false;
    if (dimension < 0) return FailAt(where, "a dimension cannot be negative");
    shape->dimensions.push_back(dimension);
  } while (Consume(','));
  return Expect(']', "after the dimensions");
}

bool Cursor::ReadParenthesised(std::int64_t* value, std::string_view what) {
  const std::size_t where = offset();
  if (!Expect('(', "after the letter of a layout suffix") || !Integer(value, what)) return false;
  if (*value < 0) return FailAt(where + 1, fmt::format("{} cannot be negative", what));
  return Expect(')', "after the number");
}

bool Cursor::ReadTiles(Layout* layout) {
  while (Next() == '(') {
    ++at_;
    Tile tile;
    if (!Consume(')')) {
      do {
        if (tile.dims.size() == static_cast<std::size_t>(kMaxRank)) return Fail("a tile has too many dimensions");
        if (Consume('*')) {
          tile.dims.push_back(Tile::kCombine);
          continue;
        }
        std::int64_t length = 0;
        const std::size_t where = offset();
        if (!Integer(&length, "a tile length or '*'")) return false;
        if (length < 1 || length > kMaxTileLength) return FailAt(where, "a tile length must be between 1 and 2^40");
        tile.dims.push_back(length);
      } while (Consume(','));
      if (!Expect(')', "after the tile")) return false;
    }
    if (!tile.dims.empty() && tile.dims.back() == Tile::kCombine) {
      return Fail("the last length of a tile cannot be '*'");
    }
    layout->tiles.push_back(std::move(tile));
  }
  return true;
}

bool Cursor::ReadLayoutSuffixes(Layout* layout) {
  for (;;) {
    const char next = Next();
    if (next == '}') return true;
    const std::size_t where = offset();
    if (next == '#' || next == '*') {
      ++at_;
      if (Next() != '(') return Fail("expected '(' in the layout");
      if (!SkipGroup()) return false;
      Keep(Since(where), layout);
      continue;
    }
    const std::string_view name = Name();
    if (name == "T") {
      if (Next() != '(') return Fail("expected '(' after T");
      if (!ReadTiles(layout)) return false;
    } else if (name == "S") {
      if (!ReadParenthesised(&layout->memory_space, "a memory space number")) return false;
    } else if (name == "E") {
      if (!ReadParenthesised(&layout->element_size_bits, "an element size in bits")) return false;
      if (layout->element_size_bits > 4096) return FailAt(where, "the element size E(n) is not plausible");
    } else if (name == "L") {
      if (!ReadParenthesised(&layout->tail_padding_alignment, "a tail padding alignment")) return false;
      if (layout->tail_padding_alignment < 1 || layout->tail_padding_alignment > kMaxTileLength) {
        return FailAt(where, "the tail padding alignment L(n) must be between 1 and 2^40");
      }
    } else if (name == "M") {
      if (!ReadParenthesised(&layout->metadata_prefix_bytes, "a metadata size")) return false;
      if (layout->metadata_prefix_bytes > kMaxTileLength) return FailAt(where, "M(n) is not plausible");
    } else if (IsOtherSuffix(name)) {
      if (Next() != '(') return Fail(fmt::format("expected '(' after {}", name));
      if (!SkipGroup()) return false;
      Keep(Since(where), layout);
    } else {
      return FailAt(where, fmt::format("expected a layout suffix (T, S, E, L, M, SC, D, P) or '}}', found {}",
                                       name.empty() ? Describe(Peek(), AtEnd()) : "'" + std::string(name) + "'"));
    }
  }
}

bool Cursor::ReadLayout(Layout* layout, int rank) {
  const std::size_t open = offset();
  if (!Expect('{', "before the layout")) return false;
  std::uint64_t seen = 0;
  if (Next() != ':' && Next() != '}') {
    do {
      std::int64_t dimension = 0;
      const std::size_t where = offset();
      if (!Integer(&dimension, "a dimension number in the layout")) return false;
      if (dimension < 0 || dimension >= rank || (seen >> dimension & 1) != 0) {
        return FailAt(where, fmt::format("the layout's minor-to-major order is no permutation of 0..{}", rank - 1));
      }
      seen |= std::uint64_t{1} << dimension;
      layout->minor_to_major.push_back(dimension);
    } while (Consume(','));
  }
  if (Consume(':') && !ReadLayoutSuffixes(layout)) return false;
  if (!Expect('}', "after the layout")) return false;
  if (static_cast<int>(layout->minor_to_major.size()) != rank) {
    return FailAt(open, fmt::format("the layout orders {} dimensions, the shape has {}",
                                    layout->minor_to_major.size(), rank));
  }
  return true;
}

// A layout, not the body of a computation: `{` then a number or `:`, or `{}` without a space before.
bool Cursor::LayoutFollows() {
  const bool adjacent = Peek() == '{';
  if (Peek() == ' ' && PeekAt(1) != '{') return false;
  const std::size_t from = offset();
  if (Next() != '{') {
    Seek(from);
    return false;
  }
  const std::size_t open = offset();
  ++at_;
  const char inside = Next();
  Seek(open);
  if (chars::Is(inside, chars::kDigit) || inside == ':' || (adjacent && inside == '}')) return true;
  Seek(from);
  return false;
}

// The array shape that begins here, as far as it is plain where it ends; empty if it is not.
std::string_view Cursor::PlainShapeText() const {
  const auto length_to = [this](char c, const char* from) -> std::size_t {
    const char* limit = end_ - at_ < kMaxCachedText ? end_ : at_ + kMaxCachedText;
    const void* found = from < limit ? std::memchr(from, c, static_cast<std::size_t>(limit - from)) : nullptr;
    return found == nullptr ? 0 : static_cast<std::size_t>(static_cast<const char*>(found) - at_) + 1;
  };
  std::size_t length = length_to(']', at_);
  if (length == 0) return {};
  const char next = PeekAt(length);
  if (next == '{') {
    length = length_to('}', at_ + length);
  } else if (next != ',' && next != ')' && (next != ' ' || !chars::Is(PeekAt(length + 1), chars::kName))) {
    return {};
  }
  return {at_, length};
}

bool Cursor::ReadShape(Shape* shape, int depth) {
  SkipSpace();
  if (shapes_ == nullptr || Peek() == '(') return ReadOneShape(shape, depth);
  const std::string_view text = PlainShapeText();
  if (text.empty()) return ReadOneShape(shape, depth);
  ShapeCache::Entry& entry = shapes_->At(text);
  if (entry.text == text) {
    at_ += text.size();
    *shape = entry.shape;
    return true;
  }
  if (!ReadOneShape(shape, depth)) return false;
  if (at_ == text.data() + text.size()) entry = {text, *shape};
  return true;
}

bool Cursor::ReadOneShape(Shape* shape, int depth) {
  *shape = Shape();
  const std::size_t where = offset();
  if (Peek() == '(') {
    if (depth == kMaxNesting) return Fail(fmt::format("tuples nested more than {} deep", kMaxNesting));
    ++at_;
    shape->type = ElementType::kTuple;
    if (Consume(')')) return true;
    shape->elements.reserve(3);  // copy-start and its like
    do {
      shape->elements.emplace_back();
      if (!ReadShape(&shape->elements.back(), depth + 1)) return false;
    } while (Consume(','));
    if (!Expect(')', "after the tuple's members")) return false;
    if (depth == 0 && SizeOverflows(*shape)) return FailAt(where, "the tuple's size overflows 62 bits");
    return true;
  }
  const std::string_view name = Name();
  shape->type = ElementTypeFromName(name);
  if (shape->type == ElementType::kBuffer && Next() == '(' && depth < kMaxNesting) {
    ++at_;
    shape->elements.emplace_back();
    return ReadShape(&shape->elements.back(), depth + 1) && Expect(')', "after the buffer's shape");
  }
  if (shape->type == ElementType::kBuffer || shape->type == ElementType::kInvalid || shape->type == ElementType::kTuple) {
    return FailAt(where, name.empty() ? fmt::format("expected a shape, found {}", Describe(Peek(), AtEnd()))
                                      : fmt::format("expected a shape, '{}' is no element type", name));
  }
  if (!ReadDimensions(shape)) return false;
  if (LayoutFollows()) {
    shape->has_layout = true;
    if (!ReadLayout(&shape->layout, shape->rank())) return false;
  }
  if (SizeOverflows(*shape)) {
    return FailAt(where, fmt::format("the size of {} overflows 62 bits", ToString(*shape)));
  }
  return true;
}

Result<Shape> ParseShape(std::string_view text) {
  Cursor cursor(text);
  Shape shape;
  if (cursor.ReadShape(&shape) && cursor.Next() == '\0' && cursor.AtEnd()) return shape;
  cursor.Fail(fmt::format("unexpected {} after the shape", Describe(cursor.Peek(), cursor.AtEnd())));
  Diagnostic error = Error(cursor.error());
  error.line = 1;
  error.column = static_cast<int>(cursor.error_offset()) + 1;
  error.source_line = std::string(text.substr(0, 160));
  error.caret = cursor.error_offset() < 160 ? error.column : 0;
  return error;
}

}  // namespace spillway::hlo
