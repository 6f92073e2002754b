// SPDX-License-Identifier: Apache-2.0
// Random descriptor mixes on both chips: run level against command level, every command against every rule.
#include <catch2/catch.hpp>
#include <rapidcheck.h>

#include <cmath>
#include <random>

#include "sim/config/config_loader.h"
#include "tests/support/dram_rules.h"
#include "tests/support/hbm_presets.h"

namespace spillway::model {
namespace {

/// One access and when it begins.
struct Issue {
  Picos time = 0;
  Access access;
};

void showValue(const Issue& issue, std::ostream& out) {
  const Access& a = issue.access;
  out << (a.write ? "write " : "read ") << a.chunk_bytes << " B x " << a.chunks << " stride " << a.stride << " x " << a.outer
      << " stride " << a.outer_stride << " at " << a.address << " from " << issue.time << " ps";
}

config::HbmConfig Chip(const std::string& name) {
  config::ChipRequest request;
  request.chip = name;
  request.search = {std::string(SPILLWAY_SOURCE_DIR) + "/configs"};
  Result<config::LoadedChip> chip = config::LoadChip(request);
  REQUIRE(chip.ok());
  return chip->config.hbm;
}

std::int64_t LogUniform(std::int64_t low, std::int64_t high) {
  const double log_low = std::log2(static_cast<double>(low)), log_high = std::log2(static_cast<double>(high));
  const int steps = *rc::gen::inRange(0, 1001);
  return static_cast<std::int64_t>(std::exp2(log_low + (log_high - log_low) * steps / 1000.0));
}

Issue RandomIssue(Bytes largest) {
  Issue issue;
  Access& a = issue.access;
  const Bytes align = *rc::gen::element<Bytes>(1, 32, 512, 4096, 65536);
  a.write = *rc::gen::arbitrary<bool>();
  a.address = *rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 33) / align * align;
  const Bytes bytes = std::max(align, LogUniform(32, largest) / align * align);
  const int shape = *rc::gen::inRange(0, 4);
  a.chunk_bytes = bytes;
  if (shape > 0) {
    a.chunk_bytes = std::min(bytes, *rc::gen::element<Bytes>(32, 96, 512, 2048, 4096, 8192, 65536));
    a.chunks = std::max<std::int64_t>(1, std::min<std::int64_t>(4096, bytes / a.chunk_bytes));
    a.stride = a.chunk_bytes * *rc::gen::element(1, 2, 7, 32, 64);
    if (shape == 3 && a.chunks > 3) {
      a.outer = 3;
      a.chunks /= 3;
      a.outer_stride = a.stride * a.chunks * 2;
    }
  }
  issue.time = *rc::gen::inRange<Picos>(0, *rc::gen::element<Picos>(1, 100'000, 20'000'000));
  return issue;
}

std::vector<Issue> RandomMix(Bytes largest) {
  std::vector<Issue> mix(static_cast<std::size_t>(*rc::gen::inRange(1, 9)));
  for (Issue& issue : mix) issue = RandomIssue(largest);
  std::stable_sort(mix.begin(), mix.end(), [](const Issue& a, const Issue& b) { return a.time < b.time; });
  return mix;
}

std::vector<Completion> Finish(MemorySystem& memory, const std::vector<Issue>& mix) {
  std::vector<Completion> finished;
  std::size_t next = 0;
  while (next < mix.size() || memory.NextEvent() >= 0) {
    const Picos event = memory.NextEvent();
    if (next < mix.size() && (event < 0 || mix[next].time <= event)) {
      memory.Advance(mix[next].time, finished);
      memory.Start(mix[next].time, mix[next].access);
      ++next;
    } else {
      memory.Advance(event, finished);
    }
  }
  return finished;
}

Bytes Total(const std::vector<Issue>& mix) {
  Bytes bytes = 0;
  for (const Issue& issue : mix) bytes += issue.access.bytes();
  return bytes;
}

TEST_CASE("serving every batch gives the finish times of the command level") {
  for (const std::string name : {"v5e", "v6e"}) {
    const config::HbmConfig hbm = Chip(name);
    CHECK(rc::check(name, [&hbm] {
      const std::vector<Issue> mix = RandomMix(*rc::gen::element<Bytes>(64 * kKiB, 4 * kMiB, 16 * kMiB));
      RC_LOG() << rc::toString(mix) << std::endl;
      HbmMemory run(hbm, kEveryBatch), command(hbm, kEveryCommand);
      const std::vector<Completion> fast = Finish(run, mix), slow = Finish(command, mix);
      RC_ASSERT(fast.size() == mix.size());
      RC_ASSERT(slow.size() == mix.size());
      for (std::size_t i = 0; i < fast.size(); ++i) {
        RC_ASSERT(fast[i].id == slow[i].id);
        RC_ASSERT(fast[i].time == slow[i].time);
      }
      RC_ASSERT(run.counters().read_bytes == command.counters().read_bytes);
      RC_ASSERT(run.counters().write_bytes == command.counters().write_bytes);
      RC_ASSERT(run.counters().read_bytes + run.counters().write_bytes == Total(mix));
      RC_ASSERT(run.counters().busy == command.counters().busy);
      const double seconds = static_cast<double>(fast.back().time - mix.front().time) * 1e-12;
      RC_ASSERT(seconds >= static_cast<double>(Total(mix)) / hbm.PeakBytesPerSecond());
    }));
  }
}

TEST_CASE("run level finishes within a percent of the command level") {
  for (const std::string name : {"v5e", "v6e"}) {
    const config::HbmConfig hbm = Chip(name);
    std::vector<double> errors;
    CHECK(rc::check(name, [&hbm, &errors] {
      const std::vector<Issue> mix = RandomMix(*rc::gen::element<Bytes>(64 * kKiB, 4 * kMiB, 16 * kMiB, 64 * kMiB));
      RC_LOG() << rc::toString(mix) << std::endl;
      HbmMemory run(hbm, kRunLevel), every(hbm, kEveryBatch);
      std::map<int, Picos> expected;
      for (const Completion& completion : Finish(every, mix)) expected[completion.id] = completion.time;
      const std::vector<Completion> fast = Finish(run, mix);
      RC_ASSERT(fast.size() == expected.size());
      for (const Completion& completion : fast) {
        const auto time = static_cast<double>(expected.at(completion.id));
        errors.push_back(std::abs(static_cast<double>(completion.time) - time) / time);
        RC_ASSERT(errors.back() <= 0.01);
      }
      RC_ASSERT(run.counters().read_bytes == every.counters().read_bytes);
      RC_ASSERT(run.counters().write_bytes == every.counters().write_bytes);
      const double seconds = static_cast<double>(fast.back().time - mix.front().time) * 1e-12;
      RC_ASSERT(seconds >= static_cast<double>(Total(mix)) / hbm.PeakBytesPerSecond());
    }));
    REQUIRE(!errors.empty());
    std::sort(errors.begin(), errors.end());
    CAPTURE(name, errors.back());
    CHECK(errors[errors.size() / 2] <= 0.002);
  }
}

TEST_CASE("run level moves long streams in the time of the command level") {
  for (const std::string name : {"v5e", "v6e"}) {
    const config::HbmConfig hbm = Chip(name);
    for (const int reads : {0, 1, 2}) {
      for (const int writes : {0, 1}) {
        for (const Bytes piece : {64 * kKiB, 160 * kKiB, 2 * kMiB}) {
          if (reads + writes == 0) continue;
          std::vector<test::StreamSpec> streams;
          for (int i = 0; i < reads + writes; ++i) {
            streams.push_back({i >= reads, (std::int64_t{i} << 28) + 5 * i * kMiB, 32 * kMiB, piece, 2});
          }
          HbmMemory run(hbm, kRunLevel), every(hbm, kEveryBatch);
          const auto fast = static_cast<double>(test::Drive(run, streams));
          const auto slow = static_cast<double>(test::Drive(every, streams));
          CAPTURE(name, reads, writes, piece, fast, slow);
          // Short accesses in a closed loop: whose turn it is depends on every clock, and the times of turns drift apart.
          CHECK(std::abs(fast - slow) <= (piece < kMiB ? 0.08 : 0.01) * slow);
        }
      }
    }
  }
}

TEST_CASE("they agree for other maps, refresh modes and queues too") {
  CHECK(rc::check([] {
    const int timing = *rc::gen::inRange(0, 3);  // In the last, bursts to one bank group need no gap.
    config::HbmConfig hbm = test::Hbm(timing == 0 ? test::kHbm3 : timing == 1 ? test::kHbm2eScaled : test::kHbm2Stock,
                                      *rc::gen::element(1, 4, 16), *rc::gen::element(1, 2));
    hbm.refresh_mode = *rc::gen::element(config::RefreshMode::kNone, config::RefreshMode::kAllBank, config::RefreshMode::kPerBank);
    hbm.refresh_phase = *rc::gen::element(config::RefreshPhase::kAligned, config::RefreshPhase::kStaggered);
    hbm.refresh_postpone = *rc::gen::inRange(0, 8);
    hbm.read_queue = *rc::gen::element(2, 16, 64, 256);
    hbm.write_low_watermark = *rc::gen::inRange(0, 40);
    std::vector<config::AddressSlice> slices = AddressMap::DefaultSlices(hbm);
    std::mt19937 shuffle(static_cast<unsigned>(*rc::gen::inRange(0, 1 << 30)));
    if (*rc::gen::arbitrary<bool>()) std::shuffle(slices.begin() + 1, slices.end(), shuffle);
    hbm.address_map = slices;
    const std::vector<Issue> mix = RandomMix(256 * kKiB);
    RC_LOG() << rc::toString(mix) << std::endl;
    HbmMemory run(hbm, kEveryBatch), command(hbm, kEveryCommand);
    const std::vector<Completion> fast = Finish(run, mix), slow = Finish(command, mix);
    RC_ASSERT(fast.size() == slow.size());
    for (std::size_t i = 0; i < fast.size(); ++i) RC_ASSERT((fast[i].id == slow[i].id && fast[i].time == slow[i].time));
  }));
}

TEST_CASE("64 MiB descriptors agree as well") {
  for (const std::string name : {"v5e", "v6e"}) {
    const config::HbmConfig hbm = Chip(name);
    std::vector<Issue> mix(3);
    mix[0].access.chunk_bytes = 64 * kMiB;
    mix[1].access = {true, 3 * kGiB + 96, 4096, 8192, 20480, 1, 0, 0};
    mix[2] = {9'000'000, {true, kGiB, 16 * kMiB, 1, 0, 1, 0, 0}};
    HbmMemory run(hbm, kEveryBatch), command(hbm, kEveryCommand);
    const std::vector<Completion> fast = Finish(run, mix), slow = Finish(command, mix);
    REQUIRE(fast.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(fast[i].id == slow[i].id);
      CHECK(fast[i].time == slow[i].time);
    }
  }
}

TEST_CASE("no command breaks a rule and no two bursts share the bus") {
  for (const std::string name : {"v5e", "v6e"}) {
    for (const auto mode : {config::RefreshMode::kAllBank, config::RefreshMode::kPerBank}) {
      config::HbmConfig hbm = Chip(name);
      hbm.refresh_mode = mode;
      hbm.refresh_postpone = 2;
      CHECK(rc::check(name, [&hbm] {
        const std::vector<Issue> mix = RandomMix(512 * kKiB);
        RC_LOG() << rc::toString(mix) << std::endl;
        HbmMemory memory(hbm, kEveryCommand);
        const int channel = *rc::gen::inRange(0, hbm.channels);
        std::vector<CommandRecord> log;
        memory.LogChannel(channel, &log);
        Finish(memory, mix);
        const std::string broken = test::DramRules(hbm, DramClocks(hbm.timing)).Check(log);
        RC_ASSERT(broken == "");
      }));
    }
  }
}

TEST_CASE("each burst of each access is commanded once, in the channel of its address") {
  for (const std::string name : {"v5e", "v6e"}) {
    const config::HbmConfig hbm = Chip(name);
    const Result<AddressMap> map = AddressMap::Create(hbm);
    REQUIRE(map.ok());
    CHECK(rc::check(name, [&hbm, &map] {
      const Issue issue = RandomIssue(64 * kKiB);
      const Access& a = issue.access;
      std::map<std::pair<int, std::int64_t>, int> expected;  // (bank, row) -> bursts, in one channel.
      const int channel = *rc::gen::inRange(0, hbm.channels);
      for (std::int64_t o = 0; o < a.outer; ++o) {
        for (std::int64_t c = 0; c < a.chunks; ++c) {
          const std::int64_t low = a.address + o * a.outer_stride + c * a.stride;
          for (std::int64_t at = low / 32 * 32; at < low + a.chunk_bytes; at += 32) {
            const Location place = map->Decode(at);
            if (place.channel == channel) expected[{place.bank, place.row}]++;
          }
        }
      }
      HbmMemory memory(hbm, kEveryCommand);
      std::vector<CommandRecord> log;
      memory.LogChannel(channel, &log);
      Finish(memory, {issue});
      std::map<std::pair<int, std::int64_t>, int> commanded;
      for (const CommandRecord& record : log) {
        if (record.command == (a.write ? Command::kWrite : Command::kRead)) commanded[{record.bank, record.row}]++;
      }
      // Neighbouring chunks of a contiguous access that meet inside a burst share it.
      if (a.stride != a.chunk_bytes || a.address % 32 == 0) RC_ASSERT(commanded == expected);
    }));
  }
}

TEST_CASE("an address map is a bijection, whatever its slices and hash") {
  CHECK(rc::check([] {
    config::HbmConfig hbm = test::Hbm(test::kHbm3, 1 << *rc::gen::inRange(0, 7), 1 << *rc::gen::inRange(0, 2));
    std::vector<config::AddressSlice> slices;
    for (const config::AddressSlice& slice : AddressMap::DefaultSlices(hbm)) {
      if (slice.field == "offset") continue;
      const int cut = *rc::gen::inRange(0, slice.bits + 1);
      slices.push_back({slice.field, cut});
      slices.push_back({slice.field, slice.bits - cut});
    }
    std::mt19937 shuffle(static_cast<unsigned>(*rc::gen::inRange(0, 1 << 30)));
    std::shuffle(slices.begin(), slices.end(), shuffle);
    slices.insert(slices.begin(), {"offset", 5});
    hbm.address_map = slices;
    if (hbm.channels > 1) {
      hbm.address_hash = {{"channel", 0, static_cast<std::uint64_t>(*rc::gen::inRange(0, 1 << 28)) << 5},
                          {"bank", 1, static_cast<std::uint64_t>(*rc::gen::inRange(0, 1 << 28)) << 5}};
    }
    const Result<AddressMap> map = AddressMap::Create(hbm);
    if (!map.ok()) RC_DISCARD("singular");
    const std::int64_t address = *rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << map->bits());
    const Location place = map->Decode(address);
    RC_ASSERT(map->Encode(place) == address);
    RC_ASSERT(place.channel < hbm.channels);
    RC_ASSERT(place.bank < 16 * hbm.stack_ids);
    RC_ASSERT(place.column < 32);
    const Access access{false, address / 4096 * 4096, 4096 * *rc::gen::inRange<Bytes>(1, 64), 1, 0, 1, 0, 0};
    std::int64_t bursts = 0;
    const AccessShape shape(*map, access);
    for (int channel = 0; channel < hbm.channels; ++channel) bursts += shape.share(channel).bursts;
    RC_ASSERT(bursts * 32 == access.bytes());
    // Walking every channel visits as much.
    for (int channel = 0; channel < hbm.channels; ++channel) {
      ChannelWalker walker(shape, channel);
      Batch batch;
      std::vector<int> touched;
      while (walker.left() > 0) bursts -= walker.Take(24, batch, touched);
    }
    RC_ASSERT(bursts == 0);
  }));
}

TEST_CASE("two runs are equal, and so is one that is polled more often") {
  const config::HbmConfig hbm = Chip("v6e");
  CHECK(rc::check([&hbm] {
    const std::vector<Issue> mix = RandomMix(kMiB);
    HbmMemory first(hbm, kEveryBatch), second(hbm, kEveryBatch);
    const std::vector<Completion> a = Finish(first, mix);
    std::vector<Completion> b;
    std::size_t next = 0;
    for (Picos now = 0; b.size() < mix.size(); now += 77'777) {
      for (; next < mix.size() && mix[next].time <= now; ++next) {
        second.Start(mix[next].time, mix[next].access);
        second.Advance(mix[next].time, b);
      }
      second.Advance(now, b);
    }
    RC_ASSERT(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) RC_ASSERT((a[i].id == b[i].id && a[i].time == b[i].time));
  }));
}

TEST_CASE("measured mixes come out of one parameter set a chip") {
  // Public device measurements, as shares of the pins' peak; see docs/memory-model.md for where they come from.
  struct Row {
    const char* chip;
    int reads, writes;
    double low, high;
  };
  const Row rows[] = {{"v6e", 1, 0, 0.925, 0.955}, {"v6e", 2, 1, 0.86, 0.885}, {"v6e", 1, 1, 0.83, 0.87},
                      {"v5e", 1, 0, 0.915, 0.95},  {"v5e", 2, 1, 0.82, 0.86},  {"v5e", 1, 1, 0.785, 0.825}};
  for (const Row& row : rows) {
    std::vector<test::StreamSpec> streams;
    for (int i = 0; i < row.reads + row.writes; ++i) {
      streams.push_back({i >= row.reads, (std::int64_t{i} << 27) + 3 * i * kMiB, 128 * kMiB, 2 * kMiB, 2});
    }
    CAPTURE(row.chip, row.reads, row.writes);
    const double share = test::Efficiency(Chip(row.chip), streams);
    CHECK(share >= row.low);
    CHECK(share <= row.high);
  }
}

}  // namespace
}  // namespace spillway::model
