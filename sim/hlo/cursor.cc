// SPDX-License-Identifier: Apache-2.0
#include "sim/hlo/cursor.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include <fmt/format.h>

#include <cstring>
#include <limits>

namespace spillway::hlo {
namespace {

const char* NextQuote(const char* at, const char* end) {
#ifdef __SSE2__
  // Most strings are shorter than this: a call of memchr costs more.
  if (end - at >= 16) {
    const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const int mask = _mm_movemask_epi8(_mm_cmpeq_epi8(text, _mm_set1_epi8('"')));
    if (mask != 0) return at + __builtin_ctz(static_cast<unsigned>(mask));
    at += 16;
  }
#endif
  const void* quote = std::memchr(at, '"', static_cast<std::size_t>(end - at));
  return quote == nullptr ? end : static_cast<const char*>(quote);
}

}  // namespace

std::string Describe(char c, bool at_end) {
  if (at_end) return "the end of the text";
  const auto byte = static_cast<unsigned char>(c);
  if (byte < 0x20 || byte >= 0x7f) return fmt::format("byte 0x{:02x}", byte);
  return fmt::format("'{}'", c);
}

bool Cursor::FailAt(std::size_t where, std::string message) {
  if (!failed_) {
    failed_ = true;
    error_offset_ = where;
    error_ = std::move(message);
  }
  return false;
}

bool Cursor::SkipComment() {
  if (PeekAt(1) == '*') {
    const std::string_view rest(at_ + 2, static_cast<std::size_t>(end_ - at_) - 2);
    const std::size_t close = rest.find("*/");
    at_ = close == std::string_view::npos ? end_ : at_ + 2 + close + 2;
    return true;
  }
  if (PeekAt(1) == '/') {
    const void* newline = std::memchr(at_, '\n', static_cast<std::size_t>(end_ - at_));
    at_ = newline == nullptr ? end_ : static_cast<const char*>(newline);
    return true;
  }
  return false;
}

bool Cursor::ConsumeText(std::string_view text) {
  SkipSpace();
  if (static_cast<std::size_t>(end_ - at_) < text.size()) return false;
  if (std::memcmp(at_, text.data(), text.size()) != 0) return false;
  at_ += text.size();
  return true;
}

bool Cursor::FailExpected(char c, std::string_view context) {
  return Fail(fmt::format("expected '{}' {}, found {}", c, context, Describe(Peek(), AtEnd())));
}

bool Cursor::SlowInteger(std::int64_t* value, std::string_view what) {
  const bool negative = Next() == '-';
  const char* from = at_;
  if (negative) ++at_;
  if (!chars::Is(Peek(), chars::kDigit)) {
    at_ = from;
    return Fail(fmt::format("expected {}, found {}", what, Describe(Peek(), AtEnd())));
  }
  std::int64_t number = 0;
  for (; chars::Is(Peek(), chars::kDigit); ++at_) {
    const int digit = *at_ - '0';
    if (__builtin_mul_overflow(number, std::int64_t{10}, &number) ||
        __builtin_add_overflow(number, std::int64_t{digit}, &number)) {
      at_ = from;
      return Fail(fmt::format("{} does not fit 64 bits", what));
    }
  }
  *value = negative ? -number : number;
  return true;
}

bool Cursor::SkipString() {
  const std::size_t open = offset();
  const char* from = ++at_;
  while (at_ < end_) {
    at_ = NextQuote(at_, end_);
    if (at_ == end_) break;
    // An even number of backslashes before the quote escape each other, an odd one escapes it.
    const char* before = at_;
    while (before > from && before[-1] == '\\') --before;
    const bool escaped = ((at_ - before) & 1) != 0;
    ++at_;
    if (!escaped) return true;
  }
  at_ = end_;
  return FailAt(open, "the string that begins here does not end");
}

bool Cursor::SkipGroup() {
  std::array<char, 512> closers;
  std::size_t depth = 0;
  const std::size_t open = offset();
  while (at_ < end_) {
    const char c = *at_;
    if (!chars::Is(c, chars::kGroup)) {
      ++at_;
      continue;
    }
    switch (c) {
      case '"':
        if (!SkipString()) return false;
        continue;
      case '/':
        if (!SkipComment()) ++at_;
        continue;
      case '(': case '[': case '{':
        if (depth == closers.size()) return Fail("nested more than 512 deep");
        closers[depth++] = c == '(' ? ')' : c == '[' ? ']' : '}';
        break;
      case ')': case ']': case '}':
        if (closers[depth - 1] != c) {
          return Fail(fmt::format("expected '{}', found '{}'", closers[depth - 1], c));
        }
        if (--depth == 0) {
          ++at_;
          return true;
        }
        break;
      default: break;
    }
    ++at_;
  }
  return FailAt(open, fmt::format("the '{}' that opens here is not closed", begin_[open]));
}

bool Cursor::SkipValue() {
  SkipSpace();
  const std::size_t from = offset();
  while (at_ < end_) {
    const char c = *at_;
    if (c == '{' || c == '(' || c == '[') {
      if (!SkipGroup()) return false;
    } else if (c == '"') {
      if (!SkipString()) return false;
    } else if (c == ' ' && PeekAt(1) == '{') {
      ++at_;  // `mesh['a'=2] {'a'}`
    } else if (c == '/' ? (PeekAt(1) == '/' || PeekAt(1) == '*') : chars::Is(c, chars::kStop)) {
      break;
    } else {
      ++at_;
    }
  }
  if (offset() > from) return true;
  return Fail(fmt::format("expected a value after '=', found {}", Describe(Peek(), AtEnd())));
}

}  // namespace spillway::hlo
