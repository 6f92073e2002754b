// SPDX-License-Identifier: Apache-2.0
#include "sim/model/batch_service.h"

#include <algorithm>
#include <limits>

#include "sim/base/result.h"

namespace spillway::model {
namespace {

constexpr Ticks kNever = std::numeric_limits<Ticks>::max();

/// A bank that somebody waits for. `owner` is the oldest unfinished run that wants it (index over the
/// current batch, then the next one); -1: none.
struct WantedBank {
  int bank = 0;
  int owner = -1;
  bool refresh = false;
  bool shared = false;  ///< By several runs.
};

struct RowCommand {
  Command command = Command::kActivate;
  Ticks tick = kNever;
  std::size_t wanted = 0;
};

class Server {
 public:
  Server(DramDevice& device, const RowBatch& current, const RowBatch& next, std::vector<int>& refreshes, Ticks start)
      : device_(device), current_(current), next_(next), refreshes_(refreshes), start_(start) {
    left_.reserve(current.runs.size());
    for (const RowRun& run : current.runs) {
      left_.push_back(run.bursts);
      (run.write ? writes_left_ : reads_left_) += run.bursts;
    }
    place_.reserve(static_cast<std::size_t>(RunCount()));
    wanted_.reserve(static_cast<std::size_t>(RunCount()) + refreshes.size());
    for (int i = 0; i < RunCount(); ++i) {
      const std::size_t at = Want(RunAt(i).bank);
      place_.push_back(static_cast<int>(at));
      wanted_[at].shared = wanted_[at].shared || wanted_[at].owner >= 0;
      if (wanted_[at].owner < 0) wanted_[at].owner = i;
    }
    for (const int bank : refreshes) wanted_[Want(bank)].refresh = true;
    FindOwners();
  }

  void Run(ServiceResult& result) {
    result.run_data_end.assign(current_.runs.size(), 0);
    const DramClocks& clocks = device_.clocks();
    RowCommand row = BestRowCommand();
    while (reads_left_ + writes_left_ > 0) {
      const Command command = reads_left_ > 0 ? Command::kRead : Command::kWrite;
      std::size_t best = 0;
      Ticks best_tick = kNever;
      for (const WantedBank& wanted : wanted_) {
        if (!InService(wanted.owner)) continue;
        const auto index = static_cast<std::size_t>(wanted.owner);
        const RowRun& run = current_.runs[index];
        if (run.write != (command == Command::kWrite) || device_.bank(run.bank).row != run.row) continue;
        const Ticks tick = device_.Earliest(command, run.bank, start_);
        if (tick < best_tick || (tick == best_tick && index < best)) best = index, best_tick = tick;
      }
      if (best_tick <= row.tick) {
        SPILLWAY_CHECK(best_tick != kNever);
        const RowRun& run = current_.runs[best];
        device_.Issue(command, run.bank, run.row, best_tick);
        (run.write ? writes_left_ : reads_left_)--;
        result.last_cas = best_tick;
        result.run_data_end[best] = best_tick + (run.write ? clocks.cwl : clocks.cl) + clocks.burst;
        if (--left_[best] == 0) {
          // Until its run is done a bank in service wants no row command, so the best one stands.
          if (reads_left_ == 0 && command == Command::kRead) {
            FindOwners();  // Writes have their turn: other rows are hits now.
          } else {
            FindOwner(wanted_[static_cast<std::size_t>(place_[best])]);
          }
          row = BestRowCommand();
        }
      } else {
        IssueRowCommand(row);
        row = BestRowCommand();
      }
    }
  }

