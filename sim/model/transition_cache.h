// SPDX-License-Identifier: Apache-2.0
// Remembers what serving a batch does. The rules know only differences of time and which runs share a bank, a
// group or a stack, so a state is brought to a normal form (times relative to now and cut where a rule has
// expired; banks, groups, stacks and rows renamed in order of appearance) and each normal form is served once
// by ServeBatch. What the outcome cannot depend on (how much of the next batch there is, when a group was last read
// if only writes follow) is left out. Streaming traffic repeats a handful of forms; the result is exact, not an estimate.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/model/batch_service.h"

namespace spillway::model {

class TransitionCache {
 public:
  explicit TransitionCache(const DramDevice& device);
  /// Same contract and result as ServeBatch.
  void Serve(DramDevice& device, const Batch& current, const Batch& next, std::vector<int>& refreshes,
             Ticks start, ServiceResult& result);
  std::int64_t hits() const { return hits_; }
  std::int64_t misses() const { return misses_; }

 private:
  using Key = std::vector<std::uint64_t>;
  using State = std::vector<std::int32_t>;
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  struct Entry {
    std::int32_t last_cas = 0;
    State data_end, refreshes_left, state;
  };

  void Name(const DramDevice& device, const Batch& current, const Batch& next, const std::vector<int>& refreshes);
  int NameBank(const DramDevice& device, int bank);
  int LabelRow(int name, std::int64_t row);
  int LabelOfOpenRow(const DramDevice& device, std::size_t name) const;
  void AppendKey(const DramDevice& device, Ticks start);
  State SaveState(const DramDevice& device, Ticks start) const;
  void RestoreState(DramDevice& device, Ticks start, const State& state) const;

  std::unordered_map<Key, Entry, KeyHash> entries_;
  std::int64_t hits_ = 0, misses_ = 0;
  // Names of the state being looked up.
  std::vector<int> banks_, groups_, stacks_;             ///< Name -> index in the device.
  std::vector<int> bank_name_, group_name_, stack_name_;  ///< Index -> name, -1: none.
  std::vector<std::vector<std::int64_t>> rows_;          ///< Per bank name: label -> row; label 0 is the open row.
  Key key_;
  bool reads_ = false;  ///< The current batch has reads.
};

}  // namespace spillway::model
