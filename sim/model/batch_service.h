// SPDX-License-Identifier: Apache-2.0
// First-ready, first-come-first-served over what a controller holds: the batch in service, the batch behind
// it (its rows may be opened ahead, its bursts wait) and per-bank refreshes. Steps from command to command.
#pragma once

#include <vector>

#include "sim/model/access_walker.h"
#include "sim/model/dram_device.h"

namespace spillway::model {

/// Bursts to one row of one bank, all reads or all writes.
struct RowRun {
  std::int64_t row = 0;
  int bank = 0;
  int bursts = 0;
  bool write = false;
};

/// A batch by rows, as commands need it. Runs are ordered by age and differ in bank, row or direction.
struct RowBatch {
  std::vector<RowRun> runs;
  std::vector<int> first;     ///< Per run of the batch: where its row runs begin in `touched`; and the end.
  std::vector<int> touched;   ///< Indices of row runs.
  void Expand(const AddressMap& map, const Batch& batch);
};

struct ServiceResult {
  Ticks last_cas = 0;                 ///< The next batch may be taken in.
  std::vector<Ticks> run_data_end;    ///< Per row run of the current batch: its last burst has crossed the bus.
};

/// Serves all of `current` from `start` on. Reads of a batch go before its writes. `refreshes` are banks that
/// wait for REFpb: done ones are removed; such a bank opens no row before.
/// REQUIRES: current has bursts.
void ServeBatch(DramDevice& device, const RowBatch& current, const RowBatch& next, std::vector<int>& refreshes,
                Ticks start, ServiceResult& result);

}  // namespace spillway::model
