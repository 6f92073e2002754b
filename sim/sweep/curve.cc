// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>

#include "sim/base/units.h"

namespace spillway::sweep {
namespace {

/// More lines than this cannot be told apart.
constexpr std::size_t kMostLines = 12;

std::optional<double> PlainNumber(const std::string& text) {
  if (text.empty() || text.find_first_not_of("0123456789.+-eE") != std::string::npos) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

template <class T>
std::optional<double> AsDouble(const std::optional<T>& value) {
  return value ? std::optional<double>(static_cast<double>(*value)) : std::nullopt;
}

struct Scale {
  const char* unit;
  std::optional<double> (*read)(const std::string&);
};
const Scale kScales[] = {
    {"", PlainNumber},
    {"bytes", [](const std::string& t) { return AsDouble(ParseBytes(t)); }},
    {"time", [](const std::string& t) { return AsDouble(ParseDuration(t)); }},
    {"bandwidth", [](const std::string& t) { return ParseBandwidth(t); }},
    {"frequency", [](const std::string& t) { return ParseFrequency(t); }},
};

/// The numbers of all `values` on one scale; empty if there is none.
std::map<std::string, double> Numbers(const std::set<std::string>& values, std::string& unit) {
  for (const Scale& scale : kScales) {
    std::map<std::string, double> numbers;
    for (const std::string& value : values) {
      if (const std::optional<double> number = scale.read(value)) numbers[value] = *number;
    }
    if (numbers.size() == values.size()) {
      unit = scale.unit;
      return numbers;
    }
  }
  return {};
}

std::set<std::string> ValuesOf(const std::vector<JournalEntry>& entries, std::size_t axis) {
  std::set<std::string> values;
  for (const JournalEntry& entry : entries) values.insert(entry.values[axis]);
  return values;
}

/// Whether the value of `axis` follows from that of `x`.
bool Follows(const std::vector<JournalEntry>& entries, std::size_t axis, std::size_t x) {
  std::map<std::string, std::string> seen;
  for (const JournalEntry& entry : entries) {
    if (seen.emplace(entry.values[x], entry.values[axis]).first->second != entry.values[axis]) return false;
  }
  return true;
}

bool GrowsByFactor(const std::vector<std::pair<double, std::string>>& values) {
  if (values.size() < 3 || values.front().first <= 0) return false;
  const double factor = values[1].first / values[0].first;
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (std::abs(values[i].first / values[i - 1].first - factor) > 1e-9 * factor) return false;
  }
  return factor >= 1.5;
}

struct Choice {
  std::size_t x = 0;
  std::map<std::string, double> numbers;  // of the values of x
};

Choice ChooseX(const JournalHeader& header, const std::vector<JournalEntry>& entries, Curve& curve) {
  Choice choice;
  std::optional<std::size_t> first;
  for (std::size_t axis = 0; axis < header.axes.size(); ++axis) {
    const std::set<std::string> values = ValuesOf(entries, axis);
    if (values.size() < 2) continue;
    if (!first) first = axis;
    choice.numbers = Numbers(values, curve.x_unit);
    if (choice.numbers.empty()) continue;
    choice.x = axis;
    return choice;
  }
  choice.x = first.value_or(0);
  curve.categories = true;
  for (const JournalEntry& entry : entries) {
    choice.numbers.emplace(entry.values[choice.x], static_cast<double>(choice.numbers.size()));
  }
  return choice;
}

}  // namespace

AxisScale ScaleOf(const JournalHeader& header, const std::vector<JournalEntry>& entries, std::size_t axis) {
  AxisScale scale;
  scale.numbers = Numbers(ValuesOf(entries, axis), scale.unit);
  std::vector<std::pair<double, std::string>> values;
  for (const auto& [text, number] : scale.numbers) values.emplace_back(number, text);
  std::sort(values.begin(), values.end());
  scale.log = !values.empty() && values.front().first > 0 && (header.geometric[axis] || GrowsByFactor(values));
  return scale;
}

TimeUnit UnitFor(double picos) {
  if (picos >= 1e12) return {"s", 1e12};
  if (picos >= 1e9) return {"ms", 1e9};
  if (picos >= 1e6) return {"us", 1e6};
  return {"ns", 1e3};
}

Curve MakeCurve(const JournalHeader& header, const std::vector<JournalEntry>& entries) {
  Curve curve;
  curve.title = header.title;
  if (entries.empty() || header.axes.empty()) return curve;
  const Choice choice = ChooseX(header, entries, curve);
  curve.x_name = header.axes[choice.x];
  for (const auto& [text, number] : choice.numbers) curve.x_values.emplace_back(number, text);
  std::sort(curve.x_values.begin(), curve.x_values.end());
  const bool positive = !curve.x_values.empty() && curve.x_values.front().first > 0;
  curve.log_x = !curve.categories && positive && (header.geometric[choice.x] || GrowsByFactor(curve.x_values));

  std::vector<std::size_t> others;
  for (std::size_t axis = 0; axis < header.axes.size(); ++axis) {
    if (axis == choice.x || ValuesOf(entries, axis).size() < 2 || Follows(entries, axis, choice.x)) continue;
    others.push_back(axis);
  }
  std::map<std::vector<std::string>, std::size_t> lines;
  std::vector<std::string> first_values;
  for (const JournalEntry& entry : entries) {
    std::vector<std::string> key;
    std::string name;
    for (const std::size_t axis : others) {
      key.push_back(entry.values[axis]);
      name += fmt::format("{}{}={}", name.empty() ? "" : " ", header.axes[axis], entry.values[axis]);
    }
    const auto [it, fresh] = lines.emplace(key, curve.lines.size());
    if (fresh) {
      curve.lines.push_back({name, curve.lines.size(), {}, {}});
      first_values.push_back(key.empty() ? "" : key.front());
    }
    CurveLine& line = curve.lines[it->second];
    const double x = choice.numbers.at(entry.values[choice.x]);
    if (!entry.result.ok() || entry.result.makespan_ps <= 0) {
      line.failed.push_back(x);
      continue;
    }
    std::string label = fmt::format("{}={}", curve.x_name, entry.values[choice.x]);
    if (!name.empty()) label += " " + name;
    label += ": " + FormatDuration(entry.result.makespan_ps);
    line.points.push_back({x, static_cast<double>(entry.result.makespan_ps), label});
  }
  for (CurveLine& line : curve.lines) {
    std::stable_sort(line.points.begin(), line.points.end(), [](const auto& a, const auto& b) { return a.x < b.x; });
  }
  if (curve.lines.size() < 2) return curve;
  curve.by_group = curve.lines.size() > kMostLines;
  for (std::size_t i = 0; i < curve.lines.size(); ++i) {
    const std::string name =
        curve.by_group ? fmt::format("{}={}", header.axes[others.front()], first_values[i]) : curve.lines[i].name;
    const auto at = std::find(curve.groups.begin(), curve.groups.end(), name);
    curve.lines[i].group = static_cast<std::size_t>(at - curve.groups.begin());
    if (at == curve.groups.end()) curve.groups.push_back(name);
  }
  return curve;
}

}  // namespace spillway::sweep
