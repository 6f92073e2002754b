// SPDX-License-Identifier: Apache-2.0
#include "sim/output/gnuplot.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "sim/output/lanes.h"
#include "sim/output/table.h"

namespace spillway::output {
namespace {

using timeline::Counter;
using timeline::Slice;
using timeline::Timeline;

int Color(const Slice& s) {
  if (s.kind == "wait") return 0xc9ced6;
  if (s.kind == "compute") return 0x2f9e69;
  if (s.kind == "dma_read") return 0x2f6fde;
  if (s.kind == "dma_write") return 0xe08a1e;
  if (s.kind == "async") return 0x8e5bd0;
  return 0x7f8ea3;
}

// A single-quoted gnuplot string.
std::string Quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : Elide(text, 60)) {
    if (c == '\'') out += '\'';
    out += c;
  }
  return out + "'";
}

struct Scale {
  double factor;
  std::string unit;
};
Scale ScaleOf(const Counter& counter) {
  if (counter.unit == "B/s") return {1e-9, "GB/s"};
  if (counter.unit == "B") return {1.0 / (1 << 20), "MiB"};
  return {1, counter.unit};
}

std::string Micros(Picos time) { return fmt::format("{}.{:06d}", time / 1'000'000, time % 1'000'000); }

}  // namespace

GnuplotFiles Gnuplot(const RunData& run) {
  const Timeline& t = run.timeline;
  const std::vector<Lane> lanes = AssignLanes(t);
  std::vector<const Counter*> counters;
  for (const Counter& counter : t.counters) {
    if (!counter.points.empty()) counters.push_back(&counter);
  }
  GnuplotFiles files;
  auto data = std::back_inserter(files.data);
  files.data =
      "# lanes: start_us end_us row_low row_high rgb; op slices are drawn by their compute and waits\n";
  files.data += "0 0 0 0 16777215\n";  // gnuplot refuses an empty block
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    for (const std::size_t i : lanes[lane].slices) {
      const Slice& s = t.slices[i];
      const double half = s.kind == "op" ? 0.42 : 0.36;
      fmt::format_to(data, "{} {} {} {} {}\n", Micros(s.start), Micros(s.end),
                     static_cast<double>(lane) - half, static_cast<double>(lane) + half,
                     s.kind == "op" ? 0xe9edf3 : Color(s));
    }
  }
  for (const Counter* counter : counters) {
    fmt::format_to(data, "\n\n# {} ({}): time_us value\n", Elide(counter->name, 60),
                   Elide(counter->unit, 20));
    for (const auto& [time, value] : counter->points) fmt::format_to(data, "{} {}\n", Micros(time), value);
  }

  const std::size_t panels = 1 + counters.size();
  auto gp = std::back_inserter(files.script);
  fmt::format_to(
      gp,
      "# gnuplot timeline.gp  ->  timeline.svg\n"
      "set terminal svg size 1200,{} font 'sans,11' noenhanced\nset output 'timeline.svg'\n"
      "set multiplot layout {},1 title {} noenhanced\n"
      "set lmargin 16\nset rmargin 3\nset grid x lc rgb '#dddddd'\nset xrange [0:{}]\nunset key\n",
      160 + 30 * lanes.size() + 150 * counters.size(), panels,
      Quoted(fmt::format("{} on {}, plan {}", run.summary.module, run.summary.chip, run.summary.plan)),
      Micros(std::max<Picos>(1, std::max(timeline::EndOf(t), run.summary.makespan_ps))));
  files.script += "set ytics (";
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    fmt::format_to(gp, "{}{} {}", lane > 0 ? ", " : "", Quoted(lanes[lane].name), lane);
  }
  fmt::format_to(
      gp,
      ")\nset yrange [{}:-0.5]\nset style fill solid noborder\n"
      "plot 'timeline.dat' index 0 using (($1+$2)/2):(($3+$4)/2):1:2:3:4:5 with boxxyerror lc rgb variable\n"
      "set ytics autofreq\nset yrange [0:*]\n",
      std::max<double>(0.5, static_cast<double>(lanes.size()) - 0.5));
  for (std::size_t i = 0; i < counters.size(); ++i) {
    const Scale scale = ScaleOf(*counters[i]);
    if (i + 1 == counters.size()) files.script += "set xlabel 'time (us)'\n";
    fmt::format_to(
        gp,
        "set ylabel {}\nplot 'timeline.dat' index {} using 1:($2*{}) with steps lw 1.5 lc rgb '#2f6fde'\n",
        Quoted(fmt::format("{} ({})", counters[i]->name, scale.unit)), i + 1, scale.factor);
  }
  files.script += "unset multiplot\n";
  return files;
}

}  // namespace spillway::output
