// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/points.h"

#include <fmt/format.h>

#include <algorithm>

namespace spillway::sweep {
namespace {

/// Axes that advance together: one axis, or a zip group.
struct Dimension {
  std::size_t first_axis = 0, axes = 0, length = 0;
};

/// An exclusion with axis numbers instead of names.
using Exclusion = std::vector<std::pair<std::size_t, std::string>>;

std::vector<Exclusion> Exclusions(const config::SweepConfig& sweep, const std::vector<Axis>& axes) {
  std::vector<Exclusion> list;
  for (const auto& settings : sweep.exclude) {
    Exclusion exclusion;
    for (const config::SweepSetting& setting : settings) {
      const auto it = std::find_if(axes.begin(), axes.end(), [&](const Axis& axis) { return axis.key == setting.key; });
      SPILLWAY_CHECK(it != axes.end());
      exclusion.emplace_back(static_cast<std::size_t>(it - axes.begin()), setting.value);
    }
    list.push_back(std::move(exclusion));
  }
  return list;
}

bool Excluded(const Point& point, const std::vector<Exclusion>& exclusions) {
  return std::any_of(exclusions.begin(), exclusions.end(), [&](const Exclusion& exclusion) {
    return std::all_of(exclusion.begin(), exclusion.end(),
                       [&](const auto& wanted) { return point[wanted.first] == wanted.second; });
  });
}

}  // namespace

std::vector<std::string> PointList::Keys() const {
  std::vector<std::string> keys;
  for (const Axis& axis : axes) keys.push_back(axis.key);
  return keys;
}

Result<PointList> Expand(const config::SweepConfig& sweep) {
  PointList list;
  std::vector<Dimension> dimensions;
  const auto add = [&](const std::vector<config::SweepAxis>& together) {
    dimensions.push_back({list.axes.size(), together.size(), together.front().values.size()});
    for (const config::SweepAxis& axis : together) list.axes.push_back({axis.key, axis.values, axis.geometric});
  };
  for (const config::SweepAxis& axis : sweep.axes) add({axis});
  for (const auto& group : sweep.zips) add(group);
  if (dimensions.empty()) return Error("there is nothing to sweep: no axis is given");

  std::int64_t total = 1;
  for (const Dimension& dimension : dimensions) {
    // At most 1e6 x 1e5: no overflow.
    total *= static_cast<std::int64_t>(dimension.length);
    if (total > kMaxPoints) return Error(fmt::format("the axes make more than {} points", kMaxPoints));
  }
  const std::vector<Exclusion> exclusions = Exclusions(sweep, list.axes);
  std::vector<std::size_t> at(dimensions.size(), 0);
  for (std::int64_t i = 0; i < total; ++i) {
    Point point;
    for (std::size_t d = 0; d < dimensions.size(); ++d) {
      for (std::size_t k = 0; k < dimensions[d].axes; ++k) {
        point.push_back(list.axes[dimensions[d].first_axis + k].values[at[d]]);
      }
    }
    if (!Excluded(point, exclusions)) list.points.push_back(std::move(point));
    for (std::size_t d = dimensions.size(); d-- > 0;) {
      if (++at[d] < dimensions[d].length) break;
      at[d] = 0;
    }
  }
  if (list.points.empty()) return Error("there is nothing to sweep: all points are excluded");
  return list;
}

Digest& Digest::Add(const std::string& text) {
  // Two FNV-1a of different start and prime; the length first, so that texts cannot flow into each other.
  const auto step = [&](unsigned char byte) {
    a_ = (a_ ^ byte) * 0x100000001b3u;
    b_ = (b_ ^ byte) * 0x9e3779b97f4a7c15u;
    b_ ^= b_ >> 29;
  };
  for (std::size_t length = text.size(), i = 0; i < 8; ++i, length >>= 8) step(static_cast<unsigned char>(length & 0xff));
  for (const char c : text) step(static_cast<unsigned char>(c));
  return *this;
}

std::string Digest::Hex() const { return fmt::format("{:016x}{:016x}", a_, b_); }

}  // namespace spillway::sweep
