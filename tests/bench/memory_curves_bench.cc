// SPDX-License-Identifier: Apache-2.0
// Efficiency curves of the HBM model as CSV: chip,curve,series,x,share of peak,GB/s. Read by reports/memory.py.
#include <cstdio>
#include <string>

#include "sim/config/config_loader.h"
#include "tests/support/hbm_presets.h"

namespace spillway {
namespace {

config::HbmConfig Chip(const std::string& name) {
  config::ChipRequest request;
  request.chip = name;
  request.search = {std::string(SPILLWAY_SOURCE_DIR) + "/configs"};
  return config::LoadChip(request).value().config.hbm;
}

void Row(const char* chip, const char* curve, const std::string& series, const std::string& x, double share,
         const config::HbmConfig& hbm) {
  std::printf("%s,%s,%s,%s,%.4f,%.1f\n", chip, curve, series.c_str(), x.c_str(), share,
              share * hbm.PeakBytesPerSecond() * 1e-9);
}

double Mix(const config::HbmConfig& hbm, int reads, int writes, Bytes bytes, Bytes access, int depth = 2) {
  std::vector<test::StreamSpec> streams;
  for (int i = 0; i < reads + writes; ++i) {
    streams.push_back({i >= reads, (std::int64_t{i} << 28) + 3 * i * kMiB, bytes, access, depth});
  }
  return test::Efficiency(hbm, streams);
}

/// Reads of many pieces, four accesses in flight.
double Strided(const config::HbmConfig& hbm, Bytes piece, Bytes stride) {
  model::HbmMemory memory(hbm, model::kRunLevel);
  std::vector<model::Completion> finished;
  Bytes bytes = 0;
  std::size_t started = 0;
  Picos now = 0;
  const std::size_t accesses = 96;
  while (finished.size() < accesses) {
    while (started < accesses && started < finished.size() + 4) {
      model::Access access;
      access.chunk_bytes = piece;
      access.chunks = std::max<std::int64_t>(1, 256 * kKiB / piece);
      access.stride = stride;
      // Neighbouring windows begin side by side, as the blocks of a row of blocks do.
      access.address = static_cast<std::int64_t>(started) * piece % stride;
      bytes += access.bytes();
      memory.Start(now, access);
      ++started;
    }
    now = memory.NextEvent();
    memory.Advance(now, finished);
  }
  return static_cast<double>(bytes) / (static_cast<double>(finished.back().time) * 1e-12) / hbm.PeakBytesPerSecond();
}

/// Address maps to compare: how the bits above the burst go round.
std::vector<std::pair<std::string, config::HbmConfig>> Maps(const config::HbmConfig& chip) {
  int channel = 0, row = 0, stack = 0;
  for (const config::AddressSlice& slice : chip.address_map) {
    if (slice.field == "channel") channel += slice.bits;
    if (slice.field == "row") row += slice.bits;
    if (slice.field == "stack") stack += slice.bits;
  }
  std::vector<std::pair<std::string, config::HbmConfig>> maps;
  maps.push_back({"128 B a channel with hash (default)", chip});
  config::HbmConfig plain = chip;
  plain.address_hash.clear();
  maps.push_back({"128 B a channel without hash", plain});
  config::HbmConfig fine = plain;
  fine.address_map = {{"offset", 5}, {"channel", channel}, {"bank_group", 2}, {"column", 5}, {"bank", 2}, {"stack", stack}, {"row", row}};
  maps.push_back({"32 B a channel without hash", fine});
  config::HbmConfig coarse = plain;
  coarse.address_map = {{"offset", 5}, {"column", 5}, {"channel", channel}, {"bank_group", 2}, {"bank", 2}, {"stack", stack}, {"row", row}};
  maps.push_back({"a row (1 KiB) a channel without hash", coarse});
  return maps;
}

void Curves(const char* chip) {
  const config::HbmConfig hbm = Chip(chip);
  const std::pair<int, int> mixes[] = {{1, 0}, {2, 0}, {0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}};
  for (const auto& [reads, writes] : mixes) {
    Row(chip, "mix", "model", std::to_string(reads) + "R:" + std::to_string(writes) + "W", Mix(hbm, reads, writes, 256 * kMiB, 2 * kMiB), hbm);
  }
  for (Bytes access = 4 * kKiB; access <= 4 * kMiB; access *= 2) {
    const Bytes bytes = std::min<Bytes>(32 * kMiB, access * 1024);
    for (const int depth : {1, 2, 8}) {
      const std::string suffix = " (" + std::to_string(depth) + " in flight)";
      Row(chip, "size", "read" + suffix, std::to_string(access / kKiB), Mix(hbm, 1, 0, bytes, access, depth), hbm);
    }
    Row(chip, "size", "write (2 in flight)", std::to_string(access / kKiB), Mix(hbm, 0, 1, bytes, access), hbm);
    Row(chip, "size", "copy (2 + 2 in flight)", std::to_string(access / kKiB), Mix(hbm, 1, 1, bytes, access), hbm);
  }
  for (const auto& [name, map] : Maps(hbm)) {
    for (Bytes piece = 256; piece <= 64 * kKiB; piece *= 2) {
      Row(chip, "stride128", name, std::to_string(piece), Strided(map, piece, 128 * kKiB), map);
    }
    for (Bytes piece = 256; piece <= 64 * kKiB; piece *= 2) {
      Row(chip, "stride256", name, std::to_string(piece), Strided(map, piece, 256 * kKiB), map);
    }
    Row(chip, "map", name, "contiguous read", Mix(map, 1, 0, 32 * kMiB, 2 * kMiB), map);
    Row(chip, "map", name, "1R:1W", Mix(map, 1, 1, 32 * kMiB, 2 * kMiB), map);
    Row(chip, "map", name, "64 KiB windows", Mix(map, 1, 0, 8 * kMiB, 64 * kKiB, 4), map);
    Row(chip, "map", name, "8 KiB windows", Mix(map, 1, 0, 4 * kMiB, 8 * kKiB, 16), map);
  }
}

}  // namespace
}  // namespace spillway

int main() {
  spillway::Curves("v5e");
  spillway::Curves("v6e");
  return 0;
}
