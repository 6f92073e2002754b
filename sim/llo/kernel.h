// SPDX-License-Identifier: Apache-2.0
// A kernel's final bundles in the compact form that Machine executes: only what scalar registers,
// predicates, SMEM, sync flags, DMAs, branches and delays need. A vector operation costs its bundle and
// is counted (loads, stores, matrix unit traffic), nothing more.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/result.h"
#include "sim/base/units.h"

namespace spillway::llo {

/// Registers of a machine: scalars, predicates (0 or 1), the constants of the kernel, scratch.
/// Index spaces inside one flat file of 32-bit values.
struct RegisterMap {
  static constexpr int kScalars = 32, kPredicates = 32;
  static constexpr std::uint16_t kFirstPredicate = 32, kTrue = 64, kFalse = 65, kBranch = 66;
  static constexpr std::uint16_t kFirstScratch = 67, kFirstConstant = 192;
};

enum class MicroOp : std::uint8_t {
  kMove, kSelect, kAdd, kSub, kMul, kMulHigh, kAnd, kOr, kXor, kShiftLeft, kShiftRight, kShiftRightSigned,
  kMinSigned, kMaxSigned, kMinUnsigned, kMaxUnsigned, kCarry, kCountLeadingZeros, kPopulation,
  kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual,
  kLessUnsigned, kLessEqualUnsigned, kGreaterUnsigned, kGreaterEqualUnsigned,
  kAddFloat, kSubFloat, kMulFloat, kMinFloat, kMaxFloat, kIntToFloat, kFloatToInt,
  kEqualFloat, kNotEqualFloat, kLessFloat, kLessEqualFloat, kGreaterFloat, kGreaterEqualFloat,
  kPredicateOr, kPredicateAnd, kPredicateXor, kPredicateNand, kPredicateNor, kPredicateNot,
  kLoad, kStore, kDivide, kPopDivide, kAssumeZero, kBoundsCheck,
  // Events: Machine::Next returns at them.
  kDma, kWait, kFlagSet, kFlagAdd, kCall, kDelay, kUnknown,
};

/// `a` of a kPopDivide: which result of the oldest division; all but the first take it off the queue.
constexpr std::uint16_t kQuotientFirst = 0, kRemainder = 1, kQuotientOnly = 2;

/// `dst = op(a, b[, c])` if register `predicate` is true (false if `negate`).
struct MicroInstruction {
  MicroOp op = MicroOp::kMove;
  bool negate = false;
  std::uint16_t predicate = RegisterMap::kTrue;
  std::uint16_t dst = 0;
  std::uint16_t a = RegisterMap::kTrue, b = RegisterMap::kTrue, c = RegisterMap::kTrue;
  std::uint32_t bundle = 0;
};

enum class Space : std::uint8_t { kVmem, kSmem, kFlag, kHbm };

/// A constant whose value depends on where things lie: fixed when a machine is made.
struct Constant {
  enum class Kind : std::uint8_t { kLiteral, kSymbol, kOperand, kParameter };
  Kind kind = Kind::kLiteral;
  Space space = Space::kVmem;
  std::int64_t index = 0;          ///< Ordinal of the symbol, operand number or parameter number.
  std::int64_t value = 0;          ///< Literal or offset.
};

/// A DMA operation: registers that hold its operands when it issues.
struct DmaSite {
  std::string opcode;
  int line = 0;
  int thread = 0;
  std::uint16_t source = 0, size = 0, destination = 0, flag = 0;
  bool strided = false;
  std::uint16_t source_stride = 0, destination_stride = 0, steps = 0;
  /// dma.general: its strides are six words of SMEM at `descriptor_address`: outer source stride, outer
  /// destination stride, inner runs, inner source stride, inner destination stride (strides in units
  /// of 32 B), length of a run in steps of 512 B.
  bool descriptor = false;
  std::uint16_t descriptor_address = 0;
  std::uint8_t kind = 0;           ///< Dma::Kind.
};

struct CallSite {
  std::string callee;              ///< HLO name without %, or "<late-initialization>".
  std::vector<std::uint16_t> arguments;
};

/// Traffic of a matrix unit in one bundle.
struct MatrixOp {
  std::uint32_t bundle = 0;
  enum class Kind : std::uint8_t { kMultiply, kPop } kind = Kind::kMultiply;
  std::uint8_t unit = 0;
  std::uint8_t type = 0;           ///< Index into Kernel::matrix_types().
};

/// Bundles [begin, end) that run without a jump inside. A taken branch in it acts at `end`.
struct Block {
  static constexpr std::int32_t kEnd = -1, kNowhere = -2;
  std::uint32_t begin = 0, end = 0;
  std::uint32_t first_op = 0, last_op = 0;          ///< Into Kernel::code(), half open.
  std::uint32_t first_matrix = 0, last_matrix = 0;  ///< Into Kernel::matrix_ops().
  bool branches = false;                            ///< Jumps to `taken` if kBranch is 1 at the end.
  bool pure = false;                                ///< No event inside.
  std::int32_t taken = kNowhere, next = kEnd;       ///< Block numbers.
  std::int64_t loads = 0, stores = 0;
};

struct DecodeOptions {
  int branch_delay_slots = 4;
};

class Kernel {
 public:
  /// Parses the text of a final-bundles file (already unzipped). Errors are about text that is no
  /// bundle listing; an operation that cannot be executed is a note (`notes()`) and stops Machine
  /// when, and only when, it is reached.
  static Result<Kernel> Parse(std::string_view text, const std::string& file, DecodeOptions options = {});

