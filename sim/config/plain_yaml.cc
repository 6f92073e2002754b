// SPDX-License-Identifier: Apache-2.0
#include "sim/config/plain_yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/null.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

namespace spillway::config {
namespace {

constexpr std::uint8_t kWordStart = 1, kWord = 2, kScalarStart = 4, kInFlow = 8, kInBlock = 16;
constexpr int kMaxNesting = 32;

constexpr std::array<std::uint8_t, 256> MakeTable() {
  std::array<std::uint8_t, 256> table{};
  const auto add = [&table](std::string_view characters, std::uint8_t kinds) {
    for (const char c : characters) table[static_cast<unsigned char>(c)] |= kinds;
  };
  add("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", kWordStart | kWord | kScalarStart | kInFlow | kInBlock);
  add("0123456789", kWordStart | kWord | kScalarStart | kInFlow | kInBlock);
  add(".", kWord | kScalarStart | kInFlow | kInBlock);
  add("-", kWord | kInFlow | kInBlock);
  add("/+", kScalarStart | kInFlow | kInBlock);
  add(" *()<>=;^%", kInFlow | kInBlock);
  add(",'&!$@|[]{}", kInBlock);
  return table;
}
constexpr std::array<std::uint8_t, 256> kTable = MakeTable();

bool Is(char c, std::uint8_t kind) { return (kTable[static_cast<unsigned char>(c)] & kind) != 0; }

class PlainReader {
 public:
  PlainReader(std::string_view text, YAML::EventHandler& events) : text_(text), events_(events) {}

  bool Run() {
    const bool plain = std::all_of(text_.begin(), text_.end(), [](char c) { return (c >= ' ' && c < 0x7f) || c == '\n'; });
    if (!plain || !NextContent()) return false;
    events_.OnDocumentStart(Here());
    if (!Block(0)) return false;
    events_.OnDocumentEnd();
    return done_;
  }

 private:
  char Peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\n'; }
  int Column() const { return static_cast<int>(at_ - line_begin_); }
  YAML::Mark Here() const {
    YAML::Mark mark;
    mark.pos = static_cast<int>(at_);
    mark.line = line_;
    mark.column = Column();
    return mark;
  }
  void SkipBlanks() {
    while (Peek() == ' ') ++at_;
  }
  /// Nothing but a comment is left in this line. REQUIRES: a space or the line's begin before this place.
  bool LineEnds() {
    SkipBlanks();
    return Peek() == '\n' || (Peek() == '#' && (Column() == 0 || text_[at_ - 1] == ' '));
  }
  /// To the next line that holds something; false at the end of the text.
  bool NextContent() {
    while (at_ < text_.size()) {
      if (!LineEnds()) return true;
      at_ = std::min(text_.find('\n', at_), text_.size() - 1) + 1;
      line_begin_ = at_;
      ++line_;
    }
    done_ = true;
    return false;
  }

  std::string_view Word() {
    const std::size_t from = at_;
    if (Is(Peek(), kWordStart)) {
      while (Is(Peek(), kWord)) ++at_;
    }
    const std::string_view word = text_.substr(from, at_ - from);
    return YAML::IsNullString(std::string(word)) ? std::string_view() : word;
  }
  /// A key and its colon; what follows the colon is a space or the line's end.
  bool Key() {
    const YAML::Mark mark = Here();
    const std::string_view key = Word();
    if (key.empty() || Peek() != ':' || (Peek(1) != ' ' && Peek(1) != '\n')) return false;
    ++at_;
    events_.OnScalar(mark, "?", YAML::NullAnchor, std::string(key));
    return true;
  }
  bool KeyFollows() const {
    std::size_t i = 0;
    while (Is(Peek(i), kWord)) ++i;
    return i > 0 && Peek(i) == ':';
  }
  bool DashFollows() const { return Peek() == '-' && Peek(1) == ' '; }

  bool Block(int depth) {
    if (depth == kMaxNesting) return false;
    return DashFollows() ? List(depth) : Map(depth);
  }

