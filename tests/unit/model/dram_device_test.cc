// SPDX-License-Identifier: Apache-2.0
// Each gate is tight: the command is refused one clock early and taken on the clock.
#include "sim/model/dram_device.h"

#include <catch2/catch.hpp>

#include "tests/support/hbm_presets.h"

namespace spillway::model {
namespace {

constexpr int kBank = 0, kSameGroup = 1, kOtherGroup = 4, kOtherStack = 16;
constexpr std::int64_t kRow = 7;

class Probe {
 public:
  Probe() : device_(test::Hbm(test::kHbm3, 64, 2)) {}
  void Issue(Command command, int bank, Ticks tick) { device_.Issue(command, bank, kRow, tick); }
  /// Opens banks long enough ago that only later commands matter.
  void Open(const std::vector<int>& banks) {
    Ticks tick = -10'000;
    for (const int bank : banks) Issue(Command::kActivate, bank, tick += 100);
  }
  void ReadyAt(Command command, int bank, Ticks tick) const {
    CAPTURE(static_cast<int>(command), bank, tick);
    CHECK(device_.Earliest(command, bank, kLongAgo) == tick);
    DramDevice early = device_, on_time = device_;
    CHECK_THROWS_AS(early.Issue(command, bank, kRow, tick - 1), InternalError);
    CHECK_NOTHROW(on_time.Issue(command, bank, kRow, tick));
  }

 private:
  DramDevice device_;
};

TEST_CASE("activate to the same bank's column, precharge and activate") {
  Probe p;
  p.Issue(Command::kActivate, kBank, 0);
  p.ReadyAt(Command::kRead, kBank, 31);       // tRCDRD
  p.ReadyAt(Command::kWrite, kBank, 15);      // tRCDWR
  p.ReadyAt(Command::kPrecharge, kBank, 45);  // tRAS
  p.Issue(Command::kPrecharge, kBank, 45);
  p.ReadyAt(Command::kActivate, kBank, 72);   // tRC, beyond tRAS + tRP = 71
}

TEST_CASE("precharge to activate") {
  Probe p;
  p.Open({kBank});
  p.Issue(Command::kPrecharge, kBank, 0);
  p.ReadyAt(Command::kActivate, kBank, 26);  // tRP
}

TEST_CASE("activates of different banks") {
  Probe p;
  p.Issue(Command::kActivate, kBank, 0);
  p.ReadyAt(Command::kActivate, kSameGroup, 5);   // tRRD_L
  p.ReadyAt(Command::kActivate, kOtherGroup, 4);  // tRRD_S
  p.ReadyAt(Command::kActivate, kOtherStack, 4);
  p.Issue(Command::kActivate, 4, 4);
  p.Issue(Command::kActivate, 8, 8);
  p.Issue(Command::kActivate, 12, 12);
  p.ReadyAt(Command::kActivate, kOtherStack, 24);  // tFAW from the first of four
}

TEST_CASE("column to column, same direction") {
  for (const Command command : {Command::kRead, Command::kWrite}) {
    Probe p;
    p.Open({kBank, kSameGroup, kOtherGroup, kOtherStack});
    p.Issue(command, kBank, 0);
    p.ReadyAt(command, kBank, 4);        // tCCD_L
    p.ReadyAt(command, kSameGroup, 4);   // tCCD_L
    p.ReadyAt(command, kOtherGroup, 2);  // tCCD_S
    p.ReadyAt(command, kOtherStack, 3);  // tCCD_R
  }
}

TEST_CASE("write to read and read to write") {
  Probe p;
  p.Open({kBank, kSameGroup, kOtherGroup, kOtherStack});
  p.Issue(Command::kWrite, kBank, 0);
  p.ReadyAt(Command::kRead, kBank, 10 + 2 + 10);       // CWL + burst + tWTR_L
  p.ReadyAt(Command::kRead, kSameGroup, 10 + 2 + 10);
  p.ReadyAt(Command::kRead, kOtherGroup, 10 + 2 + 7);  // tWTR_S
  p.ReadyAt(Command::kRead, kOtherStack, 10 + 2 + 7);
  Probe q;
  q.Open({kBank, kOtherGroup, kOtherStack});
  q.Issue(Command::kRead, kBank, 0);
  q.ReadyAt(Command::kWrite, kBank, 20);  // tRTW
  q.ReadyAt(Command::kWrite, kOtherGroup, 20);
  q.ReadyAt(Command::kWrite, kOtherStack, 20);
}

TEST_CASE("column to precharge") {
  Probe p;
  p.Open({kBank, kOtherGroup});
  p.Issue(Command::kRead, kBank, 0);
  p.ReadyAt(Command::kPrecharge, kBank, 9);               // tRTP
  p.Issue(Command::kWrite, kOtherGroup, 20);
  p.ReadyAt(Command::kPrecharge, kOtherGroup, 20 + 10 + 2 + 33);  // CWL + burst + tWR
  p.ReadyAt(Command::kPrechargeAll, kBank, 20 + 10 + 2 + 33);     // The last of all open banks.
}

TEST_CASE("refresh of all banks") {
  Probe p;
  p.Open({kBank, kOtherGroup});
  p.Issue(Command::kPrechargeAll, kBank, 0);
  p.ReadyAt(Command::kRefreshAll, kBank, 26);  // tRP
  p.Issue(Command::kRefreshAll, kBank, 26);
  p.ReadyAt(Command::kActivate, kBank, 26 + 560);  // tRFC
  p.ReadyAt(Command::kActivate, kOtherStack, 26 + 560);
  p.ReadyAt(Command::kRefreshAll, kBank, 26 + 560);
}

TEST_CASE("refresh of one bank") {
  Probe p;
  p.Open({kOtherGroup});
  p.Issue(Command::kRefreshBank, kBank, 0);
  p.ReadyAt(Command::kActivate, kBank, 320);        // tRFCpb
  p.ReadyAt(Command::kActivate, kSameGroup, 8);     // tRREFD
  p.ReadyAt(Command::kRefreshBank, kSameGroup, 8);  // tRREFD
  Probe q;
  q.Issue(Command::kActivate, kOtherGroup, 0);
  q.ReadyAt(Command::kRefreshBank, kBank, 4);  // tRRD_S
}

TEST_CASE("row commands share a bus") {
  Probe p;
  p.Open({kBank, kOtherGroup});
  p.Issue(Command::kPrecharge, kBank, 0);
  p.ReadyAt(Command::kPrecharge, kOtherGroup, 1);
}

TEST_CASE("commands that the row state forbids are broken invariants") {
  Probe p;
  CHECK_THROWS_AS(p.Issue(Command::kRead, kBank, 0), InternalError);
  p.Issue(Command::kActivate, kBank, 0);
  CHECK_THROWS_AS(p.Issue(Command::kActivate, kBank, 1000), InternalError);
  CHECK_THROWS_AS(p.Issue(Command::kRefreshAll, kBank, 1000), InternalError);
}

TEST_CASE("clocks are rounded up and the bus is never shared") {
  config::DramTiming timing = test::Timing(test::kHbm3);
  timing.trp = 16'000;   // 25.6 clocks
  timing.tccd_s = 625;   // Below a burst.
  const DramClocks clocks(timing);
  CHECK(clocks.rp == 26);
  CHECK(clocks.ccd_s == 2);
}

}  // namespace
}  // namespace spillway::model
