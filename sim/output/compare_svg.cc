// SPDX-License-Identifier: Apache-2.0
#include "sim/output/compare_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/result.h"
#include "sim/output/table.h"

namespace spillway::output {
namespace {

using timeline::Slice;

constexpr int kWidth = 1200, kLeft = 70, kRight = 20, kTop = 56;
constexpr int kTitle = 22, kOps = 34, kWaits = 10, kRates = 54, kGap = 30, kAxis = 30;
constexpr int kRunHeight = kTitle + kOps + kWaits + 6 + kRates + kGap;
constexpr int kPlot = kWidth - kLeft - kRight;
constexpr double kCharacter = 6.2;   // Width of a label's character at 11 px.

std::string Escape(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') out += "&amp;";
    else if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '"') out += "&quot;";
    else if (static_cast<unsigned char>(c) < 0x20) out += '?';
    else out += c;
  }
  return out;
}

const char* BoundColor(const std::string& bound) {
  if (bound == "memory") return "#4c78a8";
  if (bound == "compute") return "#59a14f";
  return "#e0a030";
}

struct Axis {
  double span = 1;
  double X(Picos time) const { return kLeft + kPlot * static_cast<double>(time) / span; }
};

/// 1, 2 or 5 times a power of ten, so that about eight ticks fit.
double TickStep(double span) {
  const double raw = span / 8, power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw) return factor * power;
  }
  return 10 * power;
}

std::string Ticks(const Axis& axis, int bottom) {
  std::string out;
  const double step = TickStep(axis.span);
  for (double t = 0; t <= axis.span * 1.0001; t += step) {
    const double x = axis.X(static_cast<Picos>(t));
    out += fmt::format("<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\" class=\"grid\"/>\n", x, kTop - 6, bottom);
    out += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\" class=\"dim\">{}</text>\n", x, bottom + 16,
                       t == 0 ? "0" : ShortDuration(static_cast<Picos>(t)));
  }
  return out;
}

/// Kernels as boxes, coloured by what bounds them; a neighbour of less than a pixel is part of the box before it.
std::string Ops(const RunData& run, const Axis& axis, int top) {
  std::string out;
  double drawn = -1;
  for (const Slice& slice : run.timeline.slices) {
    if (slice.kind != "op" || slice.op < 0 || static_cast<std::size_t>(slice.op) >= run.summary.ops.size()) continue;
    const double x = axis.X(slice.start), end = axis.X(slice.end);
    if (end - drawn < 0.5) continue;
    drawn = end;
    const timeline::OpSummary& op = run.summary.ops[static_cast<std::size_t>(slice.op)];
    const double width = std::max(end - x, 0.5);
    out += fmt::format("<rect x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\" fill=\"{}\" class=\"op\"><title>{}: {}, {} bound</title></rect>\n", x, top, width,
                       kOps, BoundColor(op.bound), Escape(op.name), ShortDuration(slice.end - slice.start), op.bound);
    const auto fits = static_cast<std::size_t>(std::max(0.0, (width - 6) / kCharacter));
    if (fits >= 4) {
      out += fmt::format("<text x=\"{:.2f}\" y=\"{}\" class=\"label\">{}</text>\n", x + 4, top + kOps / 2 + 4, Escape(Elide(op.name, fits)));
    }
  }
  return out;
}

/// The share of each pixel's time that `of` covers, as one path of bars.
template <class Of>
std::vector<double> Shares(const RunData& run, const Axis& axis, const Of& of) {
  std::vector<double> share(static_cast<std::size_t>(kPlot), 0);
  for (const Slice& slice : run.timeline.slices) {
    if (!of(slice)) continue;
    const double from = axis.X(slice.start) - kLeft, to = axis.X(slice.end) - kLeft;
    for (int p = std::max(0, static_cast<int>(from)); p <= static_cast<int>(to) && p < kPlot; ++p) {
      share[static_cast<std::size_t>(p)] += std::max(0.0, std::min(to, p + 1.0) - std::max(from, static_cast<double>(p)));
    }
  }
  return share;
}

std::string Waits(const RunData& run, const Axis& axis, int top) {
  const std::vector<double> share = Shares(run, axis, [](const Slice& slice) { return slice.kind == "wait"; });
  std::string path;
  for (std::size_t p = 0; p < share.size(); ++p) {
    const double height = kWaits * std::min(share[p], 1.0);
    if (height < 0.1) continue;
    path += fmt::format("M{} {}v{:.1f}h1V{}z", kLeft + p, top + kWaits, -height, top + kWaits);
  }
  return path.empty() ? "" : fmt::format("<path d=\"{}\" fill=\"#d62728\"><title>the core waits</title></path>\n", path);
}

