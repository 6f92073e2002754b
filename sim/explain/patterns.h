// SPDX-License-Identifier: Apache-2.0
// Patterns that decide whether a kernel must wait for a whole tensor: statistics of data that are applied to the same
// data (softmax, normalisation, variance), relayouts, contractions.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "sim/explain/dataflow.h"

namespace spillway::explain {

/// How a statistic (a reduction of some data) meets the data it is a statistic of.
enum class Meeting {
  kNone,
  kSoftmax,          ///< exp(x - max x) or / sum exp, and what follows reduces or contracts it: online softmax removes the pass.
  kSoftmaxResult,    ///< The same, but the normalised values themselves are wanted: the statistic must be there first.
  kVariance,         ///< Squares of x - mean x are summed: sum and sum of squares in one pass give the same.
  kNormalisation,    ///< Any other: x scaled by its own statistic.
};

struct MeetingPoint {
  Meeting meeting = Meeting::kNone;
  int op = -1;                ///< The kernel where they meet.
  std::string reduction;      ///< What reduces, for people: "maximum", "add".
  bool contracted = false;    ///< The scaled data goes on into a matmul.
};

/// Where `entry` (a kernel's parameter that holds a tensor with definition `data`, empty: an argument read at
/// `arguments`) meets a statistic; the strongest: softmax and variance first.
MeetingPoint FindMeeting(const Dataflow& flow, int tensor);

/// The tensor is the result of a reduction, up to elementwise work after it.
bool IsStatistic(const Dataflow& flow, int tensor);
/// `op` only moves data and changes its physical order (a copy to another layout, a transpose).
bool IsRelayout(const Dataflow& flow, int op);
/// `op` copies an array as it is.
bool IsPlainCopy(const Dataflow& flow, int op);
/// The kernel at `entry` multiplies matrices with it, up to elementwise work before.
bool IsContracted(const Dataflow& flow, const Value& entry);
/// The kernel at `entry` needs all of it before it makes anything (sort, FFT, running sums).
std::string NeedsAll(const Dataflow& flow, const Value& entry);
/// A Mosaic kernel that carries a running maximum and a sum of exponentials.
bool IsOnlineSoftmax(const hlo::Instruction& instruction);

}  // namespace spillway::explain
