// SPDX-License-Identifier: Apache-2.0
#include "sim/output/xplane.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <unordered_map>

#include "output/xplane.pb.h"  // generated from xplane.proto
#include "sim/output/lanes.h"
#include "sim/output/utf8.h"

namespace spillway::output {
namespace {

using timeline::OpSummary;
using timeline::Slice;
using timeline::Timeline;
using timeline::TrackKind;
namespace pb = spillway::xplane;

constexpr double kLargestInt = 9.2e18;   // Below 2^63.

class Plane {
 public:
  explicit Plane(const RunData& run) : run_(run), t_(run.timeline), plane_(*space_.add_planes()) {
    for (const OpSummary& op : run.summary.ops) op_names_.push_back(op.name);
  }

  std::string Write() {
    const auto& s = run_.summary;
    space_.add_hostnames("spillway");
    plane_.set_id(1);
    plane_.set_name("/device:TPU:0");
    if (s.makespan_ps > 0) {
      AddStat(plane_, "clock_rate",
              1e12 * static_cast<double>(s.cycles) / static_cast<double>(s.makespan_ps));
    }
    AddStat(plane_, "peak_hbm_bw_gigabytes_per_second", s.hbm_peak_bytes_per_second / 1e9);
    AddStat(plane_, "device_type_string", ValidUtf8(s.chip));
    if (s.makespan_ps > 0) {
      pb::XEvent* step = AddEvent(AddLine("Steps"), "0", 0, s.makespan_ps);
      AddStat(*step, "step_num", std::int64_t{0});
      AddStat(*step, "group_id", std::int64_t{0});
      AddEvent(AddLine("XLA Modules"), s.module, 0, s.makespan_ps);
    }
    WriteOps();
    WriteLanes();
    WriteCounters();
    return Serialize();
  }

 private:
  pb::XLine* AddLine(const std::string& name) {
    pb::XLine* line = plane_.add_lines();
    line->set_id(plane_.lines_size());
    line->set_display_id(plane_.lines_size());
    line->set_name(ValidUtf8(name));
    return line;
  }

  std::int64_t EventId(const std::string& name) {
    const auto [found, added] = event_ids_.emplace(name, static_cast<std::int64_t>(event_ids_.size() + 1));
    if (added) {
      pb::XEventMetadata& metadata = (*plane_.mutable_event_metadata())[found->second];
      metadata.set_id(found->second);
      metadata.set_name(ValidUtf8(name));
    }
    return found->second;
  }
  std::int64_t StatId(const std::string& name) {
    const auto [found, added] = stat_ids_.emplace(name, static_cast<std::int64_t>(stat_ids_.size() + 1));
    if (added) {
      pb::XStatMetadata& metadata = (*plane_.mutable_stat_metadata())[found->second];
      metadata.set_id(found->second);
      metadata.set_name(ValidUtf8(name));
    }
    return found->second;
  }
  static void Set(pb::XStat& stat, double value) { stat.set_double_value(value); }
  static void Set(pb::XStat& stat, std::uint64_t value) { stat.set_uint64_value(value); }
  static void Set(pb::XStat& stat, std::int64_t value) { stat.set_int64_value(value); }
  static void Set(pb::XStat& stat, const std::string& value) { stat.set_str_value(ValidUtf8(value)); }
  template <class Owner, class Value>
  void AddStat(Owner& owner, const char* name, const Value& value) {
    pb::XStat* stat = owner.add_stats();
    stat->set_metadata_id(StatId(name));
    Set(*stat, value);
  }

  pb::XEvent* AddEvent(pb::XLine* line, const std::string& name, Picos start, Picos end) {
    pb::XEvent* event = line->add_events();
    event->set_metadata_id(EventId(name));
    event->set_offset_ps(start);
    event->set_duration_ps(end - start);
    line->set_duration_ps(std::max<std::int64_t>(line->duration_ps(), end));
    return event;
  }

  void AddOp(pb::XLine* line, std::size_t index, Picos start, Picos end) {
    const OpSummary& op = run_.summary.ops[index];
    pb::XEvent* event = AddEvent(line, op.name, start, end);
    AddStat(*event, "hlo_op", op.name);
    AddStat(*event, "group_id", std::int64_t{0});
    AddStat(*event, "bound", op.bound);
    DescribeOp(op, index);
  }