  const std::string& file() const { return file_; }
  std::int64_t bundle_count() const { return static_cast<std::int64_t>(lines_.size()); }
  /// Line of bundle `index` in the file, from 1; its loop depth as printed.
  int line(std::size_t index) const { return static_cast<int>(lines_[index]); }
  int depth(std::size_t index) const { return depths_[index]; }
  /// HLO text of the entry bundle ("%fusion = fusion(…)"), if the compiler printed it.
  const std::string& entry() const { return entry_; }
  /// A top-level program: it calls other kernels.
  bool is_program() const { return !calls_.empty(); }
  /// What could not be understood, with file and line; empty for nearly every kernel.
  const Diagnostics& notes() const { return notes_; }

  const std::vector<MicroInstruction>& code() const { return code_; }
  const std::vector<Block>& blocks() const { return blocks_; }
  const std::vector<Constant>& constants() const { return constants_; }
  const std::vector<DmaSite>& dmas() const { return dmas_; }
  const std::vector<CallSite>& calls() const { return calls_; }
  const std::vector<MatrixOp>& matrix_ops() const { return matrix_ops_; }
  /// "bf16", "f32", "s8", …: operand types of this kernel's vmatmuls.
  const std::vector<std::string>& matrix_types() const { return matrix_types_; }
  /// Sums over the bundles before `index`.
  std::int64_t loads_before(std::size_t index) const { return loads_[index]; }
  std::int64_t stores_before(std::size_t index) const { return stores_[index]; }
  std::int64_t multiplies_before(std::size_t index) const { return multiplies_[index]; }
  /// Names of the `#allocation` symbols, by ordinal in their space.
  const std::map<std::string, Constant>& symbols() const { return symbols_; }
  /// SMEM objects that the compiler's launch code fills, found by how they are used: `launch_flags`
  /// must be 1 for the program to run, `prefetch_flags` is 1 if the previous run already prefetched.
  const std::vector<std::string>& launch_flags() const { return launch_flags_; }
  const std::vector<std::string>& prefetch_flags() const { return prefetch_flags_; }
  /// The message of a kUnknown instruction.
  const std::string& unknown(std::size_t index) const { return unknowns_[index]; }

 private:
  friend class Decoder;
  std::string file_, entry_;
  std::vector<std::uint32_t> lines_;
  std::vector<std::uint8_t> depths_;
  std::vector<MicroInstruction> code_;
  std::vector<Block> blocks_;
  std::vector<Constant> constants_;
  std::vector<DmaSite> dmas_;
  std::vector<CallSite> calls_;
  std::vector<MatrixOp> matrix_ops_;
  std::vector<std::string> matrix_types_;
  std::vector<std::int64_t> loads_, stores_, multiplies_;
  std::map<std::string, Constant> symbols_;
  std::vector<std::string> launch_flags_, prefetch_flags_;
  std::vector<std::string> unknowns_;
  Diagnostics notes_;
};

}  // namespace spillway::llo
