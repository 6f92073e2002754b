// SPDX-License-Identifier: Apache-2.0
#include "sim/output/html_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>
#include <unordered_map>

#include "sim/base/result.h"
#include "sim/output/lanes.h"
#include "sim/output/summary_json.h"
#include "sim/output/utf8.h"

namespace spillway::output {

namespace assets {  // compiled in from sim/output/assets and third_party/uplot
extern const std::string_view kReportCss, kReportJs, kUPlotCss, kUPlotJs;
}  // namespace assets

namespace {

using timeline::Counter;
using timeline::Slice;
using timeline::Timeline;

// Strings that repeat are sent once.
class Dictionary {
 public:
  std::size_t Get(const std::string& text) {
    const auto [found, added] = index_.emplace(text, index_.size());
    if (added) list_ += (list_.empty() ? "" : ",") + JsonString(text);
    return found->second;
  }
  std::string Json() const { return "[" + list_ + "]"; }

 private:
  std::unordered_map<std::string, std::size_t> index_;
  std::string list_;
};

// A slice as the page draws it; `count` > 1 where several became one.
struct Drawn {
  const Slice* slice;
  Picos end;
  int count = 1;
};

// A run of slices, each shorter than `least`, of one kind and less than `least` apart becomes one.
std::vector<Drawn> Merge(const Lane& lane, const Timeline& t, Picos least) {
  std::vector<Drawn> out;
  for (const std::size_t i : lane.slices) {
    const Slice& slice = t.slices[i];
    if (least > 0 && !out.empty() && slice.end - slice.start < least) {
      Drawn& last = out.back();
      const bool shortish = last.count > 1 || last.slice->end - last.slice->start < least;
      const bool near = slice.start >= last.end && slice.start - last.end < least &&
                        slice.end - last.slice->start < 8 * least;
      if (shortish && near && last.slice->kind == slice.kind && last.slice->op == slice.op) {
        last.end = slice.end;
        ++last.count;
        continue;
      }
    }
    out.push_back({&slice, slice.end});
  }
  return out;
}

// JSON that may stand inside a script element: '<' occurs in strings only, where its escape means the same.
std::string Inert(const std::string& json) {
  std::string out;
  for (const char c : json) {
    if (c == '<') out += "\\u003c";
    else out += c;
  }
  return out;
}

class RunJson {
 public:
  RunJson(const RunData& run, const HtmlOptions& options) : run_(run), t_(run.timeline), options_(options) {
    for (const auto& op : run.summary.ops) op_names_.push_back(op.name);
    end_ = std::max(timeline::EndOf(t_), run.summary.makespan_ps);
  }

  std::string Write() {
    const auto& s = run_.summary;
    std::string summary = SummaryJson(s, {-1, true});
    while (!summary.empty() && summary.back() == '\n') summary.pop_back();
    std::string lanes;
    const bool many = t_.slices.size() > options_.max_slices;
    for (const Lane& lane : AssignLanes(t_))
      lanes += (lanes.empty() ? "" : ",\n") + LaneJson(lane, many ? end_ / 4096 : 0);
    std::string counters;
    for (const Counter& counter : t_.counters)
      counters += (counters.empty() ? "" : ",\n") + CounterJson(counter);
    const std::string title = s.input.empty() ? s.module : s.input;
    return fmt::format(
        "{{\"title\":{},\"end_ps\":{},\"merged\":{},\"summary\":{},\n\"lanes\":[{}],\n\"labels\":{},"
        "\"kinds\":{},\n"
        "\"counters\":[{}]}}",
        JsonString(title), end_, many ? t_.slices.size() : 0, summary, lanes, labels_.Json(),
        kinds_.Json(), counters);
  }

