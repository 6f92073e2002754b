// SPDX-License-Identifier: Apache-2.0
// An independent check of a command log: every pair of commands against every rule, written from the rule
// list and not from the model's tables.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "sim/model/dram_device.h"

namespace spillway::test {

class DramRules {
 public:
  DramRules(const config::HbmConfig& hbm, const model::DramClocks& clocks) : hbm_(hbm), t_(clocks) {}

  /// The first violation, or "".
  std::string Check(const std::vector<model::CommandRecord>& log) const {
    using model::Command;
    std::vector<model::CommandRecord> sorted = log;
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.tick < b.tick; });
    std::vector<std::int64_t> open(static_cast<std::size_t>(Banks()), -1);
    std::vector<model::Ticks> acts;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      const model::CommandRecord& now = sorted[i];
      auto& row = open[static_cast<std::size_t>(now.bank)];
      if (now.command == Command::kActivate) {
        if (row >= 0) return "ACT to an open bank";
        row = now.row;
        if (acts.size() >= 4 && now.tick - acts[acts.size() - 4] < t_.faw) return "tFAW";
        acts.push_back(now.tick);
      } else if (IsColumn(now.command)) {
        if (row != now.row) return "CAS to a closed or other row";
      } else if (now.command == Command::kPrecharge) {
        row = -1;
      } else if (now.command == Command::kPrechargeAll) {
        std::fill(open.begin(), open.end(), -1);
      } else if (now.command == Command::kRefreshAll) {
        for (const std::int64_t each : open) {
          if (each >= 0) return "REF with an open bank";
        }
      } else if (row >= 0) {
        return "REFpb of an open bank";
      }
      for (std::size_t j = i; j-- > 0 && now.tick - sorted[j].tick < Horizon();) {
        const std::string broken = Pair(sorted[j], now);
        if (!broken.empty()) return broken + " at clock " + std::to_string(now.tick);
      }
    }
    return "";
  }

 private:
  static bool IsColumn(model::Command c) { return c == model::Command::kRead || c == model::Command::kWrite; }
  int Banks() const { return hbm_.bank_groups * hbm_.banks_per_group * hbm_.stack_ids; }
  int GroupOf(int bank) const { return bank / hbm_.banks_per_group; }
  int StackOf(int bank) const { return bank / (hbm_.banks_per_group * hbm_.bank_groups); }
  model::Ticks Horizon() const { return std::max({t_.rfc, t_.rfc_pb, t_.rc, t_.cwl + t_.burst + t_.wr}) + t_.rp + 1; }

  std::string Pair(const model::CommandRecord& first, const model::CommandRecord& then) const {
    using model::Command;
    const model::Ticks gap = then.tick - first.tick;
    const bool bank = first.bank == then.bank, group = GroupOf(first.bank) == GroupOf(then.bank),
               stack = StackOf(first.bank) == StackOf(then.bank);
    const bool all = first.command == Command::kRefreshAll || first.command == Command::kPrechargeAll ||
                     then.command == Command::kRefreshAll || then.command == Command::kPrechargeAll;
    const auto is = [&](Command a, Command b) { return first.command == a && then.command == b; };
    if (!IsColumn(first.command) && !IsColumn(then.command) && gap < 1) return "row bus";
    // Data on the bus.
    if (IsColumn(first.command) && IsColumn(then.command)) {
      const model::Ticks begin = DataStart(then), end = DataStart(first) + t_.burst;
      if (begin < end && DataStart(first) < begin + t_.burst) return "two bursts on the bus";
    }
    if (is(Command::kActivate, Command::kActivate)) {
      if (bank && gap < t_.rc) return "tRC";
      if (gap < (group ? t_.rrd_l : t_.rrd_s)) return "tRRD";
    }
    if (is(Command::kActivate, Command::kRead) && bank && gap < t_.rcd_rd) return "tRCDRD";
    if (is(Command::kActivate, Command::kWrite) && bank && gap < t_.rcd_wr) return "tRCDWR";
    if (first.command == Command::kActivate && IsPrecharge(then.command) && (bank || all) && gap < t_.ras) return "tRAS";
    if (is(Command::kRead, Command::kRead) || is(Command::kWrite, Command::kWrite)) {
      if (gap < (group ? t_.ccd_l : stack ? t_.ccd_s : t_.ccd_r)) return "tCCD";
    }
    if (is(Command::kWrite, Command::kRead) && gap < t_.cwl + t_.burst + (group ? t_.wtr_l : t_.wtr_s)) return "tWTR";
    if (is(Command::kRead, Command::kWrite) && gap < t_.rtw) return "tRTW";
    if (first.command == Command::kRead && IsPrecharge(then.command) && (bank || all) && gap < t_.rtp) return "tRTP";
    if (first.command == Command::kWrite && IsPrecharge(then.command) && (bank || all) &&
        gap < t_.cwl + t_.burst + t_.wr) {
      return "tWR";
    }
    const bool opens = then.command == Command::kActivate || then.command == Command::kRefreshAll ||
                       then.command == Command::kRefreshBank;
    if (IsPrecharge(first.command) && opens && (bank || all) && gap < t_.rp) return "tRP";
    if (first.command == Command::kRefreshAll && opens && gap < t_.rfc) return "tRFC";
    if (first.command == Command::kRefreshBank && opens && (bank || all) && gap < t_.rfc_pb) return "tRFCpb";
    if (first.command == Command::kRefreshBank && opens && gap < t_.rrefd) return "tRREFD";
    return "";
  }
  static bool IsPrecharge(model::Command c) {
    return c == model::Command::kPrecharge || c == model::Command::kPrechargeAll;
  }
  model::Ticks DataStart(const model::CommandRecord& r) const {
    return r.tick + (r.command == model::Command::kRead ? t_.cl : t_.cwl);
  }

  config::HbmConfig hbm_;
  model::DramClocks t_;
};

}  // namespace spillway::test
