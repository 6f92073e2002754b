// SPDX-License-Identifier: Apache-2.0
// Figures of a program that follow without time: bytes by op and buffer, VMEM held.
#pragma once

#include <vector>

#include "sim/plan/program.h"

namespace spillway::plan {

/// VMEM in use: bytes of the buffers that live in VMEM at each op (without scoped memory).
std::vector<Bytes> LiveVmem(const Program& program);
/// The largest sum of those and the running op's scoped memory; `at` (if not null) gets the op, -1 if none.
Bytes PeakVmem(const Program& program, int* at = nullptr);

/// HBM bytes of a whole run, loops counted by their trips.
struct HbmTraffic {
  Bytes read_bytes = 0, write_bytes = 0;
  std::vector<Bytes> by_op;              ///< Read and written, by index into Program::ops.
  std::vector<Bytes> once_by_op;         ///< The same of one execution of the op.
  std::vector<Cycles> cycles_by_op;      ///< Compute cycles of one execution.
  std::vector<Bytes> read_by_buffer, written_by_buffer;   ///< By index into Program::buffers.
  Bytes total() const { return read_bytes + write_bytes; }
};
/// Runs every source dry once.
HbmTraffic CountHbm(const Program& program);

}  // namespace spillway::plan
