// SPDX-License-Identifier: Apache-2.0
// The picture of a sweep: makespan over one axis, a line for each combination of the others.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/sweep/journal.h"

namespace spillway::sweep {

struct CurvePoint {
  double x = 0;
  double y = 0;          ///< Makespan in picoseconds.
  std::string label;     ///< What this point is, for a tooltip.
};

struct CurveLine {
  std::string name;      ///< "chip=v5e plan=streamed"; empty if there is one line only.
  std::size_t group = 0; ///< Lines of one group look alike.
  std::vector<CurvePoint> points;  ///< By x. Points without result are not there.
  std::vector<double> failed;      ///< Their x.
};

struct Curve {
  std::string title, x_name, x_unit;
  bool categories = false;             ///< x counts the values of an axis that is not numeric.
  bool log_x = false;
  std::vector<std::pair<double, std::string>> x_values;  ///< By x, with the text of each.
  std::vector<CurveLine> lines;
  std::vector<std::string> groups;     ///< Legend; empty if there is one line only.
  bool by_group = false;               ///< Too many lines to tell apart: the legend names one axis only.
};

/// x is the first axis of at least two values that are all numbers (or all sizes, times, …, with their units),
/// else the first axis of at least two values. An axis that x determines (zipped with it) makes no lines of
/// its own. Logarithmic if the axis was made by a factor or its values grow by one factor.
Curve MakeCurve(const JournalHeader& header, const std::vector<JournalEntry>& entries);

/// How the values of one axis lie on a line.
struct AxisScale {
  std::string unit;                       ///< "bytes", "time" (picoseconds), …; empty: plain numbers or none.
  std::map<std::string, double> numbers;  ///< Of each value; empty if they are no numbers of one kind.
  bool log = false;                       ///< As MakeCurve would decide.
};
AxisScale ScaleOf(const JournalHeader& header, const std::vector<JournalEntry>& entries, std::size_t axis);

/// A stand-alone SVG, readable on white; the same curve gives the same bytes.
std::string CurveSvg(const Curve& curve);

struct CurveGnuplot {
  std::string data;    ///< sweep.dat: one block (`index`) a line.
  std::string script;  ///< sweep.gp: `gnuplot sweep.gp` writes sweep.gnuplot.svg.
};
CurveGnuplot MakeGnuplot(const Curve& curve);

/// A unit for times up to `picos`, and how many picoseconds it has.
struct TimeUnit {
  const char* name;
  double picos;
};
TimeUnit UnitFor(double picos);

}  // namespace spillway::sweep
