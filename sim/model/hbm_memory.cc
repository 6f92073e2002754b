// SPDX-License-Identifier: Apache-2.0
#include "sim/model/hbm_memory.h"

#include <algorithm>

namespace spillway::model {
namespace {

constexpr Picos kRateWindow = kPicosPerMicro;
// An access that ends soon after the first has begun has few batches over which errors of recalled times even out.
constexpr Picos kServedFirst = 32 * kPicosPerMicro;

struct SeenBatchTimes final : Experience {
  explicit SeenBatchTimes(const BatchTimes& seen) : times(seen) {}
  BatchTimes times;
};

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
    : config_(config), share_channels_(options.share_channels), shared_{MapOf(config), options.service, options.recall, kLongAgo, {}, {}, {}, {}, {}, {}},
      tck_(config.timing.tck) {
  if (!shared_.map.symmetric() || config.refresh_phase == config::RefreshPhase::kStaggered) share_channels_ = false;
  // REFpb picks banks by their use, which is not followed without commands.
  if (config.refresh_mode == config::RefreshMode::kPerBank) shared_.recall = false;
  const ChannelServer server(config_, shared_);
  groups_.reserve(static_cast<std::size_t>(config.channels));
  for (int channel = 0; channel < config.channels; ++channel) {
    if (share_channels_ && channel > 0) {
      groups_[0]->channels.push_back(channel);
    } else {
      groups_.push_back(std::make_unique<Group>(Group{ChannelController(config, channel, server, scratch_), {channel}}));
    }
  }
  CollectDecisions();
}

std::shared_ptr<const Experience> HbmMemory::experience() const { return std::make_shared<SeenBatchTimes>(shared_.times); }

void HbmMemory::Adopt(const Experience& experience) {
  SPILLWAY_CHECK(next_id_ == 0);
  shared_.times = dynamic_cast<const SeenBatchTimes&>(experience).times;
  adopted_ = true;
}

void HbmMemory::LogChannel(int channel, std::vector<CommandRecord>* log) {
  SPILLWAY_CHECK(!share_channels_ && shared_.mode == ServiceMode::kCommands);
  groups_[static_cast<std::size_t>(channel)]->controller.server().set_log(log);
}

void HbmMemory::MergeFresh(Ticks now) {
  if (groups_.size() < 2) return;
  std::size_t kept = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    Group& group = *groups_[g];
    if (group.controller.next_decision() < 0) group.controller.SettleIdle(now);
    group.fresh = group.controller.IsFresh(now);
    const auto alike = [&group](const std::unique_ptr<Group>& other) {
      return other->fresh && other->controller.next_refresh() == group.controller.next_refresh();
    };
    const auto end = groups_.begin() + static_cast<std::ptrdiff_t>(kept);
    const auto same = group.fresh ? std::find_if(groups_.begin(), end, alike) : end;
    if (same != end) {
      std::vector<int>& channels = (*same)->channels;
      channels.insert(channels.end(), group.channels.begin(), group.channels.end());
      continue;
    }
    if (kept != g) std::swap(groups_[kept], groups_[g]);
    ++kept;
  }
  for (; groups_.size() > kept; groups_.pop_back()) spare_.push_back(std::move(groups_.back()));
}

HbmMemory::Group& HbmMemory::AddCopy(std::size_t from) {
  if (spare_.empty()) {
    groups_.push_back(std::make_unique<Group>(*groups_[from]));
  } else {
    groups_.push_back(std::move(spare_.back()));
    spare_.pop_back();
    groups_.back()->controller = groups_[from]->controller;
  }
  return *groups_.back();
}

void HbmMemory::Split(std::size_t g, const AccessShape& shape) {
  std::vector<int>& channels = groups_[g]->channels;
  shares_.clear();
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const ChannelShare& share = shape.share(channels[i]);
    shares_.push_back({share.bursts, share.key, i, channels[i]});
  }
  std::sort(shares_.begin(), shares_.end());
  channels.clear();
  std::vector<int>* into = &channels;
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    if (i > 0 && !shares_[i].Alike(shares_[i - 1])) {
      into = &AddCopy(g).channels;
      into->clear();
    }
    into->push_back(shares_[i].channel);
  }
}

void HbmMemory::Place(int id, const AccessShape& shape, Ticks visible, double bursts_per_tick) {
  std::int64_t total = 0;
  for (int channel = 0; channel < shared_.map.channels(); ++channel) total += shape.share(channel).bursts;
  const std::size_t before = groups_.size();
  for (std::size_t g = 0; g < before; ++g) {
    if (!shape.uniform() && groups_[g]->channels.size() > 1) Split(g, shape);
  }
  for (const std::unique_ptr<Group>& group : groups_) {
    const ChannelWalker walker(shape, group->channels.front());
    if (walker.left() == 0) continue;
    const double rate = bursts_per_tick * static_cast<double>(walker.left()) / static_cast<double>(total);
    group->controller.Add(id, walker, shape.write(), visible, rate);
  }
}

