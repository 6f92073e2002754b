// SPDX-License-Identifier: Apache-2.0
#include "sim/model/transition_cache.h"

#include <algorithm>

namespace spillway::model {
namespace {

constexpr std::int32_t kClosed = -1;
constexpr std::size_t kMaxEntries = 1 << 16;

std::int32_t Relative(Ticks tick, Ticks start, Ticks floor) {
  return static_cast<std::int32_t>(std::max(tick - start, floor));
}

}  // namespace

std::size_t TransitionCache::KeyHash::operator()(const Key& key) const {
  std::uint64_t h = 0x9e3779b97f4a7c15ULL + key.size();
  for (const std::int32_t value : key) {
    h ^= static_cast<std::uint32_t>(value);
    h *= 0xff51afd7ed558ccdULL;
    h ^= h >> 29;
  }
  return static_cast<std::size_t>(h);
}

TransitionCache::TransitionCache(const DramDevice& device)
    : bank_name_(device.banks_.size(), -1), group_name_(device.groups_.size(), -1),
      stack_name_(device.stacks_.size(), -1), rows_(device.banks_.size()) {}

int TransitionCache::NameBank(const DramDevice& device, int bank) {
  int& name = bank_name_[static_cast<std::size_t>(bank)];
  if (name >= 0) return name;
  name = static_cast<int>(banks_.size());
  banks_.push_back(bank);
  rows_[static_cast<std::size_t>(name)].assign(1, device.bank(bank).row);
  const int group = device.GroupOf(bank), stack = device.StackOf(bank);
  if (group_name_[static_cast<std::size_t>(group)] < 0) {
    group_name_[static_cast<std::size_t>(group)] = static_cast<int>(groups_.size());
    groups_.push_back(group);
  }
  if (stack_name_[static_cast<std::size_t>(stack)] < 0) {
    stack_name_[static_cast<std::size_t>(stack)] = static_cast<int>(stacks_.size());
    stacks_.push_back(stack);
  }
  return name;
}

int TransitionCache::LabelRow(const DramDevice&, int name, std::int64_t row) {
  std::vector<std::int64_t>& rows = rows_[static_cast<std::size_t>(name)];
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] == row) return static_cast<int>(i);
  }
  rows.push_back(row);
  return static_cast<int>(rows.size()) - 1;
}

void TransitionCache::Name(const DramDevice& device, const Batch& current, const Batch& next,
                           const std::vector<int>& refreshes) {
  for (const int bank : banks_) bank_name_[static_cast<std::size_t>(bank)] = -1;
  for (const int group : groups_) group_name_[static_cast<std::size_t>(group)] = -1;
  for (const int stack : stacks_) stack_name_[static_cast<std::size_t>(stack)] = -1;
  banks_.clear();
  groups_.clear();
  stacks_.clear();
  key_.clear();
  for (const Batch* batch : {&current, &next}) {
    for (const RowRun& run : batch->runs) {
      const int name = NameBank(device, run.bank);
      key_.push_back(name * 2 + (run.write ? 1 : 0));
      key_.push_back(LabelRow(device, name, run.row));
      key_.push_back(run.bursts);
    }
    key_.push_back(-7);
  }
  for (const int bank : refreshes) key_.push_back(NameBank(device, bank));
  key_.push_back(-7);
  for (std::size_t i = 0; i < device.stacks_.size(); ++i) {
    if (stack_name_[i] >= 0) continue;
    stack_name_[i] = static_cast<int>(stacks_.size());
    stacks_.push_back(static_cast<int>(i));
  }
  for (const int bank : banks_) key_.push_back(group_name_[static_cast<std::size_t>(device.GroupOf(bank))]);
  const int groups_per_stack = static_cast<int>(device.groups_.size() / device.stacks_.size());
  for (const int group : groups_) key_.push_back(stack_name_[static_cast<std::size_t>(group / groups_per_stack)]);
}

