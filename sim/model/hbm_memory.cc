// SPDX-License-Identifier: Apache-2.0
#include "sim/model/hbm_memory.h"

#include <algorithm>

namespace spillway::model {
namespace {

constexpr Picos kRateWindow = kPicosPerMicro;

AddressMap MapOf(const config::HbmConfig& config) {
  Result<AddressMap> map = AddressMap::Create(config);
  SPILLWAY_CHECK(map.ok());
  return std::move(map).value();
}

}  // namespace

Status CheckHbm(const config::HbmConfig& config) {
  if (config.timing.tck <= 0 || config.timing.burst <= 0) return Error("hbm.timing: tck and burst must be above zero");
  if (config.read_queue < 2 || config.write_queue < 1) return Error("hbm: queues are too small");
  if (config.write_low_watermark < 0 || config.write_high_watermark <= config.write_low_watermark ||
      config.write_high_watermark > config.write_queue) {
    return Error("hbm: watermarks must satisfy 0 <= low < high <= write_queue");
  }
  const DramClocks clocks(config.timing);
  if (config.refresh_mode != config::RefreshMode::kNone && clocks.refi > 0 &&
      clocks.refi < 2 * (clocks.rfc + clocks.rp + clocks.rcd_rd)) {
    return Error("hbm.timing: refresh takes more than half of the time", "raise trefi or lower trfc");
  }
  Result<AddressMap> map = AddressMap::Create(config);
  if (!map.ok()) return map.errors();
  return Done{};
}

HbmMemory::HbmMemory(const config::HbmConfig& config, Options options)
    : config_(config), options_(options), map_(MapOf(config)), tck_(config.timing.tck), cache_(DramDevice(config)) {
  if (!map_.symmetric() || config.refresh_phase == config::RefreshPhase::kStaggered) options_.share_channels = false;
  for (int channel = 0; channel < config.channels; ++channel) {
    if (options_.share_channels && channel > 0) {
      groups_[0].channels.push_back(channel);
    } else {
      groups_.push_back({ChannelController(config, channel), {channel}});
    }
  }
  CollectDecisions();
}

void HbmMemory::LogChannel(int channel, std::vector<CommandRecord>* log) {
  SPILLWAY_CHECK(!options_.share_channels && !options_.remember_batches);
  groups_[static_cast<std::size_t>(channel)].controller.device().set_log(log);
}

void HbmMemory::MergeFresh(Ticks now) {
  if (groups_.size() < 2) return;
  std::vector<Group> merged;
  std::map<Ticks, std::size_t> fresh;  // Refresh phase -> group.
  for (Group& group : groups_) {
    if (group.controller.next_decision() < 0) group.controller.SettleIdle(now);
    if (group.controller.IsFresh(now)) {
      const auto [at, inserted] = fresh.emplace(group.controller.next_refresh(), merged.size());
      if (!inserted) {
        std::vector<int>& channels = merged[at->second].channels;
        channels.insert(channels.end(), group.channels.begin(), group.channels.end());
        continue;
      }
    }
    merged.push_back(std::move(group));
  }
  groups_ = std::move(merged);
}

void HbmMemory::Place(int id, const AccessShape& shape, Ticks visible, double bursts_per_tick) {
  std::int64_t total = 0;
  for (int channel = 0; channel < map_.channels(); ++channel) total += shape.share(channel).bursts;
  const auto add = [&](Group& group) {
    const ChannelWalker walker(shape, group.channels.front());
    if (walker.left() == 0) return;
    const double rate = bursts_per_tick * static_cast<double>(walker.left()) / static_cast<double>(total);
    group.controller.Add(id, walker, shape.write(), visible, rate);
  };
  const std::size_t before = groups_.size();
  for (std::size_t g = 0; g < before; ++g) {
    if (!shape.uniform() && groups_[g].channels.size() > 1) {
      std::map<std::pair<std::int64_t, std::uint64_t>, std::vector<int>> classes;
      for (const int channel : groups_[g].channels) {
        const ChannelShare& share = shape.share(channel);
        classes[{share.bursts, share.key}].push_back(channel);
      }
      for (auto it = std::next(classes.begin()); it != classes.end(); ++it) {
        ChannelController copy = groups_[g].controller;
        groups_.push_back({std::move(copy), std::move(it->second)});
      }
      groups_[g].channels = std::move(classes.begin()->second);
    }
    add(groups_[g]);
  }
  for (std::size_t g = before; g < groups_.size(); ++g) add(groups_[g]);
}

int HbmMemory::Start(Picos now, const Access& access) {
  SPILLWAY_CHECK(now >= last_now_ && now >= 0);
  last_now_ = now;
  const int id = next_id_++;
  const AccessShape shape(map_, access, &patterns_);
  int channels = 0;
  for (int channel = 0; channel < map_.channels(); ++channel) channels += shape.share(channel).bursts > 0 ? 1 : 0;
  if (in_progress_++ == 0) {
    busy_since_ = window_start_ = now;
    window_bursts_[0] = window_bursts_[1] = 0;
  }
  if (channels == 0) {
    ending_.insert({now, id});
    return id;
  }
  (access.write ? counters_.write_bytes : counters_.read_bytes) += access.bytes();
  counters_.partial_write_bytes += shape.partial_bytes();
  // Decisions of this very clock do not see it, whichever of the two the caller names first.
  const Ticks visible = now / tck_ + 1;
  RunDecisions(now);
  if (options_.share_channels) MergeFresh(visible);
  live_[id] = {now, channels, 0};
  const double bursts_per_second = access.max_bytes_per_second / static_cast<double>(config_.burst_bytes);
  Place(id, shape, visible, bursts_per_second * static_cast<double>(tck_) / static_cast<double>(kPicosPerSecond));
  CollectDecisions();
  return id;
}

Picos HbmMemory::NextEvent() const {
  Picos next = ending_.empty() ? -1 : ending_.begin()->first;
  for (const Ticks decision : decisions_) {
    // Closing rows and paying refreshes when all is done is nobody's business outside.
    if (decision < 0 || live_.empty()) continue;
    if (next < 0 || decision * tck_ < next) next = std::max(decision * tck_, last_now_);
  }
  return next;
}

void HbmMemory::RollWindow(Picos now) {
  if (now - window_start_ < kRateWindow) return;
  const double seconds = static_cast<double>(now - window_start_) / static_cast<double>(kPicosPerSecond);
  // Bursts are counted when they are taken in; what the pins cannot have moved yet belongs to the next window.
  const auto room = static_cast<double>(now - window_start_) / static_cast<double>(std::max(config_.timing.burst, tck_)) *
                    static_cast<double>(config_.channels);
  const auto taken = static_cast<double>(window_bursts_[0] + window_bursts_[1]);
  const double served = taken > room ? room / taken : 1.0;
  for (int i = 0; i < 2; ++i) {
    const auto bursts = static_cast<std::int64_t>(static_cast<double>(window_bursts_[i]) * served);
    rate_[i] = static_cast<double>(bursts * config_.burst_bytes) / seconds;
    window_bursts_[i] -= bursts;
  }
  window_start_ = now;
}

void HbmMemory::CollectDecisions() {
  decisions_.clear();
  for (const Group& group : groups_) decisions_.push_back(group.controller.next_decision());
}

void HbmMemory::ClearCache() {
  for (Group& group : groups_) group.controller.Release(cache_);
  cache_.Clear();
}

void HbmMemory::RunDecisions(Picos now) {
  ServiceCache* cache = options_.remember_batches ? &cache_ : nullptr;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (decisions_[g] < 0 || decisions_[g] * tck_ > now) continue;
    Group& group = groups_[g];
    ChannelController& controller = group.controller;
    const auto size = static_cast<std::int64_t>(group.channels.size());
    while (controller.next_decision() >= 0 && controller.next_decision() * tck_ <= now) {
      if (cache_.full()) ClearCache();
      const std::int64_t before[2] = {controller.read_bursts(), controller.write_bursts()};
      controller.Decide(cache, finishes_);
      ++counters_.events;
      window_bursts_[0] += (controller.read_bursts() - before[0]) * size;
      window_bursts_[1] += (controller.write_bursts() - before[1]) * size;
      for (const ChannelController::Finish& finish : finishes_) {
        Live& live = live_.at(finish.access);
        live.end = std::max(live.end, finish.tick);
        live.channels_left -= static_cast<int>(size);
        if (live.channels_left == 0) {
          ending_.insert({live.end * tck_, finish.access});
          live_.erase(finish.access);
        }
      }
      finishes_.clear();
    }
    decisions_[g] = controller.next_decision();
  }
  RollWindow(now);
}

void HbmMemory::Advance(Picos now, std::vector<Completion>& finished) {
  SPILLWAY_CHECK(now >= last_now_);
  last_now_ = now;
  RunDecisions(now);
  while (!ending_.empty() && ending_.begin()->first <= now) {
    const auto [time, id] = *ending_.begin();
    ending_.erase(ending_.begin());
    finished.push_back({id, time});
    if (--in_progress_ == 0) {
      counters_.busy += time - busy_since_;
      rate_[0] = rate_[1] = 0;
    }
  }
}

}  // namespace spillway::model
