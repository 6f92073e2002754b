// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "sim/base/result.h"
#include "sim/config/chip_config.h"
#include "sim/plan/program.h"

namespace spillway::engine {

/// Who holds VMEM while each op of a program runs: live buffers in VMEM plus the scoped memory of
/// the running op.
class VmemOccupancy {
 public:
  explicit VmemOccupancy(const plan::Program& program);

  /// Bytes held during `op`; `running` adds its scoped memory.
  Bytes HeldBy(int op, bool running) const;
  Bytes peak() const { return peak_; }
  int peak_op() const { return peak_op_; }
  Bytes peak_buffers() const { return peak_buffers_; }

  /// An error that names the largest holders if the peak is above what the chip has.
  Status Check(const config::ChipConfig& chip) const;

 private:
  const plan::Program& program_;
  std::vector<Bytes> live_;
  Bytes peak_ = 0, peak_buffers_ = 0;
  int peak_op_ = -1;
};

/// An error that names the largest buffers if HBM is over capacity.
Status CheckHbm(const plan::Program& program, const config::ChipConfig& chip);

}  // namespace spillway::engine
