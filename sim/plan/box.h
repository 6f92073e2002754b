// SPDX-License-Identifier: Apache-2.0
// Axis-aligned boxes of array elements: what a window covers.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>

namespace spillway::plan {

/// Half-open range of one dimension.
struct Interval {
  std::int64_t lo = 0, hi = 0;
  bool empty() const { return hi <= lo; }
  std::int64_t size() const { return empty() ? 0 : hi - lo; }
  bool operator==(const Interval& other) const { return lo == other.lo && hi == other.hi; }
};

/// One interval a dimension, logical order. Rank 0: the single element.
using Box = boost::container::small_vector<Interval, 6>;

inline bool IsEmpty(const Box& box) {
  for (const Interval& side : box) {
    if (side.empty()) return true;
  }
  return false;
}

inline std::int64_t Volume(const Box& box) {
  std::int64_t volume = 1;
  for (const Interval& side : box) volume *= side.size();
  return volume;
}

/// Smallest box that holds both; an empty one counts for nothing.
inline Box Hull(const Box& a, const Box& b) {
  if (IsEmpty(a)) return b;
  if (IsEmpty(b)) return a;
  Box hull = a;
  for (std::size_t i = 0; i < hull.size(); ++i) {
    if (b[i].lo < hull[i].lo) hull[i].lo = b[i].lo;
    if (b[i].hi > hull[i].hi) hull[i].hi = b[i].hi;
  }
  return hull;
}

template <class DimsLike>
Box FullBox(const DimsLike& sizes) {
  Box box;
  for (std::int64_t size : sizes) box.push_back({0, size});
  return box;
}

}  // namespace spillway::plan
