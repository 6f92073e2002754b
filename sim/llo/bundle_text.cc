// SPDX-License-Identifier: Apache-2.0
#include "sim/llo/bundle_text.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "sim/base/file.h"
#include "sim/llo/scan.h"

namespace spillway::llo {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

int HexDigit(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// "name=" as in /*src_stride=*/: the compiler's way to name an operand.
bool IsOperandName(std::string_view comment) {
  if (comment.size() < 2 || comment.back() != '=') return false;
  for (char c : comment.substr(0, comment.size() - 1)) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') return false;
  }
  return true;
}

// End of the comment that begins at `begin` (after its "*/"); npos if it does not end. Comments nest:
// a bounds check quotes its DMA with that operation's own comments.
std::size_t CommentEnd(std::string_view text, std::size_t begin) {
  int depth = 0;
  const char* at = text.data() + begin;
  const char* const end = text.data() + text.size();
  for (;;) {
    at = FindAny<'/', '*'>(at, end);
    if (end - at < 2) return std::string_view::npos;
    if (at[0] == '/' && at[1] == '*') {
      ++depth;
      at += 2;
    } else if (at[0] == '*' && at[1] == '/') {
      at += 2;
      if (--depth == 0) return static_cast<std::size_t>(at - text.data());
    } else {
      ++at;
    }
  }
}

}  // namespace

std::string_view Trim(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

std::string StripComments(std::string_view text, std::string* comment) {
  std::string out;
  out.reserve(text.size());
  bool have_comment = false;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] != '/' || i + 1 >= text.size() || text[i + 1] != '*') {
      out += IsSpace(text[i]) ? ' ' : text[i];
      ++i;
      continue;
    }
    std::size_t end = CommentEnd(text, i);
    if (end == std::string_view::npos) end = text.size();
    std::string_view inside = text.substr(i + 2, end - i - (end >= i + 4 ? 4 : 2));
    if (IsOperandName(inside)) {
      out += '@';
      out += inside;
    } else if (comment != nullptr && !have_comment) {
      *comment = std::string(Trim(inside));
      have_comment = true;
    }
    i = end;
  }
  return std::string(Trim(out));
}

BundleReader::BundleReader(std::string_view text, std::string file)
    : text_(text), file_(std::move(file)) {}

void BundleReader::Fail(const std::string& message, std::size_t offset) {
  if (errors_.empty()) errors_.push_back(ErrorAt(text_, file_, offset, message));
}

void BundleReader::SkipLine() {
  position_ = std::min(text_.find('\n', position_), text_.size());
  if (position_ < text_.size()) {
    ++position_;
    ++line_;
  }
}

bool BundleReader::SkipComment() {
  std::size_t end = CommentEnd(text_, position_);
  if (end == std::string_view::npos) {
    Fail("comment without an end", position_);
    return false;
  }
  line_ += static_cast<int>(std::count(text_.begin() + position_, text_.begin() + end, '\n'));
  position_ = end;
  return true;
}

bool BundleReader::Next(BundleText& bundle) {
  while (errors_.empty() && position_ < text_.size()) {
    std::size_t start = position_;
    if (ReadHeader(bundle)) {
      if (bundle.address != next_address_) {
        Fail("bundle address out of sequence", start);
        return false;
      }
      ++next_address_;
      if (!ReadBody(bundle)) return false;
      ReadTrailer(bundle);
      return errors_.empty();
    }
    position_ = start;
    std::size_t end = text_.find('\n', start);
    if (end == std::string_view::npos) end = text_.size();
    bool blank = Trim(text_.substr(start, end - start)).empty();
    if (next_address_ > 0 && !blank) {
      Fail("not a bundle", start);
      return false;
    }
    SkipLine();
  }
  return false;
}

