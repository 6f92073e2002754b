// SPDX-License-Identifier: Apache-2.0
#include "sim/output/summary_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/base/file.h"

namespace spillway::output {
namespace {

using Json = nlohmann::ordered_json;
using timeline::BufferSummary;
using timeline::OpSummary;
using timeline::StallTimes;
using timeline::Summary;

// One list of (key, member) per struct serves writing and reading, so the two cannot drift apart.
template <class Self, class Visit>
void VisitStalls(Self& t, Visit&& visit) {
  visit("dma_read", t.dma_read);
  visit("dma_write", t.dma_write);
  visit("fill", t.fill);
  visit("drain", t.drain);
  visit("other", t.other);
}

template <class Self, class Visit>
void VisitOp(Self& op, Visit&& visit) {
  visit("name", op.name);
  visit("opcode", op.opcode);
  visit("kind", op.kind);
  visit("class", op.op_class);
  visit("op_name", op.op_name);
  visit("start_ps", op.start_ps);
  visit("end_ps", op.end_ps);
  visit("busy_ps", op.busy_ps);
  visit("executions", op.executions);
  visit("steps", op.steps);
  visit("hbm_read_bytes", op.hbm_read_bytes);
  visit("hbm_write_bytes", op.hbm_write_bytes);
  visit("dma_count", op.dma_count);
  visit("compute_cycles", op.compute_cycles);
  visit("compute_source", op.compute_source);
  visit("bundles", op.bundles);
  visit("flops", op.flops);
  visit("slots", op.slots);
  visit("stall_ps", op.stall_ps);
  visit("bound", op.bound);
  visit("estimated_cycles", op.estimated_cycles);
  visit("scoped_vmem_bytes", op.scoped_vmem_bytes);
  visit("error_band", op.error_band);
  visit("unmodelled", op.unmodelled);
  visit("why", op.why);
}

template <class Self, class Visit>
void VisitBuffer(Self& b, Visit&& visit) {
  visit("name", b.name);
  visit("shape", b.shape);
  visit("memory_space", b.memory_space);
  visit("logical_bytes", b.logical_bytes);
  visit("allocated_bytes", b.allocated_bytes);
  visit("first_op", b.first_op);
  visit("last_op", b.last_op);
  visit("offset", b.offset);
  visit("exact_offset", b.exact_offset);
}

template <class Self, class Visit>
void VisitHbm(Self& s, Visit&& visit) {
  visit("read_bytes", s.hbm_read_bytes);
  visit("write_bytes", s.hbm_write_bytes);
  visit("busy_ps", s.hbm_busy_ps);
  visit("bytes_per_second", s.hbm_bytes_per_second);
  visit("peak_bytes_per_second", s.hbm_peak_bytes_per_second);
}

template <class Self, class Visit>
void VisitVmem(Self& s, Visit&& visit) {
  visit("capacity_bytes", s.vmem_capacity_bytes);
  visit("peak_bytes", s.vmem_peak_bytes);
  visit("peak_at", s.vmem_peak_at);
  visit("buffers_bytes", s.vmem_buffers_bytes);
}

template <class Self, class Visit>
void VisitHead(Self& s, Visit&& visit) {
  visit("version", s.version);
  visit("input", s.input);
  visit("module", s.module);
  visit("chip", s.chip);
  visit("plan", s.plan);
  visit("complete", s.complete);
  visit("makespan_ps", s.makespan_ps);
  visit("cycles", s.cycles);
}

struct Writer {
  Json& out;
  template <class T>
  void operator()(const char* key, const T& value) const {
    out[key] = value;
  }
  void operator()(const char* key, const StallTimes& value) const {
    Json object = Json::object();
    VisitStalls(value, Writer{object});
    out[key] = std::move(object);
  }
};

// Collects the first problem: a wrong type names the path of the key.
class Reader {
 public:
  Reader(const Json& object, std::string path, std::string& problem)
      : object_(object), path_(std::move(path)), problem_(problem) {}

  void operator()(const char* key, std::string& value) const {
    Read(key, value, &Json::is_string, "a string");
  }
  void operator()(const char* key, bool& value) const {
    Read(key, value, &Json::is_boolean, "true or false");
  }
  void operator()(const char* key, double& value) const {
    const auto found = object_.find(key);
    if (found == object_.end() || found->is_null()) return;
    Read(key, value, &Json::is_number, "a number");
  }
  void operator()(const char* key, std::int64_t& value) const {
    const auto found = object_.find(key);
    if (found != object_.end() && found->is_number_unsigned() && found->get<std::uint64_t>() > INT64_MAX) {
      return Fail(key, "an integer below 2^63");
    }
    Read(key, value, &Json::is_number_integer, "an integer");
  }
  void operator()(const char* key, std::vector<std::string>& value) const {
    Each(key, [&](const Json& item, const std::string&) {
      if (item.is_string()) value.push_back(item.get<std::string>());
      else Fail(key, "a list of strings");
    });
  }
  void operator()(const char* key, StallTimes& value) const {
    Object(key, [&](const Reader& reader) { VisitStalls(value, reader); });
  }
  void operator()(const char* key, std::map<std::string, double>& value) const {
    Object(key, [&](const Reader& reader) {
      for (const auto& [name, item] : reader.object_.items()) reader(name.c_str(), value[name]);
    });
  }

