// SPDX-License-Identifier: Apache-2.0
#include "sim/model/service_cache.h"

#include <algorithm>
#include <cstring>

#include "sim/base/result.h"

namespace spillway::model {
namespace {

// Mixes of unlike streams may hardly repeat: when less than 5 in 8 of a sample was known, numbering states costs more
// than it saves, and the next batches do without.
constexpr int kSample = 1024, kEnough = 640, kPause = 4096;
constexpr std::size_t kMaxEdges = 1 << 17, kMaxTimes = 1 << 15, kFirstSlots = 1 << 10;

std::uint64_t Hash(const std::uint64_t* words, std::size_t count) {
  // Two independent chains: the multiplications overlap.
  std::uint64_t a = 0x9e3779b97f4a7c15ULL + count, b = 0xc2b2ae3d27d4eb4fULL;
  std::size_t i = 0;
  for (; i + 1 < count; i += 2) {
    a = (a ^ words[i]) * 0xff51afd7ed558ccdULL;
    b = (b ^ words[i + 1]) * 0xc4ceb9fe1a85ec53ULL;
    a ^= a >> 32;
    b ^= b >> 32;
  }
  if (i < count) a = (a ^ words[i]) * 0xff51afd7ed558ccdULL;
  a = (a ^ (b << 1)) * 0x9fb21c651e98df25ULL;
  return a ^ (a >> 29);
}

std::int32_t Relative(Ticks tick, Ticks at, Ticks floor) {
  return static_cast<std::int32_t>(std::max(tick - at, floor));
}

const RowRun& RunAt(const Batch& current, const Batch& next, std::size_t i) {
  return i < current.runs.size() ? current.runs[i] : next.runs[i - current.runs.size()];
}

}  // namespace

std::size_t ServiceCache::TimesHash::operator()(const Times& times) const {
  // Four independent chains: the multiplications overlap.
  std::uint64_t h[4] = {times.size(), 1, 2, 3};
  std::size_t i = 0;
  for (; i + 4 <= times.size(); i += 4) {
    for (std::size_t k = 0; k < 4; ++k) {
      h[k] = (h[k] ^ static_cast<std::uint32_t>(times[i + k])) * 0x9fb21c651e98df25ULL;
      h[k] ^= h[k] >> 29;
    }
  }
  for (; i < times.size(); ++i) h[0] = (h[0] ^ static_cast<std::uint32_t>(times[i])) * 0x9fb21c651e98df25ULL;
  return static_cast<std::size_t>(Hash(h, 4));
}

ServiceCache::ServiceCache(const DramDevice& device)
    : transitions_(device), slots_(kFirstSlots, -1), head_(static_cast<std::size_t>(device.banks()), -1) {}

bool ServiceCache::full() const { return edges_.size() >= kMaxEdges || times_.size() >= kMaxTimes; }

void ServiceCache::Clear() {
  ids_.clear();
  times_.clear();
  edges_.clear();
  words_.clear();
  slots_.assign(kFirstSlots, -1);
}

std::int32_t ServiceCache::Intern(const DramDevice& device, int origin, Ticks at) {
  const DramClocks& c = device.clocks_;
  scratch_.resize(device.banks_.size() * 4 + device.groups_.size() * 3 + device.stacks_.size() * 2 + 6);
  std::int32_t* out = scratch_.data();
  for (int i = 0; i < device.banks(); ++i) {
    const DramDevice::Bank& bank = device.bank(i ^ origin);
    *out++ = Relative(bank.act_ok, at, 0);
    // Of a closed bank ACT sets the rest.
    const bool open = bank.row >= 0;
    *out++ = open ? Relative(bank.pre_ok, at, 0) : -1;
    *out++ = open ? Relative(bank.read_ok, at, 0) : 0;
    *out++ = open ? Relative(bank.write_ok, at, 0) : 0;
  }
  const Ticks after_write = c.cwl + c.burst;
  const std::size_t group_origin = static_cast<std::size_t>(device.GroupOf(origin));
  for (std::size_t i = 0; i < device.groups_.size(); ++i) {
    const DramDevice::Group& group = device.groups_[i ^ group_origin];
    *out++ = Relative(group.act, at, -c.rrd_l);
    *out++ = Relative(group.read, at, -c.ccd_l);
    *out++ = Relative(group.write, at, -std::max(after_write + c.wtr_l, c.ccd_l));
  }
  const std::size_t stack_origin = static_cast<std::size_t>(device.StackOf(origin));
  for (std::size_t i = 0; i < device.stacks_.size(); ++i) {
    const DramDevice::Group& stack = device.stacks_[i ^ stack_origin];
    *out++ = Relative(stack.read, at, -std::max({c.rtw, c.ccd_s, c.ccd_r}));
    *out++ = Relative(stack.write, at, -std::max({after_write + c.wtr_s, c.ccd_s, c.ccd_r}));
  }
  for (const Ticks act : device.last_acts_) *out++ = Relative(act, at, -std::max(c.faw, c.rrd_s));
  *out++ = Relative(device.last_row_command_, at, -1);
  *out++ = Relative(device.last_refresh_bank_, at, -c.rrefd);
  const auto known = ids_.find(scratch_);
  if (known != ids_.end()) return known->second;
  const auto id = static_cast<std::int32_t>(times_.size());
  times_.push_back(&ids_.emplace(scratch_, id).first->first);
  return id;
}

void ServiceCache::Release(DramDevice& device, HeldTimes& held) const {
  if (held.id < 0) return;
  const std::int32_t* next = times_[static_cast<std::size_t>(held.id)]->data();
  const Ticks at = held.at;
  for (int i = 0; i < device.banks(); ++i) {
    DramDevice::Bank& bank = device.banks_[static_cast<std::size_t>(i ^ held.origin)];
    bank.act_ok = at + *next++;
    bank.pre_ok = at + *next++;
    bank.read_ok = at + *next++;
    bank.write_ok = at + *next++;
  }
  const std::size_t group_origin = static_cast<std::size_t>(device.GroupOf(held.origin));
  for (std::size_t i = 0; i < device.groups_.size(); ++i) {
    DramDevice::Group& group = device.groups_[i ^ group_origin];
    group.act = at + *next++;
    group.read = at + *next++;
    group.write = at + *next++;
  }
  const std::size_t stack_origin = static_cast<std::size_t>(device.StackOf(held.origin));
  for (std::size_t i = 0; i < device.stacks_.size(); ++i) {
    DramDevice::Group& stack = device.stacks_[i ^ stack_origin];
    stack.read = at + *next++;
    stack.write = at + *next++;
  }
  for (Ticks& act : device.last_acts_) act = at + *next++;
  device.last_row_command_ = at + *next++;
  device.last_refresh_bank_ = at + *next++;
  held.id = -1;
}

std::uint64_t ServiceCache::RunKey(const DramDevice& device, int origin, const RowRun& run, int index,
                                   const Batch& current, const Batch& next) {
  std::int32_t& head = head_[static_cast<std::size_t>(run.bank)];
  // 0: the open row; else one more than the first run of that bank and row.
  auto label = static_cast<std::uint64_t>(index) + 1;
  if (device.bank(run.bank).row == run.row) {
    label = 0;
  } else {
    for (std::int32_t i = head; i >= 0; i = link_[static_cast<std::size_t>(i)]) {
      if (RunAt(current, next, static_cast<std::size_t>(i)).row == run.row) label = static_cast<std::uint64_t>(i) + 1;
    }
  }
  link_[static_cast<std::size_t>(index)] = head;
  head = index;
  return label << 16 | static_cast<std::uint64_t>(run.bank ^ origin) << 1 | (run.write ? 1U : 0U);
}

void ServiceCache::MakeKey(const DramDevice& device, std::int32_t from, int origin, const Batch& current,
                           const Batch& next, const std::vector<int>& refreshes) {
  const std::size_t runs = current.runs.size() + next.runs.size();
  if (link_.size() < runs) link_.resize(runs);
  key_.resize(1 + runs + refreshes.size());
  std::uint64_t* out = key_.data();
  *out++ = static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint64_t>(current.runs.size() << 16) | next.runs.size();
  int index = 0;
  for (const RowRun& run : current.runs) {
    *out++ = RunKey(device, origin, run, index++, current, next) | static_cast<std::uint64_t>(run.bursts) << 32;
  }
  // Of the next batch only rows can be opened, whatever is to be done there.
  for (const RowRun& run : next.runs) *out++ = RunKey(device, origin, run, index++, current, next);
  for (const int bank : refreshes) *out++ = static_cast<std::uint64_t>(bank ^ origin);
  for (const RowRun& run : current.runs) head_[static_cast<std::size_t>(run.bank)] = -1;
  for (const RowRun& run : next.runs) head_[static_cast<std::size_t>(run.bank)] = -1;
}

const ServiceCache::Edge* ServiceCache::Find(std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = hash & mask; slots_[slot] >= 0; slot = (slot + 1) & mask) {
    const Edge& edge = edges_[static_cast<std::size_t>(slots_[slot])];
    if (edge.hash == hash && edge.key_words == key_.size() &&
        std::memcmp(&words_[edge.begin], key_.data(), key_.size() * sizeof(key_[0])) == 0) {
      return &edge;
    }
  }
  return nullptr;
}

