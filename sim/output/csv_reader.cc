// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "sim/base/file.h"
#include "sim/output/csv.h"

namespace spillway::output {
namespace {

using timeline::Counter;
using timeline::OpSummary;
using timeline::Slice;
using timeline::Timeline;

Diagnostic At(const std::string& file, int line, std::string message) {
  Diagnostic diagnostic = Error(std::move(message));
  diagnostic.file = file;
  diagnostic.line = line;
  diagnostic.column = 1;
  return diagnostic;
}

// Reads the fields of one table by column name and remembers the first error.
class Rows {
 public:
  Rows(const CsvTable& table, const std::string& file) : table_(table), file_(file) {}

  // Column number of `name`; -1 if the table has none (an error when `required`).
  int Column(const char* name, bool required = true) {
    const auto found = std::find(table_.header.begin(), table_.header.end(), name);
    if (found != table_.header.end()) return static_cast<int>(found - table_.header.begin());
    if (required) Fail(1, fmt::format("column '{}' is missing", name));
    return -1;
  }
  const std::string& Text(std::size_t row, int column) const {
    static const std::string kNone;
    return column < 0 ? kNone : table_.rows[row][static_cast<std::size_t>(column)];
  }
  template <class T>
  T Number(std::size_t row, int column, T if_empty, bool required = false) {
    const std::string& text = Text(row, column);
    if (text.empty() && !required) return if_empty;
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
      FailRow(row, fmt::format("'{}' in column '{}' is not a number in range", text,
                               table_.header[static_cast<std::size_t>(column)]));
    }
    return value;
  }
  void FailRow(std::size_t row, std::string message) { Fail(table_.lines[row], std::move(message)); }
  void Fail(int line, std::string message) {
    if (errors_.empty()) errors_.push_back(At(file_, line, std::move(message)));
  }
  bool ok() const { return errors_.empty(); }
  const Diagnostics& errors() const { return errors_; }

 private:
  const CsvTable& table_;
  const std::string& file_;
  Diagnostics errors_;
};

// Index of a name in a list that grows with unknown names.
class Interner {
 public:
  // First index wins for a repeated name.
  void Set(const std::string& name, std::size_t index) { index_.emplace(name, static_cast<int>(index)); }
  const int* Find(const std::string& name) const {
    const auto found = index_.find(name);
    return found == index_.end() ? nullptr : &found->second;
  }

 private:
  std::unordered_map<std::string, int> index_;
};

timeline::TrackKind GuessKind(const std::string& name) {
  if (name == "core") return timeline::TrackKind::kCore;
  if (name == "core steps") return timeline::TrackKind::kSteps;
  if (name.rfind("dma", 0) == 0) return timeline::TrackKind::kDmaQueue;
  return timeline::TrackKind::kOther;
}

class TimelineReader {
 public:
  TimelineReader(const TimelineTables& tables, const std::vector<OpSummary>& ops)
      : tables_(tables), ops_(ops) {
    for (std::size_t i = 0; i < ops.size(); ++i) op_index_.Set(ops[i].name, i);
  }

  Result<Timeline> Read() {
    if (auto status = ReadTracks(); !status.ok()) return status.errors();
    if (auto status = ReadSlices(); !status.ok()) return status.errors();
    if (auto status = ReadCounters(); !status.ok()) return status.errors();
    return std::move(t_);
  }

 private:
  int Track(const std::string& name) {
    if (const int* known = tracks_.Find(name)) return *known;
    tracks_.Set(name, t_.tracks.size());
    t_.tracks.push_back({name, GuessKind(name)});
    return static_cast<int>(t_.tracks.size()) - 1;
  }
  int Buffer(const std::string& name) {
    if (const int* known = buffers_.Find(name)) return *known;
    buffers_.Set(name, t_.buffers.size());
    t_.buffers.push_back(name);
    return static_cast<int>(t_.buffers.size()) - 1;
  }
  Counter& CounterOf(const std::string& name) {
    if (const int* known = counters_.Find(name)) return t_.counters[static_cast<std::size_t>(*known)];
    counters_.Set(name, t_.counters.size());
    t_.counters.push_back({name, "", {}});
    return t_.counters.back();
  }

  Status ReadTracks() {
    if (tables_.tracks.empty()) return Done{};
    const std::string file = "tracks.csv";
    const Result<CsvTable> table = ParseCsv(tables_.tracks, file);
    if (!table.ok()) return table.errors();
    Rows rows(*table, file);
    const int type = rows.Column("type"), name = rows.Column("name"), detail = rows.Column("detail");
    for (std::size_t i = 0; rows.ok() && i < table->rows.size(); ++i) {
      const std::string& what = rows.Text(i, type);
      const std::string& label = rows.Text(i, name);
      if (what == "track") {
        const auto kind = timeline::TrackKindFromName(rows.Text(i, detail));
        if (!kind) rows.FailRow(i, fmt::format("unknown kind of track '{}'", rows.Text(i, detail)));
        tracks_.Set(label, t_.tracks.size());
        t_.tracks.push_back({label, kind.value_or(timeline::TrackKind::kOther)});
      } else if (what == "counter") {
        counters_.Set(label, t_.counters.size());
        t_.counters.push_back({label, rows.Text(i, detail), {}});
      } else if (what == "buffer") {
        buffers_.Set(label, t_.buffers.size());
        t_.buffers.push_back(label);
      } else {
        rows.FailRow(i, fmt::format("unknown type '{}'", what));
      }
    }
    if (!rows.ok()) return rows.errors();
    return Done{};
  }

