// SPDX-License-Identifier: Apache-2.0
// Who holds VMEM when, and what stands in the way of a tensor that could live there.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/base/result.h"
#include "sim/plan/planner.h"

namespace spillway::explain {

struct Holder {
  std::string name;       ///< A buffer, or the op whose windows and scratch these are.
  Bytes bytes = 0;
  bool windows = false;
};

struct VmemMoment {
  std::string op;
  Bytes buffers = 0, scoped = 0;
  std::vector<Holder> holders;          ///< Largest first.
  Bytes total() const { return buffers + scoped; }
};

/// A tensor that a kernel makes and HBM holds.
struct VmemCandidate {
  std::string tensor, shape;
  Bytes bytes = 0;
  Bytes room = 0;                       ///< What it could take at the tightest op of its life …
  std::string at_op;                    ///< … which is this one.
  std::vector<Holder> holders;          ///< Who holds VMEM then, largest first.
  std::string other_reason;             ///< It cannot stay for a reason that is not room (a result of the program, …).
  std::string symbol;                   ///< A symbol that one of its dimensions carries; empty: none.
  std::int64_t value = 0;               ///< Its value in this dump.
  std::int64_t largest = 0;             ///< The largest value at which the tensor fits, with the room as it is now; 0: none.
  bool fits() const { return bytes <= room; }
};

struct VmemReport {
  Bytes capacity = 0, usable = 0, peak = 0;
  std::string peak_op;
  std::vector<VmemMoment> moments;      ///< One an op, schedule order.
  std::vector<VmemCandidate> candidates;
};

/// `program`: planned from `inputs`. `symbols`: of the workload, by name; a dimension that has the value of one
/// carries it. Errors: what planning refuses.
Result<VmemReport> VmemOf(const plan::PlanInputs& inputs, const plan::Program& program,
                          const std::map<std::string, std::int64_t>& symbols);

}  // namespace spillway::explain