 private:
  std::string LaneJson(const Lane& lane, Picos least) {
    const std::vector<Drawn> drawn = Merge(lane, t_, least);
    const auto list = [&drawn](const char* name, auto&& value) {
      std::string out = fmt::format(",\"{}\":[", name);
      bool first = true;
      for (const Drawn& d : drawn) {
        fmt::format_to(std::back_inserter(out), "{}{}", first ? "" : ",", value(d));
        first = false;
      }
      return out + "]";
    };
    std::string out = "{\"name\":" + JsonString(lane.name);
    out += list("start", [](const Drawn& d) { return d.slice->start; });
    out += list("end", [](const Drawn& d) { return d.end; });
    out += list("label", [this](const Drawn& d) {
      const std::string label = SliceLabel(*d.slice, t_, op_names_);
      return labels_.Get(d.count == 1 ? label : fmt::format("{} and {} more", label, d.count - 1));
    });
    out += list("kind", [this](const Drawn& d) { return kinds_.Get(d.slice->kind); });
    out += list("op", [](const Drawn& d) { return d.slice->op; });
    out += list("bytes", [](const Drawn& d) { return d.count == 1 ? d.slice->bytes : 0; });
    out += list("address", [](const Drawn& d) { return d.count == 1 ? d.slice->address : -1; });
    out += list("flow", [](const Drawn& d) { return d.count == 1 ? d.slice->flow : 0; });
    return out + "}";
  }

  std::string CounterJson(const Counter& counter) const {
    const auto points = Thin(counter.points);
    std::string t, v;
    for (const auto& [time, value] : points) {
      if (!std::isfinite(value)) continue;
      fmt::format_to(std::back_inserter(t), "{}{}", t.empty() ? "" : ",", time);
      fmt::format_to(std::back_inserter(v), "{}{}", v.empty() ? "" : ",", value);
    }
    return fmt::format("{{\"name\":{},\"unit\":{},\"t\":[{}],\"v\":[{}]}}", JsonString(counter.name),
                       JsonString(counter.unit), t, v);
  }

  // The envelope of a long series: per bin of time its first, lowest, highest and last point, in order.
  std::vector<std::pair<Picos, double>> Thin(const std::vector<std::pair<Picos, double>>& points) const {
    if (points.size() <= options_.max_points) return points;
    const Picos width =
        std::max<Picos>(1, end_ / static_cast<Picos>(std::max<std::size_t>(1, options_.max_points / 4)) + 1);
    std::vector<std::pair<Picos, double>> out;
    for (std::size_t i = 0; i < points.size();) {
      const Picos bin = points[i].first / width;
      std::size_t last = i, low = i, high = i;
      for (; last < points.size() && points[last].first / width == bin; ++last) {
        if (points[last].second < points[low].second) low = last;
        if (points[last].second > points[high].second) high = last;
      }
      std::size_t keep[] = {i, std::min(low, high), std::max(low, high), last - 1};
      for (std::size_t k = 0; k < std::size(keep); ++k) {
        if (k == 0 || keep[k] != keep[k - 1]) out.push_back(points[keep[k]]);
      }
      i = last;
    }
    return out;
  }

  const RunData& run_;
  const Timeline& t_;
  const HtmlOptions& options_;
  std::vector<std::string> op_names_;
  Dictionary labels_, kinds_;
  Picos end_ = 0;
};

std::string HtmlText(std::string_view text) {
  std::string out;
  for (const char c : ValidUtf8(text)) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

}  // namespace

std::string HtmlPage(const std::string& title, const std::string& json) {
  std::string out;
  out +=
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>";
  out += HtmlText(title + " - Spillway");
  out += "</title>\n<style>\n";
  out += assets::kUPlotCss;
  out += assets::kReportCss;
  out +=
      "</style></head>\n<body><main><noscript>This report needs JavaScript.</noscript></main>\n"
      "<script type=\"application/json\" id=\"data\">\n";
  out += Inert(json);
  out += "\n</script>\n<script>\n";
  out += assets::kUPlotJs;
  out += "</script>\n<script>\n";
  out += assets::kReportJs;
  out += "</script>\n</body></html>\n";
  return out;
}

std::string HtmlReport(const std::vector<RunData>& runs, const HtmlOptions& options) {
  SPILLWAY_CHECK(!runs.empty());
  std::string data;
  for (const RunData& run : runs) data += (data.empty() ? "" : ",\n") + RunJson(run, options).Write();
  const auto& first = runs[0].summary;
  return HtmlPage(fmt::format("{} on {}", first.module, first.chip), "{\"runs\":[" + data + "]}");
}

}  // namespace spillway::output