 private:
  int RunCount() const { return static_cast<int>(current_.runs.size() + next_.runs.size()); }
  const RowRun& RunAt(int i) const {
    const auto index = static_cast<std::size_t>(i);
    return index < current_.runs.size() ? current_.runs[index] : next_.runs[index - current_.runs.size()];
  }
  std::size_t Want(int bank) {
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      if (wanted_[i].bank == bank) return i;
    }
    wanted_.push_back({bank, -1, false, false});
    return wanted_.size() - 1;
  }
  bool InService(int owner) const { return owner >= 0 && static_cast<std::size_t>(owner) < left_.size(); }
  bool Done(int i) const { return InService(i) && left_[static_cast<std::size_t>(i)] == 0; }
  /// Row hits that may be served now come first, then age.
  int OwnerOf(int bank) const {
    const std::int64_t open = device_.bank(bank).row;
    const bool writing = reads_left_ == 0;
    int oldest = -1;
    bool oldest_in_service = false;
    for (int i = 0; i < RunCount(); ++i) {
      const RowRun& run = RunAt(i);
      if (run.bank != bank || Done(i)) continue;
      const bool in_service = InService(i);
      if (!in_service && oldest_in_service) break;
      if (run.row == open && (!in_service || run.write == writing)) return i;
      if (oldest < 0) oldest = i, oldest_in_service = in_service;
    }
    return oldest;
  }
  void FindOwner(WantedBank& wanted) {
    wanted.owner = wanted.shared ? OwnerOf(wanted.bank) : Done(wanted.owner) ? -1 : wanted.owner;
  }
  void FindOwners() {
    for (WantedBank& wanted : wanted_) FindOwner(wanted);
  }

  RowCommand BestRowCommand() const {
    RowCommand best;
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      const WantedBank& wanted = wanted_[i];
      const std::int64_t open = device_.bank(wanted.bank).row;
      const bool hit = wanted.owner >= 0 && RunAt(wanted.owner).row == open;
      Command command = Command::kActivate;
      if (wanted.refresh) {
        if (hit && InService(wanted.owner)) continue;
        command = open >= 0 ? Command::kPrecharge : Command::kRefreshBank;
      } else if (wanted.owner < 0 || hit) {
        continue;
      } else if (open >= 0) {
        command = Command::kPrecharge;
      }
      const Ticks tick = device_.Earliest(command, wanted.bank, start_);
      if (tick < best.tick) best = {command, tick, i};
    }
    return best;
  }

  void IssueRowCommand(const RowCommand& row) {
    WantedBank& wanted = wanted_[row.wanted];
    const std::int64_t target = wanted.owner >= 0 ? RunAt(wanted.owner).row : -1;
    device_.Issue(row.command, wanted.bank, target, row.tick);
    if (row.command == Command::kRefreshBank) {
      wanted.refresh = false;
      refreshes_.erase(std::find(refreshes_.begin(), refreshes_.end(), wanted.bank));
    }
  }

  DramDevice& device_;
  const RowBatch& current_;
  const RowBatch& next_;
  std::vector<int>& refreshes_;
  Ticks start_;
  std::vector<int> left_;
  std::vector<int> place_;  ///< Per run: its bank in `wanted_`.
  std::vector<WantedBank> wanted_;
  int reads_left_ = 0, writes_left_ = 0;
};

}  // namespace

void RowBatch::Expand(const AddressMap& map, const Batch& batch) {
  runs.clear();
  first.clear();
  touched.clear();
  const auto add = [&](std::uint64_t packed, int bursts, bool write) {
    const int bank = map.BankOf(packed);
    const std::int64_t row = map.RowOf(packed);
    std::size_t i = runs.size();
    while (i > 0 && !(runs[i - 1].bank == bank && runs[i - 1].row == row && runs[i - 1].write == write)) --i;
    if (i == 0) {
      runs.push_back({row, bank, 0, write});
      i = runs.size();
    }
    runs[i - 1].bursts += bursts;
    touched.push_back(static_cast<int>(i) - 1);
  };
  const int unit_bursts = 1 << (map.unit_bits() - map.burst_bits());
  for (const UnitRun& run : batch.runs) {
    first.push_back(static_cast<int>(touched.size()));
    if (!run.whole) {
      add(run.packed, run.bursts, run.write);
      continue;
    }
    for (const AddressMap::UnitPart& part : map.unit_parts()) {
      add(run.packed ^ part.packed, part.bursts * run.bursts / unit_bursts, run.write);
    }
  }
  first.push_back(static_cast<int>(touched.size()));
}

void ServeBatch(DramDevice& device, const RowBatch& current, const RowBatch& next, std::vector<int>& refreshes,
                Ticks start, ServiceResult& result) {
  Server(device, current, next, refreshes, start).Run(result);
}

}  // namespace spillway::model
