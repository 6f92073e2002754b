// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "sim/base/result.h"

namespace spillway::hlo {

namespace wire {
class Module;
class Instruction;
class Literal;
class OpMetadata;
}  // namespace wire

/// The HLO text of a decoded module; scheduled if the proto has a schedule. Errors: an id that names
/// nothing, a name that is no HLO name, a shape of an unknown type.
Result<std::string> ToText(const wire::Module& module);

/// Attributes that need no other instruction or computation, as `, name=value` each.
std::string AttributesText(const wire::Instruction& instruction);
/// `, metadata={…}`, or nothing.
std::string MetadataText(const wire::OpMetadata& metadata);
/// The inside of `constant(…)`; `{...}` for arrays of more than 256 elements.
std::string LiteralText(const wire::Literal& literal);

}  // namespace spillway::hlo
