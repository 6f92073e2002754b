// SPDX-License-Identifier: Apache-2.0
// Tensors that cross HBM between kernels, and why.
#pragma once

#include <string>
#include <vector>

#include "sim/explain/dataflow.h"
#include "sim/explain/patterns.h"
#include "sim/plan/resident.h"

namespace spillway::explain {

enum class Verdict {
  kDependency,   ///< A full reduction (or sort …) must finish first.
  kAlgorithm,    ///< A dependency that a rewrite removes: softmax with a running maximum, variance in one pass.
  kLayout,       ///< A copy or transpose between layouts that do not agree.
  kCapacity,     ///< Too big to stay in VMEM beside what lives there.
  kShared,       ///< Several kernels, or the caller, need it.
  kMissed,       ///< Nothing forbids keeping it.
};
const char* VerdictName(Verdict verdict);   ///< "dependency", …

/// A tensor in HBM between kernels; or an argument that kernels read more than once (then `producer` is -1).
struct Boundary {
  int tensor = -1;                 ///< Index into Dataflow::tensors().
  int buffer = -1;
  int producer = -1;               ///< The kernel that made the value, by way of asynchronous copies.
  std::vector<int> consumers;      ///< Kernels, in schedule order.
  std::vector<int> touching;       ///< Ops whose transfers move it: kernels and asynchronous copies.
  Verdict verdict = Verdict::kMissed;
  MeetingPoint meeting;
  std::string reason;              ///< One sentence: why it exists.
  std::string advice;              ///< One sentence: what to change.
  bool could_stay = false;         ///< The plan `resident` can keep it in VMEM whole …
  std::string why_not;             ///< … or why it cannot.
  Bytes excess_bytes = 0;          ///< Capacity: bytes too many, at …
  std::string at_op;               ///< … this op.
};

/// What `FindBoundaries` needs besides the dataflow.
struct Surroundings {
  std::vector<plan::Residency> residency;   ///< plan::ResidencyOf the same program.
  std::vector<Bytes> hbm_bytes;             ///< HBM bytes read and written, by buffer of the program (roots).
  std::vector<Bytes> read_bytes;            ///< HBM bytes read.
  Bytes vmem_usable = 0;
};

/// Counts traffic by running the program's sources dry, and asks the plan `resident`. Errors: what planning refuses.
Result<Surroundings> SurroundingsOf(const Dataflow& flow, const plan::PlanInputs& inputs);

/// In schedule order of their producers; arguments that are read more than once come last.
std::vector<Boundary> FindBoundaries(const Dataflow& flow, const Surroundings& surroundings);

}  // namespace spillway::explain
