// SPDX-License-Identifier: Apache-2.0
// The controller of one pseudo-channel. It holds a batch in service and one behind it; when the last burst
// of the first has been commanded it takes in the next batch from the accesses it knows of (a *decision*):
//   direction  reads and writes alternate: a drain of write_high - write_low watermark bursts, then reads
//              in proportion to the accesses of each direction, so that all accesses progress alike
//   size       reads half the read queue, writes a drain
//   fairness   the accesses of a direction take turns, a batch each; short ones share one
//   refresh    due refreshes may be owed up to `refresh_postpone`; then the controller drains and pays all of
//              them back to back. With nothing to do it pays at once and closes its rows.
// Plain state: copying a controller copies a channel.
#pragma once

#include <memory>
#include <vector>

#include "sim/model/channel_server.h"

namespace spillway::model {

class ChannelController {
 public:
  struct Finish {
    int access = 0;
    Ticks tick = 0;
  };
  ChannelController(const config::HbmConfig& config, int channel, ChannelServer server);

  /// An access becomes visible at `visible`. `rate`: most bursts a clock for this channel, 0: no limit.
  /// REQUIRES: visible >= every earlier decision and that the shape has bursts in this channel.
  void Add(int access, const ChannelWalker& walker, bool write, Ticks visible, double rate);
  /// Clock of the next decision; < 0: nothing to do.
  Ticks next_decision() const { return decision_; }
  /// Takes the decision; appends accesses whose last burst is now on its way.
  void Decide(std::vector<Finish>& finished);
  /// Bursts of an access that are not yet taken in; < 0: its end is known, or it is not of this channel.
  std::int64_t Left(int access) const;

  /// Brings an idle controller to `now` (refreshes in between). REQUIRES: next_decision() < 0.
  void SettleIdle(Ticks now);
  /// After SettleIdle: nothing of the past matters any more, so such controllers of equal phase are alike.
  bool IsFresh(Ticks now) const;
  Ticks next_refresh() const { return next_refresh_; }
  std::int64_t read_bursts() const { return read_bursts_; }
  std::int64_t write_bursts() const { return write_bursts_; }
  ChannelServer& server() { return server_; }
  const ChannelServer& server() const { return server_; }

 private:
  struct Stream {
    int access = 0;
    bool write = false;
    Ticks visible = 0;
    double rate = 0;
    std::int64_t taken = 0;
    ChannelWalker walker;
  };
  struct Ending {
    int access = 0;
    std::vector<int> runs;
  };
  struct Admitted {
    Batch batch;
    BatchTraits traits;
    std::vector<Ending> endings;
    void Clear() {
      batch.runs.clear();
      traits = {};
      endings.clear();
    }
  };

  Stream& StreamAt(int place) { return streams_[static_cast<std::size_t>(place)]; }
  const Stream& StreamAt(int place) const { return streams_[static_cast<std::size_t>(place)]; }
  std::int64_t Available(const Stream& stream, Ticks now) const;
  Ticks NextToken(const Stream& stream) const;
  void Admit(Ticks now, Admitted& into);
  std::int64_t Budget(bool write, std::int64_t readers, std::int64_t writers) const;
  void TakeTurns(Ticks now, bool write, std::int64_t want, Admitted& into);
  bool RefreshForced() const;
  Ticks PayRefreshes(Ticks now);
  void RefreshOneIdle(Ticks due);
  void ChooseBankRefreshes();
  int NextBankToRefresh(bool skip_involved) const;
  void GoIdle(Ticks now);

  ChannelServer server_;
  config::RefreshMode refresh_mode_;
  Ticks refresh_interval_ = 0;
  int postpone_ = 0;
  std::int64_t read_batch_ = 1, write_drain_ = 1;

  std::vector<Stream> streams_;  ///< In no order; the places of ended ones are reused.
  std::vector<int> free_, line_;  ///< Places without a stream; the others in the order of their turns.
  Admitted last_, current_, next_;
  bool writing_ = false;
  std::int64_t budget_ = -1;     ///< Bursts of this direction before the other has its turn; -1: no contest.
  Ticks decision_ = -1;
  Ticks next_refresh_ = 0;
  int owed_ = 0;
  std::vector<int> bank_refreshes_;            ///< Waiting for REFpb.
  std::vector<std::int64_t> bank_refresh_count_;
  std::int64_t read_bursts_ = 0, write_bursts_ = 0;
  std::vector<int> touched_;
  std::vector<int> turn_;
  ChannelServer::Times times_;
};

}  // namespace spillway::model
