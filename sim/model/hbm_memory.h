// SPDX-License-Identifier: Apache-2.0
// The chip's HBM: one controller per pseudo-channel (command level), or one per group of channels that see
// the same traffic, with the times of known batches recalled (run level). Both take the same decisions by the
// same rules; docs/memory-model.md says how close they are.
#pragma once

#include <memory>
#include <set>
#include <tuple>
#include <vector>

#include "sim/model/channel_controller.h"

namespace spillway::model {

class HbmMemory final : public MemorySystem {
 public:
  struct Options {
    bool share_channels = true;      ///< Channels of equal load are computed once.
    ServiceMode service = ServiceMode::kTrains;
    bool recall = true;              ///< Batches of a known context take the times seen. REQUIRES: kTrains.
  };
  /// REQUIRES: CheckHbm(config).ok().
  HbmMemory(const config::HbmConfig& config, Options options);
  HbmMemory(const HbmMemory&) = delete;  ///< Controllers point into it.
  HbmMemory& operator=(const HbmMemory&) = delete;

  int Start(Picos now, const Access& access) override;
  /// No later than the next completion.
  Picos NextEvent() const override { return next_event_; }
  void Advance(Picos now, std::vector<Completion>& finished) override;
  Bytes Moved(Picos now) override;
  double ReadRate() const override { return rate_[0]; }
  double WriteRate() const override { return rate_[1]; }
  const MemoryCounters& counters() const override { return counters_; }
  /// The batch times seen.
  std::shared_ptr<const Experience> experience() const override;
  /// REQUIRES: `experience` is of a HbmMemory of the same configuration; nothing has been started.
  void Adopt(const Experience& experience);

  const AddressMap& map() const { return shared_.map; }
  std::size_t groups() const { return groups_.size(); }
  /// Keeps the commands of a channel from now on. REQUIRES: !share_channels.
  void LogChannel(int channel, std::vector<CommandRecord>* log);

 private:
  struct Group {
    ChannelController controller;
    std::vector<int> channels;
    bool fresh = false;          ///< When groups were merged last.
  };
  /// A channel of a group, by its share in an access.
  struct Share {
    std::int64_t bursts = 0;
    std::uint64_t key = 0;
    std::size_t place = 0;       ///< In the group,
    int channel = 0;
    bool Alike(const Share& other) const { return bursts == other.bursts && key == other.key; }
    bool operator<(const Share& o) const { return std::tie(bursts, key, place) < std::tie(o.bursts, o.key, o.place); }
  };
  struct Live {
    int id = 0;
    int channels_left = 0;
    Ticks end = 0;
    Ticks no_end_before = 0;
    AccessShape shape;           ///< Walkers point into it.
  };

  void MergeFresh(Ticks now);
  void Finish(const ChannelController::Finish& finish, int channels);
  void Split(std::size_t g, const AccessShape& shape);
  Group& AddCopy(std::size_t from);
  void Place(int id, const AccessShape& shape, Ticks visible, double bursts_per_tick);
  void RunDecisions(Picos now);
  void RollWindow(Picos now);
  void CollectDecisions();
  void FindNextEvent();

  config::HbmConfig config_;
  bool share_channels_;
  ChannelServer::Shared shared_;
  ChannelController::Scratch scratch_;
  Picos tck_;
  std::vector<std::unique_ptr<Group>> groups_, spare_;  ///< Spare ones keep their memory.
  std::vector<Ticks> decisions_;                  ///< Of each group: when it next decides, < 0: never.
  Picos next_event_ = -1, found_at_ = -1;         ///< The latter < 0: to be found again.
  PatternCache patterns_;
  std::vector<Live> live_;                        ///< Accesses with bursts not yet commanded, by id.
  std::set<std::pair<Picos, int>> ending_;        ///< Known completions.
  std::vector<ChannelController::Finish> finishes_;  ///< These two are scratch.
  std::vector<Share> shares_;
  MemoryCounters counters_;
  bool adopted_ = false;
  int next_id_ = 0;
  int in_progress_ = 0;
  Picos busy_since_ = 0, last_now_ = 0;
  // Rates are averages over windows: a channel changes direction many times a microsecond.
  Picos window_start_ = 0;
  std::int64_t window_bursts_[2] = {0, 0}, taken_bursts_ = 0;
  double rate_[2] = {0, 0};
};

/// hbm.fidelity: run.
inline constexpr HbmMemory::Options kRunLevel{};
/// The same with every batch served: the times of the command level.
inline constexpr HbmMemory::Options kEveryBatch{true, ServiceMode::kTrains, false};
/// hbm.fidelity: command.
inline constexpr HbmMemory::Options kEveryCommand{false, ServiceMode::kCommands, false};

/// Whether the HBM part of a configuration can be built: timing, counts, queues, address map.
Status CheckHbm(const config::HbmConfig& config);

}  // namespace spillway::model
