// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/mosaic_text.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace spillway::plan {
namespace {

constexpr std::int64_t kMaxBound = std::int64_t{1} << 31;
constexpr std::size_t kMaxRank = 16;

/// `array<i64: 8, 8>` that follows `key = ` after `from`; sets `end` behind it.
std::optional<std::vector<std::int64_t>> ArrayAfter(const std::string& text, const std::string& key, std::size_t from,
                                                    std::size_t limit, std::size_t* end = nullptr) {
  std::size_t at = text.find(key + " = array<i64", from);
  if (at == std::string::npos || at >= limit) return std::nullopt;
  std::size_t close = text.find('>', at);
  if (close == std::string::npos) return std::nullopt;
  std::vector<std::int64_t> values;
  std::size_t start = text.find("i64", at) + 3;
  for (std::size_t i = start; i < close;) {
    if (text[i] != '-' && (text[i] < '0' || text[i] > '9')) {
      ++i;
      continue;
    }
    std::int64_t value = 0;
    auto [stop, error] = std::from_chars(text.data() + i, text.data() + close, value);
    if (error != std::errc() || value < 1 || value > kMaxBound || values.size() >= kMaxRank) return std::nullopt;
    values.push_back(value);
    i = static_cast<std::size_t>(stop - text.data());
  }
  if (end != nullptr) *end = close;
  return values;
}

/// Names separated by commas up to a stop character.
std::vector<std::string> NamesIn(const std::string& text) {
  std::vector<std::string> names;
  std::string name;
  for (char c : text + ",") {
    if (c == ',') {
      if (!name.empty()) names.push_back(name);
      name.clear();
    } else if (c != ' ') {
      name += c;
    }
  }
  return names;
}

/// The index map `func.func @name(%arg0: i32, …) -> … { constants; return %a, %b : … }`.
std::optional<std::vector<TextWindow::Index>> IndexMap(const std::string& text, const std::string& name,
                                                         std::size_t axes) {
  std::size_t at = text.find("func.func @" + name + "(");
  if (at == std::string::npos) return std::nullopt;
  std::size_t open = text.find("{\n", at), end = text.find("\n  }", at);
  if (open == std::string::npos || end == std::string::npos || open > end) return std::nullopt;
  std::map<std::string, TextWindow::Index> known;
  for (std::size_t a = 0; a < axes; ++a) known["%arg" + std::to_string(a)] = {static_cast<int>(a), 0};
  std::size_t line = open + 2;
  while (line < end + 1) {
    std::size_t stop = std::min(text.find('\n', line), end);
    std::string statement = text.substr(line, stop - line);
    line = stop + 1;
    std::size_t first = statement.find_first_not_of(' ');
    if (first == std::string::npos) continue;
    statement = statement.substr(first);
    if (statement.compare(0, 7, "return ") == 0) {
      std::vector<TextWindow::Index> result;
      for (const std::string& value : NamesIn(statement.substr(7, statement.find(" :") - 7))) {
        auto it = known.find(value);
        if (it == known.end()) return std::nullopt;
        result.push_back(it->second);
      }
      return result;
    }
    std::size_t equals = statement.find(" = arith.constant ");
    if (equals == std::string::npos) return std::nullopt;
    std::int64_t value = 0;
    const char* digits = statement.data() + equals + 18;
    auto [stop_at, error] = std::from_chars(digits, statement.data() + statement.size(), value);
    if (error != std::errc() || stop_at == digits || value < 0 || value > kMaxBound) return std::nullopt;
    known[statement.substr(0, equals)] = {-1, value};
  }
  return std::nullopt;
}

}  // namespace

std::optional<TextGrid> GridFromText(const std::string& body) {
  TextGrid grid;
  std::size_t at = body.find("func.func @main(");
  if (at == std::string::npos) return std::nullopt;
  std::size_t limit = body.find('\n', at);
  auto bounds = ArrayAfter(body, "iteration_bounds", at, limit);
  if (!bounds) return std::nullopt;
  grid.iteration_bounds = *bounds;
  at = body.find("window_params = [", at);
  while (at < limit) {
    std::size_t name = body.find("transform_indices = @", at);
    if (name == std::string::npos || name >= limit) break;
    name += 21;
    std::size_t name_end = body.find_first_of(",} ", name);
    if (name_end == std::string::npos) return std::nullopt;
    TextWindow window;
    auto sizes = ArrayAfter(body, "window_bounds", name_end, limit, &at);
    auto index = IndexMap(body, body.substr(name, name_end - name), grid.iteration_bounds.size());
    if (!sizes || !index || sizes->size() != index->size()) return std::nullopt;
    window.bounds = *sizes;
    window.index = *index;
    grid.windows.push_back(std::move(window));
  }
  return grid;
}

}  // namespace spillway::plan
