// SPDX-License-Identifier: Apache-2.0
// What ServeBatch does, in fewer steps and to the same clocks. Column and row commands have buses of their own and meet
// in two places only, so each side runs ahead of the other up to there:
//   a run ends       its bank may want a row command from then on
//   ACT for a run    its bursts are among those to choose from, tRCD later
// In between, the bursts of the two rows whose turn it is are advanced at once (a *train*).
#pragma once

#include <vector>

#include "sim/model/access_walker.h"
#include "sim/model/dram_device.h"

namespace spillway::model {

class TrainService {
 public:
  /// As ServeBatch. Returns the clock of the last burst's command: the next batch may be taken in.
  /// REQUIRES: `current` has bursts.
  Ticks Serve(DramDevice& device, const AddressMap& map, const Batch& current, const Batch& next,
              std::vector<int>& refreshes, Ticks start);
  /// Of the batch served last, per run: its last burst has crossed the bus.
  void Ends(std::vector<Ticks>& ends) const;

 private:
  static constexpr Ticks kNever = std::int64_t{1} << 62;
  /// Bursts to one row of one bank, all reads or all writes, in the order of age.
  struct Run {
    std::int64_t row = 0;
    int place = 0;          ///< Of its bank in `banks_`.
    int left = 0;
    int after = -1;         ///< The next run of the bank.
    bool write = false;
    Ticks end = 0;
  };
  /// A bank that somebody waits for.
  struct Bank {
    int bank = 0;
    int first = -1, last = -1;  ///< Of its runs.
    int owner = -1;             ///< The run that is served or for which the row is opened; -1: none.
    bool refresh = false;       ///< Waits for REFpb.
    Command command = Command::kActivate;  ///< What it needs if it waits.
  };
  /// A run in service whose row is open.
  struct Candidate {
    int run = 0, bank = 0, group = 0, stack = 0;
    Ticks ready = 0;        ///< By the gates of its bank,
    Ticks tick = 0;         ///< and of all others.
  };
  struct RowCommand {
    Ticks tick = kNever;
    int place = 0;              ///< In `banks_`.
    std::size_t turn = 0;       ///< In `waiting_`.
  };

  void Clear(const DramDevice& device);
  void Expand(const AddressMap& map, const Batch& batch);
  void AddBursts(std::size_t oldest, std::int64_t row, int bank, int bursts, bool write);
  Bank& BankOf(int bank);
  void BeginDirection(bool write);
  void AddCandidate(int run, int bank);
  bool Step();
  int FindFirst();
  int FindSecond(int first, Ticks& until) const;
  void Take(const Candidate& from, int bursts, Ticks last);
  void Finish(int finished, Ticks tick);
  int OwnerOf(const Bank& bank) const;
  bool Hits(const Bank& bank) const;
  bool InService(int run) const { return run >= 0 && run < served_; }
  bool Waits(Bank& bank);
  void FindRowCommand();
  void IssueRowCommand();
  void IssueRowCommandsBefore(Ticks tick);

  Bank& BankAt(int i) { return banks_[static_cast<std::size_t>(i)]; }
  Run& RunAt(int i) { return runs_[static_cast<std::size_t>(i)]; }
  const Candidate& CandidateAt(int i) const { return candidates_[static_cast<std::size_t>(i)]; }
  const Run& RunAt(int i) const { return runs_[static_cast<std::size_t>(i)]; }

  DramDevice* device_ = nullptr;
  std::vector<int>* refreshes_ = nullptr;
  Ticks start_ = 0, last_ = 0;
  bool write_ = false;               ///< Direction of the bursts that are served now.
  int left_[2] = {0, 0};             ///< Bursts, by direction.
  int served_ = 0;                   ///< Runs of the current batch; the others are of the next.
  std::vector<int> waiting_;         ///< Places of the banks that wait for a row command, in no order.
  RowCommand best_;
  Ticks opens_ = 0;                  ///< No row that is not yet open for a run in service has a burst before.
  bool best_known_ = false;          ///< These two are.
  std::vector<Run> runs_;
  std::vector<Bank> banks_;          ///< In the order in which they are first wanted.
  std::vector<int> place_;           ///< By bank: its index in `banks_`, -1: not there.
  std::vector<int> first_, touched_;  ///< Per run of the current batch: where its Runs begin in `touched_`; and the end.
  std::vector<Candidate> candidates_;  ///< Oldest first.
  std::vector<Ticks> group_ok_, stack_ok_;  ///< Gates of the present direction.
};

}  // namespace spillway::model
