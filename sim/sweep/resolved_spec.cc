// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/resolved_spec.h"

#include <fmt/format.h>

namespace spillway::sweep {
namespace {

/// Single-quoted: no text means anything else in YAML then.
std::string Quote(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += '\'';
    out += c;
  }
  return out + "'";
}

std::string Origin(const config::YamlLocation& at) {
  if (at.source == nullptr) return "";
  std::string text = at.Describe();
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  return "  # " + text;
}

std::string Values(const config::SweepAxis& axis) {
  std::string out;
  for (const std::string& value : axis.values) out += fmt::format("{}{}", out.empty() ? "" : ", ", Quote(value));
  return "[" + out + "]";
}

/// Ranges stay ranges where that keeps the knowledge that the axis grows by a factor.
std::string AxisText(const config::SweepAxis& axis) {
  if (!axis.geometric || axis.range.empty()) return Values(axis);
  return Quote(axis.range);
}

}  // namespace

std::string ResolvedSweep(const config::SweepConfig& sweep) {
  std::string out = "schema: spillway.sweep/1\n";
  if (!sweep.description.empty()) out += fmt::format("description: {}\n", Quote(sweep.description));
  if (!sweep.base.empty()) out += "base:\n";
  for (const config::SweepSetting& setting : sweep.base) {
    out += fmt::format("  {}: {}{}\n", Quote(setting.key), Quote(setting.value), Origin(setting.at));
  }
  if (!sweep.config_files.empty()) out += "config:\n";
  for (const std::string& file : sweep.config_files) out += fmt::format("  - {}\n", Quote(file));
  if (!sweep.axes.empty()) out += "axes:\n";
  for (const config::SweepAxis& axis : sweep.axes) {
    out += fmt::format("  {}: {}{}\n", Quote(axis.key), AxisText(axis), Origin(axis.at));
  }
  if (!sweep.zips.empty()) out += "zip:\n";
  for (const auto& group : sweep.zips) {
    const char* lead = "  - ";
    for (const config::SweepAxis& axis : group) {
      out += fmt::format("{}{}: {}{}\n", lead, Quote(axis.key), AxisText(axis), Origin(axis.at));
      lead = "    ";
    }
  }
  if (!sweep.exclude.empty()) out += "exclude:\n";
  for (const auto& group : sweep.exclude) {
    const char* lead = "  - ";
    for (const config::SweepSetting& setting : group) {
      out += fmt::format("{}{}: {}{}\n", lead, Quote(setting.key), Quote(setting.value), Origin(setting.at));
      lead = "    ";
    }
  }
  return out;
}

}  // namespace spillway::sweep
