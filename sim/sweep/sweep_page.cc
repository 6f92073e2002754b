// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/sweep_page.h"

#include <map>
#include <nlohmann/json.hpp>

#include "sim/output/html_report.h"
#include "sim/sweep/curve.h"

namespace spillway::sweep {
namespace {

using nlohmann::ordered_json;

/// An axis and, for each entry, which of its values it has.
ordered_json AxisJson(const JournalHeader& header, const std::vector<JournalEntry>& entries, std::size_t axis,
                      std::vector<std::size_t>& index_of_entry) {
  const AxisScale scale = ScaleOf(header, entries, axis);
  ordered_json values = ordered_json::array();
  std::map<std::string, std::size_t> index;
  for (const JournalEntry& entry : entries) {
    const std::string& text = entry.values[axis];
    const auto [it, fresh] = index.emplace(text, index.size());
    index_of_entry.push_back(it->second);
    if (!fresh) continue;
    const auto number = scale.numbers.find(text);
    // Values that are no numbers stand side by side.
    const double x = number != scale.numbers.end() ? number->second : static_cast<double>(it->second);
    values.push_back({{"text", text}, {"x", x}});
  }
  return {{"name", header.axes[axis]}, {"numeric", !scale.numbers.empty()}, {"log", scale.log}, {"values", std::move(values)}};
}

}  // namespace

std::string SweepPage(const JournalHeader& header, const std::vector<JournalEntry>& entries) {
  ordered_json sweep = {{"title", header.title}, {"version", header.version}, {"points", header.points}};
  ordered_json axes = ordered_json::array(), values = ordered_json::array(), figures = ordered_json::object();
  for (std::size_t axis = 0; axis < header.axes.size(); ++axis) {
    std::vector<std::size_t> index_of_entry;
    axes.push_back(AxisJson(header, entries, axis, index_of_entry));
    values.push_back(index_of_entry);
  }
  for (const IntegerColumn& column : IntegerColumns()) {
    ordered_json list = ordered_json::array();
    for (const JournalEntry& entry : entries) list.push_back(entry.result.*column.member);
    figures[column.name] = std::move(list);
  }
  ordered_json status = ordered_json::array(), measured = status, timer = status, guessed = status;
  for (const JournalEntry& entry : entries) {
    status.push_back(entry.result.status);
    measured.push_back(entry.result.measured_us);
    timer.push_back(entry.result.timer);
    guessed.push_back(entry.result.unmodelled_share);
  }
  figures["unmodelled_share"] = std::move(guessed);
  sweep["status"] = std::move(status);
  sweep["measured_us"] = std::move(measured);
  sweep["timer"] = std::move(timer);
  const Curve curve = MakeCurve(header, entries);
  std::size_t x = 0;
  while (x + 1 < header.axes.size() && header.axes[x] != curve.x_name) ++x;
  sweep["x"] = x;
  sweep["axes"] = std::move(axes);
  sweep["values"] = std::move(values);
  sweep["figures"] = std::move(figures);
  const ordered_json page = {{"sweep", std::move(sweep)}};
  return output::HtmlPage(header.title, page.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
}

}  // namespace spillway::sweep