/// Mean rate by pixel, as a filled area; reads above the middle line, writes below it.
std::string Rate(const timeline::Counter& counter, const Axis& axis, int base, int height, double peak, bool up, Picos end, const char* color) {
  std::vector<double> mean(static_cast<std::size_t>(kPlot), 0);
  for (std::size_t i = 0; i < counter.points.size(); ++i) {
    const double value = counter.points[i].second;
    if (value <= 0) continue;
    const double from = axis.X(counter.points[i].first) - kLeft;
    const double to = axis.X(i + 1 < counter.points.size() ? counter.points[i + 1].first : end) - kLeft;
    for (int p = std::max(0, static_cast<int>(from)); p <= static_cast<int>(to) && p < kPlot; ++p) {
      mean[static_cast<std::size_t>(p)] += value * std::max(0.0, std::min(to, p + 1.0) - std::max(from, static_cast<double>(p)));
    }
  }
  std::string path = fmt::format("M{} {}", kLeft, base);
  for (std::size_t p = 0; p < mean.size(); ++p) {
    const double y = height * std::min(1.0, peak > 0 ? mean[p] / peak : 0);
    path += fmt::format("V{:.1f}h1", up ? base - y : base + y);
  }
  return fmt::format("<path d=\"{}V{}z\" fill=\"{}\"/>\n", path, base, color);
}

std::string OneRun(const std::string& label, const RunData& run, const Axis& axis, int top) {
  const timeline::Summary& s = run.summary;
  std::string out = fmt::format("<text x=\"{}\" y=\"{}\" class=\"title\">{}: {}</text>\n", kLeft, top + 14, Escape(label), ShortDuration(s.makespan_ps));
  out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\" class=\"dim\">{} on {}, plan {}; HBM read {}, written {}</text>\n", kWidth - kRight, top + 14,
                     Escape(Elide(s.module, 40)), Escape(s.chip), Escape(s.plan), ShortBytes(s.hbm_read_bytes), ShortBytes(s.hbm_write_bytes));
  int y = top + kTitle;
  const auto side = [&](int at, const char* text) {
    return fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\" class=\"dim\">{}</text>\n", kLeft - 6, at, text);
  };
  out += side(y + kOps / 2 + 4, "kernels") + Ops(run, axis, y);
  y += kOps;
  out += side(y + kWaits, "waits") + Waits(run, axis, y);
  y += kWaits + 6;
  const int middle = y + kRates / 2;
  for (const timeline::Counter& counter : run.timeline.counters) {
    if (counter.name == "hbm read") out += Rate(counter, axis, middle, kRates / 2, s.hbm_peak_bytes_per_second, true, s.makespan_ps, "#4c78a8");
    if (counter.name == "hbm write") out += Rate(counter, axis, middle, kRates / 2, s.hbm_peak_bytes_per_second, false, s.makespan_ps, "#f58518");
  }
  out += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" class=\"grid\"/>\n", kLeft, middle, kWidth - kRight, middle);
  out += side(middle - 6, "HBM read") + side(middle + 16, "write");
  const double finish = axis.X(s.makespan_ps);
  out += fmt::format("<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\" class=\"end\"/>\n", finish, top + kTitle, y + kRates);
  return out;
}

std::string Legend() {
  std::string out;
  int x = kLeft;
  const std::pair<const char*, const char*> entries[] = {{"#4c78a8", "memory bound, HBM reads"}, {"#59a14f", "compute bound"}, {"#e0a030", "latency bound"},
                                                         {"#f58518", "HBM writes"}, {"#d62728", "core waits"}};
  for (const auto& [color, text] : entries) {
    out += fmt::format("<rect x=\"{}\" y=\"14\" width=\"11\" height=\"11\" fill=\"{}\"/><text x=\"{}\" y=\"24\" class=\"dim\">{}</text>\n", x, color, x + 16, text);
    x += 36 + static_cast<int>(kCharacter * static_cast<double>(DisplayWidth(text)));
  }
  return out;
}

}  // namespace

std::string CompareSvg(const std::vector<std::pair<std::string, RunData>>& runs) {
  SPILLWAY_CHECK(!runs.empty());
  Axis axis;
  for (const auto& [label, run] : runs) axis.span = std::max(axis.span, static_cast<double>(run.summary.makespan_ps));
  const int bottom = kTop + kRunHeight * static_cast<int>(runs.size()) - kGap + 8;
  const int height = bottom + kAxis;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" font-family=\"sans-serif\" font-size=\"11\">\n"
      "<style>.grid{{stroke:#d8d8d8}}.end{{stroke:#222;stroke-dasharray:3 2}}.dim{{fill:#555}}.title{{font-size:14px;font-weight:bold;fill:#111}}"
      ".label{{fill:#fff}}.op{{stroke:#fff;stroke-width:.6}}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
      kWidth, height);
  out += Legend() + Ticks(axis, bottom);
  int top = kTop;
  for (const auto& [label, run] : runs) {
    out += OneRun(label, run, axis, top);
    top += kRunHeight;
  }
  return out + "</svg>\n";
}

}  // namespace spillway::output
