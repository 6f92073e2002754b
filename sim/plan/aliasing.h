// SPDX-License-Identifier: Apache-2.0
// Which values share storage, op by op.
#pragma once

#include <optional>

#include "sim/plan/value_table.h"

namespace spillway::plan {

/// Leaves of an op that only hands values on (tuple, get-tuple-element, bitcast, …); else empty.
std::optional<Leaves> ForwardedLeaves(const hlo::Instruction& instruction, const ValueTable& values);

/// A custom call without code that names adjacent pieces as one array.
bool IsJoin(const hlo::Instruction& instruction);
/// A custom call without code that reads nothing: it reserves memory or orders what follows.
bool IsAllocation(const hlo::Instruction& instruction);
/// Needs other chips or the host.
bool IsOffChip(hlo::Opcode opcode);

/// New leaves of a kernel's result; those updated in place share their operand's storage.
Leaves DefineResults(const hlo::Instruction& instruction, ValueTable& values, int op);

/// Leaves of an asynchronous start: operands are handed on, the result is new (or in place).
Leaves StartLeaves(const hlo::Instruction& instruction, ValueTable& values, int op);
/// Leaf of a start's own result.
std::size_t ResultLeafOfStart(const hlo::Instruction& instruction);
/// Leaves of a done: the result part of what was started.
Leaves DoneLeaves(const hlo::Instruction& instruction, const Leaves& started, ValueTable& values, int op);

}  // namespace spillway::plan
