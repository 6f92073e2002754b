// SPDX-License-Identifier: Apache-2.0
#include "sim/hlo/text_util.h"

#include <fmt/format.h>

namespace spillway::hlo {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Appends what the escape at text[i] (after the backslash) stands for; returns the index after it.
std::size_t AppendEscape(std::string_view text, std::size_t i, std::string* out) {
  const char c = text[i];
  switch (c) {
    case 'n': *out += '\n'; return i + 1;
    case 't': *out += '\t'; return i + 1;
    case 'r': *out += '\r'; return i + 1;
    case 'x': {
      int value = 0;
      std::size_t end = i + 1;
      while (end < text.size() && end < i + 3 && HexDigit(text[end]) >= 0) value = value * 16 + HexDigit(text[end++]);
      *out += static_cast<char>(value);
      return end;
    }
    default: break;
  }
  if (c >= '0' && c <= '7') {
    int value = 0;
    std::size_t end = i;
    while (end < text.size() && end < i + 3 && text[end] >= '0' && text[end] <= '7') value = value * 8 + (text[end++] - '0');
    *out += static_cast<char>(value);
    return end;
  }
  *out += c;
  return i + 1;
}

}  // namespace

std::string Unescape(std::string_view quoted) {
  if (quoted.empty() || quoted.front() != '"') return std::string(quoted);
  std::string out;
  for (std::size_t i = 1; i < quoted.size() && quoted[i] != '"';) {
    if (quoted[i] == '\\' && i + 1 < quoted.size()) {
      i = AppendEscape(quoted, i + 1, &out);
    } else {
      out += quoted[i++];
    }
  }
  return out;
}

std::string Quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace spillway::hlo
