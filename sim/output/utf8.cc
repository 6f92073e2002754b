// SPDX-License-Identifier: Apache-2.0
#include "sim/output/utf8.h"

#include <fmt/format.h>

#include <iterator>

namespace spillway::output {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// Length of the valid sequence at `i`; 0 if there is none.
std::size_t SequenceLength(std::string_view text, std::size_t i) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char lead = byte(i);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || i + length > text.size()) return 0;
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte(i + k) & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates and code points above U+10FFFF.
  const unsigned char second = byte(i + 1);
  const bool bad = (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
                   (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F);
  return bad ? 0 : length;
}

}  // namespace

std::string ValidUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = SequenceLength(text, i);
    out += length == 0 ? kReplacement : text.substr(i, length);
    i += length == 0 ? 1 : length;
  }
  return out;
}

std::string JsonString(std::string_view text) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = SequenceLength(text, i);
    const std::string_view part = length == 0 ? kReplacement : text.substr(i, length);
    i += length == 0 ? 1 : length;
    const auto c = static_cast<unsigned char>(part[0]);
    if (part == "\xE2\x80\xA8") out += "\\u2028";
    else if (part == "\xE2\x80\xA9") out += "\\u2029";
    else if (c == '"' || c == '\\') (out += '\\') += static_cast<char>(c);
    else if (c < 0x20 || c == '<' || c == 0x7f) fmt::format_to(std::back_inserter(out), "\\u{:04x}", c);
    else out += part;
  }
  return out + "\"";
}

}  // namespace spillway::output