int HbmMemory::Start(Picos now, const Access& access) {
  SPILLWAY_CHECK(now >= last_now_ && now >= 0);
  last_now_ = now;
  const int id = next_id_++;
  if (id == 0 && !adopted_) shared_.recall_from = (now + kServedFirst) / tck_;
  const AccessShape shape(shared_.map, access, &patterns_);
  int channels = 0;
  for (int channel = 0; channel < shared_.map.channels(); ++channel) channels += shape.share(channel).bursts > 0 ? 1 : 0;
  if (in_progress_++ == 0) {
    busy_since_ = window_start_ = now;
    window_bursts_[0] = window_bursts_[1] = 0;
  }
  if (channels == 0) {
    ending_.insert({now, id});
    found_at_ = -1;
    FindNextEvent();
    return id;
  }
  (access.write ? counters_.write_bytes : counters_.read_bytes) += access.bytes();
  counters_.partial_write_bytes += shape.partial_bytes();
  // Decisions of this very clock do not see it, whichever of the two the caller names first.
  const Ticks visible = now / tck_ + 1;
  RunDecisions(now);
  if (share_channels_) MergeFresh(visible);
  live_.push_back({id, channels, 0, 0, shape});
  const double bursts_per_second = access.max_bytes_per_second / static_cast<double>(config_.burst_bytes);
  Place(id, shape, visible, bursts_per_second * static_cast<double>(tck_) / static_cast<double>(kPicosPerSecond));
  CollectDecisions();
  found_at_ = -1;
  FindNextEvent();
  return id;
}

void HbmMemory::FindNextEvent() {
  if (found_at_ == last_now_) return;
  found_at_ = last_now_;
  const Ticks per_burst = groups_.front()->controller.server().clocks().ccd_s;
  next_event_ = ending_.empty() ? -1 : ending_.begin()->first;
  for (Live& live : live_) {
    if (live.no_end_before * tck_ <= last_now_) {
      // It ends with its last channel. One that decides has a batch to serve before it takes in the rest.
      for (std::size_t g = 0; g < groups_.size(); ++g) {
        const std::int64_t left = groups_[g]->controller.Left(live.id);
        if (left >= 0) live.no_end_before = std::max(live.no_end_before, decisions_[g] + left * per_burst);
      }
    }
    const Picos bound = std::max(live.no_end_before * tck_, last_now_);
    if (next_event_ < 0 || bound < next_event_) next_event_ = bound;
  }
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
  for (const std::unique_ptr<Group>& group : groups_) decisions_.push_back(group->controller.next_decision());
}

void HbmMemory::Finish(const ChannelController::Finish& finish, int channels) {
  const auto before = [](const Live& live, int id) { return live.id < id; };
  const auto live = std::lower_bound(live_.begin(), live_.end(), finish.access, before);
  live->end = std::max(live->end, finish.tick);
  live->channels_left -= channels;
  if (live->channels_left > 0) return;
  ending_.insert({live->end * tck_, live->id});
  live_.erase(live);
}

void HbmMemory::RunDecisions(Picos now) {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (decisions_[g] < 0 || decisions_[g] * tck_ > now) continue;
    Group& group = *groups_[g];
    ChannelController& controller = group.controller;
    const auto size = static_cast<std::int64_t>(group.channels.size());
    const std::int64_t before[2] = {controller.read_bursts(), controller.write_bursts()};
    do {
      controller.Decide(finishes_);
      ++counters_.events;
    } while (controller.next_decision() >= 0 && controller.next_decision() * tck_ <= now);
    const std::int64_t taken[2] = {controller.read_bursts() - before[0], controller.write_bursts() - before[1]};
    for (int i = 0; i < 2; ++i) {
      window_bursts_[i] += taken[i] * size;
      taken_bursts_ += taken[i] * size;
    }
    for (const ChannelController::Finish& finish : finishes_) Finish(finish, static_cast<int>(size));
    finishes_.clear();
    found_at_ = -1;
    decisions_[g] = controller.next_decision();
  }
  RollWindow(now);
}

Bytes HbmMemory::Moved(Picos now) {
  SPILLWAY_CHECK(now >= last_now_);
  last_now_ = now;
  RunDecisions(now);
  return taken_bursts_ * config_.burst_bytes;
}

void HbmMemory::Advance(Picos now, std::vector<Completion>& finished) {
  SPILLWAY_CHECK(now >= last_now_);
  last_now_ = now;
  RunDecisions(now);
  while (!ending_.empty() && ending_.begin()->first <= now) {
    const auto [time, id] = *ending_.begin();
    ending_.erase(ending_.begin());
    found_at_ = -1;
    finished.push_back({id, time});
    if (--in_progress_ == 0) {
      counters_.busy += time - busy_since_;
      rate_[0] = rate_[1] = 0;
    }
  }
  FindNextEvent();
}

}  // namespace spillway::model
