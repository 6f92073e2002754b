// SPDX-License-Identifier: Apache-2.0
#include "sim/llo/operation.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "sim/llo/scan.h"

namespace spillway::llo {
namespace {

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

std::optional<RegisterName> ParseRegister(std::string_view text) {
  if (text.size() < 2 || text.front() != '%') return std::nullopt;
  text.remove_prefix(1);
  RegisterName name;
  if (text.front() == 's') {
    name.file = RegisterName::File::kScalar;
  } else if (text.front() == 'p') {
    name.file = RegisterName::File::kPredicate;
  } else if (text.front() == 'v') {
    name.file = RegisterName::File::kVector;
  }
  std::size_t underscore = text.rfind('_');
  int value = 0;
  std::size_t at = name.file == RegisterName::File::kToken ? 0 : 1, value_digits = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9' && value_digits < 9; ++at, ++value_digits) {
    value = value * 10 + (text[at] - '0');
  }
  if (value_digits > 0) name.value = value;
  if (name.file != RegisterName::File::kToken && underscore != std::string_view::npos) {
    std::size_t i = underscore + 1;
    while (i < text.size() && text[i] >= 'a' && text[i] <= 'z') ++i;
    int number = 0;
    std::size_t digits = 0;
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9' && digits < 4; ++i, ++digits) {
      number = number * 10 + (text[i] - '0');
    }
    if (digits > 0 && i == text.size()) name.number = number;
  }
  return name;
}

bool ParseInteger(std::string_view text, std::int64_t* value) {
  if (!text.empty() && text.front() == '$') text.remove_prefix(1);
  if (text.empty() || text.size() > 24) return false;
  std::string copy(text);
  char* end = nullptr;
  errno = 0;
  *value = std::strtoll(copy.c_str(), &end, 0);
  return errno == 0 && end == copy.c_str() + copy.size();
}

bool ParseFloat(std::string_view text, double* value) {
  if (text.empty() || text.size() > 40) return false;
  std::string copy(text);
  char* end = nullptr;
  *value = std::strtod(copy.c_str(), &end);
  return end == copy.c_str() + copy.size();
}

