// SPDX-License-Identifier: Apache-2.0
#include "sim/output/perfetto.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "output/perfetto.pb.h"  // generated from perfetto.proto
#include "sim/output/lanes.h"
#include "sim/output/utf8.h"

namespace spillway::output {
namespace {

using timeline::Slice;
using timeline::Timeline;
namespace pb = spillway::perfetto;

constexpr std::uint32_t kSequence = 1;
constexpr std::uint32_t kStateCleared = 1, kNeedsState = 2;  // TracePacket.sequence_flags
constexpr std::uint64_t kRoot = 1;                           // uuid of the track that holds all others

// Strings of one kind, each sent once and then named by number.
class Interner {
 public:
  using Add = pb::InternedString* (pb::InternedData::*)();
  explicit Interner(Add add) : add_(add) {}
  std::uint64_t Get(const std::string& text, pb::InternedData* news) {
    const auto [found, added] = iids_.emplace(text, iids_.size() + 1);
    if (added) {
      pb::InternedString* entry = (news->*add_)();
      entry->set_iid(found->second);
      entry->set_name(ValidUtf8(text));
    }
    return found->second;
  }

 private:
  Add add_;
  std::unordered_map<std::string, std::uint64_t> iids_;
};

struct Event {
  Picos time;
  enum Kind : std::uint8_t { kEnd, kBegin, kCounter } kind;
  std::uint64_t track;
  std::size_t index;  // slice, or counter
  bool core;          // of equal times transfers come first: Perfetto draws flows in event order
  double value;
};

class Writer {
 public:
  explicit Writer(const RunData& run) : run_(run), t_(run.timeline) {
    for (const auto& op : run.summary.ops) op_names_.push_back(op.name);
  }

  std::string Write() {
    DescribeRoot();
    CollectSlices();
    CollectCounters();
    FindFlows();
    std::stable_sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) {
      return std::tie(a.time, a.core) < std::tie(b.time, b.core);
    });
    for (const Event& event : events_) WriteEvent(event);
    return std::move(out_);
  }

 private:
  // A trace is the concatenation of its packets, so one packet at a time is enough.
  void Append(pb::TracePacket& packet) {
    packet.set_trusted_packet_sequence_id(kSequence);
    trace_.Clear();
    trace_.add_packet()->Swap(&packet);
    trace_.AppendToString(&out_);
    packet.Clear();
  }

  void DescribeRoot() {
    pb::TracePacket packet;
    packet.set_sequence_flags(kStateCleared);
    pb::TrackDescriptor* track = packet.mutable_track_descriptor();
    track->set_uuid(kRoot);
    track->set_name(ValidUtf8(fmt::format("TPU {}: {}", run_.summary.chip, run_.summary.module)));
    track->set_description(
        ValidUtf8(fmt::format("Spillway {} replay of {}, plan {}. Exact times are in start_ps and end_ps.",
                              run_.summary.version, run_.summary.input, run_.summary.plan)));
    track->set_child_ordering(pb::TrackDescriptor::EXPLICIT);
    Append(packet);
  }

  std::uint64_t DescribeChild(const std::string& name, const timeline::Counter* counter) {
    pb::TracePacket packet;
    pb::TrackDescriptor* track = packet.mutable_track_descriptor();
    const std::uint64_t uuid = kRoot + 1 + static_cast<std::uint64_t>(rank_);
    track->set_uuid(uuid);
    track->set_name(ValidUtf8(name));
    track->set_parent_uuid(kRoot);
    track->set_sibling_order_rank(rank_++);
    if (counter != nullptr) {
      pb::CounterDescriptor* descriptor = track->mutable_counter();
      if (counter->unit == "B") descriptor->set_unit(pb::CounterDescriptor::UNIT_SIZE_BYTES);
      else if (counter->unit == "count") descriptor->set_unit(pb::CounterDescriptor::UNIT_COUNT);
      else descriptor->set_unit_name(ValidUtf8(counter->unit));
    }
    Append(packet);
    return uuid;
  }

  void CollectSlices() {
    for (const Lane& lane : AssignLanes(t_)) {
      const std::uint64_t track = DescribeChild(lane.name, nullptr);
      const bool core =
          t_.tracks[static_cast<std::size_t>(lane.track)].kind != timeline::TrackKind::kDmaQueue;
      VisitBrackets(lane, t_, [&](std::size_t i, bool begin) {
        const Slice& slice = t_.slices[i];
        events_.push_back(
            {begin ? slice.start : slice.end, begin ? Event::kBegin : Event::kEnd, track, i, core, 0});
      });
    }
  }

