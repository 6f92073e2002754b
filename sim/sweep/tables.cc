// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/output/csv.h"
#include "sim/output/table.h"

namespace spillway::sweep {
namespace {

void AppendRow(std::string& out, const std::vector<std::string>& cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) out += ',';
    output::AppendCsvField(out, cells[i]);
  }
  out += '\n';
}

/// Rows that are shown; the gap is after the first `head` of them.
struct Selection {
  std::vector<std::size_t> rows;
  std::size_t head = 0, hidden = 0;
};

Selection Select(std::size_t count, std::size_t most) {
  Selection selection;
  selection.head = count;
  if (count > most) {
    selection.head = most - most / 4;
    selection.hidden = count - most;
  }
  for (std::size_t i = 0; i < selection.head; ++i) selection.rows.push_back(i);
  for (std::size_t i = selection.head + selection.hidden; i < count; ++i) selection.rows.push_back(i);
  return selection;
}

output::Column MakeColumn(const std::string& header, int priority = 0) {
  output::Column column;
  column.header = header;
  column.priority = priority;
  return column;
}

/// Puts a line of text after line `line` (from 0) of `table`.
void InsertLine(std::string& table, std::size_t line, const std::string& text) {
  std::size_t at = 0;
  for (std::size_t i = 0; i <= line; ++i) {
    const std::size_t end = table.find('\n', at);
    if (end == std::string::npos) break;
    at = end + 1;
  }
  table.insert(at, text);
}

bool SameSweep(const JournalHeader& a, const JournalHeader& b) {
  return a.version == b.version && a.sweep == b.sweep && a.points == b.points && a.axes == b.axes;
}

}  // namespace

std::string SweepCsv(const JournalHeader& header, const std::vector<JournalEntry>& entries) {
  std::string out;
  std::vector<std::string> names = header.axes;
  const std::vector<std::string> columns = ResultColumns();
  names.insert(names.end(), columns.begin(), columns.end());
  AppendRow(out, names);
  for (const JournalEntry& entry : entries) {
    std::vector<std::string> cells = entry.values;
    const std::vector<std::string> results = ResultCells(entry.result);
    cells.insert(cells.end(), results.begin(), results.end());
    AppendRow(out, cells);
  }
  return out;
}

std::string SweepTable(const JournalHeader& header, const std::vector<JournalEntry>& entries,
                       const TableOptions& options) {
  const Selection selection = Select(entries.size(), options.most_rows);
  std::vector<output::Column> columns;
  for (const std::string& axis : header.axes) columns.push_back(MakeColumn(axis));
  for (const char* name : {"time", "HBM read", "HBM written", "VMEM peak"}) columns.push_back(MakeColumn(name));
  columns.push_back(MakeColumn("busy", 3));
  columns.push_back(MakeColumn("guessed", 2));
  columns.push_back(MakeColumn("measured", 1));
  columns.push_back(MakeColumn("status", 4));
  columns.back().right = false;
  columns.back().flexible = true;
  for (const std::size_t row : selection.rows) {
    const JournalEntry& entry = entries[row];
    const PointResult& r = entry.result;
    std::vector<std::string> cells;
    for (const std::string& value : entry.values) cells.push_back(output::Elide(value, 32, options.unicode));
    if (r.ok()) {
      const double share = r.makespan_ps > 0 ? static_cast<double>(r.hbm_busy_ps) / static_cast<double>(r.makespan_ps) : 0;
      for (const std::string& cell : {output::ShortDuration(r.makespan_ps), output::ShortBytes(r.hbm_read_bytes),
                                      output::ShortBytes(r.hbm_write_bytes), output::ShortBytes(r.vmem_peak_bytes),
                                      output::Percent(share), output::Percent(r.unmodelled_share)}) {
        cells.push_back(cell);
      }
    } else {
      cells.insert(cells.end(), 6, "-");
    }
    cells.push_back(r.timer.empty() ? "-" : fmt::format("{} us {}", r.measured_us, r.timer));
    cells.push_back(r.ok() ? "-" : r.status);
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i].cells.push_back(cells[i]);
  }
  std::string table = output::RenderTable(std::move(columns), {options.width, false, options.unicode, ""});
  if (selection.hidden > 0) {
    InsertLine(table, selection.head + 1, fmt::format("{} {} more\n", options.unicode ? "…" : "...", selection.hidden));
  }
  return table;
}

Result<Merged> Merge(const std::vector<NamedJournal>& journals) {
  SPILLWAY_CHECK(!journals.empty());
  Merged merged;
  Diagnostics errors;
  const NamedJournal* first = nullptr;
  std::map<std::int64_t, std::pair<const JournalEntry*, const NamedJournal*>> points;
  std::map<std::pair<const NamedJournal*, const NamedJournal*>, std::vector<std::int64_t>> twice;
  for (const NamedJournal& each : journals) {
    if (!each.journal.header) {
      errors.push_back(Error(fmt::format("'{}' is empty", each.path)));
      continue;
    }
    if (first == nullptr) first = &each;
    if (!SameSweep(*first->journal.header, *each.journal.header)) {
      errors.push_back(Error(fmt::format("'{}' and '{}' are not parts of one sweep", first->path, each.path),
                             "shards must have the same axes, options, files and version of spillway"));
      continue;
    }
    for (const JournalEntry& entry : each.journal.entries) {
      const auto [it, fresh] = points.emplace(entry.point, std::make_pair(&entry, &each));
      if (fresh) continue;
      if (it->second.second == &each) {
        it->second.first = &entry;  // the same journal: the later line counts
      } else {
        twice[{it->second.second, &each}].push_back(entry.point);
      }
    }
  }
  for (auto& [pair, numbers] : twice) {
    std::sort(numbers.begin(), numbers.end());
    errors.push_back(Error(fmt::format("'{}' and '{}' both have point{} {}", pair.first->path, pair.second->path,
                                       numbers.size() == 1 ? "" : "s", RangesText(numbers)),
                           "each shard once: were two of them started with the same number?"));
  }
  if (!errors.empty()) return errors;
  merged.header = *first->journal.header;
  merged.header.shard = merged.header.shards = 1;
  for (const auto& [number, place] : points) merged.entries.push_back(*place.first);
  for (std::int64_t i = 0; i < merged.header.points; ++i) {
    if (points.count(i) == 0) merged.missing.push_back(i);
  }
  return merged;
}

std::string RangesText(const std::vector<std::int64_t>& numbers) {
  constexpr std::size_t kMost = 120;
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i;
    while (end + 1 < numbers.size() && numbers[end + 1] == numbers[end] + 1) ++end;
    if (!text.empty()) text += ", ";
    if (text.size() > kMost) return text + "...";
    text += end == i ? std::to_string(numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[end]);
    i = end + 1;
  }
  return text;
}

}  // namespace spillway::sweep
