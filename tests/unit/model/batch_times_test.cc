// SPDX-License-Identifier: Apache-2.0
#include "sim/model/batch_times.h"

#include <catch2/catch.hpp>

#include <algorithm>

#include "sim/model/address_map.h"
#include "sim/model/row_tracker.h"
#include "tests/support/hbm_presets.h"

namespace spillway::model {
namespace {

constexpr std::uint64_t kContext = 42;

TEST_CASE("a context that hardly varies is known after a few samples and pays its mean exactly") {
  BatchTimes times;
  CHECK(times.Recall(kContext) < 0);
  int taught = 0;
  for (; times.Recall(kContext) < 0; ++taught) times.Teach(kContext, taught, taught % 4 == 0 ? 129 : 128);
  CHECK(taught >= 16);
  CHECK(taught <= 32);
  Ticks sum = times.Recall(kContext);
  for (int i = 1; i < 400; ++i) {
    const Ticks took = times.Recall(kContext);
    CHECK((took == 128 || took == 129));
    sum += took;
  }
  CHECK(sum == Approx(400 * 128.25).margin(1));
}

TEST_CASE("a context that varies gives back what was seen, all of it in turn") {
  BatchTimes times;
  std::vector<Ticks> seen;
  while (times.Recall(kContext) < 0) {
    seen.push_back(100 + static_cast<Ticks>(seen.size()) * 7 % 50);
    times.Teach(kContext, static_cast<Ticks>(seen.size()), seen.back());
  }
  CHECK(seen.size() > 32);
  std::vector<Ticks> recalled;
  for (std::size_t i = 0; i < seen.size(); ++i) recalled.push_back(times.Recall(kContext));
  std::sort(seen.begin(), seen.end());
  std::sort(recalled.begin(), recalled.end());
  CHECK(recalled == seen);
}

TEST_CASE("channels that do the same at the same time count as one sample") {
  BatchTimes times;
  for (int i = 0; i < 1000; ++i) times.Teach(kContext, 5, 128);
  CHECK(times.Recall(kContext) < 0);
}

TEST_CASE("many contexts are kept apart") {
  BatchTimes times;
  for (std::uint64_t context = 1; context <= 5000; ++context) {
    for (int i = 0; i < 40; ++i) times.Teach(context, i, static_cast<Ticks>(context));
  }
  for (std::uint64_t context = 1; context <= 5000; ++context) {
    if (times.Recall(context) != static_cast<Ticks>(context)) FAIL(context);
  }
}

TEST_CASE("a batch's rows are hits, closed, or in conflict with what was wanted before") {
  const config::HbmConfig hbm = test::Hbm(test::kHbm3, 4, 2);
  const Result<AddressMap> map = AddressMap::Create(hbm);
  REQUIRE(map.ok());
  RowTracker rows(*map, 32);
  const auto admit = [&](std::int64_t address) {
    KnownBatch next;
    next.batch.Add(*map, {map->Pack(address), 4, false, true});
    rows.Admit(next);
    return next.traits;
  };
  const Location place = map->Decode(0);
  const auto at = [&](int bank, std::int64_t row) {
    Location l = place;
    l.bank = bank;
    l.row = row;
    return map->Encode(l);
  };
  CHECK(admit(at(0, 0)).count(BatchTraits::kClosed) == 1);
  CHECK(admit(at(0, 0)).count(BatchTraits::kHit) == 1);
  CHECK(admit(at(0, 1)).count(BatchTraits::kConflict) == 1);
  CHECK(admit(at(1, 0)).count(BatchTraits::kClosed) == 1);
  CHECK(admit(at(0, 2)).count(BatchTraits::kOldConflict) == 1);
  rows.Close();
  CHECK(admit(at(0, 2)).count(BatchTraits::kClosed) == 1);
}

}  // namespace
}  // namespace spillway::model
