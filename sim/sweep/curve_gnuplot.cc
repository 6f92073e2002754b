// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "sim/sweep/curve.h"

namespace spillway::sweep {
namespace {

/// A single-quoted gnuplot string.
std::string Quote(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += '\'';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + "'";
}

}  // namespace

CurveGnuplot MakeGnuplot(const Curve& curve) {
  double highest = 0;
  for (const CurveLine& line : curve.lines) {
    for (const CurvePoint& point : line.points) highest = std::max(highest, point.y);
  }
  const TimeUnit unit = UnitFor(highest);
  CurveGnuplot files;
  files.data = fmt::format("# {} / makespan in {}\n", curve.x_name, unit.name);
  std::string plots;
  int blocks = 0;
  for (const CurveLine& line : curve.lines) {
    if (line.points.empty()) continue;
    if (blocks > 0) files.data += "\n\n";
    files.data += fmt::format("# {}\n", line.name);
    for (const CurvePoint& point : line.points) files.data += fmt::format("{} {}\n", point.x, point.y / unit.picos);
    plots += fmt::format("{}  'sweep.dat' index {} with {} pointtype 7 pointsize 0.5 title {}", plots.empty() ? "" : ", \\\n",
                         blocks++, curve.categories ? "points" : "linespoints", Quote(line.name));
  }
  files.script = "# gnuplot sweep.gp\nset encoding utf8\nset terminal svg size 960,540 noenhanced\n"
                 "set output 'sweep.gnuplot.svg'\n";
  files.script += fmt::format("set title {}\nset xlabel {}\nset ylabel 'makespan, {}'\nset grid\n", Quote(curve.title),
                              Quote(curve.x_name), unit.name);
  files.script += curve.lines.size() > 1 ? "set key outside right\n" : "unset key\n";
  if (curve.log_x) files.script += "set logscale xy\n";
  std::string tics;
  for (const auto& [value, name] : curve.x_values) tics += fmt::format("{}{} {}", tics.empty() ? "" : ", ", Quote(name), value);
  files.script += fmt::format("set xtics ({})\n", tics);
  if (curve.categories) files.script += "set offsets 0.5, 0.5, 0, 0\n";
  files.script += plots.empty() ? "# no point has a result\n" : "plot \\\n" + plots + "\n";
  return files;
}

}  // namespace spillway::sweep
