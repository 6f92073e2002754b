// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "sim/hlo/module.h"

namespace spillway::plan {

/// Trips of a while loop: the compiler's `known_trip_count`, else found by evaluating the scalar
/// integers that its condition depends on: the loop-carried ones must advance by a constant.
/// Empty if they depend on data or are not of that form.
std::optional<std::int64_t> TripCountOf(const hlo::Instruction& loop);

/// Value of an integer or predicate scalar that depends on constants only; empty otherwise.
std::optional<std::int64_t> ScalarValue(const hlo::Instruction& instruction);

}  // namespace spillway::plan
