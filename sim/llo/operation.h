// SPDX-License-Identifier: Apache-2.0
// One scalar, predicate, memory, sync, DMA or branch operation of a bundle, parsed but not lowered.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/llo/bundle_text.h"

namespace spillway::llo {

/// `%s3112_s9` (scalar 9), `%p12_p3` (predicate 3), `%v7_v0` or `%vm3_vm1` (vector), `%26179` (token).
struct RegisterName {
  enum class File : std::uint8_t { kScalar, kPredicate, kVector, kToken };
  File file = File::kToken;
  int number = -1;                 ///< Physical register; -1 for a token or where it is not stated.
  int value = -1;                  ///< Number of the value: 3112 of `%s3112_s9`; -1 if there is none.
};

/// A sum of terms: `%s1_s0`, `4294967295`, `[#allocation1 + $0x1]`, `[smem:[%s43_s6 + %s16_s28]]`.
struct Operand {
  std::string name;                ///< From `/*name=*/`, if any.
  bool negated = false;            ///< `!%p1_p0`.
  bool memory = false;             ///< Written in `smem:[…]`: an SMEM address.
  std::vector<RegisterName> registers;
  std::string symbol;              ///< "allocation1"; "" if none.
  std::int64_t offset = 0;         ///< Sum of the immediate terms.
  bool is_float = false;           ///< `float_value` holds the immediate instead.
  double float_value = 0;
};

struct Operation {
  std::string opcode;
  int line = 0;
  std::vector<RegisterName> results;
  std::optional<Operand> predicate;      ///< Executes only if it holds.
  std::optional<Operand> tied;           ///< `(%p, %s_old)`: value of the result if it does not.
  std::string tail;                      ///< What follows the opcode, without comments and predicate.
  std::string comment;                   ///< First comment; of a DMA the number of its thread.
  std::string trailing;                  ///< First comment, always.
};

/// The opcode of an operation and whether it is a vector operation that writes no scalar or
/// predicate register, without the cost of a full parse.
struct OpcodeView {
  std::string_view opcode;
  bool scalar_result = false;            ///< Writes a scalar or predicate register.
};
OpcodeView PeekOpcode(std::string_view text);

/// Empty if the text is not of the form `[results =] opcode [operands]`.
std::optional<Operation> ParseOperation(const OpText& text);

/// The comma-separated operands of a tail; false if one cannot be understood.
bool ParseOperands(std::string_view tail, std::vector<Operand>* operands);

}  // namespace spillway::llo