  bool Map(int depth) {
    const int column = Column();
    events_.OnMapStart(Here(), "?", YAML::NullAnchor, YAML::EmitterStyle::Block);
    do {
      if (!Key()) return false;
      if (LineEnds() ? !ValueBelow(column, depth) : !ValueHere(column, depth)) return false;
    } while (!done_ && Column() == column);
    events_.OnMapEnd();
    return done_ || Column() < column;
  }
  bool ValueBelow(int column, int depth) {
    const bool more = NextContent();
    if (more && (Column() > column || (Column() == column && DashFollows()))) return Block(depth + 1);
    events_.OnNull(Here(), YAML::NullAnchor);
    return true;
  }
  bool List(int depth) {
    const int column = Column();
    events_.OnSequenceStart(Here(), "?", YAML::NullAnchor, YAML::EmitterStyle::Block);
    do {
      ++at_;
      if (LineEnds() || DashFollows()) return false;
      if (KeyFollows() ? depth + 1 == kMaxNesting || !Map(depth + 1) : !ValueHere(column, depth)) return false;
    } while (!done_ && Column() == column && DashFollows());
    events_.OnSequenceEnd();
    return done_ || Column() <= column;
  }
  /// A value in the line of its key or dash, and on to the next content, which must not continue it.
  bool ValueHere(int column, int depth) {
    if (!Value(kInBlock, depth)) return false;
    if (Peek() != '\n' && Peek() != ' ') return false;
    if (!LineEnds()) return false;
    return !NextContent() || Column() <= column;
  }

  bool Value(std::uint8_t inside, int depth) {
    const char c = Peek();
    if (c == '{' || c == '[') return depth + 1 < kMaxNesting && Flow(c == '{', depth + 1);
    if (c == '"' || c == '\'') return Quoted(c);
    return Plain(inside);
  }
  bool Flow(bool map, int depth) {
    const char close = map ? '}' : ']';
    if (map) events_.OnMapStart(Here(), "?", YAML::NullAnchor, YAML::EmitterStyle::Flow);
    else events_.OnSequenceStart(Here(), "?", YAML::NullAnchor, YAML::EmitterStyle::Flow);
    ++at_;
    SkipBlanks();
    if (Peek() != close) {
      for (;;) {
        if (map && !Key()) return false;
        SkipBlanks();
        if (!Value(kInFlow, depth)) return false;
        SkipBlanks();
        if (Peek() == close) break;
        if (Peek() != ',') return false;
        ++at_;
        SkipBlanks();
      }
    }
    ++at_;
    if (map) events_.OnMapEnd();
    else events_.OnSequenceEnd();
    return true;
  }
  bool Quoted(char quote) {
    const YAML::Mark mark = Here();
    const std::size_t end = std::min(text_.find(quote, at_ + 1), text_.size());
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    if (end == text_.size() || inside.find_first_of("\\\n") != std::string_view::npos) return false;
    at_ = end + 1;
    const char next = Peek();  // another quote would be an escaped one
    if (next != ' ' && next != '\n' && next != ',' && next != '}' && next != ']') return false;
    events_.OnScalar(mark, "!", YAML::NullAnchor, std::string(inside));
    return true;
  }
  bool Plain(std::uint8_t inside) {
    const YAML::Mark mark = Here();
    const bool starts = Is(Peek(), kScalarStart) || (Peek() == '-' && Peek(1) != ' ' && Is(Peek(1), kWord));
    if (!starts) return false;
    const std::size_t from = at_;
    while (Is(Peek(), inside) || (Peek() == ':' && inside == kInBlock && Is(Peek(1), kWord))) ++at_;
    // A comment may follow, with a space before it; anything else that stopped this is not plain.
    const char next = Peek();
    const bool ends = next == '\n' || (next == '#' && text_[at_ - 1] == ' ') ||
                      (inside == kInFlow && (next == ',' || next == '}' || next == ']'));
    if (!ends) return false;
    while (text_[at_ - 1] == ' ') --at_;
    std::string value(text_.substr(from, at_ - from));
    if (YAML::IsNullString(value)) return false;
    events_.OnScalar(mark, "?", YAML::NullAnchor, value);
    return true;
  }

  std::string_view text_;
  YAML::EventHandler& events_;
  std::size_t at_ = 0, line_begin_ = 0;
  int line_ = 0;
  bool done_ = false;
};

}  // namespace

bool ReadPlainYaml(std::string_view text, YAML::EventHandler& events) { return PlainReader(text, events).Run(); }

}  // namespace spillway::config
