// SPDX-License-Identifier: Apache-2.0
// The key table covers every member of ChipConfig, and the chip files state where their numbers come from.
#include <fmt/format.h>

#include <functional>
#include <map>
#include <set>

#include "sim/base/file.h"
#include "sim/config/entries.h"
#include "tests/unit/config/chip_files.h"

namespace spillway::config {
namespace {

// Members of each struct of chip_config.h, read from the header itself: a member that the table forgets
// would otherwise keep its default in silence.
std::map<std::string, std::vector<std::pair<std::string, std::string>>> StructsOfHeader() {
  const Result<std::string> header = ReadFile(SPILLWAY_SOURCE_DIR "/sim/config/chip_config.h");
  REQUIRE(header.ok());
  std::map<std::string, std::vector<std::pair<std::string, std::string>>> structs;
  const std::regex whole("struct (\\w+) \\{\n([^}]*?)\n\\};");
  const std::string text = std::regex_replace(*header, std::regex("= [^;,\n]+(?=[;,])"), "");
  const std::string bare = std::regex_replace(std::regex_replace(text, std::regex("//[^\n]*"), ""), std::regex("\\{\\}"), "");
  for (std::sregex_iterator it(bare.begin(), bare.end(), whole), end; it != end; ++it) {
    const std::string body = (*it)[2];
    const std::regex member("([\\w:]+(?:<[^;]*>)?) ([\\w, ]+);");
    for (std::sregex_iterator m(body.begin(), body.end(), member); m != end; ++m) {
      const std::string names = (*m)[2];
      const std::regex name("\\w+");
      for (std::sregex_iterator n(names.begin(), names.end(), name); n != end; ++n) {
        structs[(*it)[1]].emplace_back((*m)[1], n->str());
      }
    }
  }
  return structs;
}

TEST_CASE("every member of ChipConfig has a key, and the other way round") {
  const auto structs = StructsOfHeader();
  REQUIRE(structs.count("ChipConfig") == 1);
  REQUIRE(structs.at("DramTiming").size() > 20);
  std::set<std::string> members;
  const std::function<void(const std::string&, const std::string&)> walk = [&](const std::string& type,
                                                                               const std::string& prefix) {
    for (const auto& [member_type, name] : structs.at(type)) {
      if (structs.count(member_type) != 0) {
        walk(member_type, prefix + name + ".");
      } else {
        members.insert(prefix + name);
      }
    }
  };
  walk("ChipConfig", "");
  std::set<std::string> keys;
  for (const KeyInfo& key : ListKeys()) {
    CHECK(keys.insert(key.key).second);
    CHECK_FALSE(key.type.empty());
    CHECK_FALSE(key.doc.empty());
    CHECK((key.type == "text" || !key.range.empty()));
  }
  CHECK(members == keys);
}

TEST_CASE("no two keys share a member") {
  ChipConfig chip;
  std::set<const void*> members;
  for (const ChipKey& key : ChipKeys()) {
    const void* member = std::visit([](auto* pointer) { return static_cast<const void*>(pointer); }, key.slot(chip));
    CHECK(members.insert(member).second);
  }
}

TEST_CASE("ranges and defaults of the table are consistent") {
  for (const ChipKey& key : ChipKeys()) {
    CAPTURE(key.path);
    CHECK(key.min <= key.max);
    CHECK(key.max <= 9007199254740992.0);  // 2^53: written and read back exactly
    ChipConfig chip;
    const Slot slot = key.slot(chip);
    if (key.required) continue;
    if (int* const* small = std::get_if<int*>(&slot)) CHECK((**small >= key.min && **small <= key.max));
    if (std::int64_t* const* big = std::get_if<std::int64_t*>(&slot)) {
      CHECK((static_cast<double>(**big) >= key.min && static_cast<double>(**big) <= key.max));
    }
  }
}

TEST_CASE("rows of 'list keys'") {
  const auto row = [](const std::string& path) {
    for (const KeyInfo& key : ListKeys()) {
      if (key.key == path) return fmt::format("{} | {} | {}", key.type, key.range, key.doc);
    }
    return std::string("missing");
  };
  CHECK(row("hbm.channels") == "count | 1 .. 4096 | independent pseudo-channels; a power of two");
  CHECK(row("hbm.timing.trp") == "duration or clocks | 0ps .. 1.000 ms | precharge to activate");
  CHECK(row("core.clock_hz") == "frequency | 1MHz .. 100GHz | core clock; one bundle a cycle");
  CHECK(row("hbm.refresh_mode") == "choice | none | all_bank | per_bank | how refresh is done");
}

TEST_CASE("every number of the chip files carries its source and certainty") {
  for (const std::string& name : ListChips({kConfigs})) {
    const std::string path = kConfigs + "/chips/" + name + ".yaml";
    const Result<std::string> text = ReadFile(path);
    REQUIRE(text.ok());
    Diagnostics errors;
    const auto tree = ParseYaml(std::make_shared<YamlSource>(YamlSource{path, *text}), 0, errors);
    REQUIRE(tree);
    const std::vector<Entry> entries = FlattenTree(*tree, 0, {"schema", "extends"}, errors);
    CHECK(errors.empty());
    CHECK(entries.size() > 90);
    for (const Entry& entry : entries) {
      if (!IsNumeric(*entry.key) || entry.Path() == "hbm.fidelity") continue;
      CAPTURE(entry.value.at.Describe(), entry.Path());
      CHECK(entry.source.size() > 3);
      CHECK_FALSE(entry.certainty.empty());
    }
    CHECK(CheckChipFile(path, {kConfigs}).empty());
  }
}

}  // namespace
}  // namespace spillway::config
