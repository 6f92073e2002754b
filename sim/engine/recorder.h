// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "sim/config/chip_config.h"
#include "sim/plan/program.h"
#include "sim/timeline/summary.h"
#include "sim/timeline/timeline.h"

namespace spillway::engine {

/// Takes note of what the modules do and turns it into a Summary and a Timeline. Knows no SystemC.
class Recorder {
 public:
  Recorder(const plan::Program& program, const config::ChipConfig& chip, bool timeline);

  // Times of all calls are those of the replay; where steps were skipped, the timeline runs ahead of it.
  // Core: ops, in time order, never nested.
  void OpBegin(int op, Picos now);
  void OpEnd(Picos now);
  /// A grid step begins `cycles` after the end of the last compute: their time is not known yet.
  void Step(Picos now, Cycles cycles);
  /// The core was busy with the current op; `cycles` of it are the op's own, the rest of the time
  /// was lost to VMEM contention.
  void Compute(Picos start, Picos end, Cycles cycles, Cycles bundles);
  /// The core stood still for a transfer of the given direction; `flow` is the transfer's number.
  void Wait(Picos start, Picos end, plan::Direction direction, int flow);
  /// It stood still for something else (a full queue).
  void WaitOther(Picos start, Picos end);

  // DMA and HBM.
  void DmaDone(const plan::Transfer& transfer, int op, int flow, Picos issued, Picos end);
  void HbmRates(Picos now, double read, double write);
  /// Whether any access is in progress from now on.
  void HbmBusy(Picos now, bool busy);
  /// Time with an access in progress until `now`.
  Picos HbmBusyBy(Picos now) const { return hbm_busy_ + (hbm_busy_since_ >= 0 ? now + skipped_ - hbm_busy_since_ : 0); }
  /// Of all transfers that are done.
  Bytes read_bytes() const { return read_bytes_; }
  Bytes write_bytes() const { return write_bytes_; }
  /// What `now` to `end` was booked with takes no time in the replay, which goes on at `now`. HBM was in use for
  /// `hbm_busy` of it and moved so many bytes.
  void Skip(Picos now, Picos end, Picos hbm_busy, Bytes read, Bytes written);
  Picos skipped() const { return skipped_; }
  /// VMEM held from now on: live buffers and the scoped memory of the running op.
  void VmemHeld(Picos now, Bytes bytes);

  /// Counts one kernel event; the caller stops the run when `TooManyEvents`.
  void CountEvent() { ++events_; }
  std::int64_t events() const { return events_; }

  /// Finishes the books. REQUIRES: no op is open.
  timeline::Summary TakeSummary(Picos end);
  timeline::Timeline TakeTimeline();

 private:
  struct PendingWait {
    Picos picos;
    plan::Direction direction;
    std::size_t slice;       ///< Index into the timeline's slices, or npos.
  };
  timeline::OpSummary& current() { return ops_[static_cast<std::size_t>(op_)]; }
  /// A slice of the core's track that belongs to the current op.
  timeline::Slice CoreSlice(const char* kind, Picos start, Picos end) const;
  std::size_t AddSlice(timeline::Slice slice);
  void FlushWaits(bool draining);
  /// Ends the slice of the running step.
  void EndStep(Picos now);
  void AddPoint(timeline::Counter& counter, Picos now, double value);

  const plan::Program& program_;
  const config::ChipConfig& chip_;
  const bool record_;
  timeline::Timeline timeline_;
  std::vector<timeline::OpSummary> ops_;
  int op_ = -1;
  Picos op_start_ = 0;
  std::vector<Cycles> steps_ahead_;        ///< Steps that begin inside the compute that is not booked yet.
  Picos step_start_ = -1;                  ///< Of the running step; -1: none.
  bool computed_ = false;                  ///< The current op has computed since it began.
  std::vector<PendingWait> waits_;         ///< Since the last compute: drain, if none follows.
  Bytes read_bytes_ = 0, write_bytes_ = 0;
  Picos hbm_busy_ = 0, hbm_busy_since_ = -1;
  std::int64_t events_ = 0;
  Picos skipped_ = 0;                      ///< So far.
};

}  // namespace spillway::engine
