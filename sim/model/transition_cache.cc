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

/// Two relative times in one word.
std::uint64_t Pair(std::int32_t high, std::int32_t low) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(high)) << 32 | static_cast<std::uint32_t>(low);
}

}  // namespace

std::size_t TransitionCache::KeyHash::operator()(const Key& key) const {
  // Two independent chains: the multiplications overlap.
  std::uint64_t a = 0x9e3779b97f4a7c15ULL + key.size(), b = 0xc2b2ae3d27d4eb4fULL;
  std::size_t i = 0;
  for (; i + 1 < key.size(); i += 2) {
    a = (a ^ key[i]) * 0xff51afd7ed558ccdULL;
    b = (b ^ key[i + 1]) * 0xc4ceb9fe1a85ec53ULL;
    a ^= a >> 32;
    b ^= b >> 32;
  }
  if (i < key.size()) a = (a ^ key[i]) * 0xff51afd7ed558ccdULL;
  a = (a ^ (b << 1)) * 0x9fb21c651e98df25ULL;
  return static_cast<std::size_t>(a ^ (a >> 29));
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

int TransitionCache::LabelRow(int name, std::int64_t row) {
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
  reads_ = false;
  key_.push_back(Pair(static_cast<std::int32_t>(current.runs.size()),
                      static_cast<std::int32_t>(next.runs.size() << 8 | refreshes.size())));
  for (const RowRun& run : current.runs) {
    const int name = NameBank(device, run.bank);
    reads_ = reads_ || !run.write;
    key_.push_back(Pair(name << 16 | LabelRow(name, run.row) << 1 | (run.write ? 1 : 0), run.bursts));
  }
  // Of the next batch only rows can be opened, whatever is to be done there. It matters in which order.
  for (const RowRun& run : next.runs) {
    const int name = NameBank(device, run.bank);
    key_.push_back(static_cast<std::uint64_t>(name << 16 | LabelRow(name, run.row)));
  }
  for (const int bank : refreshes) key_.push_back(static_cast<std::uint64_t>(NameBank(device, bank)));
  for (std::size_t i = 0; i < device.stacks_.size(); ++i) {
    if (stack_name_[i] >= 0) continue;
    stack_name_[i] = static_cast<int>(stacks_.size());
    stacks_.push_back(static_cast<int>(i));
  }
}

int TransitionCache::LabelOfOpenRow(const DramDevice& device, std::size_t name) const {
  const std::int64_t row = device.bank(banks_[name]).row;
  if (row < 0) return kClosed;
  const std::vector<std::int64_t>& rows = rows_[name];
  return static_cast<int>(std::find(rows.begin(), rows.end(), row) - rows.begin());
}

void TransitionCache::AppendKey(const DramDevice& device, Ticks start) {
  const DramClocks& c = device.clocks_;
  const Ticks after_write = c.cwl + c.burst;
  const int groups_per_stack = static_cast<int>(device.groups_.size() / device.stacks_.size());
  for (const int index : banks_) {
    const DramDevice::Bank& bank = device.bank(index);
    const bool open = bank.row >= 0;
    const int group = group_name_[static_cast<std::size_t>(device.GroupOf(index))];
    key_.push_back(Pair(group << 1 | (open ? 1 : 0), Relative(bank.act_ok, start, 0)));
    // Of an open bank act_ok is ACT + tRC, and what waits for tRCD follows from it. A closed one gets the rest by ACT.
    if (open) key_.push_back(static_cast<std::uint64_t>(Relative(bank.pre_ok, start, 0)));
  }
  for (const int index : groups_) {
    const DramDevice::Group& group = device.groups_[static_cast<std::size_t>(index)];
    key_.push_back(Pair(stack_name_[static_cast<std::size_t>(index / groups_per_stack)] << 16 |
                            (Relative(group.act, start, -c.rrd_l) & 0xffff),
                        Relative(group.write, start, -std::max(reads_ ? after_write + c.wtr_l : 0, c.ccd_l))));
    if (reads_) key_.push_back(static_cast<std::uint32_t>(Relative(group.read, start, -c.ccd_l)));
  }
  for (const int index : stacks_) {
    const DramDevice::Group& stack = device.stacks_[static_cast<std::size_t>(index)];
    key_.push_back(Pair(Relative(stack.read, start, -std::max({c.rtw, c.ccd_s, c.ccd_r})),
                        Relative(stack.write, start, -std::max({after_write + c.wtr_s, c.ccd_s, c.ccd_r}))));
  }
  const Ticks acts = -std::max(c.faw, c.rrd_s);
  key_.push_back(Pair(Relative(device.last_acts_[0], start, acts), Relative(device.last_acts_[1], start, acts)));
  key_.push_back(Pair(Relative(device.last_acts_[2], start, acts), Relative(device.last_acts_[3], start, acts)));
  key_.push_back(Pair(Relative(device.last_row_command_, start, -1), Relative(device.last_refresh_bank_, start, -c.rrefd)));
}

TransitionCache::State TransitionCache::SaveState(const DramDevice& device, Ticks start) const {
  // Long before `start` is as good as any other time before it.
  constexpr Ticks kFloor = -(1 << 24);
  State out;
  for (std::size_t name = 0; name < banks_.size(); ++name) {
    const DramDevice::Bank& bank = device.bank(banks_[name]);
    out.push_back(LabelOfOpenRow(device, name));
    for (const Ticks tick : {bank.act_ok, bank.pre_ok, bank.read_ok, bank.write_ok}) {
      out.push_back(Relative(tick, start, kFloor));
    }
  }
  for (const int index : groups_) {
    const DramDevice::Group& group = device.groups_[static_cast<std::size_t>(index)];
    for (const Ticks tick : {group.act, group.read, group.write}) out.push_back(Relative(tick, start, kFloor));
  }
  for (const int index : stacks_) {
    const DramDevice::Group& stack = device.stacks_[static_cast<std::size_t>(index)];
    for (const Ticks tick : {stack.read, stack.write}) out.push_back(Relative(tick, start, kFloor));
  }
  for (const Ticks act : device.last_acts_) out.push_back(Relative(act, start, kFloor));
  out.push_back(Relative(device.last_row_command_, start, kFloor));
  out.push_back(Relative(device.last_refresh_bank_, start, kFloor));
  return out;
}

void TransitionCache::RestoreState(DramDevice& device, Ticks start, const State& state) const {
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
    // What the key left out must not be overwritten, only what this batch has done.
    const std::int32_t read = *next++, write = *next++;
    if (reads_ && read >= 0) group.read = start + read;
    if (write >= 0) group.write = start + write;
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
  AppendKey(device, start);
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
  ServeBatch(device, current, next, refreshes, start, ServiceMode::kTrains, result);
  Entry entry;
  entry.last_cas = static_cast<std::int32_t>(result.last_cas - start);
  for (const Ticks end : result.run_data_end) entry.data_end.push_back(static_cast<std::int32_t>(end - start));
  for (const int bank : refreshes) entry.refreshes_left.push_back(bank_name_[static_cast<std::size_t>(bank)]);
  entry.state = SaveState(device, start);
  if (entries_.size() >= kMaxEntries) entries_.clear();  // Bounds memory; results do not depend on it.
  entries_.emplace(key_, std::move(entry));
}

}  // namespace spillway::model
