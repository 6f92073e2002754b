// SPDX-License-Identifier: Apache-2.0
// Averages only: refresh and direction turnaround as a share of time, fair sharing as a fluid.
#pragma once

#include <vector>

#include "sim/model/memory_system.h"

namespace spillway::model {

class FluidMemory final : public MemorySystem {
 public:
  explicit FluidMemory(const config::HbmConfig& config);
  int Start(Picos now, const Access& access) override;
  Picos NextEvent() const override;
  void Advance(Picos now, std::vector<Completion>& finished) override;
  double ReadRate() const override;
  double WriteRate() const override;
  const MemoryCounters& counters() const override { return counters_; }

 private:
  struct Flow {
    int id = 0;
    bool write = false;
    double left = 0;      ///< Bytes.
    double cap = 0;       ///< Bytes per picosecond; 0: none.
    double rate = 0;      ///< Bytes per picosecond.
  };
  double Efficiency() const;
  void Share();
  void Drain(Picos now);

  config::HbmConfig config_;
  double peak_ = 0;  ///< Bytes per picosecond.
  std::vector<Flow> flows_;
  MemoryCounters counters_;
  Picos now_ = 0;
  int next_id_ = 0;
};

}  // namespace spillway::model
