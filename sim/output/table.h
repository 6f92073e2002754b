// SPDX-License-Identifier: Apache-2.0
// A plain text table that fits a given width, and the short number forms used in it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.h"

namespace spillway::output {

/// Columns a terminal needs for UTF-8 `text` (one per code point; enough for op names).
std::size_t DisplayWidth(std::string_view text);

/// `text` in at most `width` columns: the middle gives way to "…" (or ".."), because both ends of an HLO name
/// tell ops apart. Control bytes become '?': a name from a dump must not drive the terminal.
std::string Elide(std::string_view text, std::size_t width, bool unicode = true);

/// "128 MiB", "1.50 KiB", "12 B": three significant digits; "-" for 0.
std::string ShortBytes(Bytes bytes);
/// "307.9 us", "1.235 ms": four significant digits; "-" for 0.
std::string ShortDuration(Picos picos);
/// "538,825".
std::string WithCommas(std::int64_t value);
/// "33.3%", "<0.1%", "-" for 0.
std::string Percent(double share);

struct Column {
  std::string header;
  bool right = true;      ///< Alignment.
  int priority = 0;       ///< The group of the highest number is dropped first; 0 is never dropped.
  bool flexible = false;  ///< Takes elision when the table is too wide (at least kMinimumFlexible columns).
  std::vector<std::string> cells;
  std::vector<const char*> colors;  ///< Escape sequence per cell, empty or nullptr for none.
};
constexpr std::size_t kMinimumFlexible = 24;

struct TableStyle {
  std::size_t width = 100;
  bool color = false;
  bool unicode = true;
  std::string indent = "  ";
};

/// Header, rule, rows. REQUIRES: all columns have the same number of cells.
/// An empty column (every cell "" or "-") is left out if its priority is not 0.
std::string RenderTable(std::vector<Column> columns, const TableStyle& style);

}  // namespace spillway::output
