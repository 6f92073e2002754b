// SPDX-License-Identifier: Apache-2.0
// The chip's HBM: one controller per pseudo-channel (command level), or one per group of channels that see
// the same traffic, with served batches remembered (run level). Both run the same rules and give the same
// times; run level does each distinct piece of work once.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/model/channel_controller.h"

namespace spillway::model {

class HbmMemory final : public MemorySystem {
 public:
  struct Options {
    bool share_channels = true;      ///< Channels of equal load are computed once.
    bool remember_batches = true;
  };
  /// REQUIRES: CheckHbm(config).ok().
  HbmMemory(const config::HbmConfig& config, Options options);

  int Start(Picos now, const Access& access) override;
  Picos NextEvent() const override;
  void Advance(Picos now, std::vector<Completion>& finished) override;
  double ReadRate() const override { return rate_[0]; }
  double WriteRate() const override { return rate_[1]; }
  const MemoryCounters& counters() const override { return counters_; }

  const AddressMap& map() const { return map_; }
  std::size_t groups() const { return groups_.size(); }
  /// Keeps the commands of a channel from now on. REQUIRES: !share_channels.
  void LogChannel(int channel, std::vector<CommandRecord>* log);
  std::int64_t batches_served() const { return cache_.batches_served(); }

 private:
  struct Group {
    ChannelController controller;
    std::vector<int> channels;
  };
  struct Live {
    Picos start = 0;
    int channels_left = 0;
    Ticks end = 0;
  };

  void MergeFresh(Ticks now);
  void Place(int id, const AccessShape& shape, Ticks visible, double bursts_per_tick);
  void RunDecisions(Picos now);
  void RollWindow(Picos now);
  void CollectDecisions();
  void ClearCache();  ///< Bounds memory; results do not depend on it.

  config::HbmConfig config_;
  Options options_;
  AddressMap map_;
  Picos tck_;
  std::vector<Group> groups_;
  std::vector<Ticks> decisions_;                  ///< Of each group: when it next decides, < 0: never.
  PatternCache patterns_;
  ServiceCache cache_;
  std::map<int, Live> live_;                      ///< Accesses with bursts not yet commanded.
  std::set<std::pair<Picos, int>> ending_;        ///< Known completions.
  std::vector<ChannelController::Finish> finishes_;
  MemoryCounters counters_;
  int next_id_ = 0;
  int in_progress_ = 0;
  Picos busy_since_ = 0, last_now_ = 0;
  // Rates are averages over windows: a channel changes direction many times a microsecond.
  Picos window_start_ = 0;
  std::int64_t window_bursts_[2] = {0, 0};
  double rate_[2] = {0, 0};
};

/// Whether the HBM part of a configuration can be built: timing, counts, queues, address map.
Status CheckHbm(const config::HbmConfig& config);

}  // namespace spillway::model
