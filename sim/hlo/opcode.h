// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace spillway::hlo {

/// HLO opcodes (xla/hlo/ir/hlo_opcode.h). kUnknown: a name this table does not have; such an
/// instruction parses and is reported as unmodelled.
enum class Opcode : std::uint8_t {
  kUnknown, kAbs, kAcos, kAcosh, kAdd, kAddDependency, kAfterAll, kAllGather, kAllGatherDone, kAllGatherStart,
  kAllReduce, kAllReduceDone, kAllReduceStart, kAllToAll, kAnd, kAsin, kAsinh, kAsyncDone, kAsyncStart,
  kAsyncUpdate, kAtan2, kAtanh, kBatchNormGrad, kBatchNormInference, kBatchNormTraining, kBitcast,
  kBitcastConvert, kBroadcast, kCall, kCbrt, kCeil, kCholesky, kClamp, kClz, kCollectiveBroadcast,
  kCollectivePermute, kCollectivePermuteDone, kCollectivePermuteStart, kCompare, kComplex, kConcatenate,
  kConditional, kConstant, kConvert, kConvolution, kCopy, kCopyDone, kCopyStart, kCos, kCosh, kCustomCall,
  kDivide, kDomain, kDot, kDynamicReshape, kDynamicSlice, kDynamicUpdateSlice, kErf, kExp, kExpm1, kFft, kFloor,
  kFusion, kGather, kGetDimensionSize, kGetTupleElement, kImag, kInfeed, kIota, kIsFinite, kLog, kLog1p,
  kLogistic, kMap, kMaximum, kMinimum, kMultiply, kNegate, kNot, kOptimizationBarrier, kOr, kOutfeed, kPad,
  kParameter, kPartitionId, kPopcnt, kPower, kRaggedAllToAll, kRaggedDot, kReal, kRecv, kRecvDone, kReduce,
  kReducePrecision, kReduceScatter, kReduceWindow, kRemainder, kReplicaId, kReshape, kReverse, kRng,
  kRngBitGenerator, kRngGetAndUpdateState, kRoundNearestAfz, kRoundNearestEven, kRsqrt, kScaledDot, kScan, kScatter,
  kSelect, kSelectAndScatter, kSend, kSendDone, kSetDimensionSize, kShiftLeft, kShiftRightArithmetic,
  kShiftRightLogical, kSign, kSin, kSinh, kSlice, kSort, kSqrt, kStochasticConvert, kSubtract, kTan, kTanh, kTopK,
  kTranspose, kTriangularSolve, kTuple, kWhile, kXor,
};

/// By the text name ("get-tuple-element", "exponential"); kUnknown if none.
/// Sugared asynchronous names (`slice-start`, `dynamic-slice-done`, …) give kAsyncStart, kAsyncUpdate
/// and kAsyncDone; the instruction keeps the printed name.
Opcode OpcodeFromName(std::string_view name);
std::string_view OpcodeName(Opcode opcode);

/// Ops that take no time and move nothing: parameter, constant, tuple, get-tuple-element, bitcast,
/// after-all, add-dependency, opt-barrier, partition-id, replica-id, domain.
bool IsFree(Opcode opcode);
/// One output element depends on the same element of each operand.
bool IsElementwise(Opcode opcode);

}  // namespace spillway::hlo
