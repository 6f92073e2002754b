// SPDX-License-Identifier: Apache-2.0
// The first of run level's two memories. A device whose last batch is served holds times relative to that moment, and
// the same few sets of times come again and again: each set has a number, and a served batch is an edge from number to
// number, labelled by the runs of the batch with banks relative to an origin (XOR) and rows by equality. Following an
// edge touches the runs only, not the device; its times are written back when somebody else wants to see them.
// What is not known is asked of TransitionCache, whose normal form is smaller and costs more to make.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/model/transition_cache.h"

namespace spillway::model {

/// Where the times of a device are: in the device (id < 0; its rows always are) or in the cache, relative to `at`.
struct HeldTimes {
  std::int32_t id = -1;
  int origin = 0;
  Ticks at = 0;
};

class ServiceCache {
 public:
  explicit ServiceCache(const DramDevice& device);
  /// Same contract and result as ServeBatch, but the times of `device` end up in `held`, and run_data_end is filled
  /// only if `want_ends`.
  void Serve(DramDevice& device, HeldTimes& held, const Batch& current, const Batch& next, std::vector<int>& refreshes,
             Ticks start, bool want_ends, ServiceResult& result);
  /// Puts held times back into the device.
  void Release(DramDevice& device, HeldTimes& held) const;
  /// Grown too large: release every device and Clear().
  bool full() const;
  void Clear();
  std::int64_t batches_served() const { return transitions_.misses(); }

 private:
  using Times = std::vector<std::int32_t>;
  struct TimesHash {
    std::size_t operator()(const Times& times) const;
  };
  struct Edge {
    std::uint64_t hash = 0;
    std::uint32_t begin = 0, key_words = 0;  ///< In `words_`.
    std::uint16_t rows = 0, refreshes = 0;
    std::int32_t last_cas = 0, to = 0;
  };
  static constexpr std::int32_t kNobody = -1;

  std::int32_t Intern(const DramDevice& device, int origin, Ticks at);
  void MakeKey(const DramDevice& device, std::int32_t from, int origin, const Batch& current, const Batch& next,
               const std::vector<int>& refreshes);
  std::uint64_t RunKey(const DramDevice& device, int origin, const RowRun& run, int index, const Batch& current,
                       const Batch& next);
  const Edge* Find(std::uint64_t hash) const;
  void Insert(Edge edge);
  void Learn(DramDevice& device, HeldTimes& held, const Batch& current, const Batch& next, std::vector<int>& refreshes,
             Ticks start, std::uint64_t hash, ServiceResult& result);

  TransitionCache transitions_;
  std::unordered_map<Times, std::int32_t, TimesHash> ids_;
  std::vector<const Times*> times_;     ///< By number.
  std::vector<Edge> edges_;
  /// Per edge: its key, then data_end per run, {bank, run or kNobody} per changed row, refreshes left.
  std::vector<std::int32_t> words_;
  std::vector<std::int32_t> slots_;     ///< Open addressing, -1: free.
  int sampled_ = 0, sample_hits_ = 0, paused_ = 0;
  Times scratch_;
  // Of the batch being looked up.
  std::vector<std::uint64_t> key_;
  std::vector<std::int32_t> head_, link_;  ///< Per bank: its latest run so far; per run: the one before in its bank.
  std::vector<std::int64_t> rows_before_;
};

}  // namespace spillway::model
