// SPDX-License-Identifier: Apache-2.0
#include "sim/output/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/result.h"

namespace spillway::output {
namespace {

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

std::string Clean(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  return out;
}

// The first (or last) `columns` code points of `text`.
std::string_view Head(std::string_view text, std::size_t columns) {
  std::size_t i = 0;
  while (i < text.size() && columns > 0) {
    ++i;
    while (i < text.size() && IsContinuation(text[i])) ++i;
    --columns;
  }
  return text.substr(0, i);
}

std::string_view Tail(std::string_view text, std::size_t columns) {
  std::size_t i = text.size();
  while (i > 0 && columns > 0) {
    --i;
    while (i > 0 && IsContinuation(text[i])) --i;
    --columns;
  }
  return text.substr(i);
}

std::string Significant(double value, int digits) {
  if (value <= 0) return "0";
  const int whole = std::max(1, static_cast<int>(std::floor(std::log10(value))) + 1);
  return fmt::format("{:.{}f}", value, std::max(0, digits - whole));
}

std::size_t ColumnWidth(const Column& column) {
  std::size_t width = DisplayWidth(column.header);
  for (const std::string& cell : column.cells) width = std::max(width, DisplayWidth(cell));
  return width;
}

bool IsEmpty(const Column& column) {
  return std::all_of(column.cells.begin(), column.cells.end(),
                     [](const std::string& cell) { return cell.empty() || cell == "-"; });
}

std::string Padded(const std::string& text, std::size_t width, bool right) {
  const std::size_t used = DisplayWidth(text);
  const std::string pad(width > used ? width - used : 0, ' ');
  return right ? pad + text : text + pad;
}

// Drops and narrows columns until the table fits; returns the widths.
std::vector<std::size_t> Fit(std::vector<Column>& columns, std::size_t available) {
  for (;;) {
    std::vector<std::size_t> widths;
    std::size_t total = columns.empty() ? 0 : 2 * (columns.size() - 1);
    std::size_t spare = 0;
    for (const Column& column : columns) {
      widths.push_back(ColumnWidth(column));
      total += widths.back();
      if (column.flexible) spare += widths.back() - std::min(widths.back(), kMinimumFlexible);
    }
    const bool fits = total <= available;
    if (fits || total - available <= spare) {
      std::size_t excess = fits ? 0 : total - available;
      for (std::size_t i = 0; i < columns.size(); ++i) {
        if (!columns[i].flexible) continue;
        const std::size_t cut = std::min(excess, widths[i] - std::min(widths[i], kMinimumFlexible));
        widths[i] -= cut;
        excess -= cut;
      }
      return widths;
    }
    const auto worst = std::max_element(columns.begin(), columns.end(), [](const Column& a, const Column& b) {
      return a.priority < b.priority;
    });
    if (worst == columns.end() || worst->priority == 0) {  // nothing left to drop: let it be wide
      for (std::size_t i = 0; i < columns.size(); ++i) {
        if (columns[i].flexible) widths[i] = std::min(widths[i], kMinimumFlexible);
      }
      return widths;
    }
    const int dropped = worst->priority;  // a priority stands for a group that makes sense together
    columns.erase(std::remove_if(columns.begin(), columns.end(),
                                 [dropped](const Column& column) { return column.priority == dropped; }),
                  columns.end());
  }
}

}  // namespace

std::size_t DisplayWidth(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !IsContinuation(c); }));
}

std::string Elide(std::string_view text, std::size_t width, bool unicode) {
  const std::string clean = Clean(text);
  if (DisplayWidth(clean) <= width) return clean;
  const std::string_view dots = unicode ? "…" : "..";
  const std::size_t dots_width = DisplayWidth(dots);
  if (width <= dots_width) return std::string(Head(clean, width));
  const std::size_t room = width - dots_width;
  return fmt::format("{}{}{}", Head(clean, (room + 1) / 2), dots, Tail(clean, room / 2));
}

std::string ShortBytes(Bytes bytes) {
  if (bytes == 0) return "-";
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1023.5 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  if (unit == 0) return fmt::format("{} B", bytes);
  const double nearest = std::nearbyint(value);
  if (value == nearest) return fmt::format("{:.0f} {}", value, kUnits[unit]);
  return fmt::format("{} {}", Significant(value, 3), kUnits[unit]);
}

std::string ShortDuration(Picos picos) {
  if (picos == 0) return "-";
  static constexpr const char* kUnits[] = {"ps", "ns", "us", "ms", "s"};
  double value = static_cast<double>(picos);
  std::size_t unit = 0;
  while (value >= 999.95 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  if (unit == 0) return fmt::format("{} ps", picos);
  return fmt::format("{} {}", Significant(value, 4), kUnits[unit]);
}

std::string WithCommas(std::int64_t value) {
  std::string digits = std::to_string(value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

std::string Percent(double share) {
  if (share <= 0) return "-";
  if (share < 0.001) return "<0.1%";
  return fmt::format("{:.1f}%", 100 * share);
}

std::string RenderTable(std::vector<Column> columns, const TableStyle& style) {
  columns.erase(std::remove_if(columns.begin(), columns.end(),
                               [](const Column& column) { return column.priority > 0 && IsEmpty(column); }),
                columns.end());
  const std::size_t indent = style.indent.size();
  const auto widths = Fit(columns, style.width > indent ? style.width - indent : 0);
  const char* bold = style.color ? "\x1b[1m" : "";
  const char* dim = style.color ? "\x1b[2m" : "";
  const char* reset = style.color ? "\x1b[0m" : "";

  std::string head, rule;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) head += "  ", rule += "  ";
    head += Padded(columns[i].header, widths[i], columns[i].right);
    for (std::size_t k = 0; k < widths[i]; ++k) rule += style.unicode ? "─" : "-";
  }
  while (!head.empty() && head.back() == ' ') head.pop_back();
  std::string out = fmt::format("{0}{1}{2}{3}\n{0}{4}{5}{3}\n", style.indent, bold, head, reset, dim, rule);
  const std::size_t rows = columns.empty() ? 0 : columns[0].cells.size();
  for (std::size_t row = 0; row < rows; ++row) {
    std::string line;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      SPILLWAY_CHECK(columns[i].cells.size() == rows);
      const bool last = i + 1 == columns.size();
      std::string cell = Elide(columns[i].cells[row], widths[i], style.unicode);
      cell = last && !columns[i].right ? cell : Padded(cell, widths[i], columns[i].right);
      const char* paint = style.color && row < columns[i].colors.size() ? columns[i].colors[row] : nullptr;
      if (i > 0) line += "  ";
      line += paint != nullptr ? fmt::format("{}{}{}", paint, cell, reset) : cell;
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out += style.indent + line + "\n";
  }
  return out;
}

}  // namespace spillway::output
