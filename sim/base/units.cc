// SPDX-License-Identifier: Apache-2.0
#include "sim/base/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace spillway {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

// A number followed by one of `units`; empty when either is malformed.
template <std::size_t N>
std::optional<double> ParseWithUnit(std::string_view text, const std::array<Unit, N>& units) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  for (const Unit& candidate : units) {
    if (candidate.name == unit) return number * candidate.factor;
  }
  return std::nullopt;
}

std::optional<std::int64_t> Exact(std::optional<double> value) {
  if (!value || *value < 0 || *value > 9.0e18) return std::nullopt;
  // The product of a short decimal and a power of ten may be off by an ulp: accept the nearest
  // integer within that, refuse a true fraction.
  const double rounded = std::nearbyint(*value);
  if (std::abs(*value - rounded) > 1e-6 * std::max(1.0, 1e-9 * rounded)) return std::nullopt;
  return static_cast<std::int64_t>(rounded);
}

constexpr std::array<Unit, 11> kByteUnits{{{"B", 1}, {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6},
    {"GB", 1e9}, {"TB", 1e12}, {"KiB", 1024.0}, {"kiB", 1024.0}, {"MiB", 1048576.0},
    {"GiB", 1073741824.0}, {"TiB", 1099511627776.0}}};
constexpr std::array<Unit, 5> kTimeUnits{{{"ps", 1}, {"ns", 1e3}, {"us", 1e6}, {"ms", 1e9}, {"s", 1e12}}};
constexpr std::array<Unit, 4> kFrequencyUnits{{{"Hz", 1}, {"kHz", 1e3}, {"MHz", 1e6}, {"GHz", 1e9}}};
constexpr std::array<Unit, 8> kBandwidthUnits{{{"B/s", 1}, {"kB/s", 1e3}, {"MB/s", 1e6},
    {"GB/s", 1e9}, {"TB/s", 1e12}, {"MiB/s", 1048576.0}, {"GiB/s", 1073741824.0},
    {"TiB/s", 1099511627776.0}}};

}  // namespace

std::optional<Bytes> ParseBytes(std::string_view text) { return Exact(ParseWithUnit(text, kByteUnits)); }
std::optional<Picos> ParseDuration(std::string_view text) { return Exact(ParseWithUnit(text, kTimeUnits)); }

std::optional<double> ParseFrequency(std::string_view text) {
  return ParseWithUnit(text, kFrequencyUnits);
}

std::optional<double> ParseBandwidth(std::string_view text) {
  return ParseWithUnit(text, kBandwidthUnits);
}

std::string FormatBytes(Bytes bytes) {
  const double value = static_cast<double>(bytes);
  if (bytes >= kGiB) return fmt::format("{:.2f} GiB", value / static_cast<double>(kGiB));
  if (bytes >= kMiB) return fmt::format("{:.2f} MiB", value / static_cast<double>(kMiB));
  if (bytes >= kKiB) return fmt::format("{:.1f} KiB", value / static_cast<double>(kKiB));
  return fmt::format("{} B", bytes);
}

std::string FormatDuration(Picos picos) {
  const double value = static_cast<double>(picos);
  if (picos >= kPicosPerSecond) return fmt::format("{:.3f} s", value / 1e12);
  if (picos >= 1'000'000'000) return fmt::format("{:.3f} ms", value / 1e9);
  if (picos >= kPicosPerMicro) return fmt::format("{:.2f} us", value / 1e6);
  return fmt::format("{:.1f} ns", value / 1e3);
}

std::string FormatBandwidth(double bytes_per_second) {
  if (bytes_per_second >= 1e12) return fmt::format("{:.3f} TB/s", bytes_per_second / 1e12);
  return fmt::format("{:.1f} GB/s", bytes_per_second / 1e9);
}

}  // namespace spillway
