// SPDX-License-Identifier: Apache-2.0
// Closed forms of the command level. The efficiencies of other DRAM simulators that are quoted here were
// measured with the same parameters.
#include "sim/model/hbm_memory.h"

#include <catch2/catch.hpp>

#include "tests/support/hbm_presets.h"

namespace spillway::model {
namespace {

using test::Drive;
using test::Efficiency;
using test::StreamSpec;

config::HbmConfig WithoutRefresh(config::HbmConfig hbm) {
  hbm.refresh_mode = config::RefreshMode::kNone;
  return hbm;
}

double RefreshShare(const test::Clocks& c) {
  return 1.0 - static_cast<double>(c.rfc + c.rp + c.rcd_rd + c.rtp) / c.refi;
}

/// Clocks lost by a pair of direction changes, against back-to-back bursts.
double SwitchClocks(const test::Clocks& c) {
  return c.rtw + c.cwl + c.burst + c.wtr_l - 2 * c.burst;
}

Picos OneAccess(const config::HbmConfig& hbm, const Access& access) {
  HbmMemory memory(hbm, kEveryCommand);
  memory.Start(0, access);
  std::vector<Completion> finished;
  while (finished.empty()) memory.Advance(memory.NextEvent(), finished);
  REQUIRE(finished.size() == 1);
  return finished[0].time;
}

Access Contiguous(bool write, std::int64_t address, Bytes bytes) {
  Access access;
  access.write = write;
  access.address = address;
  access.chunk_bytes = bytes;
  return access;
}

TEST_CASE("unloaded latency is activate, column and burst") {
  const config::HbmConfig hbm = test::Hbm(test::kHbm3, 64, 2);
  // One clock to become visible, tRCD, CL or CWL, burst.
  CHECK(OneAccess(hbm, Contiguous(false, 0, 32)) == (1 + 31 + 20 + 2) * 625);
  CHECK(OneAccess(hbm, Contiguous(true, 0, 32)) == (1 + 15 + 10 + 2) * 625);
  // 33 bytes need a second burst, by the default slices in another bank group: its row opens tRRD_S later.
  CHECK(OneAccess(hbm, Contiguous(false, 0, 33)) == (1 + 4 + 31 + 20 + 2) * 625);
}

TEST_CASE("a write of part of a burst reads it first") {
  const config::HbmConfig hbm = test::Hbm(test::kHbm3, 64, 2);
  HbmMemory memory(hbm, kEveryCommand);
  std::vector<CommandRecord> log;
  memory.LogChannel(0, &log);
  memory.Start(0, Contiguous(true, 8, 16));
  std::vector<Completion> finished;
  while (finished.empty()) memory.Advance(memory.NextEvent(), finished);
  REQUIRE(log.size() >= 3);
  CHECK(log[0].command == Command::kActivate);
  CHECK(log[1].command == Command::kRead);
  CHECK(log[2].command == Command::kWrite);
  CHECK(log[2].tick - log[1].tick == 20);
  CHECK(memory.counters().write_bytes == 16);
  CHECK(memory.counters().partial_write_bytes == 16);
}

TEST_CASE("without refresh long reads and writes run at the peak of the pins") {
  const config::HbmConfig hbm = WithoutRefresh(test::Hbm(test::kHbm3, 64, 2));
  CHECK(Efficiency(hbm, {{false, 0, 64 * kMiB, kMiB, 4}}) == Approx(1.0).margin(0.01));
  // Writes free their rows later (tWR), so that some row changes show.
  CHECK(Efficiency(hbm, {{true, 0, 64 * kMiB, kMiB, 4}}) == Approx(1.0).margin(0.025));
}

TEST_CASE("reads are limited by the refresh of all banks") {
  struct Row {
    test::Clocks clocks;
    int channels;
    Bytes burst;
    double peer;  ///< What the other simulator measured.
  };
  const Row rows[] = {{test::kHbm2Stock, 8, 64, 0.921}, {test::kHbm2eScaled, 16, 64, 0.923}, {test::kHbm3, 32, 32, 0.903}};
  for (const Row& row : rows) {
    config::HbmConfig hbm = test::Hbm(row.clocks, row.channels);
    hbm.burst_bytes = row.burst;
    hbm.row_bytes = 32 * row.burst;
    const double read = Efficiency(hbm, {{false, 0, 256 * kMiB, 4 * kMiB, 2}});
    CAPTURE(row.channels, RefreshShare(row.clocks));
    CHECK(read == Approx(RefreshShare(row.clocks)).margin(0.008));
    CHECK(read == Approx(row.peer).margin(0.012));
  }
}

TEST_CASE("postponed refreshes are paid back to back") {
  config::HbmConfig hbm = test::Hbm(test::kHbm3, 32);
  hbm.refresh_postpone = 7;
  const double expected = 1.0 - (560 + (26 + 31 + 9) / 8.0) / 6240;
  CHECK(Efficiency(hbm, {{false, 0, 512 * kMiB, 4 * kMiB, 2}}) == Approx(expected).margin(0.006));
}

TEST_CASE("refresh of single banks hides behind the others") {
  config::HbmConfig hbm = test::Hbm(test::kHbm3, 32, 2);
  const double all = Efficiency(hbm, {{false, 0, 64 * kMiB, 4 * kMiB, 2}});
  hbm.refresh_mode = config::RefreshMode::kPerBank;
  hbm.refresh_postpone = 4;
  const double single = Efficiency(hbm, {{false, 0, 64 * kMiB, 4 * kMiB, 2}});
  CHECK(single > all + 0.03);
  CHECK(single < 1.0);
}

TEST_CASE("a pair of direction changes costs its turnaround") {
  // Drains of 64 bursts in turn with reads of 64 bursts, as 64 KiB over 16 channels of 64 B.
  struct Row {
    test::Clocks clocks;
    int channels;
  };
  for (const Row& row : {Row{test::kHbm2eScaled, 16}, Row{test::kHbm3, 32}, Row{test::kHbm2Stock, 8}}) {
    config::HbmConfig hbm = test::Hbm(row.clocks, row.channels);
    const double data = 2 * 64 * row.clocks.burst;
    const double expected = data / (data + SwitchClocks(row.clocks)) * RefreshShare(row.clocks);
    const double mixed = Efficiency(hbm, {{false, 0, 128 * kMiB, 4 * kMiB, 2}, {true, kGiB + kMiB, 128 * kMiB, 4 * kMiB, 2}});
    CAPTURE(row.channels, expected, mixed);
    // Row conflicts between the streams come on top: "6 to 8 points" at most in the peers' table.
    CHECK(mixed < expected + 0.01);
    CHECK(mixed > expected - 0.06);
  }
}

TEST_CASE("the coarser the alternation, the cheaper") {
  // DRAMsim3, HBM2E 16 channels, streams in other banks: 79.1, 87.8 and 89.6% for 64, 256 and 1024 bursts of 64 B.
  const double peers[] = {0.791, 0.878, 0.896};
  int index = 0;
  for (const int bursts : {64, 256, 1024}) {
    config::HbmConfig hbm = test::Hbm(test::kHbm2eScaled, 16);
    hbm.burst_bytes = 64;
    hbm.row_bytes = 2048;
    hbm.write_queue = 2 * bursts, hbm.write_high_watermark = bursts + 8, hbm.write_low_watermark = 8;
    const double mixed = Efficiency(hbm, {{false, 0, 256 * kMiB, 8 * kMiB, 2}, {true, kGiB + 256 * kKiB, 256 * kMiB, 8 * kMiB, 2}});
    CAPTURE(bursts, mixed);
    CHECK(mixed == Approx(peers[index++]).margin(0.03));
  }
}

TEST_CASE("bursts left in one bank group pay tCCD_L") {
  config::HbmConfig hbm = test::Hbm(test::kHbm2eScaled, 16);
  hbm.address_map = {{"offset", 5}, {"channel", 4}, {"column", 5}, {"bank", 2}, {"bank_group", 2}, {"row", 16}};
  const double one_group = Efficiency(hbm, {{false, 0, 64 * kMiB, 4 * kMiB, 1}});
  hbm.address_map = {{"offset", 5}, {"channel", 4}, {"bank_group", 2}, {"column", 5}, {"bank", 2}, {"row", 16}};
  const double interleaved = Efficiency(hbm, {{false, 0, 64 * kMiB, 4 * kMiB, 1}});
  CHECK(interleaved > 0.9);
  // Two rows of the batch may overlap at a row change, so a little above one half.
  CHECK(one_group > 0.45);
  CHECK(one_group < 0.60);
}

TEST_CASE("a stride that stays in few channels is as slow as these channels") {
  config::HbmConfig hbm = WithoutRefresh(test::Hbm(test::kHbm3, 64, 2));
  hbm.address_map = {{"offset", 5}, {"column", 2}, {"channel", 6}, {"bank_group", 2},
                     {"column", 3}, {"bank", 2},   {"stack", 1},   {"row", 13}};
  Access strided;
  strided.chunk_bytes = 2 * kKiB;  // 16 of 64 channels.
  strided.chunks = 2048;
  strided.stride = 128 * kKiB;
  const double peak = hbm.PeakBytesPerSecond() * 1e-12;
  const double plain = static_cast<double>(strided.bytes()) / static_cast<double>(OneAccess(hbm, strided)) / peak;
  CHECK(plain <= 0.25);
  // Address bits above the channel, folded into its upper bits, spread the pieces.
  hbm.address_hash = {{"channel", 5, 0x3ffffe000}, {"channel", 4, 0x2aaaaa000}};
  const double hashed = static_cast<double>(strided.bytes()) / static_cast<double>(OneAccess(hbm, strided)) / peak;
  CHECK(hashed > 2 * plain);
}

TEST_CASE("an access obeys its own limit") {
  const config::HbmConfig hbm = test::Hbm(test::kHbm3, 64, 2);
  Access access = Contiguous(false, 0, 4 * kMiB);
  access.max_bytes_per_second = 1e11;
  const double seconds = static_cast<double>(OneAccess(hbm, access)) * 1e-12;
  const double rate = static_cast<double>(access.bytes()) / seconds;
  CHECK(rate <= 1e11);
  CHECK(rate > 0.97e11);
}

TEST_CASE("equal accesses share fairly and end together") {
  for (const bool second_writes : {false, true}) {
    HbmMemory memory(test::Hbm(test::kHbm3, 64, 2), kRunLevel);
    memory.Start(0, Contiguous(false, 0, 8 * kMiB));
    memory.Start(0, Contiguous(second_writes, 64 * kMiB + 512 * kKiB, 8 * kMiB));
    std::vector<Completion> finished;
    while (finished.size() < 2) memory.Advance(memory.NextEvent(), finished);
    const auto first = static_cast<double>(finished[0].time), last = static_cast<double>(finished[1].time);
    CHECK(first > 0.95 * last);
  }
}

TEST_CASE("an empty access ends where it began") {
  HbmMemory memory(test::Hbm(test::kHbm3, 64, 2), kRunLevel);
  const int id = memory.Start(500, Contiguous(true, 0, 0));
  CHECK(memory.NextEvent() == 500);
  std::vector<Completion> finished;
  memory.Advance(500, finished);
  REQUIRE(finished.size() == 1);
  CHECK(finished[0].id == id);
  CHECK(memory.NextEvent() < 0);
}

TEST_CASE("an idle memory refreshes and keeps nothing of the past") {
  const config::HbmConfig hbm = test::Hbm(test::kHbm3, 64, 2);
  HbmMemory memory(hbm, kRunLevel);
  std::vector<Completion> finished;
  memory.Start(0, Contiguous(false, 96, 40));  // Splits the channels.
  while (memory.NextEvent() >= 0) memory.Advance(memory.NextEvent(), finished);
  CHECK(memory.groups() > 1);
  const Picos later = 2 * kPicosPerMicro;
  memory.Advance(later, finished);
  finished.clear();
  memory.Start(later, Contiguous(false, 0, 32 * kKiB));
  CHECK(memory.groups() == 1);
  while (memory.NextEvent() >= 0) memory.Advance(memory.NextEvent(), finished);
  REQUIRE(finished.size() == 1);
  HbmMemory fresh(hbm, kRunLevel);
  std::vector<Completion> expected;
  fresh.Start(later, Contiguous(false, 0, 32 * kKiB));
  while (fresh.NextEvent() >= 0) fresh.Advance(fresh.NextEvent(), expected);
  CHECK(finished[0].time == expected[0].time);
}

TEST_CASE("rates never exceed the peak of the pins") {
  const config::HbmConfig hbm = test::Hbm(test::kHbm3, 64, 2);
  HbmMemory memory(hbm, kRunLevel);
  std::vector<Completion> finished;
  memory.Start(0, Contiguous(false, 0, 16 * kMiB));
  memory.Start(0, Contiguous(true, kGiB, 4 * kMiB));
  double highest = 0;
  while (memory.NextEvent() >= 0) {
    memory.Advance(memory.NextEvent(), finished);
    highest = std::max(highest, memory.ReadRate() + memory.WriteRate());
  }
  CHECK(highest <= hbm.PeakBytesPerSecond() * (1 + 1e-9));
  CHECK(highest > 0.8 * hbm.PeakBytesPerSecond());
}

TEST_CASE("what cannot be built is refused with a reason") {
  config::HbmConfig hbm = test::Hbm(test::kHbm3, 64, 2);
  CHECK(CheckHbm(hbm).ok());
  hbm.write_high_watermark = 1000;
  CHECK_FALSE(CheckHbm(hbm).ok());
  hbm = test::Hbm(test::kHbm3, 64, 2);
  hbm.timing.trfc = hbm.timing.trefi;
  CHECK_FALSE(CheckHbm(hbm).ok());
}

}  // namespace
}  // namespace spillway::model
