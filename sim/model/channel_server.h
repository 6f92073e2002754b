// SPDX-License-Identifier: Apache-2.0
// The DRAM of one pseudo-channel as its controller sees it: serves batches, closes rows, refreshes. Command by command,
// in trains (the same times), or, where a context is known (BatchTimes), without commands: then only what decides the
// next context is kept, and the device is put back into a likely state when an unknown one comes.
#pragma once

#include <vector>

#include "sim/model/batch_service.h"
#include "sim/model/batch_times.h"
#include "sim/model/row_tracker.h"
#include "sim/model/train_service.h"

namespace spillway::model {

enum class ServiceMode {
  kCommands,  ///< ServeBatch: every command goes through DramDevice::Issue. The reference.
  kTrains,    ///< TrainService. Same result.
};

class ChannelServer {
 public:
  struct Times {
    Ticks last_cas = 0;           ///< The next batch may be taken in.
    std::vector<Ticks> run_end;   ///< Per run, if wanted: its last burst has crossed the bus.
  };
  /// What all channels have in common; outlives them.
  struct Shared {
    AddressMap map;
    ServiceMode mode = ServiceMode::kTrains;
    bool recall = true;           ///< Batches of a known context take the times seen,
    Ticks recall_from = 0;        ///< from this clock on.
    BatchTimes times;
    TrainService trains;          ///< These keep no state, only their memory.
    RowBatch last, current, next;
    ServiceResult result;
  };
  ChannelServer(const config::HbmConfig& config, Shared& shared);

  /// A batch is taken in, to be served after those taken in before; its traits are found if they matter.
  void Admit(KnownBatch& next) {
    if (shared_->recall) rows_.Admit(next);
  }
  /// Serves all of `current` from `start` on; `last` is the batch served before, `refreshes` as in ServeBatch.
  void Serve(const KnownBatch& last, const KnownBatch& current, const KnownBatch& next, std::vector<int>& refreshes,
             Ticks start, bool want_ends, Times& out);
  /// Closes all rows, then refreshes all banks `count` times. Returns when rows may be opened again.
  Ticks Rest(Ticks now, int count);
  /// REQUIRES: all rows closed.
  void RefreshAll(Ticks due);
  void RefreshBank(int bank, Ticks due);
  /// Nothing of the past matters any more at `now`. REQUIRES: all rows closed.
  bool Forgotten(Ticks now) const;

  /// Whether a batch has bursts in the bank.
  bool Involves(const Batch& batch, int bank) const;

  const DramClocks& clocks() const { return device_.clocks(); }
  int banks() const { return device_.banks(); }
  void set_log(std::vector<CommandRecord>* log) { device_.set_log(log); }

 private:
  void ServeCommands(const Batch& last, const Batch& current, const Batch& next, std::vector<int>& refreshes, Ticks start,
                     bool want_ends, Times& out);
  void EndsOf(const Batch& batch, Times& out) const;

  Shared* shared_;
  DramDevice device_;
  RowTracker rows_;
  BatchTraits last_;        ///< Of the batch served last; bursts 0: at rest.
  Ticks ready_ = 0;         ///< At rest: rows may be opened.
  bool stale_ = false;      ///< The device has not seen what was served.
  int to_serve_ = 0;        ///< Batches to serve whatever is known.
};

}  // namespace spillway::model
