// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "sim/hlo/module.h"

namespace spillway::hlo {

/// The result shape of an instruction printed without one, from its operands and attributes, for
/// the opcodes where it follows without looking into computations. Empty: unknown.
/// Layouts are those of the operand when the shape is the operand's, else none.
std::optional<Shape> InferShape(const Instruction& instruction);

}  // namespace spillway::hlo
