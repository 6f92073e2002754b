// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/explain_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/cli/view_table.h"

namespace spillway::cli {
namespace {

using explain::BoundaryLine;
using explain::Report;
using Json = nlohmann::ordered_json;

/// Kernels below this share of the makespan that move nothing through HBM are counted, not listed.
constexpr double kListedShare = 0.001;

std::string KindText(const std::string& kind, const std::string& op_class) {
  if (kind.empty()) return op_class;
  return op_class.empty() || op_class == kind ? kind : kind + "/" + op_class;
}

std::string Joined(const std::vector<std::string>& names, std::size_t shown = 3) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), shown); ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

std::string Signed(Picos picos) { return picos < 0 ? "-" + output::ShortDuration(-picos) : output::ShortDuration(picos); }

std::string Fusions(const Report& report, const ViewStyle& style) {
  ViewTable table({TextColumn("kernel", 0, true), TextColumn("kind"), TextColumn("class"), NumberColumn("runs", 4),
                   NumberColumn("time", 2), NumberColumn("HBM in"), NumberColumn("HBM out"), NumberColumn("VMEM in", 3),
                   NumberColumn("VMEM out", 3), TextColumn("bound", 1)});
  const double span = static_cast<double>(std::max<Picos>(report.summary.makespan_ps, 1));
  std::size_t hidden = 0;
  for (const explain::KernelLine& line : report.kernels) {
    const bool moves = line.hbm_read_bytes + line.hbm_write_bytes > 0;
    if (!moves && static_cast<double>(line.time_ps) < kListedShare * span) {
      ++hidden;
      continue;
    }
    table.Row({line.name, line.kind.empty() ? line.opcode : line.kind, line.op_class,
               line.executions == 1 ? "" : fmt::format("{}x", line.executions), output::ShortDuration(line.time_ps),
               output::ShortBytes(line.hbm_read_bytes), output::ShortBytes(line.hbm_write_bytes),
               output::ShortBytes(line.vmem_read_bytes), output::ShortBytes(line.vmem_write_bytes), line.bound});
  }
  std::string text = "kernels\n" + table.Text(style);
  if (hidden > 0) text += fmt::format("  and {} more that take under 0.1% of the time and move nothing through HBM\n", hidden);
  return text;
}

std::string Boundaries(const Report& report, const ViewStyle& style) {
  if (report.boundaries.empty()) return "\nNo tensor crosses HBM between two kernels, and no argument is read twice.\n";
  ViewTable table({NumberColumn("#"), TextColumn("tensor", 0, true), NumberColumn("bytes"), TextColumn("from", 2), TextColumn("to", 2),
                   TextColumn("verdict"), NumberColumn("spill cost"), NumberColumn("exposed DMA", 1)});
  std::string details;
  bool excerpts = false, could_not = false;
  for (std::size_t i = 0; i < report.boundaries.size(); ++i) {
    const BoundaryLine& line = report.boundaries[i];
    const bool priced = line.method != explain::CostMethod::kNone;
    excerpts |= line.method == explain::CostMethod::kExcerpt;
    const bool only_if = priced && line.method != explain::CostMethod::kResident && line.excess_bytes > 0;
    could_not |= only_if;
    table.Row({fmt::format("{}", i + 1), line.tensor, output::ShortBytes(line.bytes),
               line.producer.empty() ? "argument" : KindText(line.kind_from, line.class_from),
               line.kind_to.empty() ? "" : KindText(line.kind_to[0], line.class_to[0]) + (line.kind_to.size() > 1 ? fmt::format(" +{}", line.kind_to.size() - 1) : ""),
               explain::VerdictName(line.verdict), priced ? Signed(line.spill_cost_ps) + (only_if ? "*" : "") : "",
               output::ShortDuration(line.exposed_dma_ps)});
    details += WrapText(fmt::format("{:>3}  {} {}: {} -> {}", i + 1, line.tensor, line.shape, line.producer.empty() ? "argument" : line.producer,
                                    Joined(line.consumers)), style.width, 5);
    details += WrapText(fmt::format("     why: {}", line.reason), style.width, 10);
    details += WrapText(fmt::format("     do:  {}", line.advice), style.width, 10);
  }
  std::string text = "\nboundaries: tensors that cross HBM between kernels, arguments that are read again\n" + table.Text(style);
  if (could_not) text += "  * it does not fit beside what else is in VMEM: the time it would save if it did\n";
  if (excerpts) text += "  costs from replays of the single kernels that touch the tensor, with and without its transfers\n";
  Picos sum = 0;
  for (const BoundaryLine& line : report.boundaries) sum += line.spill_cost_ps;
  const bool priced = report.boundaries[0].method != explain::CostMethod::kNone;
  if (priced && report.boundaries.size() > 1) {
    text += fmt::format("  all of them in VMEM at once would save {} of {} (the single costs add up to {}: they overlap)\n",
                        Signed(report.joint_spill_cost_ps), output::ShortDuration(report.summary.makespan_ps), Signed(sum));
  }
  return text + "\n" + details;
}