  // XProf takes an op's figures from its metadata, and counts only ops that name a program and a symbol.
  void DescribeOp(const OpSummary& op, std::size_t index) {
    pb::XEventMetadata& metadata = (*plane_.mutable_event_metadata())[EventId(op.name)];
    if (metadata.stats_size() > 0) return;
    const std::int64_t n = std::max<std::int64_t>(op.executions, 1);
    metadata.set_display_name(metadata.name());
    AddStat(metadata, "program_id", std::uint64_t{1});
    AddStat(metadata, "symbol_id", static_cast<std::uint64_t>(index + 1));
    AddStat(metadata, "hlo_category", Category(op));
    if (!op.op_name.empty()) AddStat(metadata, "tf_op", op.op_name);
    if (op.op_class == "async") return;  // returns before its bytes have moved: XProf would show absurd rates
    AddStat(metadata, "bytes_accessed", op.hbm_read_bytes / n + op.hbm_write_bytes / n);
    if (op.flops > 0) AddStat(metadata, "flops", static_cast<std::int64_t>(std::min(op.flops / static_cast<double>(n), kLargestInt)));
  }

  // XProf's own words for the common fusions.
  static std::string Category(const OpSummary& op) {
    if (op.opcode != "fusion") return op.opcode;
    if (op.op_class == "output") return "convolution fusion";
    return op.op_class.empty() ? "fusion" : op.op_class + " fusion";
  }

  void WriteOps() {
    pb::XLine* line = AddLine("XLA Ops");
    bool any = false;
    for (const Slice& slice : t_.slices) {
      if (slice.kind != "op" || slice.op < 0) continue;
      AddOp(line, static_cast<std::size_t>(slice.op), slice.start, slice.end);
      any = true;
    }
    if (any) return;
    // No timeline was recorded: one event an op, first start to last end.
    for (std::size_t i = 0; i < run_.summary.ops.size(); ++i) {
      const OpSummary& op = run_.summary.ops[i];
      if (op.executions <= 1 && op.op_class != "async") AddOp(line, i, op.start_ps, op.end_ps);
    }
  }

  static std::string LineName(const Lane& lane, const timeline::Track& track) {
    if (track.kind == TrackKind::kCore) return lane.name + " compute and waits";
    return lane.name;
  }

  void WriteLanes() {
    for (const Lane& lane : AssignLanes(t_)) {
      const auto& track = t_.tracks[static_cast<std::size_t>(lane.track)];
      pb::XLine* line = nullptr;
      for (const std::size_t i : lane.slices) {
        const Slice& slice = t_.slices[i];
        if (slice.kind == "op") continue;
        if (line == nullptr) line = AddLine(slice.kind == "async" ? "Async XLA Ops" : LineName(lane, track));
        pb::XEvent* event = AddEvent(line, SliceLabel(slice, t_, op_names_), slice.start, slice.end);
        if (slice.op >= 0) AddStat(*event, "hlo_op", op_names_[static_cast<std::size_t>(slice.op)]);
        if (slice.bytes != 0) AddStat(*event, "bytes_accessed", std::int64_t{slice.bytes});
        if (slice.address >= 0) AddStat(*event, "address", std::int64_t{slice.address});
        if (track.kind == TrackKind::kDmaQueue) AddStat(*event, "queue", track.name);
      }
    }
  }

  void WriteCounters() {
    if (t_.counters.empty()) return;
    pb::XLine* line = AddLine("_counters_");
    for (const auto& counter : t_.counters) {
      const std::string name = fmt::format("{} ({})", counter.name, counter.unit);
      for (const auto& [time, value] : counter.points)
        AddStat(*AddEvent(line, name, time, time), "value", value);
    }
  }

  std::string Serialize() const {
    std::string out;
    {
      google::protobuf::io::StringOutputStream stream(&out);
      google::protobuf::io::CodedOutputStream coded(&stream);
      coded.SetSerializationDeterministic(true);  // maps in key order
      space_.SerializeToCodedStream(&coded);
    }
    return out;
  }

  const RunData& run_;
  const Timeline& t_;
  pb::XSpace space_;
  pb::XPlane& plane_;
  std::vector<std::string> op_names_;
  std::unordered_map<std::string, std::int64_t> event_ids_, stat_ids_;
};

}  // namespace

std::string XPlaneProfile(const RunData& run) { return Plane(run).Write(); }

}  // namespace spillway::output
