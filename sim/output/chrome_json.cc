// SPDX-License-Identifier: Apache-2.0
#include "sim/output/chrome_json.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <map>

#include "sim/output/lanes.h"
#include "sim/output/utf8.h"

namespace spillway::output {
namespace {

using timeline::Slice;
using timeline::Timeline;

// Microseconds with six decimals: exact, which a double would not be.
std::string Micros(Picos time) { return fmt::format("{}.{:06d}", time / 1'000'000, time % 1'000'000); }

class Writer {
 public:
  explicit Writer(const RunData& run) : run_(run), t_(run.timeline) {
    for (const auto& op : run.summary.ops) op_names_.push_back(op.name);
  }

  std::string Write() {
    out_ = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
    Event(fmt::format("\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{{\"name\":{}}}",
                      JsonString(fmt::format("TPU {}: {}", run_.summary.chip, run_.summary.module))));
    const std::vector<Lane> lanes = AssignLanes(t_);
    for (std::size_t i = 0; i < lanes.size(); ++i) WriteLane(lanes[i], i + 1);
    WriteFlows();
    for (const auto& counter : t_.counters) WriteCounter(counter);
    out_ += "\n]}\n";
    return std::move(out_);
  }

 private:
  void Event(const std::string& fields) {
    if (!first_) out_ += ",\n";
    first_ = false;
    (((out_ += '{') += fields) += '}');
  }

  void WriteLane(const Lane& lane, std::size_t tid) {
    Event(fmt::format("\"ph\":\"M\",\"pid\":1,\"tid\":{},\"name\":\"thread_name\",\"args\":{{\"name\":{}}}",
                      tid, JsonString(lane.name)));
    Event(fmt::format(
        "\"ph\":\"M\",\"pid\":1,\"tid\":{},\"name\":\"thread_sort_index\",\"args\":{{\"sort_index\":{}}}",
        tid, tid));
    for (const std::size_t i : lane.slices) WriteSlice(t_.slices[i], tid);
  }

  void WriteSlice(const Slice& s, std::size_t tid) {
    std::string args = fmt::format("\"start_ps\":{},\"end_ps\":{}", s.start, s.end);
    const auto back = std::back_inserter(args);
    if (s.op >= 0) fmt::format_to(back, ",\"op\":{}", JsonString(op_names_[static_cast<std::size_t>(s.op)]));
    if (s.buffer >= 0)
      fmt::format_to(back, ",\"buffer\":{}", JsonString(t_.buffers[static_cast<std::size_t>(s.buffer)]));
    if (s.bytes != 0) fmt::format_to(back, ",\"bytes\":{}", s.bytes);
    if (s.address >= 0) fmt::format_to(back, ",\"address\":{}", s.address);
    if (s.stall != timeline::Stall::kNone) fmt::format_to(back, ",\"stall\":\"{}\"", StallName(s.stall));
    Event(fmt::format(
        "\"ph\":\"X\",\"pid\":1,\"tid\":{},\"ts\":{},\"dur\":{},\"name\":{},\"cat\":{},\"args\":{{{}}}", tid,
        Micros(s.start), Micros(s.end - s.start), JsonString(SliceLabel(s, t_, op_names_)),
        JsonString(s.kind), args));
    if (s.flow != 0) flows_[s.flow].push_back({tid, s.kind == "wait", s.start});
  }

  // An arrow from the transfer to the wait that it ends.
  void WriteFlows() {
    for (const auto& [id, ends] : flows_) {
      const FlowEnd *from = nullptr, *to = nullptr;
      for (const FlowEnd& end : ends) (end.wait ? to : from) = &end;
      if (from == nullptr || to == nullptr) continue;
      const auto emit = [&, flow = id](const char* phase, const FlowEnd& at, const char* bind) {
        Event(fmt::format(
            "\"ph\":\"{}\",\"pid\":1,\"tid\":{},\"ts\":{},\"id\":{},\"name\":\"ends\",\"cat\":\"flow\"{}",
            phase, at.tid, Micros(at.start), flow, bind));
      };
      const bool ordered = from->start <= to->start;  // an arrow must not go back in time
      emit("s", ordered ? *from : *to, "");
      emit("f", ordered ? *to : *from, ",\"bp\":\"e\"");
    }
  }

  void WriteCounter(const timeline::Counter& counter) {
    const std::string name =
        JsonString(counter.unit.empty() ? counter.name : fmt::format("{} ({})", counter.name, counter.unit));
    for (const auto& [time, value] : counter.points) {
      if (!std::isfinite(value)) continue;  // JSON has no word for it
      Event(fmt::format("\"ph\":\"C\",\"pid\":1,\"ts\":{},\"name\":{},\"args\":{{\"value\":{}}}",
                        Micros(time), name, value));
    }
  }

  struct FlowEnd {
    std::size_t tid;
    bool wait;
    Picos start;
  };

  const RunData& run_;
  const Timeline& t_;
  std::vector<std::string> op_names_;
  std::map<int, std::vector<FlowEnd>> flows_;
  std::string out_;
  bool first_ = true;
};

}  // namespace

std::string ChromeJson(const RunData& run) { return Writer(run).Write(); }

}  // namespace spillway::output