std::string Waste(const Report& report, const ViewStyle& style) {
  std::string text;
  if (!report.layout_copies.empty()) {
    text += "\nlayout copies: kernels that only change how an array lies in memory\n";
    ViewTable table({TextColumn("kernel", 0, true), NumberColumn("HBM in"), NumberColumn("HBM out"), NumberColumn("if free"), NumberColumn("share"),
                     TextColumn("from", 1), TextColumn("to", 1)});
    for (const explain::LayoutCopyLine& line : report.layout_copies) {
      table.Row({line.name, output::ShortBytes(line.read_bytes), output::ShortBytes(line.write_bytes), line.time_ps == 0 ? "" : "-" + output::ShortDuration(line.time_ps),
                 output::Percent(line.share), line.from, line.to});
    }
    text += table.Text(style);
  }
  if (!report.padding.empty()) {
    text += "\npadding: arrays in HBM that are mostly empty tiles\n";
    for (const explain::Padding& line : report.padding) {
      text += WrapText(fmt::format("  {} {}: {} for {} of data, {} wasted ({:.4g}x): {}; {}", line.tensor, line.shape, output::ShortBytes(line.allocated_bytes),
                                   output::ShortBytes(line.logical_bytes), output::ShortBytes(line.wasted()),
                                   static_cast<double>(line.allocated_bytes) / static_cast<double>(line.logical_bytes), line.cause, line.advice),
                       style.width, 6);
    }
  }
  if (!report.rereads.empty()) {
    text += "\nread again: arrays that come from HBM more than once\n";
    ViewTable table({TextColumn("array", 0, true), NumberColumn("size"), NumberColumn("read"), NumberColumn("times"), TextColumn("by", 1)});
    for (const explain::Reread& line : report.rereads) {
      std::vector<std::string> names;
      for (int op : line.ops) names.push_back(report.ops[static_cast<std::size_t>(op)]);
      table.Row({line.tensor, output::ShortBytes(line.bytes), output::ShortBytes(line.read_bytes),
                 fmt::format("{:.3g}x", static_cast<double>(line.read_bytes) / static_cast<double>(line.bytes)),
                 Joined(names) + (line.within ? " (its windows come back)" : "")});
    }
    text += table.Text(style);
  }
  return text;
}