// Splits at `separator` outside of brackets.
std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (c == separator && depth <= 0) {
      parts.push_back(Trim(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  parts.push_back(Trim(text.substr(begin)));
  return parts;
}

bool AddTerm(std::string_view term, Operand* operand, int depth = 0);

bool AddBracket(std::string_view text, Operand* operand, int depth) {
  if (depth > 3 || text.size() < 2 || text.front() != '[' || text.back() != ']') return false;
  text = Trim(text.substr(1, text.size() - 2));
  for (std::string_view space : {"smem:", "vmem:", "hbm:", "sflag:"}) {
    if (!StartsWith(text, space)) continue;
    if (space == "smem:") operand->memory = true;
    text = Trim(text.substr(space.size()));
    break;
  }
  for (std::string_view term : Split(text, '+')) {
    if (!AddTerm(term, operand, depth + 1)) return false;
  }
  return true;
}

bool AddTerm(std::string_view term, Operand* operand, int depth) {
  if (term.empty()) return false;
  if (term.front() == '[') return AddBracket(term, operand, depth);
  if (term.front() == '#') {
    if (!operand->symbol.empty()) return false;
    operand->symbol = std::string(term.substr(1));
    return !operand->symbol.empty();
  }
  if (term.front() == '%') {
    std::optional<RegisterName> name = ParseRegister(term);
    if (!name) return false;
    operand->registers.push_back(*name);
    return true;
  }
  std::int64_t value = 0;
  if (!ParseInteger(term, &value)) return false;
  operand->offset += value;
  return true;
}

bool ParseOperand(std::string_view text, Operand* operand) {
  text = Trim(text);
  if (!text.empty() && text.front() == '@') {
    std::size_t equal = text.find('=');
    if (equal == std::string_view::npos) return false;
    operand->name = std::string(text.substr(1, equal - 1));
    text = Trim(text.substr(equal + 1));
  }
  if (!text.empty() && text.front() == '!') {
    operand->negated = true;
    text = Trim(text.substr(1));
  }
  // `%s1_s0 [#allocation4]`: the bracket only names the object that the pointer points into.
  if (!text.empty() && text.front() != '[') {
    std::size_t bracket = text.find(" [");
    if (bracket != std::string_view::npos) text = Trim(text.substr(0, bracket));
  }
  if (text.empty()) return false;
  if (AddTerm(text, operand)) return true;
  operand->is_float = ParseFloat(text, &operand->float_value);
  return operand->is_float;
}

// Cuts `(%p1_p0)` or `(!%p1_p0, %s5_s2)` out of `rest`.
bool TakePredicate(std::string* rest, Operation* operation) {
  std::size_t open = rest->find("(%");
  std::size_t negated = rest->find("(!%");
  open = std::min(open, negated);
  if (open == std::string::npos) return true;
  std::size_t close = rest->find(')', open);
  if (close == std::string::npos) return false;
  std::vector<std::string_view> parts =
      Split(std::string_view(*rest).substr(open + 1, close - open - 1), ',');
  Operand predicate, tied;
  if (parts.empty() || parts.size() > 2 || !ParseOperand(parts[0], &predicate)) return false;
  if (predicate.registers.size() != 1) return false;
  if (parts.size() == 2) {
    if (!ParseOperand(parts[1], &tied)) return false;
    operation->tied = tied;
  }
  operation->predicate = predicate;
  std::size_t after = close + 1;
  while (after < rest->size() && ((*rest)[after] == ' ' || (*rest)[after] == ',')) ++after;
  rest->replace(open, after - open, " ");
  return true;
}

}  // namespace

OpcodeView PeekOpcode(std::string_view text) {
  OpcodeView view;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end && *at == '%') {
    const char first = at + 1 < end ? at[1] : '\0';
    if (first == 's' || first == 'p') view.scalar_result = true;
    at = FindAny<' ', ','>(at, end);
    while (at < end && (*at == ' ' || *at == ',')) ++at;
  }
  if (at < end && *at == '=') {
    ++at;
    while (at < end && *at == ' ') ++at;
  }
  const char* const begin = at;
  at = FindAny<' ', '\n', '\t'>(at, end);
  view.opcode = {begin, static_cast<std::size_t>(at - begin)};
  return view;
}

std::optional<Operation> ParseOperation(const OpText& text) {
  Operation operation;
  operation.line = text.line;
  std::string clean = StripComments(text.text, &operation.comment);
  operation.trailing = operation.comment;
  std::string_view rest = clean;
  if (!rest.empty() && rest.front() == '%') {
    std::size_t equal = rest.find(" = ");
    if (equal == std::string_view::npos) return std::nullopt;
    for (std::string_view name : Split(rest.substr(0, equal), ',')) {
      std::optional<RegisterName> result = ParseRegister(name);
      if (!result) return std::nullopt;
      operation.results.push_back(*result);
    }
    rest = Trim(rest.substr(equal + 3));
  }
  std::size_t space = std::min(rest.find(' '), rest.size());
  operation.opcode = std::string(rest.substr(0, space));
  if (operation.opcode.empty()) return std::nullopt;
  operation.tail = std::string(Trim(rest.substr(space)));
  if (!TakePredicate(&operation.tail, &operation)) return std::nullopt;
  operation.tail = std::string(Trim(operation.tail));
  return operation;
}

bool ParseOperands(std::string_view tail, std::vector<Operand>* operands) {
  if (Trim(tail).empty()) return true;
  for (std::string_view part : Split(tail, ',')) {
    Operand operand;
    if (!ParseOperand(part, &operand)) return false;
    operands->push_back(std::move(operand));
  }
  return true;
}

}  // namespace spillway::llo