void TransitionCache::AppendState(const DramDevice& device, Ticks start, Key& out) const {
  const DramClocks& c = device.clocks_;
  const Ticks after_write = -(c.cwl + c.burst + c.wtr_l + c.ccd_l), after_read = -(c.rtw + c.ccd_l + c.ccd_r);
  for (std::size_t name = 0; name < banks_.size(); ++name) {
    const DramDevice::Bank& bank = device.bank(banks_[name]);
    std::int32_t label = kClosed;
    if (bank.row >= 0) {
      const std::vector<std::int64_t>& rows = rows_[name];
      label = static_cast<std::int32_t>(std::find(rows.begin(), rows.end(), bank.row) - rows.begin());
    }
    out.push_back(label);
    out.push_back(Relative(bank.act_ok, start, 0));
    out.push_back(Relative(bank.pre_ok, start, 0));
    out.push_back(Relative(bank.read_ok, start, 0));
    out.push_back(Relative(bank.write_ok, start, 0));
  }
  for (const int index : groups_) {
    const DramDevice::Group& group = device.groups_[static_cast<std::size_t>(index)];
    out.push_back(Relative(group.act, start, -c.rrd_l));
    out.push_back(Relative(group.read, start, after_read));
    out.push_back(Relative(group.write, start, after_write));
  }
  for (const int index : stacks_) {
    const DramDevice::Group& stack = device.stacks_[static_cast<std::size_t>(index)];
    out.push_back(Relative(stack.read, start, after_read));
    out.push_back(Relative(stack.write, start, after_write));
  }
  for (const Ticks act : device.last_acts_) out.push_back(Relative(act, start, -std::max(c.faw, c.rrd_s)));
  out.push_back(Relative(device.last_row_command_, start, -1));
  out.push_back(Relative(device.last_refresh_bank_, start, -c.rrefd));
}

void TransitionCache::RestoreState(DramDevice& device, Ticks start, const Key& state) const {
  const std::int32_t* next = state.data();
  for (std::size_t name = 0; name < banks_.size(); ++name) {
    DramDevice::Bank& bank = device.banks_[static_cast<std::size_t>(banks_[name])];
    const std::int32_t label = *next++;
    bank.row = label == kClosed ? -1 : rows_[name][static_cast<std::size_t>(label)];
    bank.act_ok = start + *next++;
    bank.pre_ok = start + *next++;
    bank.read_ok = start + *next++;
    bank.write_ok = start + *next++;
  }
  for (const int index : groups_) {
    DramDevice::Group& group = device.groups_[static_cast<std::size_t>(index)];
    group.act = start + *next++;
    group.read = start + *next++;
    group.write = start + *next++;
  }
  for (const int index : stacks_) {
    DramDevice::Group& stack = device.stacks_[static_cast<std::size_t>(index)];
    stack.read = start + *next++;
    stack.write = start + *next++;
  }
  for (Ticks& act : device.last_acts_) act = start + *next++;
  device.last_row_command_ = start + *next++;
  device.last_refresh_bank_ = start + *next++;
}

void TransitionCache::Serve(DramDevice& device, const Batch& current, const Batch& next,
                            std::vector<int>& refreshes, Ticks start, ServiceResult& result) {
  Name(device, current, next, refreshes);
  AppendState(device, start, key_);
  const auto found = entries_.find(key_);
  if (found != entries_.end()) {
    ++hits_;
    const Entry& entry = found->second;
    result.last_cas = start + entry.last_cas;
    result.run_data_end.clear();
    for (const std::int32_t end : entry.data_end) result.run_data_end.push_back(start + end);
    RestoreState(device, start, entry.state);
    refreshes.clear();
    for (const std::int32_t name : entry.refreshes_left) refreshes.push_back(banks_[static_cast<std::size_t>(name)]);
    return;
  }
  ++misses_;
  ServeBatch(device, current, next, refreshes, start, result);
  Entry entry;
  entry.last_cas = static_cast<std::int32_t>(result.last_cas - start);
  for (const Ticks end : result.run_data_end) entry.data_end.push_back(static_cast<std::int32_t>(end - start));
  for (const int bank : refreshes) entry.refreshes_left.push_back(bank_name_[static_cast<std::size_t>(bank)]);
  AppendState(device, start, entry.state);
  if (entries_.size() >= kMaxEntries) entries_.clear();  // Bounds memory; results do not depend on it.
  entries_.emplace(key_, std::move(entry));
}

}  // namespace spillway::model
