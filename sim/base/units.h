// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace spillway {

/// Simulated time. Integer picoseconds everywhere; `double` only in derived metrics.
using Picos = std::int64_t;
/// Sizes and addresses in bytes.
using Bytes = std::int64_t;
/// Core clock cycles (one VLIW bundle a cycle when nothing stalls).
using Cycles = std::int64_t;

constexpr Picos kPicosPerNano = 1'000;
constexpr Picos kPicosPerMicro = 1'000'000;
constexpr Picos kPicosPerSecond = 1'000'000'000'000;
constexpr Bytes kKiB = 1024;
constexpr Bytes kMiB = 1024 * kKiB;
constexpr Bytes kGiB = 1024 * kMiB;

/// Parsers of quantities with a unit: "16GiB", "512B", "1.6384TB/s", "1750MHz", "628ns".
/// GB = 1e9 bytes, GiB = 2^30 bytes. Empty on a malformed text, an unknown unit, an inexact
/// byte or picosecond count, or overflow. A bare number is refused: the unit is part of the value.
std::optional<Bytes> ParseBytes(std::string_view text);
std::optional<Picos> ParseDuration(std::string_view text);
/// Hertz.
std::optional<double> ParseFrequency(std::string_view text);
/// Bytes per second.
std::optional<double> ParseBandwidth(std::string_view text);

/// "128.00 MiB", "1.5 KiB", "12 B".
std::string FormatBytes(Bytes bytes);
/// "307.90 us", "1.234 ms".
std::string FormatDuration(Picos picos);
/// "1.43 TB/s".
std::string FormatBandwidth(double bytes_per_second);

}  // namespace spillway
