// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/compare_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "sim/cli/view_table.h"

namespace spillway::cli {
namespace {

using explain::Comparison;
using explain::OpPair;
using explain::Run;
using explain::TensorTraffic;
using explain::TimeParts;
using timeline::OpSummary;
using Json = nlohmann::ordered_json;

/// Rows of the text tables; the JSON has them all.
constexpr std::size_t kMaxRows = 25;

std::string Change(double a, double b) {
  if (a == b) return "=";
  if (a <= 0) return "new";
  if (b <= 0) return "gone";
  const double percent = 100 * (b - a) / a;
  return fmt::format("{}{:.1f}%", percent > 0 ? "+" : "", percent);
}
std::string Change(std::int64_t a, std::int64_t b) { return Change(static_cast<double>(a), static_cast<double>(b)); }

std::string Totals(const Run& a, const Run& b, const Comparison& c, const ViewStyle& style) {
  ViewTable table({TextColumn(""), NumberColumn("A"), NumberColumn("B"), NumberColumn("B - A"), NumberColumn("change")});
  const auto time = [&](const char* name, Picos x, Picos y) {
    table.Row({name, output::ShortDuration(x), output::ShortDuration(y), (y < x ? "-" : "") + output::ShortDuration(std::llabs(y - x)), Change(x, y)});
  };
  const auto bytes = [&](const char* name, Bytes x, Bytes y) {
    table.Row({name, output::ShortBytes(x), output::ShortBytes(y), (y < x ? "-" : "") + output::ShortBytes(std::llabs(y - x)), Change(x, y)});
  };
  const timeline::Summary &x = a.summary, &y = b.summary;
  const TimeParts &p = c.parts_a, &q = c.parts_b;
  time("makespan", x.makespan_ps, y.makespan_ps);
  time("  the core computes", p.compute, q.compute);
  time("  waits for reads", p.read, q.read);
  time("  waits for writes", p.write, q.write);
  time("  fills pipelines", p.fill, q.fill);
  time("  drains pipelines", p.drain, q.drain);
  time("  other, between kernels", p.other, q.other);
  time("in memory-bound kernels", p.memory_bound, q.memory_bound);
  time("in compute-bound kernels", p.compute_bound, q.compute_bound);
  time("in latency-bound kernels", p.latency_bound, q.latency_bound);
  bytes("HBM read", x.hbm_read_bytes, y.hbm_read_bytes);
  bytes("HBM written", x.hbm_write_bytes, y.hbm_write_bytes);
  time("HBM busy", x.hbm_busy_ps, y.hbm_busy_ps);
  bytes("VMEM peak", x.vmem_peak_bytes, y.vmem_peak_bytes);
  bytes("HBM allocated", x.hbm_allocated_bytes, y.hbm_allocated_bytes);
  return table.Text(style);
}

const OpSummary* OpAt(const Run& run, int op) { return op < 0 ? nullptr : &run.summary.ops[static_cast<std::size_t>(op)]; }

std::string Ops(const Run& a, const Run& b, const Comparison& c, const ViewStyle& style) {
  ViewTable table({TextColumn("A", 0, true), TextColumn("B", 0, true), TextColumn("by", 3), NumberColumn("time A"), NumberColumn("time B"),
                   NumberColumn("change"), NumberColumn("HBM A", 1), NumberColumn("HBM B", 1), TextColumn("bound A", 2), TextColumn("bound B", 2)});
  std::vector<const OpPair*> shown;
  for (const OpPair& pair : c.ops) {
    const OpSummary *x = OpAt(a, pair.a), *y = OpAt(b, pair.b);
    if ((x != nullptr && x->busy_ps > 0) || (y != nullptr && y->busy_ps > 0)) shown.push_back(&pair);
  }
  std::size_t hidden = 0;
  if (shown.size() > kMaxRows) {
    std::vector<Picos> times;
    const auto longest = [&](const OpPair& pair) {
      const OpSummary *x = OpAt(a, pair.a), *y = OpAt(b, pair.b);
      return std::max(x != nullptr ? x->busy_ps : 0, y != nullptr ? y->busy_ps : 0);
    };
    for (const OpPair* pair : shown) times.push_back(longest(*pair));
    std::nth_element(times.begin(), times.begin() + kMaxRows, times.end(), std::greater<>());
    const Picos limit = times[kMaxRows];
    const std::size_t before = shown.size();
    shown.erase(std::remove_if(shown.begin(), shown.end(), [&](const OpPair* pair) { return longest(*pair) <= limit; }), shown.end());
    hidden = before - shown.size();
  }
  for (const OpPair* pair : shown) {
    const OpSummary *x = OpAt(a, pair->a), *y = OpAt(b, pair->b);
    const Picos s = x != nullptr ? x->busy_ps : 0, t = y != nullptr ? y->busy_ps : 0;
    table.Row({x != nullptr ? x->name : "-", y != nullptr ? y->name : "-", pair->how, output::ShortDuration(s), output::ShortDuration(t), Change(s, t),
               x != nullptr ? output::ShortBytes(x->hbm_read_bytes + x->hbm_write_bytes) : "", y != nullptr ? output::ShortBytes(y->hbm_read_bytes + y->hbm_write_bytes) : "",
               x != nullptr ? x->bound : "", y != nullptr ? y->bound : ""});
  }
  std::string text = "\nkernels, paired by name, op_name or shape\n" + table.Text(style);
  if (hidden > 0) text += fmt::format("  and {} shorter ones (all with --json)\n", hidden);
  return text;
}

std::string NameOf(const TensorTraffic& tensor) {
  if (tensor.name_a.empty()) return tensor.name_b;
  if (tensor.name_b.empty() || tensor.name_b == tensor.name_a) return tensor.name_a;
  return tensor.name_a + " = " + tensor.name_b;
}

std::string Tensors(const Comparison& c, const ViewStyle& style) {
  if (c.tensors.empty()) return "\nNo timeline: traffic by tensor is not known.\n";
  ViewTable table({TextColumn("tensor", 0, true), NumberColumn("read A"), NumberColumn("read B"), NumberColumn("written A"), NumberColumn("written B"), TextColumn("shape", 1)});
  for (std::size_t i = 0; i < std::min(c.tensors.size(), kMaxRows); ++i) {
    const TensorTraffic& t = c.tensors[i];
    table.Row({NameOf(t), output::ShortBytes(t.read_a), output::ShortBytes(t.read_b), output::ShortBytes(t.write_a), output::ShortBytes(t.write_b), t.shape});
  }
  std::string text = "\nHBM traffic by tensor, largest change first\n" + table.Text(style);
  if (c.tensors.size() > kMaxRows) text += fmt::format("  and {} more (all with --json)\n", c.tensors.size() - kMaxRows);
  const auto list = [&](const char* title, const std::vector<std::size_t>& which) {
    if (which.empty()) return;
    text += title;
    for (const std::size_t i : which) {
      const TensorTraffic& t = c.tensors[i];
      text += fmt::format("  {} {}: {} written, {} read back\n", t.name_a.empty() ? t.name_b : t.name_a, t.shape,
                          output::ShortBytes(std::max(t.write_a, t.write_b)), output::ShortBytes(std::max(t.read_a, t.read_b)));
    }
  };
  list("\nspills of A that B does not have\n", c.vanished);
  list("\nspills of B that A does not have\n", c.appeared);
  return text;
}

Json PartsJson(const TimeParts& p) {
  return {{"compute_ps", p.compute}, {"dma_read_ps", p.read}, {"dma_write_ps", p.write}, {"fill_ps", p.fill}, {"drain_ps", p.drain}, {"other_ps", p.other},
          {"memory_bound_ps", p.memory_bound}, {"compute_bound_ps", p.compute_bound}, {"latency_bound_ps", p.latency_bound}};
}

Json RunJson(const Run& run, const TimeParts& parts) {
  const timeline::Summary& s = run.summary;
  return {{"label", run.label}, {"input", s.input}, {"module", s.module}, {"chip", s.chip}, {"plan", s.plan}, {"makespan_ps", s.makespan_ps},
          {"hbm_read_bytes", s.hbm_read_bytes}, {"hbm_write_bytes", s.hbm_write_bytes}, {"hbm_busy_ps", s.hbm_busy_ps},
          {"vmem_peak_bytes", s.vmem_peak_bytes}, {"hbm_allocated_bytes", s.hbm_allocated_bytes}, {"time", PartsJson(parts)}};
}

Json OpJson(const OpSummary* op) {
  if (op == nullptr) return nullptr;
  return {{"name", op->name}, {"class", op->op_class}, {"time_ps", op->busy_ps}, {"hbm_read_bytes", op->hbm_read_bytes},
          {"hbm_write_bytes", op->hbm_write_bytes}, {"compute_cycles", op->compute_cycles}, {"bound", op->bound}};
}

std::string JsonText(const Run& a, const Run& b, const Comparison& c) {
  Json json = {{"schema", "spillway.compare/1"}, {"a", RunJson(a, c.parts_a)}, {"b", RunJson(b, c.parts_b)}, {"slowdown", c.slowdown}};
  json["ops"] = Json::array();
  for (const OpPair& pair : c.ops) json["ops"].push_back({{"a", OpJson(OpAt(a, pair.a))}, {"b", OpJson(OpAt(b, pair.b))}, {"paired_by", pair.how}});
  json["tensors"] = Json::array();
  for (const TensorTraffic& t : c.tensors) {
    json["tensors"].push_back({{"a", t.name_a}, {"b", t.name_b}, {"shape", t.shape}, {"read_bytes_a", t.read_a}, {"write_bytes_a", t.write_a},
                               {"read_bytes_b", t.read_b}, {"write_bytes_b", t.write_b}, {"paired_by", t.how}});
  }
  json["spills_vanished"] = Json::array();
  for (const std::size_t i : c.vanished) json["spills_vanished"].push_back(c.tensors[i].name_a);
  json["spills_appeared"] = Json::array();
  for (const std::size_t i : c.appeared) json["spills_appeared"].push_back(c.tensors[i].name_b);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string Line(const char* letter, const Run& run) {
  return fmt::format("{}  {}: {} on {}, plan {}\n", letter, run.label, run.summary.module, run.summary.chip, run.summary.plan);
}

}  // namespace

View ViewCompare(const Run& a, const Run& b, const Comparison& comparison, const ViewStyle& style) {
  std::string verdict = "B and A take the same time";
  const Picos x = a.summary.makespan_ps, y = b.summary.makespan_ps;
  if (x > 0 && y > 0 && x != y) {
    verdict = x > y ? fmt::format("B is {:.3g} times as fast as A", static_cast<double>(x) / static_cast<double>(y))
                    : fmt::format("B takes {:.3g} times as long as A", static_cast<double>(y) / static_cast<double>(x));
  }
  return {Line("A", a) + Line("B", b) + verdict + "\n\n" + Totals(a, b, comparison, style) + Ops(a, b, comparison, style) + Tensors(comparison, style),
          JsonText(a, b, comparison)};
}

}  // namespace spillway::cli