void ServiceCache::Insert(Edge edge) {
  edges_.push_back(edge);
  const bool grown = edges_.size() * 2 > slots_.size();
  if (grown) slots_.assign(slots_.size() * 4, -1);
  const std::size_t mask = slots_.size() - 1;
  const auto place = [&](std::size_t index) {
    std::size_t slot = edges_[index].hash & mask;
    while (slots_[slot] >= 0) slot = (slot + 1) & mask;
    slots_[slot] = static_cast<std::int32_t>(index);
  };
  for (std::size_t i = grown ? 0 : edges_.size() - 1; i < edges_.size(); ++i) place(i);
}

void ServiceCache::Learn(DramDevice& device, HeldTimes& held, const Batch& current, const Batch& next,
                         std::vector<int>& refreshes, Ticks start, std::uint64_t hash, ServiceResult& result) {
  const std::size_t runs = current.runs.size() + next.runs.size();
  std::vector<int> banks;
  for (std::size_t i = 0; i < runs; ++i) banks.push_back(RunAt(current, next, i).bank);
  banks.insert(banks.end(), refreshes.begin(), refreshes.end());
  std::sort(banks.begin(), banks.end());
  banks.erase(std::unique(banks.begin(), banks.end()), banks.end());
  rows_before_.clear();
  for (const int bank : banks) rows_before_.push_back(device.bank(bank).row);

  const int origin = held.origin;
  Release(device, held);
  transitions_.Serve(device, current, next, refreshes, start, result);

  Edge edge;
  edge.hash = hash;
  edge.begin = static_cast<std::uint32_t>(words_.size());
  edge.key_words = static_cast<std::uint32_t>(key_.size());
  words_.resize(words_.size() + 2 * key_.size());
  std::memcpy(&words_[edge.begin], key_.data(), key_.size() * sizeof(key_[0]));
  edge.last_cas = static_cast<std::int32_t>(result.last_cas - start);
  for (const Ticks end : result.run_data_end) words_.push_back(static_cast<std::int32_t>(end - start));
  for (std::size_t i = 0; i < banks.size(); ++i) {
    const std::int64_t row = device.bank(banks[i]).row;
    if (row == rows_before_[i]) continue;
    std::int32_t opened = kNobody;
    for (std::size_t run = 0; run < runs && row >= 0; ++run) {
      const RowRun& each = RunAt(current, next, run);
      if (each.bank == banks[i] && each.row == row) opened = static_cast<std::int32_t>(run);
    }
    SPILLWAY_CHECK((row < 0) == (opened == kNobody));
    words_.push_back(banks[i] ^ origin);
    words_.push_back(opened);
    ++edge.rows;
  }
  edge.refreshes = static_cast<std::uint16_t>(refreshes.size());
  for (const int bank : refreshes) words_.push_back(bank ^ origin);
  held = {Intern(device, current.runs.front().bank, result.last_cas), current.runs.front().bank, result.last_cas};
  edge.to = held.id;
  Insert(edge);
}

