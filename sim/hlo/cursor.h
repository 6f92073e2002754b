// SPDX-License-Identifier: Apache-2.0
// Reading position in HLO text: white space, comments, names, numbers, strings, balanced groups.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/hlo/name_index.h"
#include "sim/hlo/shape.h"

namespace spillway::hlo {

namespace chars {
constexpr std::uint8_t kSpace = 1, kDigit = 2, kName = 4, kStop = 8, kGroup = 16, kPlain = 32;
constexpr std::array<std::uint8_t, 256> MakeTable() {
  std::array<std::uint8_t, 256> table{};
  for (int c = '0'; c <= '9'; ++c) table[static_cast<std::size_t>(c)] = kDigit | kName;
  for (int c = 'a'; c <= 'z'; ++c) table[static_cast<std::size_t>(c)] = kName;
  for (int c = 'A'; c <= 'Z'; ++c) table[static_cast<std::size_t>(c)] = kName;
  for (const char c : {'_', '.', '-'}) table[static_cast<std::size_t>(c)] = kName;
  for (const char c : {' ', '\t', '\r', '\n', '\v', '\f'}) table[static_cast<std::size_t>(c)] = kSpace | kStop;
  table[static_cast<std::size_t>(',')] = kStop;
  for (const char c : {'"', '{', '}', '(', ')', '[', ']', '/'}) table[static_cast<std::size_t>(c)] = kStop | kGroup;
  // Neither white space nor the start of a comment.
  for (std::size_t c = 0; c < table.size(); ++c) {
    if ((table[c] & kSpace) == 0 && c != '/') table[c] |= kPlain;
  }
  return table;
}
constexpr std::array<std::uint8_t, 256> kTable = MakeTable();
inline bool Is(char c, std::uint8_t kind) { return (kTable[static_cast<unsigned char>(c)] & kind) != 0; }
}  // namespace chars

/// Shapes by their text: a dump prints the same few thousands of times. For arrays only.
class ShapeCache {
 public:
  ShapeCache() : entries_(kEntries) {}

  struct Entry {
    std::string_view text;
    Shape shape;
  };
  /// Where a shape of this text is or belongs.
  Entry& At(std::string_view text) { return entries_[HashText(text) % kEntries]; }

 private:
  static constexpr std::size_t kEntries = 256;
  std::vector<Entry> entries_;
};

/// Reads forward through a text. Methods that can fail return false (or an empty name) and record
/// the first error: its offset and what was expected.
class Cursor {
 public:
  /// `shapes` must outlive the cursor, and the text must outlive `shapes`.
  explicit Cursor(std::string_view text, ShapeCache* shapes = nullptr)
      : begin_(text.data()), at_(begin_), end_(begin_ + text.size()), shapes_(shapes) {}

  std::size_t offset() const { return static_cast<std::size_t>(at_ - begin_); }
  void Seek(std::size_t offset) { at_ = begin_ + offset; }
  bool AtEnd() const { return at_ == end_; }
  char Peek() const { return at_ < end_ ? *at_ : '\0'; }
  char PeekAt(std::size_t ahead) const {
    return ahead < static_cast<std::size_t>(end_ - at_) ? at_[ahead] : '\0';
  }
  void Advance(std::size_t n = 1) { at_ += n; }
  std::string_view Since(std::size_t offset) const {
    return {begin_ + offset, static_cast<std::size_t>(at_ - begin_) - offset};
  }

  /// White space and comments (`/* */`, `//` to the end of the line).
  void SkipSpace() {
    if (at_ < end_ && chars::Is(*at_, chars::kPlain)) return;
    while (at_ < end_) {
      if (chars::Is(*at_, chars::kSpace)) ++at_;
      else if (*at_ != '/' || !SkipComment()) return;
    }
  }
  /// The next character after white space, not consumed.
  char Next() {
    SkipSpace();
    return Peek();
  }
  bool Consume(char c) {
    if (at_ < end_ && *at_ == c && c != '/') {
      ++at_;
      return true;
    }
    if (Next() != c || AtEnd()) return false;
    ++at_;
    return true;
  }
  bool ConsumeText(std::string_view text);
  /// Consumes `c` or fails with "expected 'c' <context>".
  bool Expect(char c, std::string_view context) { return Consume(c) || FailExpected(c, context); }

  /// Letters, digits, `_`, `.`, `-`; empty if there is none here.
  std::string_view Name() {
    SkipSpace();
    const char* from = at_;
    while (at_ < end_ && chars::Is(*at_, chars::kName)) ++at_;
    return {from, static_cast<std::size_t>(at_ - from)};
  }
  /// Name() with an optional `%`; what does not start like a name is empty.
  std::string_view PercentName() {
    if (Next() == '%') ++at_;
    return Name();
  }
  /// A decimal integer, optionally negative. Fails on overflow.
  bool Integer(std::int64_t* value, std::string_view what) {
    const char* at = at_;
    std::int64_t number = 0;
    while (at < end_ && at - at_ < 18 && chars::Is(*at, chars::kDigit)) number = number * 10 + (*at++ - '0');
    if (at == at_ || (at < end_ && chars::Is(*at, chars::kDigit))) return SlowInteger(value, what);
    at_ = at;
    *value = number;
    return true;
  }
  /// Skips `"…"` (escapes, newlines allowed).
  bool SkipString();
  /// Skips a group that opens here with `(`, `[` or `{`, to its matching end.
  bool SkipGroup();
  /// An attribute's value: a string, a group, a word, or these joined without a space.
  bool SkipValue();
  bool ReadShape(Shape* shape, int depth = 0);

  bool Fail(std::string message) { return FailAt(offset(), std::move(message)); }
  bool FailAt(std::size_t where, std::string message);
  bool failed() const { return failed_; }
  void ForgetError() { failed_ = false; }
  std::size_t error_offset() const { return error_offset_; }
  const std::string& error() const { return error_; }

 private:
  bool FailExpected(char c, std::string_view context);
  bool SlowInteger(std::int64_t* value, std::string_view what);
  bool SkipComment();
  std::string_view PlainShapeText() const;
  bool ReadOneShape(Shape* shape, int depth);
  bool ReadDimensions(Shape* shape);
  bool ReadLayout(Layout* layout, int rank);
  bool ReadLayoutSuffixes(Layout* layout);
  bool ReadTiles(Layout* layout);
  bool ReadParenthesised(std::int64_t* value, std::string_view what);
  bool LayoutFollows();

  const char* begin_;
  const char* at_;
  const char* end_;
  ShapeCache* shapes_;
  bool failed_ = false;
  std::size_t error_offset_ = 0;
  std::string error_;
};

/// How a character is named in a message: `'x'`, "end of text", "byte 0x07".
std::string Describe(char c, bool at_end);

}  // namespace spillway::hlo
