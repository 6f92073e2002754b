// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/mosaic.h"

#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "sim/hlo/attributes.h"

namespace spillway::plan {
namespace {

constexpr std::int64_t kMaxBound = std::int64_t{1} << 31;
constexpr std::size_t kMaxRank = 16;

std::optional<std::string> DecodeBase64(const std::string& text) {
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    int value = -1;
    if (c >= 'A' && c <= 'Z') value = c - 'A';
    if (c >= 'a' && c <= 'z') value = c - 'a' + 26;
    if (c >= '0' && c <= '9') value = c - '0' + 52;
    if (c == '+') value = 62;
    if (c == '/') value = 63;
    if (c == '=') break;
    if (value < 0) return std::nullopt;
    bits = (bits << 6) | static_cast<std::uint32_t>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      out += static_cast<char>((bits >> count) & 0xff);
    }
  }
  return out;
}

std::optional<std::string> BodyOf(const hlo::Instruction& kernel) {
  auto config = hlo::BackendConfigOf(kernel);
  if (!config) return std::nullopt;
  nlohmann::json json = nlohmann::json::parse(config->json, nullptr, false);
  if (!json.is_object() || !json.contains("custom_call_config")) return std::nullopt;
  const nlohmann::json& call = json["custom_call_config"];
  if (!call.is_object() || !call.contains("body") || !call["body"].is_string()) return std::nullopt;
  return DecodeBase64(call["body"].get<std::string>());
}

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
std::optional<std::vector<MosaicWindow::Index>> IndexMap(const std::string& text, const std::string& name,
                                                         std::size_t axes) {
  std::size_t at = text.find("func.func @" + name + "(");
  if (at == std::string::npos) return std::nullopt;
  std::size_t open = text.find("{\n", at), end = text.find("\n  }", at);
  if (open == std::string::npos || end == std::string::npos || open > end) return std::nullopt;
  std::map<std::string, MosaicWindow::Index> known;
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
      std::vector<MosaicWindow::Index> result;
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

std::optional<MosaicGrid> MosaicGridOf(const hlo::Instruction& kernel) {
  if (kernel.opcode != hlo::Opcode::kCustomCall) return std::nullopt;
  auto body = BodyOf(kernel);
  if (!body || body->compare(0, 2, "ML") == 0) return std::nullopt;
  MosaicGrid grid;
  std::size_t at = body->find("func.func @main(");
  if (at == std::string::npos) return std::nullopt;
  std::size_t limit = body->find('\n', at);
  auto bounds = ArrayAfter(*body, "iteration_bounds", at, limit);
  if (!bounds) return std::nullopt;
  grid.iteration_bounds = *bounds;
  at = body->find("window_params = [", at);
  while (at < limit) {
    std::size_t name = body->find("transform_indices = @", at);
    if (name == std::string::npos || name >= limit) break;
    name += 21;
    std::size_t name_end = body->find_first_of(",} ", name);
    if (name_end == std::string::npos) return std::nullopt;
    MosaicWindow window;
    auto sizes = ArrayAfter(*body, "window_bounds", name_end, limit, &at);
    auto index = IndexMap(*body, body->substr(name, name_end - name), grid.iteration_bounds.size());
    if (!sizes || !index || sizes->size() != index->size()) return std::nullopt;
    window.bounds = *sizes;
    window.index = *index;
    grid.windows.push_back(std::move(window));
  }
  std::size_t results = kernel.shape.IsTuple() ? kernel.shape.elements.size() : 1;
  if (grid.windows.size() != kernel.operands.size() + results) return std::nullopt;
  return grid;
}

Grid GridOfMosaic(const MosaicGrid& mosaic) {
  Grid grid;
  grid.anchor = 0;
  grid.from_dump = true;
  for (std::size_t a = 0; a < mosaic.iteration_bounds.size(); ++a) {
    std::int64_t bound = mosaic.iteration_bounds[a];
    grid.sizes.push_back(bound);
    if (bound > 1) grid.axes.push_back({static_cast<int>(a), 1, bound});
    grid.steps = grid.steps > kMaxBound ? grid.steps : grid.steps * bound;
  }
  return grid;
}

Path PathOf(const MosaicWindow& window, const hlo::Dims& sizes) {
  Transform step;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    AffineDim dim;
    dim.size = sizes[d];
    if (d < window.bounds.size()) {
      dim.extra = window.bounds[d] - 1;
      dim.source = window.index[d].axis;
      dim.mul = window.bounds[d];
      if (dim.source < 0) {
        // A constant block: any axis does, times nothing.
        dim.source = 0;
        dim.mul = 0;
        dim.add = window.index[d].constant * window.bounds[d];
      }
    }
    step.dims.push_back(dim);
  }
  return {step};
}

}  // namespace spillway::plan
