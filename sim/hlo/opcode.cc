// SPDX-License-Identifier: Apache-2.0
#include "sim/hlo/opcode.h"

#include <array>

namespace spillway::hlo {
namespace {

// In the order of Opcode. Names: xla/hlo/ir/hlo_opcode.h.
constexpr std::array<std::string_view, 133> kNames{{
    "",
    "abs", "acos", "acosh", "add", "add-dependency", "after-all", "all-gather", "all-gather-done",
    "all-gather-start", "all-reduce", "all-reduce-done", "all-reduce-start", "all-to-all", "and", "asin",
    "asinh", "async-done", "async-start", "async-update", "atan2", "atanh", "batch-norm-grad",
    "batch-norm-inference", "batch-norm-training", "bitcast", "bitcast-convert", "broadcast", "call",
    "cbrt", "ceil", "cholesky", "clamp", "count-leading-zeros", "collective-broadcast",
    "collective-permute", "collective-permute-done", "collective-permute-start", "compare", "complex",
    "concatenate", "conditional", "constant", "convert", "convolution", "copy", "copy-done", "copy-start",
    "cosine", "cosh", "custom-call", "divide", "domain", "dot", "dynamic-reshape", "dynamic-slice",
    "dynamic-update-slice", "erf", "exponential", "exponential-minus-one", "fft", "floor", "fusion",
    "gather", "get-dimension-size", "get-tuple-element", "imag", "infeed", "iota", "is-finite", "log",
    "log-plus-one", "logistic", "map", "maximum", "minimum", "multiply", "negate", "not", "opt-barrier",
    "or", "outfeed", "pad", "parameter", "partition-id", "popcnt", "power", "ragged-all-to-all",
    "ragged-dot", "real", "recv", "recv-done", "reduce", "reduce-precision", "reduce-scatter",
    "reduce-window", "remainder", "replica-id", "reshape", "reverse", "rng", "rng-bit-generator",
    "rng-get-and-update-state", "round-nearest-afz", "round-nearest-even", "rsqrt", "scaled-dot", "scan",
    "scatter", "select", "select-and-scatter", "send", "send-done", "set-dimension-size", "shift-left",
    "shift-right-arithmetic", "shift-right-logical", "sign", "sine", "sinh", "slice", "sort", "sqrt",
    "stochastic-convert", "subtract", "tan", "tanh", "topk", "transpose", "triangular-solve", "tuple",
    "while", "xor",
}};
static_assert(static_cast<std::size_t>(Opcode::kXor) + 1 == kNames.size());

constexpr std::size_t kSlots = 512;  // 2^9, see Hash

// Length and four characters tell nearly all names apart.
constexpr std::size_t Hash(std::string_view name) {
  if (name.empty()) return 0;
  std::uint32_t hash = static_cast<std::uint32_t>(name.size());
  for (const std::size_t at : {std::size_t{0}, name.size() / 3, 2 * name.size() / 3, name.size() - 1}) {
    hash = hash * 31 + static_cast<unsigned char>(name[at]);
  }
  return (hash * 2654435769u) >> 23;
}

// Open addressing; 0 is an empty slot.
constexpr std::array<std::uint8_t, kSlots> MakeIndex() {
  std::array<std::uint8_t, kSlots> index{};
  for (std::size_t i = 1; i < kNames.size(); ++i) {
    std::size_t slot = Hash(kNames[i]);
    while (index[slot] != 0) slot = (slot + 1) % kSlots;
    index[slot] = static_cast<std::uint8_t>(i);
  }
  return index;
}
constexpr std::array<std::uint8_t, kSlots> kIndex = MakeIndex();

Opcode Exact(std::string_view name) {
  for (std::size_t slot = Hash(name); kIndex[slot] != 0; slot = (slot + 1) % kSlots) {
    if (kNames[kIndex[slot]] == name) return static_cast<Opcode>(kIndex[slot]);
  }
  return Opcode::kUnknown;
}

// `slice-start` is sugar for an async-start whose computation is one slice.
Opcode Sugared(std::string_view name) {
  const std::size_t dash = name.rfind('-');
  if (dash == std::string_view::npos || Exact(name.substr(0, dash)) == Opcode::kUnknown) return Opcode::kUnknown;
  const std::string_view phase = name.substr(dash + 1);
  if (phase == "start") return Opcode::kAsyncStart;
  if (phase == "update") return Opcode::kAsyncUpdate;
  if (phase == "done") return Opcode::kAsyncDone;
  return Opcode::kUnknown;
}

}  // namespace

Opcode OpcodeFromName(std::string_view name) {
  const Opcode opcode = Exact(name);
  return opcode != Opcode::kUnknown ? opcode : Sugared(name);
}

std::string_view OpcodeName(Opcode opcode) { return kNames[static_cast<std::size_t>(opcode)]; }

bool IsFree(Opcode opcode) {
  switch (opcode) {
    case Opcode::kParameter: case Opcode::kConstant: case Opcode::kTuple: case Opcode::kGetTupleElement:
    case Opcode::kBitcast: case Opcode::kAfterAll: case Opcode::kAddDependency:
    case Opcode::kOptimizationBarrier: case Opcode::kPartitionId: case Opcode::kReplicaId:
    case Opcode::kDomain: return true;
    default: return false;
  }
}

bool IsElementwise(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAbs: case Opcode::kAcos: case Opcode::kAcosh: case Opcode::kAdd: case Opcode::kAnd:
    case Opcode::kAsin: case Opcode::kAsinh: case Opcode::kAtan2: case Opcode::kAtanh:
    case Opcode::kBitcastConvert: case Opcode::kCbrt: case Opcode::kCeil: case Opcode::kClamp:
    case Opcode::kClz: case Opcode::kCompare: case Opcode::kComplex: case Opcode::kConvert:
    case Opcode::kCopy: case Opcode::kCos: case Opcode::kCosh: case Opcode::kDivide: case Opcode::kErf:
    case Opcode::kExp: case Opcode::kExpm1: case Opcode::kFloor: case Opcode::kImag: case Opcode::kIsFinite:
    case Opcode::kLog: case Opcode::kLog1p: case Opcode::kLogistic: case Opcode::kMap: case Opcode::kMaximum:
    case Opcode::kMinimum: case Opcode::kMultiply: case Opcode::kNegate: case Opcode::kNot: case Opcode::kOr:
    case Opcode::kPopcnt: case Opcode::kPower: case Opcode::kReal: case Opcode::kReducePrecision:
    case Opcode::kRemainder: case Opcode::kRoundNearestAfz: case Opcode::kRoundNearestEven:
    case Opcode::kRsqrt: case Opcode::kSelect: case Opcode::kShiftLeft: case Opcode::kShiftRightArithmetic:
    case Opcode::kShiftRightLogical: case Opcode::kSign: case Opcode::kSin: case Opcode::kSinh:
    case Opcode::kSqrt: case Opcode::kStochasticConvert: case Opcode::kSubtract: case Opcode::kTan:
    case Opcode::kTanh: case Opcode::kXor: return true;
    default: return false;
  }
}

}  // namespace spillway::hlo
