// SPDX-License-Identifier: Apache-2.0
#include "sim/output/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace spillway::output {

using timeline::Counter;
using timeline::OpSummary;
using timeline::Slice;
using timeline::Summary;
using timeline::Timeline;

void AppendCsvField(std::string& out, std::string_view field) {
  // A leading or trailing blank is legal unquoted, but some readers strip it.
  const bool plain = field.find_first_of(",\"\r\n") == std::string_view::npos &&
                     (field.empty() || (field.front() != ' ' && field.back() != ' '));
  if (plain) {
    out += field;
    return;
  }
  out += '"';
  for (const char c : field) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

std::string OpsCsv(const Summary& summary) {
  std::string out =
      "name,opcode,kind,class,start_ps,end_ps,busy_ps,executions,steps,hbm_read_bytes,hbm_write_bytes,dma_"
      "count,"
      "compute_cycles,compute_source,bundles,stall_dma_read_ps,stall_dma_write_ps,stall_fill_ps,stall_drain_"
      "ps,"
      "stall_other_ps,bound,estimated_cycles,scoped_vmem_bytes,error_band,unmodelled,why,op_name\n";
  const auto text = [&out](std::string_view field) {
    AppendCsvField(out, field);
    out += ',';
  };
  const auto number = [&out](auto value) { fmt::format_to(std::back_inserter(out), "{},", value); };
  for (const OpSummary& op : summary.ops) {
    text(op.name), text(op.opcode), text(op.kind), text(op.op_class);
    number(op.start_ps), number(op.end_ps), number(op.busy_ps), number(op.executions), number(op.steps);
    number(op.hbm_read_bytes), number(op.hbm_write_bytes), number(op.dma_count), number(op.compute_cycles);
    text(op.compute_source);
    number(op.bundles);
    number(op.stall_ps.dma_read), number(op.stall_ps.dma_write), number(op.stall_ps.fill);
    number(op.stall_ps.drain), number(op.stall_ps.other);
    text(op.bound);
    number(op.estimated_cycles), number(op.scoped_vmem_bytes), number(op.error_band),
        number(op.unmodelled ? 1 : 0);
    text(op.why), text(op.op_name);
    out.back() = '\n';
  }
  return out;
}

std::string SlicesCsv(const RunData& run) {
  const Timeline& t = run.timeline;
  std::string out = "start_ps,end_ps,track,kind,op,buffer,bytes,address,stall,flow,op_index\n";
  out.reserve(64 * t.slices.size() + 128);
  for (const Slice& s : t.slices) {
    fmt::format_to(std::back_inserter(out), "{},{},", s.start, s.end);
    AppendCsvField(out, t.tracks.at(static_cast<std::size_t>(s.track)).name);
    out += ',';
    AppendCsvField(out, s.kind);
    out += ',';
    if (s.op >= 0) AppendCsvField(out, run.summary.ops.at(static_cast<std::size_t>(s.op)).name);
    out += ',';
    if (s.buffer >= 0) AppendCsvField(out, t.buffers.at(static_cast<std::size_t>(s.buffer)));
    fmt::format_to(std::back_inserter(out), ",{},", s.bytes);
    if (s.address >= 0) fmt::format_to(std::back_inserter(out), "{}", s.address);
    fmt::format_to(std::back_inserter(out), ",{},", StallName(s.stall));
    if (s.flow != 0) fmt::format_to(std::back_inserter(out), "{}", s.flow);
    out += ',';
    if (s.op >= 0) fmt::format_to(std::back_inserter(out), "{}", s.op);
    out += '\n';
  }
  return out;
}

std::string CountersCsv(const Timeline& timeline) {
  struct Row {
    Picos time;
    std::size_t counter, point;
  };
  std::vector<Row> rows;
  for (std::size_t c = 0; c < timeline.counters.size(); ++c) {
    const auto& points = timeline.counters[c].points;
    for (std::size_t p = 0; p < points.size(); ++p) rows.push_back({points[p].first, c, p});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.time < b.time; });
  std::string out = "time_ps,counter,value\n";
  for (const Row& row : rows) {
    const Counter& counter = timeline.counters[row.counter];
    fmt::format_to(std::back_inserter(out), "{},", row.time);
    AppendCsvField(out, counter.name);
    fmt::format_to(std::back_inserter(out), ",{}\n", counter.points[row.point].second);
  }
  return out;
}

std::string TracksCsv(const Timeline& timeline) {
  std::string out = "type,name,detail\n";
  const auto row = [&out](std::string_view type, std::string_view name, std::string_view detail) {
    out += type;
    out += ',';
    AppendCsvField(out, name);
    out += ',';
    AppendCsvField(out, detail);
    out += '\n';
  };
  for (const auto& track : timeline.tracks) row("track", track.name, TrackKindName(track.kind));
  for (const Counter& counter : timeline.counters) row("counter", counter.name, counter.unit);
  for (const std::string& buffer : timeline.buffers) row("buffer", buffer, "");
  return out;
}

}  // namespace spillway::output
