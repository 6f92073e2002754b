// SPDX-License-Identifier: Apache-2.0
// Attributes and types of MLIR's builtin dialect in their bytecode encoding, and the few that are worth
// reading from text.
#pragma once

#include <string>
#include <vector>

#include "sim/hlo/byte_cursor.h"
#include "sim/hlo/mlir.h"

namespace spillway::hlo {

/// Reads one attribute. Attributes and types it names need not have been read yet, except `types`,
/// which must be complete (integers are as long as their type says), and string attributes, whose names
/// dictionaries refer to: those stay in `keys` (attribute numbers) until all are read.
struct BuiltinReader {
  const std::vector<std::string>& strings;
  const std::vector<MlirType>& types;

  MlirAttribute Attribute(ByteCursor& in, std::vector<std::int64_t>& keys) const;
  /// `self`: number of the type.
  static MlirType Type(ByteCursor& in);
};

/// `f8E4M3FN`, `!tpu.dma_semaphore`, …: kFloat where it is a builtin float, else kOther.
MlirType TypeFromText(std::string_view text);

}  // namespace spillway::hlo
