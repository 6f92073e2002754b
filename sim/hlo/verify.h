// SPDX-License-Identifier: Apache-2.0
// Structural checks of instructions, after names are resolved. Each returns what is wrong, or an
// empty string. They hold what the rest of Spillway relies on: operand counts, attributes that are
// there and well formed, dimension numbers in range, literals of the right form.
#pragma once

#include <string>

#include "sim/hlo/module.h"

namespace spillway::hlo {

std::string CheckInstruction(const Instruction& instruction);
/// What concerns called computations; after those are resolved.
std::string CheckCalls(const Instruction& instruction);
/// The text of a constant against its shape: nesting, element counts, ranges.
std::string CheckLiteral(const Shape& shape, std::string_view literal);
/// `input_output_alias` and `buffer_donor` of the module's header.
std::string CheckModuleAttribute(const Attribute& attribute);
/// Same element types and dimensions; layouts and dynamic bounds may differ.
bool Compatible(const Shape& a, const Shape& b);

}  // namespace spillway::hlo
