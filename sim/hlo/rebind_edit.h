// SPDX-License-Identifier: Apache-2.0
// From solved dimensions to the text of instructions.
#pragma once

#include "sim/hlo/rebind.h"
#include "sim/hlo/rebind_rules.h"
#include "sim/hlo/rebind_trips.h"

namespace spillway::hlo {

/// The tiles that XLA:TPU gives the array at its new size, if the old ones followed its rule for sizes
/// (T(1024) of a long vector, T(4,128) of four rows); else as they were. Dimensions of `shape` are the new ones.
void Retile(Shape& shape, const Dims& old_dimensions);

/// The edits of all instructions whose dimensions changed. REQUIRES: a solved solver without errors.
/// Errors, at their place: a slice, pad, literal or kernel that cannot be written for the new sizes.
Result<ModuleEdits> MakeEdits(const Module& module, DimRules& rules, const std::vector<RebindLoop>& loops);

}  // namespace spillway::hlo
