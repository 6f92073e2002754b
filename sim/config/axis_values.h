// SPDX-License-Identifier: Apache-2.0
// The short form of an axis of a sweep: "a,b,c", "512:32768:x2", "100ns:800ns:+100ns".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/base/result.h"

namespace spillway::config {

/// Most values that one axis may have.
constexpr std::size_t kMaxAxisValues = 100'000;

struct AxisValues {
  std::vector<std::string> values;  ///< At least one, no two alike, printable.
  bool geometric = false;           ///< All from one range with a factor: a picture has a logarithmic axis.
};

/// Parts are separated by commas (not those in brackets or quotes); each part is one value or a range:
/// FROM:TO:xFACTOR multiplies, FROM:TO:+STEP adds; TO is included if it is met. FROM, TO and STEP are
/// decimal numbers with the same unit or none ("16MiB:128MiB:x2"); the factor is an integer from 2 on.
/// Decimals are exact: no binary rounding. Errors: an empty value, the same value twice, a range that is
/// malformed or holds nothing, too many values.
Result<AxisValues> ParseAxisValues(std::string_view text);

/// What is wrong with a list of values that came some other way; empty if nothing.
std::string ProblemOfValues(const std::vector<std::string>& values);

}  // namespace spillway::config
