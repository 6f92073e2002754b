// SPDX-License-Identifier: Apache-2.0
#include "sim/model/dram_device.h"

#include <algorithm>

#include "sim/base/result.h"

namespace spillway::model {

DramClocks::DramClocks(const config::DramTiming& t) {
  SPILLWAY_CHECK(t.tck > 0);
  const auto clocks = [&t](Picos time) { return (time + t.tck - 1) / t.tck; };
  burst = std::max<Ticks>(1, clocks(t.burst));
  cl = clocks(t.cl), cwl = clocks(t.cwl);
  rcd_rd = clocks(t.trcd_rd), rcd_wr = clocks(t.trcd_wr), rp = clocks(t.trp), ras = clocks(t.tras);
  rc = std::max({clocks(t.trc), ras + rp, rcd_rd, rcd_wr});
  // The data bus is a rule of its own: no CAS closer than a burst.
  ccd_s = std::max(clocks(t.tccd_s), burst);
  ccd_l = std::max(clocks(t.tccd_l), ccd_s);
  ccd_r = std::max(clocks(t.tccd_r), ccd_s);
  rrd_s = clocks(t.trrd_s), rrd_l = std::max(clocks(t.trrd_l), rrd_s), faw = clocks(t.tfaw);
  wtr_s = clocks(t.twtr_s), wtr_l = std::max(clocks(t.twtr_l), wtr_s);
  // Read data must have left the bus, and turned it, before write data comes.
  rtw = std::max(clocks(t.trtw), cl + burst + 1 - cwl);
  wr = clocks(t.twr), rtp = clocks(t.trtp);
  rfc = clocks(t.trfc), rfc_pb = clocks(t.trfc_pb), rrefd = clocks(t.trrefd), refi = clocks(t.trefi);
}

DramDevice::DramDevice(const config::HbmConfig& config) : clocks_(config.timing) {
  const int per_group = config.banks_per_group, per_stack = config.banks_per_group * config.bank_groups;
  SPILLWAY_CHECK(per_group > 0 && per_stack > 0 && (per_group & (per_group - 1)) == 0 && (per_stack & (per_stack - 1)) == 0);
  group_shift_ = __builtin_ctz(static_cast<unsigned>(per_group));
  stack_shift_ = __builtin_ctz(static_cast<unsigned>(per_stack));
  const auto stacks = static_cast<std::size_t>(std::max(1, config.stack_ids));
  banks_.resize(stacks * static_cast<std::size_t>(per_stack));
  groups_.resize(stacks * static_cast<std::size_t>(config.bank_groups));
  stacks_.resize(stacks);
}

Ticks DramDevice::ActOk(int bank) const {
  const Group& group = groups_[static_cast<std::size_t>(GroupOf(bank))];
  return std::max({banks_[static_cast<std::size_t>(bank)].act_ok, group.act + clocks_.rrd_l,
                   last_acts_[3] + clocks_.rrd_s, last_acts_[0] + clocks_.faw, last_row_command_ + 1,
                   last_refresh_bank_ + clocks_.rrefd});
}

Ticks DramDevice::ReadOk(int bank) const {
  const Group& group = groups_[static_cast<std::size_t>(GroupOf(bank))];
  const Ticks after_write = clocks_.cwl + clocks_.burst;
  Ticks ok = std::max({banks_[static_cast<std::size_t>(bank)].read_ok, group.read + clocks_.ccd_l,
                       group.write + after_write + clocks_.wtr_l});
  const int own = StackOf(bank);
  for (int i = 0; i < static_cast<int>(stacks_.size()); ++i) {
    const Group& stack = stacks_[static_cast<std::size_t>(i)];
    ok = std::max({ok, stack.read + (i == own ? clocks_.ccd_s : clocks_.ccd_r),
                   stack.write + after_write + clocks_.wtr_s});
  }
  return ok;
}

Ticks DramDevice::WriteOk(int bank) const {
  const Group& group = groups_[static_cast<std::size_t>(GroupOf(bank))];
  Ticks ok = std::max(banks_[static_cast<std::size_t>(bank)].write_ok, group.write + clocks_.ccd_l);
  const int own = StackOf(bank);
  for (int i = 0; i < static_cast<int>(stacks_.size()); ++i) {
    const Group& stack = stacks_[static_cast<std::size_t>(i)];
    ok = std::max({ok, stack.write + (i == own ? clocks_.ccd_s : clocks_.ccd_r), stack.read + clocks_.rtw});
  }
  return ok;
}

Ticks DramDevice::Earliest(Command command, int index, Ticks from) const {
  const Bank& bank = banks_[static_cast<std::size_t>(index)];
  switch (command) {
    case Command::kActivate:
      return std::max(from, ActOk(index));
    case Command::kRead:
      return std::max(from, ReadOk(index));
    case Command::kWrite:
      return std::max(from, WriteOk(index));
    case Command::kPrecharge:
      return std::max({from, bank.pre_ok, last_row_command_ + 1});
    case Command::kRefreshBank:
      return std::max({from, bank.act_ok, last_acts_[3] + clocks_.rrd_s, last_row_command_ + 1,
                       last_refresh_bank_ + clocks_.rrefd});
    case Command::kPrechargeAll:
    case Command::kRefreshAll:
      break;
  }
  Ticks ok = std::max(from, last_row_command_ + 1);
  for (const Bank& each : banks_) {
    if (command == Command::kRefreshAll) ok = std::max(ok, each.act_ok);
    if (command == Command::kPrechargeAll && each.row >= 0) ok = std::max(ok, each.pre_ok);
  }
  return ok;
}

void DramDevice::ColumnGates(bool write, std::vector<Ticks>& by_group, std::vector<Ticks>& by_stack) const {
  const DramClocks& c = clocks_;
  const Ticks after_write = c.cwl + c.burst;
  by_group.resize(groups_.size());
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const Group& group = groups_[i];
    by_group[i] = write ? group.write + c.ccd_l : std::max(group.read + c.ccd_l, group.write + after_write + c.wtr_l);
  }
  by_stack.assign(stacks_.size(), kLongAgo);
  for (std::size_t i = 0; i < stacks_.size(); ++i) {
    for (std::size_t from = 0; from < stacks_.size(); ++from) {
      const Group& other = stacks_[from];
      const Ticks ccd = i == from ? c.ccd_s : c.ccd_r;
      by_stack[i] = std::max({by_stack[i], (write ? other.write : other.read) + ccd,
                              write ? other.read + c.rtw : other.write + after_write + c.wtr_s});
    }
  }
}