  void CollectCounters() {
    for (std::size_t c = 0; c < t_.counters.size(); ++c) {
      const std::uint64_t track = DescribeChild(t_.counters[c].name, &t_.counters[c]);
      for (const auto& [time, value] : t_.counters[c].points)
        events_.push_back({time, Event::kCounter, track, c, true, value});
    }
  }

  // The last slice of a flow to begin terminates it; an arrow with one end only is none.
  void FindFlows() {
    for (const Slice& slice : t_.slices) {
      if (slice.flow == 0) continue;
      Flow& flow = flows_[slice.flow];
      ++flow.ends;
    }
  }

  void Annotate(pb::TrackEvent& event, const char* name, std::int64_t value, pb::InternedData* news) {
    pb::DebugAnnotation* note = event.add_debug_annotations();
    note->set_name_iid(annotation_names_.Get(name, news));
    note->set_int_value(value);
  }
  void Annotate(pb::TrackEvent& event, const char* name, const std::string& value, pb::InternedData* news) {
    pb::DebugAnnotation* note = event.add_debug_annotations();
    note->set_name_iid(annotation_names_.Get(name, news));
    note->set_string_value_iid(strings_.Get(value, news));
  }

  void WriteBegin(const Slice& slice, pb::TrackEvent& event, pb::InternedData& news) {
    event.set_type(pb::TrackEvent::TYPE_SLICE_BEGIN);
    event.set_name_iid(event_names_.Get(SliceLabel(slice, t_, op_names_), &news));
    event.add_category_iids(categories_.Get(slice.kind, &news));
    Annotate(event, "start_ps", slice.start, &news);
    Annotate(event, "end_ps", slice.end, &news);
    if (slice.op >= 0) Annotate(event, "op", op_names_[static_cast<std::size_t>(slice.op)], &news);
    if (slice.buffer >= 0)
      Annotate(event, "buffer", t_.buffers[static_cast<std::size_t>(slice.buffer)], &news);
    if (slice.bytes != 0) Annotate(event, "bytes", slice.bytes, &news);
    if (slice.address >= 0) Annotate(event, "address", slice.address, &news);
    if (slice.stall != timeline::Stall::kNone) Annotate(event, "stall", StallName(slice.stall), &news);
    if (slice.flow == 0) return;
    Flow& flow = flows_[slice.flow];
    if (flow.ends < 2) return;
    const auto id = static_cast<std::uint64_t>(static_cast<std::uint32_t>(slice.flow));
    if (++flow.seen < flow.ends) event.add_flow_ids(id);
    else event.add_terminating_flow_ids(id);
  }

  void WriteEvent(const Event& e) {
    packet_.set_timestamp(static_cast<std::uint64_t>(e.time) / 1000);
    packet_.set_sequence_flags(kNeedsState);
    pb::TrackEvent& event = *packet_.mutable_track_event();
    event.set_track_uuid(e.track);
    if (e.kind == Event::kCounter) {
      event.set_type(pb::TrackEvent::TYPE_COUNTER);
      event.set_double_counter_value(e.value);
    } else if (e.kind == Event::kEnd) {
      event.set_type(pb::TrackEvent::TYPE_SLICE_END);
    } else {
      pb::InternedData news;
      WriteBegin(t_.slices[e.index], event, news);
      if (news.ByteSizeLong() > 0) packet_.mutable_interned_data()->Swap(&news);
    }
    Append(packet_);
  }

  struct Flow {
    int ends = 0, seen = 0;
  };

  const RunData& run_;
  const Timeline& t_;
  std::vector<std::string> op_names_;
  std::vector<Event> events_;
  std::unordered_map<int, Flow> flows_;
  int rank_ = 0;
  Interner event_names_{&pb::InternedData::add_event_names};
  Interner categories_{&pb::InternedData::add_event_categories};
  Interner annotation_names_{&pb::InternedData::add_debug_annotation_names};
  Interner strings_{&pb::InternedData::add_debug_annotation_string_values};
  pb::Trace trace_;
  pb::TracePacket packet_;
  std::string out_;
};

}  // namespace

std::string PerfettoTrace(const RunData& run) { return Writer(run).Write(); }

}  // namespace spillway::output