// `   0x15 LB: >> {`
bool BundleReader::ReadHeader(BundleText& bundle) {
  auto at_end = [this] { return position_ >= text_.size(); };
  auto skip_blanks = [&] {
    while (!at_end() && (text_[position_] == ' ' || text_[position_] == '\t')) ++position_;
  };
  skip_blanks();
  std::int64_t address = 0;
  std::size_t digits = 0;
  if (text_.substr(position_, 2) == "0x") {
    position_ += 2;
    for (; !at_end() && HexDigit(text_[position_]) >= 0 && digits < 12; ++position_, ++digits) {
      address = address * 16 + HexDigit(text_[position_]);
    }
  } else {
    for (; !at_end() && IsDigit(text_[position_]) && digits < 12; ++position_, ++digits) {
      address = address * 10 + (text_[position_] - '0');
    }
  }
  if (digits == 0) return false;
  skip_blanks();
  std::size_t marker = position_;
  auto at_mark = [this] {
    return std::isupper(static_cast<unsigned char>(text_[position_])) != 0 || text_[position_] == ',';
  };
  while (!at_end() && at_mark()) {
    ++position_;
    skip_blanks();
  }
  if (at_end() || text_[position_] != ':') return false;
  bundle.depth = 0;
  bundle.ops.clear();
  bundle.regions.clear();
  bundle.marker = Trim(text_.substr(marker, position_ - marker));
  ++position_;
  for (skip_blanks(); !at_end() && text_[position_] == '>'; skip_blanks()) {
    ++position_;
    ++bundle.depth;
  }
  if (at_end() || text_[position_] != '{') return false;
  ++position_;
  bundle.address = address;
  bundle.line = line_;
  return true;
}

bool BundleReader::ReadBody(BundleText& bundle) {
  std::size_t open = position_, begin = position_;
  int op_line = line_, depth = 1;
  auto finish = [&](std::size_t end) {
    std::string_view op = Trim(text_.substr(begin, end - begin));
    if (!op.empty()) bundle.ops.push_back({op, op_line});
  };
  const char* const text = text_.data();
  for (;;) {
    const char* const mark = FindAny<'/', ';', '{', '}', '\n'>(text + position_, text + text_.size());
    position_ = static_cast<std::size_t>(mark - text);
    if (position_ >= text_.size()) break;
    const char c = text[position_];
    const char next = position_ + 1 < text_.size() ? text[position_ + 1] : '\0';
    if (c == '/' && next == '*') {
      if (!SkipComment()) return false;
      continue;
    }
    if (c == ';' && next == ';' && depth == 1) {
      finish(position_);
      position_ += 2;
      begin = position_;
      op_line = line_;
      continue;
    }
    if (c == '{') ++depth;
    if (c == '}' && --depth == 0) {
      finish(position_);
      ++position_;
      return true;
    }
    line_ += c == '\n';
    ++position_;
  }
  Fail("bundle without a closing brace", open);
  return false;
}

void BundleReader::ReadTrailer(BundleText& bundle) {
  std::size_t begin = position_;
  while (position_ < text_.size() && text_[position_] != '\n') {
    if (text_[position_] == '/' && position_ + 1 < text_.size() && text_[position_ + 1] == '*') {
      if (!SkipComment()) return;
    } else if (IsSpace(text_[position_])) {
      ++position_;
    } else {
      Fail("text after the closing brace of a bundle", position_);
      return;
    }
  }
  bundle.comment = text_.substr(begin, position_ - begin);
  SkipLine();
  if (bundle.comment.size() < 2) return;
  for (std::string_view key : {"Start region ", "Start/End empty region "}) {
    for (std::size_t at = bundle.comment.find(key); at != std::string_view::npos;
         at = bundle.comment.find(key, at + 1)) {
      std::int64_t number = 0;
      std::size_t i = at + key.size(), digits = 0;
      for (; i < bundle.comment.size() && IsDigit(bundle.comment[i]) && digits < 9; ++i, ++digits) {
        number = number * 10 + (bundle.comment[i] - '0');
      }
      if (digits > 0) bundle.regions.push_back(static_cast<int>(number));
    }
  }
}

}  // namespace spillway::llo
