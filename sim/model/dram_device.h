// SPDX-License-Identifier: Apache-2.0
// The JEDEC gates of one pseudo-channel: for each command the earliest clock at which every rule allows it.
// Stateless in time: the clock is an argument. Rules, with CAS = RD or WR:
//   ACT   tRC after ACT of the bank, tRP after its PRE, tRRD_L/S after ACT in the same/another group, tFAW over
//         any five, tRFC(pb) after a refresh of the bank, tRREFD after a refresh of another bank
//   RD    tRCDRD after ACT; tCCD_L/S/R after RD in the same group / stack / another stack;
//         CWL + burst + tWTR_L/S after WR in the same group / elsewhere
//   WR    tRCDWR after ACT; tCCD_L/S/R after WR; tRTW after RD
//   PRE   tRAS after ACT, tRTP after RD, CWL + burst + tWR after WR; PREA when that holds for every open bank
//   REF   all banks closed and free for ACT;  REFpb  the bank closed and free for ACT, tRREFD, tRRD_S after ACT
// One row command (ACT, PRE, REF) a clock; column commands have a bus of their own.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "sim/config/chip_config.h"

namespace spillway::model {

using Ticks = std::int64_t;  ///< Clocks of hbm.timing.tck.
constexpr Ticks kLongAgo = -(Ticks{1} << 40);

enum class Command { kActivate, kRead, kWrite, kPrecharge, kPrechargeAll, kRefreshAll, kRefreshBank };

/// Timing in clocks, rounded up as a controller must.
struct DramClocks {
  explicit DramClocks(const config::DramTiming& timing);
  DramClocks() = default;
  Ticks burst = 0, cl = 0, cwl = 0, rcd_rd = 0, rcd_wr = 0, rp = 0, ras = 0, rc = 0;
  Ticks ccd_s = 0, ccd_l = 0, ccd_r = 0, rrd_s = 0, rrd_l = 0, faw = 0;
  Ticks wtr_s = 0, wtr_l = 0, rtw = 0, wr = 0, rtp = 0, rfc = 0, rfc_pb = 0, rrefd = 0, refi = 0;
};

struct CommandRecord {
  Command command;
  Ticks tick;
  int bank;
  std::int64_t row;
};

class DramDevice {
 public:
  struct Bank {
    std::int64_t row = -1;  ///< Open row, -1: closed.
    Ticks act_ok = kLongAgo, pre_ok = kLongAgo, read_ok = kLongAgo, write_ok = kLongAgo;
  };
  /// Last commands of a bank group (or stack).
  struct Group {
    Ticks act = kLongAgo, read = kLongAgo, write = kLongAgo;
  };

  explicit DramDevice(const config::HbmConfig& config);

  const DramClocks& clocks() const { return clocks_; }
  int banks() const { return static_cast<int>(banks_.size()); }
  int GroupOf(int bank) const { return bank >> group_shift_; }
  int StackOf(int bank) const { return bank >> stack_shift_; }
  const Bank& bank(int index) const { return banks_[static_cast<std::size_t>(index)]; }

  /// The first clock >= `from` at which `command` may be given to `bank`, whatever row it has open.
  Ticks Earliest(Command command, int bank, Ticks from) const;
  /// Earliest() of ACT, PRE and REFpb, for many banks at one moment: what they share, and the rest.
  struct RowGates {
    Ticks activate = 0, precharge = 0, refresh = 0;
  };
  RowGates GatesOfRows(Ticks from) const {
    const Ticks precharge = std::max(from, last_row_command_ + 1);
    const Ticks refresh = std::max({precharge, last_acts_[3] + clocks_.rrd_s, last_refresh_bank_ + clocks_.rrefd});
    return {std::max(refresh, last_acts_[0] + clocks_.faw), precharge, refresh};
  }
  Ticks EarliestRow(Command command, int index, const RowGates& gates) const {
    const Bank& own = bank(index);
    if (command == Command::kPrecharge) return std::max(gates.precharge, own.pre_ok);
    if (command == Command::kRefreshBank) return std::max(gates.refresh, own.act_ok);
    const Group& group = groups_[static_cast<std::size_t>(GroupOf(index))];
    return std::max({gates.activate, own.act_ok, group.act + clocks_.rrd_l});
  }
  /// What Earliest() of RD or WR comes from besides the bank itself: by bank group and by stack.
  void ColumnGates(bool write, std::vector<Ticks>& by_group, std::vector<Ticks>& by_stack) const;
  /// REQUIRES: tick >= Earliest(command, bank, tick) and that the row state fits.
  void Issue(Command command, int bank, std::int64_t row, Ticks tick);
  /// Leaves the state that RD or WR commands to the open row leave behind, the last of them at `last`. The caller
  /// has checked the gates of all of them.
  void IssueTrain(Command command, int bank, Ticks last);
  // For a controller that skips commands and comes back to them:
  /// All rows closed, free for ACT from `act_ok`; no other gate holds.
  void Rest(Ticks act_ok);
  /// The bank's row was opened at `act`, and may be closed from `pre_ok`.
  void Open(int bank, std::int64_t row, Ticks pre_ok, Ticks act);
  void Close(int bank, Ticks act_ok);
  /// The last RD or WR was to that bank.
  void SetLastBurst(int bank, bool write, Ticks tick);

  /// Keeps every command, for checkers; null: none.
  void set_log(std::vector<CommandRecord>* log) { log_ = log; }

 private:
  Ticks ReadOk(int bank) const;
  Ticks WriteOk(int bank) const;
  Ticks ActOk(int bank) const;

  DramClocks clocks_;
  int group_shift_ = 0, stack_shift_ = 0;  ///< Counts are powers of two.
  std::vector<Bank> banks_;
  std::vector<Group> groups_, stacks_;
  std::array<Ticks, 4> last_acts_{kLongAgo, kLongAgo, kLongAgo, kLongAgo};  ///< Oldest first.
  Ticks last_row_command_ = kLongAgo, last_refresh_bank_ = kLongAgo;
  std::vector<CommandRecord>* log_ = nullptr;
};

}  // namespace spillway::model
