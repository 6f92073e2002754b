// SPDX-License-Identifier: Apache-2.0
// The plan `resident`: tensors between kernels stay whole in VMEM instead of crossing HBM.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/plan/planner.h"

namespace spillway::plan {

/// What became of one tensor that crosses HBM between kernels.
struct Residency {
  std::string tensor;        ///< Buffer name: "fusion.2", "fusion.3{1}".
  std::string shape;
  Bytes bytes = 0;           ///< Allocated.
  Bytes hbm_bytes = 0;       ///< HBM bytes, read and written, that the dump's schedule moves for it.
  bool resident = false;
  std::string why;           ///< If not resident: one sentence.
  Bytes excess_bytes = 0;    ///< Capacity: how many bytes too many, at the worst op of its life …
  std::string at_op;         ///< … which is this one.
};

struct ResidentOptions {
  std::vector<std::string> tensors;   ///< Keep exactly these; empty: whatever is worth it and fits.
  bool ignore_capacity = false;       ///< Of named tensors: what if they did fit (the engine will refuse the program
                                      ///< unless vmem.usable is raised).
  /// Plans the module with the tensors moved; empty: PlanAsCompiled.
  std::function<Result<Program>(const PlanInputs&, Diagnostics&)> then;
};

/// Every array that lies in HBM and is made by a kernel, with its verdict when nothing else is made resident.
Result<std::vector<Residency>> ResidencyOf(const PlanInputs& inputs);

/// The dump's schedule with tensors in VMEM. Order of choice, as in XLA's memory-space assignment: bytes of HBM
/// traffic saved over the square root of the size, largest first; a tensor fits if the buffers that live in VMEM, the
/// scoped memory of the running kernel (less the windows that are no longer needed) and itself stay within
/// vmem.usable at every op of its life. Fragmentation of VMEM is not counted. `report` (may be null) gets a line for
/// every candidate.
/// Errors: a named tensor that is unknown, or that cannot be resident (the message says why).
Result<Program> PlanResident(const PlanInputs& inputs, const ResidentOptions& options, Diagnostics& warnings,
                             std::vector<Residency>* report = nullptr);

}  // namespace spillway::plan