Json BoundaryJson(const BoundaryLine& line) {
  Json json = {{"tensor", line.tensor}, {"producer", line.producer}, {"consumers", line.consumers}, {"bytes", line.bytes},
               {"kind_from", line.kind_from}, {"kind_to", line.kind_to.empty() ? "" : line.kind_to[0]}, {"verdict", explain::VerdictName(line.verdict)}};
  json["spill_cost_ps"] = line.method == explain::CostMethod::kNone ? Json() : Json(line.spill_cost_ps);
  json["exposed_dma_ps"] = line.exposed_dma_ps;
  json["advice"] = line.advice;
  json["reason"] = line.reason;
  json["shape"] = line.shape;
  json["class_from"] = line.class_from;
  json["kinds_to"] = line.kind_to;
  json["classes_to"] = line.class_to;
  json["hbm_read_bytes"] = line.hbm_read_bytes;
  json["hbm_write_bytes"] = line.hbm_write_bytes;
  json["cost_method"] = explain::CostMethodName(line.method);
  json["could_stay"] = line.could_stay;
  json["why_not"] = line.why_not;
  json["excess_bytes"] = line.excess_bytes;
  return json;
}

std::string JsonText(const Report& report, const std::string& input) {
  Json json = {{"schema", "spillway.explain/1"}, {"input", input}, {"module", report.summary.module}, {"chip", report.summary.chip},
               {"plan", report.summary.plan}, {"complete", report.complete}, {"makespan_ps", report.summary.makespan_ps}};
  json["boundaries"] = Json::array();
  for (const BoundaryLine& line : report.boundaries) json["boundaries"].push_back(BoundaryJson(line));
  json["joint_spill_cost_ps"] = report.joint_spill_cost_ps;
  json["kernels"] = Json::array();
  for (const explain::KernelLine& line : report.kernels) {
    json["kernels"].push_back({{"name", line.name}, {"opcode", line.opcode}, {"kind", line.kind}, {"class", line.op_class}, {"op_name", line.op_name},
                               {"executions", line.executions}, {"time_ps", line.time_ps}, {"hbm_read_bytes", line.hbm_read_bytes},
                               {"hbm_write_bytes", line.hbm_write_bytes}, {"vmem_read_bytes", line.vmem_read_bytes},
                               {"vmem_write_bytes", line.vmem_write_bytes}, {"bound", line.bound}});
  }
  json["layout_copies"] = Json::array();
  for (const explain::LayoutCopyLine& line : report.layout_copies) {
    json["layout_copies"].push_back({{"name", line.name}, {"from", line.from}, {"to", line.to}, {"hbm_read_bytes", line.read_bytes},
                                     {"hbm_write_bytes", line.write_bytes}, {"time_ps", line.time_ps}});
  }
  json["padding"] = Json::array();
  for (const explain::Padding& line : report.padding) {
    json["padding"].push_back({{"tensor", line.tensor}, {"shape", line.shape}, {"logical_bytes", line.logical_bytes}, {"allocated_bytes", line.allocated_bytes},
                               {"wasted_bytes", line.wasted()}, {"cause", line.cause}, {"advice", line.advice}});
  }
  json["rereads"] = Json::array();
  for (const explain::Reread& line : report.rereads) {
    Json ops = Json::array();
    for (int op : line.ops) ops.push_back(report.ops[static_cast<std::size_t>(op)]);
    json["rereads"].push_back({{"tensor", line.tensor}, {"bytes", line.bytes}, {"read_bytes", line.read_bytes}, {"ops", ops}, {"within_one_kernel", line.within}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

View ViewExplain(const Report& report, const std::string& input, const ViewStyle& style) {
  const timeline::Summary& s = report.summary;
  const std::string time = s.makespan_ps == 0 ? "not replayed" : output::ShortDuration(s.makespan_ps);
  std::string text = fmt::format("{} on {}, plan {}: {}, HBM read {}, written {}\n\n", s.module, s.chip, s.plan, time,
                                 output::ShortBytes(s.hbm_read_bytes), output::ShortBytes(s.hbm_write_bytes));
  if (s.makespan_ps > 0) text += Fusions(report, style);
  text += Boundaries(report, style) + Waste(report, style);
  if (!s.unmodelled_ops.empty()) text += "\nnot modelled (their verdicts and times are guesses): " + Joined(s.unmodelled_ops, 8) + "\n";
  return {text, JsonText(report, input)};
}

}  // namespace spillway::cli
