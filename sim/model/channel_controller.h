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

#include <array>
#include <vector>

#include "sim/model/channel_server.h"

namespace spillway::model {

class ChannelController {
 public:
  struct Finish {
    int access = 0;
    Ticks tick = 0;
  };
  struct Turn {
    int place = 0;               ///< In the list of streams.
    int access = 0;
  };
  /// Of no meaning between two calls; one for all controllers.
  struct Scratch {
    std::vector<int> touched;
    std::vector<Turn> served;
    ChannelServer::Times times;
  };
  /// `scratch` outlives the controller.
  ChannelController(const config::HbmConfig& config, int channel, ChannelServer server, Scratch& scratch);

  /// An access becomes visible at `visible`. `rate`: most bursts a clock for this channel, 0: no limit.
  /// REQUIRES: visible >= every earlier decision and that the shape has bursts in this channel.
  void Add(int access, const ChannelWalker& walker, bool write, Ticks visible, double rate);
  /// Clock of the next decision; < 0: nothing to do.
  Ticks next_decision() const { return decision_; }
  /// Takes the decision; appends accesses whose last burst is now on its way.
  void Decide(std::vector<Finish>& finished);
  /// Bursts of an access that are not yet taken in; < 0: its end is known, or it is not of this channel.
  std::int64_t Left(int access) const {
    for (const Turn& turn : line_) {
      if (turn.access == access) return StreamAt(turn).walker.left();
    }
    for (const Ending& ending : Batches(next_).endings) {
      if (ending.access == access) return 0;
    }
    return -1;
  }

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
    ChannelWalker walker;
    int access = 0;
    bool write = false;
    double rate = 0;
    Ticks visible = 0;
    std::int64_t taken = 0;
  };
  /// An access that ends with a batch, and the runs of the batch that it is in.
  struct Ending {
    int access = 0;
    int first_run = 0, last_run = 0;  ///< In `ending_runs`.
  };
  struct Admitted : KnownBatch {
    std::vector<Ending> endings;
    std::vector<int> ending_runs;
    bool empty() const { return batch.runs.empty(); }
    void Clear() {
      batch.runs.clear();
      traits = {};
      endings.clear();
      ending_runs.clear();
    }
    void ReadsFirst();
  };

  Admitted& Batches(int i) { return batches_[static_cast<std::size_t>(i)]; }
  const Admitted& Batches(int i) const { return batches_[static_cast<std::size_t>(i)]; }
  Stream& StreamAt(const Turn& turn) { return streams_[static_cast<std::size_t>(turn.place)]; }
  const Stream& StreamAt(const Turn& turn) const { return streams_[static_cast<std::size_t>(turn.place)]; }
  bool NobodyWaits(Ticks now) const { return paced_ == 0 && all_visible_ <= now; }
  std::int64_t Available(const Stream& stream, Ticks now) const;
  Ticks NextToken(const Stream& stream) const;
  // Inline: called in one place each, at every decision.
  inline void Admit(Ticks now, Admitted& into);  ///< REQUIRES: `into` is clear.
  std::int64_t Budget(bool write, std::int64_t readers, std::int64_t writers) const;
  inline std::int64_t TakeTurns(Ticks now, bool write, std::int64_t want, Admitted& into);
  inline std::int64_t TakeFrom(const Turn& turn, std::int64_t want, Admitted& into);
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
  std::vector<int> free_;        ///< Places without a stream.
  std::vector<Turn> line_;       ///< The streams in the order of their turns.
  int streams_of_[2] = {0, 0};   ///< Of them, by direction,
  int paced_ = 0;                ///< and those with a rate.
  Ticks all_visible_ = 0;        ///< From then on all of them are.
  std::array<Admitted, 3> batches_;
  int last_ = 0, current_ = 1, next_ = 2;  ///< In `batches_`: served before, in service, behind it.
  bool writing_ = false;
  std::int64_t budget_ = -1;     ///< Bursts of this direction before the other has its turn; -1: no contest.
  Ticks decision_ = -1;
  Ticks next_refresh_ = 0;
  int owed_ = 0;
  std::vector<int> bank_refreshes_;            ///< Waiting for REFpb.
  std::vector<std::int64_t> bank_refresh_count_;
  std::int64_t read_bursts_ = 0, write_bursts_ = 0;
  Scratch* scratch_;
};

}  // namespace spillway::model
