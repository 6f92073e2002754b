// SPDX-License-Identifier: Apache-2.0
// The resolved YAML is a complete chip file that gives the identical configuration.
#include <fmt/format.h>
#include <rapidcheck.h>
#include <rapidcheck/catch.h>

#include "tests/unit/config/chip_files.h"

namespace spillway::config {
namespace {

TEST_CASE("resolved: every value with its provenance and the place it came from") {
  const ChipFiles files;
  const std::string chip = files.Write("chip.yaml",
      "schema: spillway.chip/1\nextends: v6e\nname: \"my \\\"chip\\\"\"\n"
      "hbm:\n  timing:\n    trp: {value: 22ck, source: \"bench: run 3\", certainty: measured}\n");
  const std::string over = files.Write("over.yaml", "schema: spillway.chip/1\ndma: {threads: 4}\n");
  const std::string yaml = MustLoad(chip, {"core.mxus=3", "core.op_slots.add.f32.valu=2"}, {over}).resolved_yaml;
  const auto has = [&](const std::string& line) { CHECK_THAT(yaml, Catch::Contains("\n" + line + "\n")); };
  has("name: \"my \\\"chip\\\"\"  # " + chip + ":3");
  has("    trp: {value: 13750ps, source: \"bench: run 3\", certainty: measured}  # " + chip + ":6");
  has("  threads: 4  # " + over + ":2");
  has("  mxus: 3  # --set core.mxus=3");
  has("    add.f32:\n      valu: 2  # --set core.op_slots.add.f32.valu=2");
  has("  max_events: 0  # default");
  CHECK_THAT(yaml, Catch::Contains("certainty: official}  # " + kPinned + "/chips/v6e.yaml:"));
}

TEST_CASE("resolved: a hostile --set cannot smuggle a line into the file") {
  const std::string yaml = MustLoad("v6e", {"hbm.channels=64 # x\n# y"}).resolved_yaml;
  CHECK_THAT(yaml, Catch::Contains("channels: 64  # --set hbm.channels=64 # x?# y\n"));
}

TEST_CASE("resolved: a fitted address map says so and loads again") {
  const ChipFiles files;
  const LoadedChip loaded = MustLoad("v5e", {"hbm.channels=64"});
  CHECK_THAT(loaded.resolved_yaml, Catch::Contains("fitted to the sizes set later"));
  const LoadedChip again = MustLoad(files.Write("resolved.yaml", loaded.resolved_yaml));
  CHECK(ExactText(again.config) == ExactText(loaded.config));
  CHECK(MustLoad("v5e").resolved_yaml.find("fitted to the sizes set later") == std::string::npos);
}

// A valid text of any size for a key of this kind.
rc::Gen<std::string> ValueOf(const ChipKey& key) {
  const auto low = static_cast<std::int64_t>(key.min), high = static_cast<std::int64_t>(key.max);
  const auto whole = [=](const char* unit) {
    return rc::gen::map(rc::gen::inRange<std::int64_t>(low, high), [=](std::int64_t n) { return fmt::format("{}{}", n, unit); });
  };
  const auto real = [=](double floor, double ceiling, const char* unit) {
    return rc::gen::map(rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 53), [=](std::int64_t n) {
      return fmt::format("{}{}", floor + (ceiling - floor) * static_cast<double>(n) / 9007199254740992.0, unit);
    });
  };
  switch (key.kind) {
    case KeyKind::kText:
      return rc::gen::map(rc::gen::container<std::string>(rc::gen::inRange<char>(' ', '~')), [](std::string text) {
        std::string quoted = "'";  // YAML's single quotes: doubled inside
        for (const char c : text.empty() ? "x" : text) quoted += c == '\'' ? "''" : std::string(1, c);
        return quoted + "'";
      });
    case KeyKind::kBool: return rc::gen::element<std::string>("true", "false");
    case KeyKind::kCount:
    case KeyKind::kCycles: return whole("");
    case KeyKind::kBytes: return whole("B");
    case KeyKind::kDuration: return whole("ps");
    case KeyKind::kDramTime: return rc::gen::oneOf(whole("ps"), rc::gen::map(rc::gen::inRange(1, 1000), [](int n) { return fmt::format("{}ck", n); }));
    case KeyKind::kNumber: return real(key.min, key.max, "");
    case KeyKind::kBandwidth: return real(key.min, key.max, "B/s");
    case KeyKind::kFrequency: return real(key.min, key.max, "Hz");
    case KeyKind::kChoice: {
      ChipConfig chip;
      return rc::gen::elementOf(ChoicesOf(key.slot(chip)));
    }
    case KeyKind::kNumberMap:
      return rc::gen::map(rc::gen::pair(rc::gen::elementOf(ElementTypeNames()), real(0, 1000, "")),
                          [](const auto& p) { return fmt::format("{{{}: {}}}", p.first, p.second); });
    case KeyKind::kSlotMap:
      return rc::gen::map(rc::gen::tuple(rc::gen::elementOf(ElementTypeNames()), rc::gen::elementOf(UnitNames()), real(0, 99, "")),
                          [](const auto& t) {
                            return fmt::format("{{add.{}: {{{}: {}}}}}", std::get<0>(t), std::get<1>(t), std::get<2>(t));
                          });
    case KeyKind::kSpaceMap:
      return rc::gen::map(rc::gen::pair(rc::gen::inRange(0, 999999999), rc::gen::elementOf(MemoryKindNames())),
                          [](const auto& p) { return fmt::format("{{{}: {}}}", p.first, p.second); });
    default: return rc::gen::just(std::string("[]"));
  }
}

TEST_CASE("resolved: loading it gives the identical configuration, whatever was set") {
  const ChipFiles files;
  int valid = 0;
  rc::prop("round trip", [&] {
    const std::string chip = *rc::gen::element<std::string>("v5e", "v6e", kConfigs + "/chips/v5e.yaml", kConfigs + "/chips/v6e.yaml");
    std::vector<std::string> sets;
    for (int n = *rc::gen::inRange(0, 6); n > 0; --n) {
      const ChipKey& key = ChipKeys()[*rc::gen::inRange<std::size_t>(0, ChipKeys().size())];
      sets.push_back(std::string(key.path) + "=" + *ValueOf(key));
    }
    const std::string channels = *rc::gen::element<std::string>("", "8", "16", "64", "256");
    if (!channels.empty()) sets.push_back("hbm.channels=" + channels);
    const Result<LoadedChip> loaded = Load(chip, sets);
    if (!loaded.ok()) {
      // Only a rule between keys may refuse values that are each in range.
      for (const Diagnostic& error : loaded.errors()) {
        const std::string& m = error.message;
        RC_ASSERT(m.find("above") != m.npos || m.find("below") != m.npos || m.find("power of two") != m.npos ||
                  m.find("address_map") != m.npos || m.find("out of range") != m.npos ||
                  // Maps of classes and units are drawn with the names of element types too.
                  m.find("unknown class") != m.npos || m.find("unknown unit") != m.npos);
      }
      return;
    }
    ++valid;
    const std::string path = files.Write("resolved.yaml", loaded->resolved_yaml);
    const Result<LoadedChip> again = Load(path);
    if (!again.ok()) RC_FAIL(RenderAll(again.errors()));
    RC_ASSERT(ExactText(again->config) == ExactText(loaded->config));
    RC_ASSERT(WithoutComments(again->resolved_yaml) == WithoutComments(loaded->resolved_yaml));
  });
  CHECK(valid > 20);
}

TEST_CASE("a value that is set arrives, and nothing else changes") {
  rc::prop("one key", [] {
    const ChipKey& key = ChipKeys()[*rc::gen::inRange<std::size_t>(0, ChipKeys().size())];
    const Result<LoadedChip> loaded = Load("v6e", {std::string(key.path) + "=" + *ValueOf(key)});
    if (!loaded.ok()) return;
    // Undo the one member in the table: what is left must be the chip as it was.
    ChipConfig base = MustLoad("v6e").config, changed = loaded->config;
    const bool size = key.kind == KeyKind::kBytes || key.kind == KeyKind::kCount;
    if (size && std::string_view(key.path).substr(0, 4) == "hbm.") {
      changed.hbm.address_map = base.hbm.address_map;  // follows the sizes
      changed.hbm.address_hash = base.hbm.address_hash;
    }
    if (std::string_view(key.path) == "hbm.timing.tck") changed.hbm.timing = base.hbm.timing;  // the unit of the others
    std::visit([](auto* to, auto* from) {
      if constexpr (std::is_same_v<decltype(to), decltype(from)>) *to = *from;
    }, key.slot(changed), key.slot(base));
    RC_ASSERT(ExactText(changed) == ExactText(base));
  });
}

}  // namespace
}  // namespace spillway::config
