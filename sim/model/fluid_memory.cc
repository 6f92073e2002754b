// SPDX-License-Identifier: Apache-2.0
#include "sim/model/fluid_memory.h"

#include <algorithm>
#include <cmath>

#include "sim/base/result.h"

namespace spillway::model {
namespace {

/// Time of the earliest end of `left` bytes at `rate`, rounded up.
Picos TimeFor(double left, double rate) { return static_cast<Picos>(std::ceil(left / rate)); }

}  // namespace

FluidMemory::FluidMemory(const config::HbmConfig& config) : config_(config) {
  SPILLWAY_CHECK(config.channels > 0 && config.timing.burst > 0 && config.burst_bytes > 0);
  peak_ = static_cast<double>(config.channels) * static_cast<double>(config.burst_bytes) /
          static_cast<double>(config.timing.burst);
}

int FluidMemory::Start(Picos now, const Access& access) {
  Drain(now);
  Flow flow;
  flow.id = next_id_++;
  flow.write = access.write;
  flow.left = static_cast<double>(access.bytes());
  flow.cap = access.max_bytes_per_second / static_cast<double>(kPicosPerSecond);
  flows_.push_back(flow);
  (access.write ? counters_.write_bytes : counters_.read_bytes) += access.bytes();
  Share();
  return flow.id;
}

double FluidMemory::Efficiency() const {
  const config::DramTiming& t = config_.timing;
  double busy = 1;
  if (config_.refresh_mode == config::RefreshMode::kAllBank && t.trefi > 0) {
    busy -= static_cast<double>(t.trfc + t.trp + t.trcd_rd + t.trtp) / static_cast<double>(t.trefi);
  }
  double reads = 0, writes = 0;
  for (const Flow& flow : flows_) (flow.write ? writes : reads) += 1;
  if (reads > 0 && writes > 0) {
    const double batch = std::max(1, config_.write_high_watermark - config_.write_low_watermark);
    const double bursts = batch * (reads + writes) / writes;
    const double data = bursts * static_cast<double>(t.burst);
    const double turn = static_cast<double>(t.trtw + t.cwl + t.burst + t.twtr_l - 2 * t.burst);
    busy *= data / (data + turn);
  }
  return busy;
}

void FluidMemory::Share() {
  counters_.events++;
  double capacity = peak_ * Efficiency();
  std::vector<Flow*> open;
  for (Flow& flow : flows_) open.push_back(&flow);
  // Max-min fair: those with the lowest caps are served first, the rest split what is left.
  std::stable_sort(open.begin(), open.end(), [](const Flow* a, const Flow* b) {
    return (a->cap > 0 ? a->cap : 1e300) < (b->cap > 0 ? b->cap : 1e300);
  });
  std::size_t remaining = open.size();
  for (Flow* flow : open) {
    const double share = capacity / static_cast<double>(remaining--);
    flow->rate = flow->cap > 0 ? std::min(flow->cap, share) : share;
    capacity -= flow->rate;
  }
}

Picos FluidMemory::NextEvent() const {
  Picos best = -1;
  for (const Flow& flow : flows_) {
    const Picos end = now_ + TimeFor(flow.left, flow.rate);
    if (best < 0 || end < best) best = end;
  }
  return best;
}

void FluidMemory::Drain(Picos now) {
  SPILLWAY_CHECK(now >= now_);
  const double elapsed = static_cast<double>(now - now_);
  if (!flows_.empty()) counters_.busy += now - now_;
  for (Flow& flow : flows_) flow.left = std::max(0.0, flow.left - flow.rate * elapsed);
  now_ = now;
}

void FluidMemory::Advance(Picos now, std::vector<Completion>& finished) {
  while (true) {
    const Picos next = NextEvent();
    if (next < 0 || next > now) break;
    Drain(next);
    for (const Flow& flow : flows_) {
      if (flow.left <= flow.rate * 0.5) finished.push_back({flow.id, next});
    }
    flows_.erase(std::remove_if(flows_.begin(), flows_.end(),
                                [](const Flow& flow) { return flow.left <= flow.rate * 0.5; }),
                 flows_.end());
    if (!flows_.empty()) Share();
  }
  Drain(now);
}

double FluidMemory::ReadRate() const {
  double rate = 0;
  for (const Flow& flow : flows_) rate += flow.write ? 0 : flow.rate;
  return rate * static_cast<double>(kPicosPerSecond);
}

double FluidMemory::WriteRate() const {
  double rate = 0;
  for (const Flow& flow : flows_) rate += flow.write ? flow.rate : 0;
  return rate * static_cast<double>(kPicosPerSecond);
}

}  // namespace spillway::model
