// SPDX-License-Identifier: Apache-2.0
// Arithmetic of an instruction, counted from its shapes.
#pragma once

#include "sim/hlo/module.h"

namespace spillway::hlo {

/// Operations of one execution: two for each multiply-add of a dot or convolution (positions in padding or between
/// dilated elements not counted), one an element for arithmetic and functions of elements, one for each element that a
/// reduction takes beyond its results. Moves, comparisons, selections and conversions count nothing. A fusion is the sum
/// of its instructions. 0 for what calls computations of its own (loops, calls) or is unknown inside (custom calls).
/// A double: large products do not fit 64 bits.
double Flops(const Instruction& instruction);

}  // namespace spillway::hlo
