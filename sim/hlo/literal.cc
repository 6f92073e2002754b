// SPDX-License-Identifier: Apache-2.0
// The text of constants and of the module's alias tables, checked for form.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "sim/hlo/cursor.h"
#include "sim/hlo/verify.h"

namespace spillway::hlo {
namespace {

bool IsInteger(ElementType type) { return type >= ElementType::kS1 && type <= ElementType::kU64; }
bool IsUnsigned(ElementType type) { return type >= ElementType::kU1 && type <= ElementType::kU64; }

// The largest finite value; infinite for types whose range is left unchecked.
double LargestOf(ElementType type) {
  switch (type) {
    case ElementType::kF16: return 65519.0;  // rounds to 65504
    case ElementType::kBF16: return 3.3961e38;
    case ElementType::kF32: case ElementType::kC64: return 3.4028236e38;
    default: return std::numeric_limits<double>::infinity();
  }
}

std::string CheckInteger(ElementType type, std::string_view text) {
  const char* end = text.data() + text.size();
  const int bits = ElementBits(type);
  if (IsUnsigned(type)) {
    if (bits == 64 && text.front() == '-') return CheckInteger(ElementType::kS64, text);  // wraps around
    std::uint64_t value = 0;
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc() && rest == end && (bits == 64 || value >> bits == 0)) return "";
  } else {
    std::int64_t value = 0;
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    const std::int64_t limit = std::int64_t{1} << (bits - 1 > 62 ? 62 : bits - 1);
    const bool fits = bits == 64 || (value >= -limit && value < limit);
    if (error == std::errc() && rest == end && fits) return "";
  }
  return fmt::format("the constant '{}' is no {}", text, ElementTypeName(type));
}

std::string CheckReal(ElementType type, std::string_view text) {
  std::string_view digits = text;
  if (!digits.empty() && digits.front() == '-') digits.remove_prefix(1);
  if (digits.rfind("nan", 0) == 0 || digits == "inf") return "";
  double value = 0;
  const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool whole = rest == digits.data() + digits.size();
  if (whole && error == std::errc() && value <= LargestOf(type)) return "";
  // from_chars also reports underflow: that only loses a tiny number.
  if (whole && error == std::errc::result_out_of_range && digits.find("e-") != std::string_view::npos) return "";
  return fmt::format("the constant '{}' is no {}", text, ElementTypeName(type));
}

std::string CheckScalar(ElementType type, std::string_view text) {
  if (type == ElementType::kPred) {
    if (text == "true" || text == "false" || IsInteger(type)) return "";
    return CheckInteger(ElementType::kS64, text);
  }
  if (IsInteger(type) && (text == "true" || text == "false")) return "";
  if (IsInteger(type)) return CheckInteger(type, text);
  return CheckReal(type, text);
}

// Reads nested braces and counts what each level holds.
class LiteralReader {
 public:
  LiteralReader(const Shape& shape, std::string_view text) : shape_(shape), cursor_(text) {}

  std::string Check() {
    // A bare number for an array stands for all of its elements.
    std::string problem = cursor_.Next() == '{' ? Value(0) : Scalar();
    if (!problem.empty()) return problem;
    cursor_.SkipSpace();
    if (!cursor_.AtEnd()) return "unexpected text after the constant's value";
    return "";
  }

 private:
  std::string Value(int depth) {
    if (depth == shape_.rank()) return Scalar();
    if (!cursor_.Consume('{')) {
      return fmt::format("expected '{{' in the constant: {} has {} dimensions", ToString(shape_), shape_.rank());
    }
    std::int64_t count = 0;
    if (!cursor_.Consume('}')) {
      do {
        std::string problem = Value(depth + 1);
        if (!problem.empty()) return problem;
        ++count;
      } while (cursor_.Consume(','));
      if (!cursor_.Consume('}')) return "expected ',' or '}' in the constant";
    }
    const std::int64_t expected = shape_.dimensions[static_cast<std::size_t>(depth)];
    if (count == expected || (shape_.dynamic_mask >> depth & 1) != 0) return "";
    return fmt::format("the constant has {} elements where its shape has {}", count, expected);
  }

  std::string Scalar() {
    if (cursor_.Next() == '(') {
      const std::size_t open = cursor_.offset();
      if (!cursor_.SkipGroup()) return cursor_.error();
      const std::string_view parts = cursor_.Since(open + 1);
      const std::size_t comma = parts.find(',');
      if (comma == std::string_view::npos) return "expected '(real, imaginary)' in the constant";
      std::string problem = CheckScalar(shape_.type, Trim(parts.substr(0, comma)));
      return problem.empty() ? CheckScalar(shape_.type, Trim(parts.substr(comma + 1, parts.size() - comma - 2)))
                             : problem;
    }
    const std::size_t from = cursor_.offset();
    while (!cursor_.AtEnd() && (!chars::Is(cursor_.Peek(), chars::kStop) || cursor_.Peek() == '(')) {
      if (cursor_.Peek() == '(') {  // nan(0x400)
        if (!cursor_.SkipGroup()) return cursor_.error();
      } else {
        cursor_.Advance();
      }
    }
    const std::string_view text = cursor_.Since(from);
    if (text.empty()) return fmt::format("expected a number in the constant, found {}",
                                         Describe(cursor_.Peek(), cursor_.AtEnd()));
    return CheckScalar(shape_.type, text);
  }

  static std::string_view Trim(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
  }

  const Shape& shape_;
  Cursor cursor_;
};

bool IndexList(Cursor* cursor) {
  std::int64_t value = 0;
  if (!cursor->Consume('{')) return false;
  if (cursor->Consume('}')) return true;
  do {
    if (!cursor->Integer(&value, "an index")) return false;
  } while (cursor->Consume(','));
  return cursor->Consume('}');
}

// `(0, {1}, may-alias)`: a parameter, a place in it and, for aliases, how.
bool ParameterPlace(Cursor* cursor) {
  std::int64_t number = 0;
  if (!cursor->Consume('(') || !cursor->Integer(&number, "a parameter") || !cursor->Consume(',')) return false;
  if (!IndexList(cursor)) return false;
  if (cursor->Consume(',') && cursor->Name().empty()) return false;
  return cursor->Consume(')');
}

}  // namespace

std::string CheckLiteral(const Shape& shape, std::string_view literal) {
  const bool elided = literal.find("...") != std::string_view::npos;
  if (!shape.IsArray() || elided || literal.empty() || shape.ElementCount() == 0) return "";
  return LiteralReader(shape, literal).Check();
}

std::string CheckModuleAttribute(const Attribute& attribute) {
  const bool alias = attribute.name == "input_output_alias";
  if (!alias && attribute.name != "buffer_donor") return "";
  Cursor cursor(attribute.value);
  bool well = cursor.Consume('{');
  if (well && !cursor.Consume('}')) {
    do {
      well = (!alias || (IndexList(&cursor) && cursor.Consume(':'))) && ParameterPlace(&cursor);
    } while (well && cursor.Consume(','));
    well = well && cursor.Consume('}');
  }
  if (well) return "";
  return fmt::format("'{}' is malformed: expected {}", attribute.name,
                     alias ? "{ {output index}: (parameter, {index}, kind), … }" : "{ (parameter, {index}), … }");
}

}  // namespace spillway::hlo
