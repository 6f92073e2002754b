// SPDX-License-Identifier: Apache-2.0
// The figures of one run: what `run --json` prints (schema spillway.summary/1).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/base/units.h"

namespace spillway::timeline {

struct StallTimes {
  Picos dma_read = 0, dma_write = 0, fill = 0, drain = 0, other = 0;
  Picos total() const { return dma_read + dma_write + fill + drain + other; }
};

struct OpSummary {
  std::string name, opcode, kind, op_class, op_name;
  Picos start_ps = 0, end_ps = 0;      ///< First start, last end.
  Picos busy_ps = 0;                   ///< Sum over executions of end - start.
  std::int64_t executions = 1;
  std::int64_t steps = 0;
  Bytes hbm_read_bytes = 0, hbm_write_bytes = 0;
  std::int64_t dma_count = 0;
  Cycles compute_cycles = 0;
  std::string compute_source;          ///< bundles|model|hint|none
  Cycles bundles = 0;                  ///< Executed, with bundles only.
  StallTimes stall_ps;
  std::string bound;                   ///< memory|compute|latency
  Cycles estimated_cycles = 0;
  bool unmodelled = false;
  std::string why;                     ///< Reason if unmodelled.
  double error_band = 0;
  Bytes scoped_vmem_bytes = 0;
  double flops = 0;                    ///< Arithmetic operations of all executions; 0: none, or unknown.
  std::map<std::string, double> slots;  ///< With bundles: share of each unit's slots in use, 0..1.
};

struct BufferSummary {
  std::string name, shape, memory_space;  ///< "hbm", "vmem", "smem", "other"
  Bytes logical_bytes = 0, allocated_bytes = 0, offset = 0;
  std::string first_op, last_op;
  bool exact_offset = false;
};

struct Summary {
  std::string version, input, module, chip, plan;
  bool complete = true;
  Picos makespan_ps = 0;
  Cycles cycles = 0;
  Bytes hbm_read_bytes = 0, hbm_write_bytes = 0;
  Picos hbm_busy_ps = 0;               ///< Time with at least one transfer in HBM.
  double hbm_bytes_per_second = 0;     ///< (read + write) / makespan.
  double hbm_peak_bytes_per_second = 0;
  Bytes hbm_allocated_bytes = 0;
  Bytes vmem_capacity_bytes = 0, vmem_peak_bytes = 0;
  std::string vmem_peak_at;            ///< Op during which the peak stands.
  Bytes vmem_buffers_bytes = 0;        ///< Largest sum of S(1) buffers (without scoped memory).
  std::vector<std::string> unmodelled_ops;
  double unmodelled_share_of_time = 0;
  double recalled_share_of_time = 0;   ///< Of kernels that took the time of kernels like them (run.recall_kernels).
  std::vector<std::string> notes;
  std::vector<OpSummary> ops;          ///< Schedule order.
  std::vector<BufferSummary> buffers;
};

}  // namespace spillway::timeline
