// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/vmem_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/cli/view_table.h"

namespace spillway::cli {
namespace {

using explain::Holder;
using explain::VmemCandidate;
using explain::VmemReport;
using Json = nlohmann::ordered_json;

std::string HolderText(const std::vector<Holder>& holders, std::size_t shown) {
  std::string text;
  for (std::size_t i = 0; i < std::min(holders.size(), shown); ++i) {
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", holders[i].windows ? "windows of " + holders[i].name : holders[i].name,
                        output::ShortBytes(holders[i].bytes));
  }
  if (holders.size() > shown) text += fmt::format(" and {} more", holders.size() - shown);
  return text.empty() ? "nothing" : text;
}

Json HoldersJson(const std::vector<Holder>& holders) {
  Json list = Json::array();
  for (const Holder& holder : holders) list.push_back({{"name", holder.name}, {"kind", holder.windows ? "windows" : "buffer"}, {"bytes", holder.bytes}});
  return list;
}

std::string Sentence(const VmemCandidate& c) {
  std::string text = fmt::format("  {} {}, {}: ", c.tensor, c.shape, output::ShortBytes(c.bytes));
  if (!c.other_reason.empty()) {
    text += "stays in HBM: " + c.other_reason;
  } else if (c.fits()) {
    text += fmt::format("fits (room for {} at '{}')", output::ShortBytes(c.room), c.at_op);
  } else {
    text += fmt::format("{} too many at '{}', which leaves {}; what would have to shrink there: {}", output::ShortBytes(c.bytes - c.room), c.at_op,
                        c.room == 0 ? "no room" : output::ShortBytes(c.room), HolderText(c.holders, 4));
  }
  if (!c.symbol.empty()) {
    text += fmt::format("; {} = {} here, it fits up to {} = {} with that room", c.symbol, c.value, c.symbol, c.largest);
  }
  return text;
}

}  // namespace

View ViewVmemReport(const VmemReport& report, const ViewStyle& style) {
  const double usable = static_cast<double>(std::max<Bytes>(report.usable, 1));
  std::string text = fmt::format("VMEM {}, {} usable; peak {}{}, headroom {} ({:.1f}%)\n\n", FormatBytes(report.capacity), FormatBytes(report.usable),
                                 FormatBytes(report.peak), report.peak_op.empty() ? "" : " during " + report.peak_op,
                                 FormatBytes(report.usable - report.peak), 100 * static_cast<double>(report.usable - report.peak) / usable);
  ViewTable table({TextColumn("op", 0, true), NumberColumn("buffers"), NumberColumn("scoped"), NumberColumn("total"), NumberColumn("of VMEM"), TextColumn("largest holders", 1, true)});
  Json ops = Json::array();
  for (const explain::VmemMoment& moment : report.moments) {
    const double share = static_cast<double>(moment.total()) / static_cast<double>(std::max<Bytes>(report.capacity, 1));
    table.Row({moment.op, output::ShortBytes(moment.buffers), output::ShortBytes(moment.scoped), output::ShortBytes(moment.total()), output::Percent(share),
               moment.holders.empty() ? "" : HolderText(moment.holders, 2)});
    ops.push_back({{"op", moment.op}, {"buffers_bytes", moment.buffers}, {"scoped_bytes", moment.scoped}, {"total_bytes", moment.total()}, {"holders", HoldersJson(moment.holders)}});
  }
  text += table.Text(style);
  Json tensors = Json::array();
  if (!report.candidates.empty()) text += "\ntensors in HBM that kernels hand on: could they stay in VMEM?\n";
  for (const VmemCandidate& c : report.candidates) {
    text += WrapText(Sentence(c), style.width, 6);
    Json json = {{"tensor", c.tensor}, {"shape", c.shape}, {"bytes", c.bytes}, {"room_bytes", c.room}, {"at_op", c.at_op}, {"fits", c.fits() && c.other_reason.empty()},
                 {"other_reason", c.other_reason}, {"holders", HoldersJson(c.holders)}};
    if (!c.symbol.empty()) json["limit"] = {{"symbol", c.symbol}, {"value", c.value}, {"largest", c.largest}};
    tensors.push_back(std::move(json));
  }
  const Json json = {{"capacity_bytes", report.capacity}, {"usable_bytes", report.usable}, {"peak_bytes", report.peak}, {"peak_at", report.peak_op},
                     {"headroom_bytes", report.usable - report.peak}, {"ops", ops}, {"tensors", tensors}};
  return {text, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"};
}

}  // namespace spillway::cli