  int Op(Rows& rows, std::size_t row, int name_column, int index_column) {
    const std::string& name = rows.Text(row, name_column);
    const int index = rows.Number<int>(row, index_column, -1);
    if (index >= 0) {  // names may repeat in a module; the index then decides
      if (static_cast<std::size_t>(index) < ops_.size() && ops_[static_cast<std::size_t>(index)].name == name)
        return index;
      rows.FailRow(row, fmt::format("op {} '{}' is not in the summary", index, name));
      return -1;
    }
    if (name.empty()) return -1;
    if (const int* known = op_index_.Find(name)) return *known;
    rows.FailRow(row, fmt::format("op '{}' is not in the summary", name));
    return -1;
  }

  Status ReadSlices() {
    const std::string file = "slices.csv";
    const Result<CsvTable> table = ParseCsv(tables_.slices, file);
    if (!table.ok()) return table.errors();
    Rows rows(*table, file);
    const int start = rows.Column("start_ps"), end = rows.Column("end_ps"), track = rows.Column("track");
    const int kind = rows.Column("kind"), op = rows.Column("op"), buffer = rows.Column("buffer");
    const int bytes = rows.Column("bytes"), address = rows.Column("address"), stall = rows.Column("stall");
    const int flow = rows.Column("flow", false), index = rows.Column("op_index", false);
    for (std::size_t i = 0; rows.ok() && i < table->rows.size(); ++i) {
      Slice s;
      s.start = rows.Number<Picos>(i, start, 0, true);
      s.end = rows.Number<Picos>(i, end, 0, true);
      if (s.start < 0 || s.end < s.start)
        rows.FailRow(i, "a slice must end at or after its start, at or after 0");
      s.track = Track(rows.Text(i, track));
      s.kind = rows.Text(i, kind);
      s.op = Op(rows, i, op, index);
      if (const std::string& name = rows.Text(i, buffer); !name.empty()) s.buffer = Buffer(name);
      s.bytes = rows.Number<Bytes>(i, bytes, 0);
      s.address = rows.Number<std::int64_t>(i, address, -1);
      const auto why = timeline::StallFromName(rows.Text(i, stall));
      if (!why) rows.FailRow(i, fmt::format("unknown stall '{}'", rows.Text(i, stall)));
      s.stall = why.value_or(timeline::Stall::kNone);
      s.flow = rows.Number<int>(i, flow, 0);
      t_.slices.push_back(std::move(s));
    }
    if (!rows.ok()) return rows.errors();
    return Done{};
  }

  Status ReadCounters() {
    if (tables_.counters.empty()) return Done{};
    const std::string file = "counters.csv";
    const Result<CsvTable> table = ParseCsv(tables_.counters, file);
    if (!table.ok()) return table.errors();
    Rows rows(*table, file);
    const int time = rows.Column("time_ps"), name = rows.Column("counter"), value = rows.Column("value");
    for (std::size_t i = 0; rows.ok() && i < table->rows.size(); ++i) {
      const Picos at = rows.Number<Picos>(i, time, 0, true);
      if (at < 0) rows.FailRow(i, "a time must not be negative");
      CounterOf(rows.Text(i, name)).points.emplace_back(at, rows.Number<double>(i, value, 0, true));
    }
    if (!rows.ok()) return rows.errors();
    return Done{};
  }

  const TimelineTables& tables_;
  const std::vector<OpSummary>& ops_;
  Interner op_index_, tracks_, buffers_, counters_;
  Timeline t_;
};

}  // namespace

Result<CsvTable> ParseCsv(std::string_view text, const std::string& file) {
  CsvTable table;
  std::vector<std::string> row;
  std::string field;
  int line = 1, row_line = 1;
  std::size_t i = 0;
  bool header = true;
  while (i < text.size()) {
    field.clear();
    if (text[i] == '"') {
      const std::size_t opening = i++;
      for (;; ++i) {
        if (i >= text.size()) return ErrorAt(text, file, opening, "a quoted field never ends");
        if (text[i] == '"' && i + 1 < text.size() && text[i + 1] == '"') ++i;
        else if (text[i] == '"') break;
        if (text[i] == '\n') ++line;
        field += text[i];
      }
      ++i;
      if (i < text.size() && text[i] != ',' && text[i] != '\n' && text[i] != '\r') {
        return ErrorAt(text, file, i, "expected a comma or the end of the line after a quoted field");
      }
    } else {
      const std::size_t end = std::min(text.find_first_of(",\r\n", i), text.size());
      field = std::string(text.substr(i, end - i));
      i = end;
    }
    row.push_back(field);
    if (i < text.size() && text[i] == ',') {
      ++i;
      if (i < text.size()) continue;
      row.emplace_back();  // a comma at the very end opens one more, empty field
    }
    if (i < text.size() && text[i] == '\r') ++i;
    if (i < text.size() && text[i] == '\n') ++i;
    ++line;
    if (header) {
      table.header = std::move(row);
      header = false;
    } else {
      if (row.size() != table.header.size()) {
        return At(file, row_line,
                  fmt::format("{} fields where the header has {}", row.size(), table.header.size()));
      }
      table.rows.push_back(std::move(row));
      table.lines.push_back(row_line);
    }
    row.clear();
    row_line = line;
  }
  if (header) return At(file, 1, "the file is empty: expected a header line");
  return table;
}

Result<Timeline> ReadTimelineTables(const TimelineTables& tables, const std::vector<OpSummary>& ops) {
  return TimelineReader(tables, ops).Read();
}

}  // namespace spillway::output
