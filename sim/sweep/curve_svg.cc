// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/output/table.h"
#include "sim/sweep/curve.h"

namespace spillway::sweep {
namespace {

constexpr double kWidth = 960, kHeight = 540, kLeft = 84, kTop = 56, kBottom = 64;
constexpr double kCharacter = 6.7;  // of the 12 px legend text, on average

// Okabe and Ito's colours, which most colour-blind people can tell apart, without the yellow.
const char* const kColors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"};
constexpr std::size_t kColorCount = sizeof kColors / sizeof kColors[0];
const char* const kDashes[] = {"", "7 4", "2 3", "9 3 2 3"};

std::string Escape(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

std::string Text(double x, double y, const std::string& text, const std::string& attributes) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, attributes, Escape(text));
}

/// A linear or logarithmic map of values to pixels.
struct Axis {
  double low = 0, high = 1, from = 0, to = 1;
  bool log = false;

  double operator()(double value) const {
    const double t = log ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
    return from + t * (to - from);
  }
};

struct Extent {
  double low = 0, high = 0;
  bool any = false;
  void Add(double value) {
    low = any ? std::min(low, value) : value;
    high = any ? std::max(high, value) : value;
    any = true;
  }
};

Extent ExtentOfY(const Curve& curve) {
  Extent extent;
  for (const CurveLine& line : curve.lines) {
    for (const CurvePoint& point : line.points) extent.Add(point.y);
  }
  return extent;
}

/// Powers of ten with 1, 2, 5 if they are few.
std::vector<double> LogTicks(double low, double high) {
  std::vector<double> ticks;
  const bool fine = std::log10(high / low) < 3.5;
  for (int exponent = static_cast<int>(std::floor(std::log10(low))); std::pow(10, exponent) <= high; ++exponent) {
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double value = digit * std::pow(10, exponent);
      if ((digit == 1.0 || fine) && value >= low * 0.999 && value <= high * 1.001) ticks.push_back(value);
    }
  }
  return ticks;
}

std::vector<double> LinearTicks(double high) {
  const double rough = high / 6, power = std::pow(10, std::floor(std::log10(rough)));
  const double step = rough <= power ? power : rough <= 2 * power ? 2 * power : rough <= 5 * power ? 5 * power : 10 * power;
  std::vector<double> ticks;
  for (int i = 0; i * step <= high * 1.001; ++i) ticks.push_back(i * step);
  return ticks;
}

class Drawing {
 public:
  explicit Drawing(const Curve& curve) : curve_(curve) {
    std::size_t longest = 0;
    for (const std::string& group : curve.groups) longest = std::max(longest, output::DisplayWidth(group));
    legend_ = curve.groups.empty() ? 24 : std::min(60 + kCharacter * static_cast<double>(longest), 330.0);
    x_.from = kLeft;
    x_.to = kWidth - legend_;
    y_.from = kHeight - kBottom;
    y_.to = kTop;
    ChooseX();
    ChooseY();
  }

