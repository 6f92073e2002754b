// SPDX-License-Identifier: Apache-2.0
// What an expert would say about a dump: its fusions, the tensors that cross HBM between them, why, and what that costs.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "sim/base/result.h"
#include "sim/config/chip_config.h"
#include "sim/explain/boundary.h"
#include "sim/explain/waste.h"
#include "sim/hlo/module.h"
#include "sim/plan/buffer_assignment.h"
#include "sim/plan/program.h"
#include "sim/timeline/summary.h"

namespace spillway::explain {

struct ExplainInputs {
  const hlo::Module* module = nullptr;
  const config::ChipConfig* chip = nullptr;
  const plan::BufferAssignment* assignment = nullptr;   ///< May be null.
  const plan::Program* program = nullptr;               ///< As compiled; planned from `module`.
  bool replay = true;                                   ///< False: verdicts only, nothing is replayed: no times, no costs.
  const std::atomic<bool>* interrupted = nullptr;
};

struct KernelLine {
  std::string name, opcode, kind, op_class, op_name, bound;
  Bytes hbm_read_bytes = 0, hbm_write_bytes = 0;
  Bytes vmem_read_bytes = 0, vmem_write_bytes = 0;   ///< Operands and results that lie in VMEM as a whole.
  Picos time_ps = 0;
  std::int64_t executions = 1;
};

/// How the two sides of a spill cost were run.
enum class CostMethod {
  kNone,       ///< Not asked for, or interrupted.
  kResident,   ///< The whole program, and the plan `resident` that keeps this tensor.
  kWhole,      ///< The whole program, and the same with the tensor's transfers done at once.
  kExcerpt,    ///< Each kernel that touches the tensor once by itself, with and without its transfers.
};
const char* CostMethodName(CostMethod method);

struct BoundaryLine {
  std::string tensor, shape, producer;   ///< producer: "" for an argument.
  std::vector<std::string> consumers;
  std::string kind_from, class_from;     ///< Of the producer, as the dump says and as it is.
  std::vector<std::string> kind_to, class_to;   ///< Of the consumers.
  Bytes bytes = 0;                       ///< Allocated.
  Bytes hbm_read_bytes = 0, hbm_write_bytes = 0;   ///< In the whole run.
  Verdict verdict = Verdict::kMissed;
  std::string reason, advice;
  bool could_stay = false;
  std::string why_not;
  Bytes excess_bytes = 0;
  Picos spill_cost_ps = 0;               ///< Time with it in HBM minus time with it in VMEM (an argument: read only once).
  CostMethod method = CostMethod::kNone;
  Picos exposed_dma_ps = 0;              ///< Time the core stood still for its transfers.
};

struct LayoutCopyLine {
  std::string name, from, to;
  Bytes read_bytes = 0, write_bytes = 0;
  Picos time_ps = 0;
  double share = 0;                      ///< Of the makespan.
};

struct Report {
  timeline::Summary summary;             ///< Of the as-compiled replay.
  std::vector<KernelLine> kernels;       ///< Schedule order, without asynchronous copies.
  std::vector<BoundaryLine> boundaries;
  Picos joint_spill_cost_ps = 0;         ///< All of them in VMEM at once; not the sum of the costs.
  std::vector<LayoutCopyLine> layout_copies;
  std::vector<Padding> padding;
  std::vector<Reread> rereads;
  std::vector<std::string> ops;          ///< Names, for Reread::ops.
  bool complete = true;                  ///< False: interrupted.
};

/// Whole-program what-ifs are run up to this many transfers in all; beyond, excerpts.
inline constexpr std::int64_t kWholeReplayTransfers = 20'000;

/// Errors: what planning and simulating refuse.
Result<Report> Explain(const ExplainInputs& inputs);

}  // namespace spillway::explain
