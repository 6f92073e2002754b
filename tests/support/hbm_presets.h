// SPDX-License-Identifier: Apache-2.0
// HBM configurations for tests, built by hand from the parameters that DRAM simulators publish, and a
// driver that keeps accesses in flight.
#pragma once

#include <map>
#include <vector>

#include "sim/model/hbm_memory.h"

namespace spillway::test {

struct Clocks {
  Picos tck;
  int burst, cl, cwl, rcd_rd, rcd_wr, rp, ras, rc, ccd_s, ccd_l, ccd_r, rrd_s, rrd_l, faw, wtr_s, wtr_l, rtw, wr, rtp,
      rfc, rfc_pb, rrefd, refi;
};

inline config::DramTiming Timing(const Clocks& c) {
  config::DramTiming t;
  const auto ps = [&c](int clocks) { return clocks * c.tck; };
  t.tck = c.tck, t.burst = ps(c.burst), t.cl = ps(c.cl), t.cwl = ps(c.cwl);
  t.trcd_rd = ps(c.rcd_rd), t.trcd_wr = ps(c.rcd_wr), t.trp = ps(c.rp), t.tras = ps(c.ras), t.trc = ps(c.rc);
  t.tccd_s = ps(c.ccd_s), t.tccd_l = ps(c.ccd_l), t.tccd_r = ps(c.ccd_r);
  t.trrd_s = ps(c.rrd_s), t.trrd_l = ps(c.rrd_l), t.tfaw = ps(c.faw);
  t.twtr_s = ps(c.wtr_s), t.twtr_l = ps(c.wtr_l), t.trtw = ps(c.rtw), t.twr = ps(c.wr), t.trtp = ps(c.rtp);
  t.trfc = ps(c.rfc), t.trfc_pb = ps(c.rfc_pb), t.trrefd = ps(c.rrefd), t.trefi = ps(c.refi);
  return t;
}

/// 64-bit or 32-bit pseudo-channels with 32 B bursts unless changed; slices by default.
inline config::HbmConfig Hbm(const Clocks& clocks, int channels, int stacks = 1) {
  config::HbmConfig hbm;
  hbm.capacity = hbm.usable = 16 * kGiB;
  hbm.channels = channels;
  hbm.bank_groups = 4, hbm.banks_per_group = 4, hbm.stack_ids = stacks;
  hbm.timing = Timing(clocks);
  hbm.read_queue = 128, hbm.write_queue = 128, hbm.write_high_watermark = 80, hbm.write_low_watermark = 16;
  hbm.fidelity = config::HbmFidelity::kCommand;
  return hbm;
}

/// DRAMsim3 HBM2_8Gb_x128.ini.
constexpr Clocks kHbm2Stock{1000, 2, 14, 4,  14, 14, 14, 34, 48, 1,   2,  2, 4,   6,
                            30,   6, 8,  12, 16, 5,  260, 96, 8,  3900};
/// The same in nanoseconds at 3.2 Gb/s, as in the peers' table.
constexpr Clocks kHbm2eScaled{625, 2,  23, 7,  23, 23, 23,  55, 78, 2,   4,  3, 7,   10,
                              48,  10, 13, 20, 26, 5,  416, 160, 8,  6240};
/// Ramulator HBM3_6400Mbps.
constexpr Clocks kHbm3{625, 2, 20, 10, 31, 15, 26,  45,  72, 2,   4, 3, 4,   5,
                       24,  7, 10, 20, 33, 9,  560, 320, 8,  6240};

/// A stream of equal accesses one behind the other, `depth` of them in flight.
struct StreamSpec {
  bool write = false;
  std::int64_t address = 0;
  Bytes bytes = 0, access_bytes = 0;
  int depth = 2;
};

/// Runs the streams to their end; returns the time of the last completion.
inline Picos Drive(model::MemorySystem& memory, const std::vector<StreamSpec>& streams) {
  std::vector<Bytes> issued(streams.size(), 0);
  std::map<int, std::size_t> owner;
  std::vector<model::Completion> finished;
  Picos now = 0, last = 0;
  const auto issue = [&](std::size_t s) {
    model::Access access;
    access.write = streams[s].write;
    access.address = streams[s].address + issued[s];
    access.chunk_bytes = std::min(streams[s].access_bytes, streams[s].bytes - issued[s]);
    issued[s] += access.chunk_bytes;
    owner[memory.Start(now, access)] = s;
  };
  for (std::size_t s = 0; s < streams.size(); ++s) {
    for (int i = 0; i < streams[s].depth && issued[s] < streams[s].bytes; ++i) issue(s);
  }
  while (!owner.empty()) {
    now = memory.NextEvent();
    SPILLWAY_CHECK(now >= 0);
    finished.clear();
    memory.Advance(now, finished);
    for (const model::Completion& completion : finished) {
      const std::size_t s = owner.at(completion.id);
      owner.erase(completion.id);
      last = completion.time;
      if (issued[s] < streams[s].bytes) issue(s);
    }
  }
  return last;
}

/// Share of the pins' peak over the whole run.
inline double Efficiency(const config::HbmConfig& hbm, const std::vector<StreamSpec>& streams) {
  model::HbmMemory memory(hbm, model::kRunLevel);
  Bytes bytes = 0;
  for (const StreamSpec& stream : streams) bytes += stream.bytes;
  const Picos end = Drive(memory, streams);
  return static_cast<double>(bytes) / (static_cast<double>(end) * 1e-12) / hbm.PeakBytesPerSecond();
}

}  // namespace spillway::test