  std::string Draw() {
    out_ = fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
                       "height=\"{1:.0f}\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\">\n"
                       "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n", kWidth, kHeight);
    out_ += Text(kLeft, 30, output::Elide(curve_.title, 110), "font-size=\"16\" fill=\"#111\"");
    if (!ExtentOfY(curve_).any) {
      out_ += Text(kLeft, kHeight / 2, "no point has a result", "fill=\"#a00\"");
      return out_ + "</svg>\n";
    }
    GridX();
    GridY();
    for (const CurveLine& line : curve_.lines) Line(line);
    Legend();
    return out_ + "</svg>\n";
  }

 private:
  void ChooseX() {
    Extent extent;
    for (const auto& value : curve_.x_values) extent.Add(value.first);
    x_.log = curve_.log_x;
    const double pad = curve_.categories ? 0.5 : (extent.high - extent.low) * 0.03;
    x_.low = x_.log ? extent.low / 1.12 : extent.low - pad;
    x_.high = x_.log ? extent.high * 1.12 : extent.high + pad;
    if (x_.high <= x_.low) {
      x_.low -= 0.5;
      x_.high += 0.5;
    }
  }

  void ChooseY() {
    constexpr double kWide = 30;  // a factor that a linear axis would not show
    const Extent extent = ExtentOfY(curve_);
    if (!extent.any) return;
    unit_ = UnitFor(extent.high);
    y_.log = extent.low > 0 && (extent.high / extent.low >= kWide || (curve_.log_x && extent.high / extent.low >= 4));
    y_.low = y_.log ? extent.low / unit_.picos / 1.25 : 0;
    y_.high = extent.high / unit_.picos * (y_.log ? 1.25 : 1.06);
    if (y_.high <= y_.low) y_.high = y_.low + 1;
  }

  void GridX() {
    const double bottom = y_.from;
    double last = -1e9;
    for (const auto& [value, name] : curve_.x_values) {
      const double at = x_(value);
      const std::string shown = output::Elide(name, 22);
      const double half = kCharacter * static_cast<double>(output::DisplayWidth(shown)) / 2;
      if (at - half < last + 6) continue;
      last = at + half;
      if (!curve_.categories) {
        out_ += fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" stroke=\"#eee\"/>\n", at, y_.to, bottom);
      }
      out_ += Text(at, bottom + 18, shown, "text-anchor=\"middle\" fill=\"#444\"");
    }
    const std::string scale = curve_.log_x ? " (logarithmic)" : "";
    out_ += Text((x_.from + x_.to) / 2, kHeight - 16, curve_.x_name + scale, "text-anchor=\"middle\" font-size=\"13\" fill=\"#222\"");
  }

  void GridY() {
    for (const double tick : y_.log ? LogTicks(y_.low, y_.high) : LinearTicks(y_.high)) {
      const double at = y_(tick);
      out_ += fmt::format("<line x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#e4e4e4\"/>\n", x_.from, x_.to, at);
      out_ += Text(x_.from - 8, at + 4, fmt::format("{:.6g}", tick), "text-anchor=\"end\" fill=\"#444\"");
    }
    out_ += fmt::format("<path d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\" fill=\"none\" stroke=\"#777\"/>\n", x_.from, y_.to, y_.from, x_.to);
    const double middle = (y_.from + y_.to) / 2;
    out_ += fmt::format("<text transform=\"translate(22 {:.1f}) rotate(-90)\" text-anchor=\"middle\" font-size=\"13\" "
                        "fill=\"#222\">makespan, {}{}</text>\n", middle, unit_.name, y_.log ? " (logarithmic)" : "");
  }

  void Line(const CurveLine& line) {
    const char* color = kColors[line.group % kColorCount];
    const char* dash = kDashes[line.group / kColorCount % 4];
    const std::string dashes = *dash == '\0' ? "" : fmt::format(" stroke-dasharray=\"{}\"", dash);
    std::string path;
    for (const CurvePoint& point : line.points) {
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x_(point.x), y_(point.y / unit_.picos));
    }
    const bool joined = !curve_.categories && line.points.size() > 1;
    if (joined) {
      out_ += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-opacity=\"{}\"{}/>\n", path,
                          color, curve_.by_group ? "1" : "2", curve_.by_group ? "0.45" : "1", dashes);
    }
    for (const CurvePoint& point : line.points) {
      out_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\"><title>{}</title></circle>\n", x_(point.x),
                          y_(point.y / unit_.picos), curve_.by_group ? "1.8" : "3.5", color, Escape(point.label));
    }
    for (const double x : line.failed) {
      out_ += fmt::format("<path d=\"M{0:.1f} {1:.1f}l8 8m0 -8l-8 8\" stroke=\"{2}\" stroke-width=\"2\"><title>no result</title></path>\n",
                          x_(x) - 4, y_.from - 12, color);
    }
  }

  void Legend() {
    const double x = x_.to + 16;
    double y = kTop + 8;
    for (std::size_t i = 0; i < curve_.groups.size(); ++i, y += 20) {
      if (y > kHeight - 40) {
        out_ += Text(x, y, fmt::format("and {} more", curve_.groups.size() - i), "fill=\"#444\"");
        break;
      }
      const char* dash = kDashes[i / kColorCount % 4];
      out_ += fmt::format("<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" stroke-width=\"2.5\" "
                          "stroke-dasharray=\"{}\"/>\n", x, x + 20, y, y, kColors[i % kColorCount], *dash == '\0' ? "none" : dash);
      out_ += Text(x + 26, y + 4, output::Elide(curve_.groups[i], 42), "fill=\"#222\"");
    }
    if (curve_.by_group) out_ += Text(x, y + 4, fmt::format("{} lines", curve_.lines.size()), "fill=\"#666\"");
  }

  const Curve& curve_;
  double legend_ = 0;
  Axis x_, y_;
  TimeUnit unit_{"ns", 1e3};
  std::string out_;
};

}  // namespace

std::string CurveSvg(const Curve& curve) { return Drawing(curve).Draw(); }

}  // namespace spillway::sweep
