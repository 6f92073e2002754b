// SPDX-License-Identifier: Apache-2.0
// A sweep's axes multiplied out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/result.h"
#include "sim/config/sweep_config.h"

namespace spillway::sweep {

/// Most points of one sweep.
constexpr std::int64_t kMaxPoints = 1'000'000;

struct Axis {
  std::string key;
  std::vector<std::string> values;
  bool geometric = false;
};

/// One value for each axis.
using Point = std::vector<std::string>;

struct PointList {
  std::vector<Axis> axes;    ///< Product axes, then those of the zip groups, in the order of the file.
  std::vector<Point> points; ///< The first axis varies slowest.

  std::vector<std::string> Keys() const;
};

/// Errors: no axis at all, more than kMaxPoints combinations, nothing left after exclusions.
Result<PointList> Expand(const config::SweepConfig& sweep);

/// A digest (32 hexadecimal digits) of texts: the same list gives the same digest, and a list that differs in
/// any way, also in where one text ends, gives another. Not for defence against forgery.
class Digest {
 public:
  Digest& Add(const std::string& text);
  std::string Hex() const;

 private:
  std::uint64_t a_ = 0xcbf29ce484222325u, b_ = 0x9ae16a3b2f90404fu;
};

}  // namespace spillway::sweep