void ServiceCache::Serve(DramDevice& device, HeldTimes& held, const Batch& current, const Batch& next,
                         std::vector<int>& refreshes, Ticks start, bool want_ends, ServiceResult& result) {
  constexpr std::size_t kMostRuns = 4096;
  if (paused_ > 0 || current.runs.size() + next.runs.size() > kMostRuns) {
    paused_ = std::max(0, paused_ - 1);
    Release(device, held);
    transitions_.Serve(device, current, next, refreshes, start, result);
    return;
  }
  if (++sampled_ == kSample) {
    if (sample_hits_ < kEnough) paused_ = kPause;
    sampled_ = sample_hits_ = 0;
  }
  if (held.id >= 0 && held.at != start) Release(device, held);
  if (held.id < 0) held = {Intern(device, current.runs.front().bank, start), current.runs.front().bank, start};
  MakeKey(device, held.id, held.origin, current, next, refreshes);
  const std::uint64_t hash = Hash(key_.data(), key_.size());
  const Edge* edge = Find(hash);
  if (edge == nullptr) {
    Learn(device, held, current, next, refreshes, start, hash, result);
    return;
  }
  ++sample_hits_;
  result.last_cas = start + edge->last_cas;
  const std::int32_t* out = words_.data() + edge->begin + 2 * edge->key_words;
  if (want_ends) {
    result.run_data_end.resize(current.runs.size());
    for (std::size_t i = 0; i < current.runs.size(); ++i) result.run_data_end[i] = start + out[i];
  }
  out += current.runs.size();
  for (int i = 0; i < edge->rows; ++i, out += 2) {
    const std::int64_t row = out[1] == kNobody ? -1 : RunAt(current, next, static_cast<std::size_t>(out[1])).row;
    device.banks_[static_cast<std::size_t>(out[0] ^ held.origin)].row = row;
  }
  refreshes.resize(edge->refreshes);
  for (int& bank : refreshes) bank = *out++ ^ held.origin;
  held = {edge->to, current.runs.front().bank, result.last_cas};
}

}  // namespace spillway::model