void DramDevice::IssueTrain(Command command, int index, Ticks last) {
  Bank& bank = banks_[static_cast<std::size_t>(index)];
  Group& group = groups_[static_cast<std::size_t>(GroupOf(index))];
  Group& stack = stacks_[static_cast<std::size_t>(StackOf(index))];
  if (command == Command::kRead) {
    bank.pre_ok = std::max(bank.pre_ok, last + clocks_.rtp);
    group.read = stack.read = last;
  } else {
    bank.pre_ok = std::max(bank.pre_ok, last + clocks_.cwl + clocks_.burst + clocks_.wr);
    group.write = stack.write = last;
  }
}

void DramDevice::Rest(Ticks act_ok) {
  for (Bank& bank : banks_) bank = Bank{-1, act_ok, kLongAgo, kLongAgo, kLongAgo};
  for (Group& group : groups_) group = Group{};
  for (Group& stack : stacks_) stack = Group{};
  last_acts_.fill(kLongAgo);
  last_row_command_ = last_refresh_bank_ = kLongAgo;
}

void DramDevice::Open(int bank, std::int64_t row, Ticks pre_ok, Ticks act) {
  banks_[static_cast<std::size_t>(bank)] = Bank{row, act + clocks_.rc, pre_ok, act + clocks_.rcd_rd, act + clocks_.rcd_wr};
}

void DramDevice::Close(int bank, Ticks act_ok) {
  banks_[static_cast<std::size_t>(bank)] = Bank{-1, act_ok, kLongAgo, kLongAgo, kLongAgo};
}

void DramDevice::SetLastBurst(int bank, bool write, Ticks tick) {
  Group& group = groups_[static_cast<std::size_t>(GroupOf(bank))];
  Group& stack = stacks_[static_cast<std::size_t>(StackOf(bank))];
  if (write) {
    group.write = stack.write = tick;
  } else {
    group.read = stack.read = tick;
  }
}

void DramDevice::Issue(Command command, int index, std::int64_t row, Ticks tick) {
  Bank& bank = banks_[static_cast<std::size_t>(index)];
  Group& group = groups_[static_cast<std::size_t>(GroupOf(index))];
  SPILLWAY_CHECK(tick >= Earliest(command, index, kLongAgo));
  switch (command) {
    case Command::kActivate:
      SPILLWAY_CHECK(bank.row < 0);
      bank.row = row;
      bank.act_ok = tick + clocks_.rc;
      bank.pre_ok = tick + clocks_.ras;
      bank.read_ok = tick + clocks_.rcd_rd;
      bank.write_ok = tick + clocks_.rcd_wr;
      group.act = tick;
      last_acts_ = {last_acts_[1], last_acts_[2], last_acts_[3], tick};
      break;
    case Command::kRead:
    case Command::kWrite:
      SPILLWAY_CHECK(bank.row == row);
      IssueTrain(command, index, tick);
      break;
    case Command::kPrecharge:
      bank.row = -1;
      bank.act_ok = std::max(bank.act_ok, tick + clocks_.rp);
      break;
    case Command::kPrechargeAll:
      for (Bank& each : banks_) {
        each.row = -1;
        each.act_ok = std::max(each.act_ok, tick + clocks_.rp);
      }
      break;
    case Command::kRefreshAll:
      for (Bank& each : banks_) {
        SPILLWAY_CHECK(each.row < 0);
        each.act_ok = tick + clocks_.rfc;
      }
      break;
    case Command::kRefreshBank:
      SPILLWAY_CHECK(bank.row < 0);
      bank.act_ok = tick + clocks_.rfc_pb;
      last_refresh_bank_ = tick;
      break;
  }
  if (command != Command::kRead && command != Command::kWrite) last_row_command_ = tick;
  if (log_ != nullptr) log_->push_back({command, tick, index, row});
}

}  // namespace spillway::model