  template <class Body>
  void Object(const char* key, Body&& body) const {
    const auto found = object_.find(key);
    if (found == object_.end()) return;
    if (!found->is_object()) return Fail(key, "an object");
    body(Reader(*found, path_ + key + ".", problem_));
  }
  template <class Body>
  void Each(const char* key, Body&& body) const {
    const auto found = object_.find(key);
    if (found == object_.end()) return;
    if (!found->is_array()) return Fail(key, "a list");
    std::size_t i = 0;
    for (const Json& item : *found) body(item, fmt::format("{}{}[{}].", path_, key, i++));
  }
  template <class T, class Visitor>
  void Structs(const char* key, std::vector<T>& list, Visitor&& visitor) const {
    Each(key, [&](const Json& item, const std::string& path) {
      if (!item.is_object()) return Fail(key, "a list of objects");
      list.emplace_back();
      visitor(list.back(), Reader(item, path, problem_));
    });
  }

 private:
  void Fail(const char* key, const char* expected) const {
    if (problem_.empty()) problem_ = fmt::format("'{}{}' is not {}", path_, key, expected);
  }
  template <class T>
  void Read(const char* key, T& value, bool (Json::*is)() const noexcept, const char* expected) const {
    const auto found = object_.find(key);
    if (found == object_.end()) return;
    if (!((*found).*is)()) return Fail(key, expected);
    value = found->get<T>();
  }

  const Json& object_;
  std::string path_;
  std::string& problem_;
};

Json Buffers(const Summary& s) {
  Json list = Json::array();
  for (const BufferSummary& buffer : s.buffers) {
    Json item = Json::object();
    VisitBuffer(buffer, Writer{item});
    list.push_back(std::move(item));
  }
  return list;
}

std::string Dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string SummaryJson(const Summary& s, const JsonOptions& options) {
  Json root = Json::object();
  root["schema"] = kSummarySchema;
  VisitHead(s, Writer{root});
  VisitHbm(s, Writer{root["hbm"]});
  root["hbm_allocated_bytes"] = s.hbm_allocated_bytes;
  VisitVmem(s, Writer{root["vmem"]});
  root["unmodelled"]["ops"] = s.unmodelled_ops;
  root["unmodelled"]["share_of_time"] = s.unmodelled_share_of_time;
  root["recalled"]["share_of_time"] = s.recalled_share_of_time;
  root["notes"] = s.notes;
  Json& ops = root["ops"] = Json::array();
  for (const OpSummary& op : s.ops) {
    Json item = Json::object();
    VisitOp(op, Writer{item});
    if (!op.unmodelled) item.erase("why");
    if (op.slots.empty()) item.erase("slots");
    if (op.flops == 0) item.erase("flops");
    ops.push_back(std::move(item));
  }
  if (options.buffers) root["buffers"] = Buffers(s);
  return Dump(root, options.indent);
}

std::string BuffersJson(const Summary& summary) { return Dump(Buffers(summary), 2); }

Result<Summary> ReadSummaryJson(std::string_view text, const std::string& file) {
  // First the position-aware check: the parser proper reports a byte offset only by exception.
  Json root;
  try {
    root = Json::parse(text);
  } catch (const Json::parse_error& error) {
    return ErrorAt(text, file, error.byte > 0 ? error.byte - 1 : 0, "not valid JSON",
                   "summary.json is written by `spillway run -o DIR`");
  }
  const auto fail = [&](std::string message) {
    Diagnostic diagnostic = Error(std::move(message));
    diagnostic.file = file;
    return diagnostic;
  };
  if (!root.is_object()) return fail("expected a JSON object");
  const auto schema = root.find("schema");
  if (schema == root.end() || !schema->is_string()) return fail("no \"schema\": this is not a run's summary");
  if (schema->get<std::string>() != kSummarySchema) {
    return fail(fmt::format("schema '{}' is not '{}'", schema->get<std::string>(), kSummarySchema));
  }
  Summary s;
  std::string problem;
  const Reader reader(root, "", problem);
  VisitHead(s, reader);
  reader.Object("hbm", [&](const Reader& hbm) { VisitHbm(s, hbm); });
  reader("hbm_allocated_bytes", s.hbm_allocated_bytes);
  reader.Object("vmem", [&](const Reader& vmem) { VisitVmem(s, vmem); });
  reader.Object("unmodelled", [&](const Reader& unmodelled) {
    unmodelled("ops", s.unmodelled_ops);
    unmodelled("share_of_time", s.unmodelled_share_of_time);
  });
  if (root.contains("recalled")) {   // Not in runs of 0.1.0.
    reader.Object("recalled", [&](const Reader& recalled) { recalled("share_of_time", s.recalled_share_of_time); });
  }
  reader("notes", s.notes);
  reader.Structs("ops", s.ops, [](OpSummary& op, const Reader& item) { VisitOp(op, item); });
  reader.Structs("buffers", s.buffers,
                 [](BufferSummary& buffer, const Reader& item) { VisitBuffer(buffer, item); });
  if (!problem.empty()) return fail(problem);
  return s;
}

}  // namespace spillway::output
