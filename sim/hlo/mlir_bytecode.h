// SPDX-License-Identifier: Apache-2.0
// Reader of MLIR bytecode (https://mlir.llvm.org/docs/BytecodeFormat/), format versions 0 to 6.
#pragma once

#include <string_view>

#include "sim/base/result.h"
#include "sim/hlo/mlir.h"

namespace spillway::hlo {

/// True if `bytes` begins like MLIR bytecode.
bool IsMlirBytecode(std::string_view bytes);

/// Reads structure, builtin attributes and types; attributes and types of other dialects are kept as
/// text where the file holds text. Locations, resources and use-list orders are skipped.
/// Errors: anything malformed, nesting deeper than 200 regions, a newer format version. Memory is bounded by
/// the
/// size of the input.
Result<MlirModule> ReadMlirBytecode(std::string_view bytes);

}  // namespace spillway::hlo
