// SPDX-License-Identifier: Apache-2.0
#include "sim/config/axis_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>
#include <set>

namespace spillway::config {
namespace {

constexpr char kRangeHint[] = "a range is FROM:TO:x2 (factor) or FROM:TO:+8 (step), a list is a,b,c";

/// mantissa / 10^decimals, then a unit.
struct Quantity {
  std::int64_t mantissa = 0;
  int decimals = 0;
  std::string unit;
};

std::optional<Quantity> ParseQuantity(std::string_view text) {
  constexpr std::size_t kMostDigits = 17;  // far from overflow
  Quantity quantity;
  std::size_t at = 0, digits = 0;
  bool point = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '.' && !point && digits > 0) {
      point = true;
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      if (++digits > kMostDigits) return std::nullopt;
      quantity.mantissa = quantity.mantissa * 10 + (c - '0');
      if (point) ++quantity.decimals;
    } else {
      break;
    }
  }
  if (digits == 0 || (point && quantity.decimals == 0)) return std::nullopt;
  quantity.unit = std::string(text.substr(at));
  const bool unit = std::all_of(quantity.unit.begin(), quantity.unit.end(), [](unsigned char c) {
    return std::isalpha(c) != 0 || c == '/';
  });
  if (!unit) return std::nullopt;
  return quantity;
}

/// False on overflow.
bool Rescale(Quantity& quantity, int decimals) {
  for (; quantity.decimals < decimals; ++quantity.decimals) {
    if (__builtin_mul_overflow(quantity.mantissa, std::int64_t{10}, &quantity.mantissa)) return false;
  }
  return true;
}

std::string Print(const Quantity& quantity) {
  std::string digits = std::to_string(quantity.mantissa);
  if (quantity.decimals > 0) {
    const auto decimals = static_cast<std::size_t>(quantity.decimals);
    if (digits.size() <= decimals) digits.insert(0, decimals + 1 - digits.size(), '0');
    digits.insert(digits.size() - decimals, ".");
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.back() == '.') digits.pop_back();
  }
  return digits + quantity.unit;
}

/// Parts between `separator`, which does not count inside brackets or quotes.
std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == separator && depth == 0) {
      parts.emplace_back();
      continue;
    }
    parts.back() += c;
  }
  return parts;
}

Diagnostic BadRange(std::string_view text, const std::string& what) {
  return Error(fmt::format("range '{}': {}", text, what), kRangeHint);
}

/// Whether a part means to be a range: numbers before colons. Other texts may hold colons.
bool LooksLikeRange(const std::vector<std::string>& parts) {
  return parts.size() > 1 && ParseQuantity(parts[0]).has_value();
}

Result<std::vector<std::string>> Range(std::string_view text, const std::vector<std::string>& parts) {
  if (parts.size() != 3 || parts[2].size() < 2 || (parts[2][0] != 'x' && parts[2][0] != '+')) {
    return BadRange(text, "it must be FROM:TO:xFACTOR or FROM:TO:+STEP");
  }
  const bool geometric = parts[2][0] == 'x';
  std::optional<Quantity> from = ParseQuantity(parts[0]), to = ParseQuantity(parts[1]);
  std::optional<Quantity> step = ParseQuantity(parts[2].substr(1));
  if (!from || !to || !step) return BadRange(text, "it needs three decimal numbers of at most 17 digits");
  if (from->unit != to->unit || (geometric ? !step->unit.empty() : step->unit != from->unit)) {
    return BadRange(text, geometric ? "FROM and TO must have the same unit, the factor none"
                                    : "FROM, TO and STEP must have the same unit");
  }
  if (geometric && (step->decimals > 0 || step->mantissa < 2)) return BadRange(text, "the factor must be an integer above 1");
  if (geometric && from->mantissa == 0) return BadRange(text, "a range with a factor cannot begin at 0");
  if (step->mantissa == 0) return BadRange(text, "the step must be above 0");
  const int decimals = std::max({from->decimals, to->decimals, geometric ? 0 : step->decimals});
  if (!Rescale(*from, decimals) || !Rescale(*to, decimals) || (!geometric && !Rescale(*step, decimals))) {
    return BadRange(text, "the numbers have too many digits");
  }
  if (from->mantissa > to->mantissa) return BadRange(text, "FROM is above TO");
  std::vector<std::string> values;
  for (Quantity value = *from; value.mantissa <= to->mantissa;) {
    if (values.size() == kMaxAxisValues) return BadRange(text, fmt::format("it has more than {} values", kMaxAxisValues));
    values.push_back(Print(value));
    const bool overflow = geometric ? __builtin_mul_overflow(value.mantissa, step->mantissa, &value.mantissa)
                                    : __builtin_add_overflow(value.mantissa, step->mantissa, &value.mantissa);
    if (overflow) break;
  }
  return values;
}

std::string Trim(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

}  // namespace

std::string ProblemOfValues(const std::vector<std::string>& values) {
  if (values.empty()) return "it has no value";
  if (values.size() > kMaxAxisValues) return fmt::format("it has more than {} values", kMaxAxisValues);
  std::set<std::string> seen;
  for (const std::string& value : values) {
    if (value.empty()) return "it has an empty value";
    for (const unsigned char c : value) {
      if (c < 0x20 || c == 0x7f) return "a value has a control character";
    }
    if (!seen.insert(value).second) return fmt::format("value '{}' is there twice", value);
  }
  return "";
}

Result<AxisValues> ParseAxisValues(std::string_view text) {
  AxisValues axis;
  const std::vector<std::string> parts = Split(text, ',');
  for (const std::string& raw : parts) {
    const std::string part = Trim(raw);
    const std::vector<std::string> pieces = Split(part, ':');
    if (!LooksLikeRange(pieces)) {
      axis.values.push_back(part);
      continue;
    }
    Result<std::vector<std::string>> range = Range(part, pieces);
    if (!range.ok()) return range.errors();
    axis.values.insert(axis.values.end(), range->begin(), range->end());
    axis.geometric = parts.size() == 1 && pieces[2][0] == 'x';
  }
  if (const std::string problem = ProblemOfValues(axis.values); !problem.empty()) {
    return Error(fmt::format("axis values '{}': {}", text, problem), kRangeHint);
  }
  return axis;
}

}  // namespace spillway::config
