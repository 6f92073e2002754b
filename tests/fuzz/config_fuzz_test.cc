// SPDX-License-Identifier: Apache-2.0
// Mutated and hostile chip files: any input is either loaded or refused with messages that have a place.
#include <fmt/format.h>

#include <random>

#include "sim/base/file.h"
#include "tests/support/cases.h"
#include "tests/unit/config/chip_files.h"

namespace spillway::config {
namespace {

// Either a valid configuration whose resolved text loads again, or sound diagnostics.
bool CheckOutcome(const ChipFiles& files, const std::string& text) {
  const std::string path = files.Write("fuzz.yaml", text);
  const Result<LoadedChip> loaded = Load(path);
  CheckChipFile(path, {kPinned});
  if (loaded.ok()) {
    const Result<LoadedChip> again = Load(files.Write("again.yaml", loaded->resolved_yaml));
    if (!again.ok()) FAIL(RenderAll(again.errors()) << text);
    if (ExactText(again->config) != ExactText(loaded->config)) FAIL("resolved text differs for\n" << text);
    return true;
  }
  if (loaded.errors().empty()) FAIL("refused without a reason:\n" << text);
  for (const Diagnostic& error : loaded.errors()) {
    const bool sound = !error.message.empty() && error.message.size() < 400 && error.caret >= 0 &&
                       error.caret <= static_cast<int>(error.source_line.size()) + 1;
    if (!sound) FAIL(Render(error) << text);
  }
  return false;
}

std::string Mutate(std::string text, std::mt19937& random, unsigned max_edits) {
  static const std::vector<std::string> kPieces{
      ":", ": ", "\n", "\n  ", "- ", "{", "}", "[", "]", ",", "#", "'", "\"", "&a ", "*a", "!!map ", "!x ", "<<: *a\n",
      "|\n", ">\n", "? ", "---\n", "...\n", "%YAML 1.2\n", "\t", "\r\n", std::string(1, '\0'), "\xff\xfe", "\xef\xbb\xbf",
      "~", "null", "010", "0x10", "1e999", "-1", ".inf", ".nan", "99999999999999999999", "32GiB", "22ck", "ck", "1B/s",
      "value: ", "source: ", "certainty: official", "extends: v5e\n", "hbm:\n", "  timing:\n", "schema: ", "\xc3\x28"};
  const int edits = 1 + static_cast<int>(random() % max_edits);
  for (int i = 0; i < edits; ++i) {
    const std::size_t at = text.empty() ? 0 : random() % text.size();
    const std::size_t length = std::min<std::size_t>(1 + random() % 12, text.size() - at);
    switch (random() % 7) {
      case 0: text.erase(at, length); break;
      case 1: text.insert(at, kPieces[random() % kPieces.size()]); break;
      case 2: text.replace(at, length, kPieces[random() % kPieces.size()]); break;
      case 3:
        if (!text.empty()) text[at] = static_cast<char>(random() & 0xff);
        break;
      case 4:
      case 5: {  // another number: what the reader accepts must be right as well
        const std::size_t digit = text.find_first_of("0123456789", at);
        if (digit != std::string::npos) text[digit] = static_cast<char>('0' + random() % 10);
        break;
      }
      default: text.insert(random() % (text.size() + 1), text.substr(at, std::min<std::size_t>(1 + random() % 200, text.size() - at)));
    }
  }
  return text;
}

TEST_CASE("mutated chip files never crash") {
  const ChipFiles files;
  std::mt19937 random(20240229);
  int accepted = 0, refused = 0;
  for (const std::string chip : {"v5e", "v6e"}) {
    const Result<std::string> text = ReadFile(kConfigs + "/chips/" + chip + ".yaml");
    REQUIRE(text.ok());
    for (int i = 0; i < test::Cases(400); ++i) ++(CheckOutcome(files, Mutate(*text, random, 6)) ? accepted : refused);
  }
  // Both sides must have been seen for the test to mean anything.
  CHECK(accepted > 10);
  CHECK(refused > 100);
}

TEST_CASE("mutated short chip files never crash") {
  const ChipFiles files;
  std::mt19937 random(7);
  const std::string seed =
      "schema: spillway.chip/1\nextends: v6e\nname: x\nhbm:\n  channels: {value: 32, source: a, certainty: assumed}\n"
      "  timing: {trp: 22ck, tck: 500ps}\n  address_hash: [{field: bank, bit: 0, mask: 0x200000}]\n"
      "core: {op_slots: {add.f32: {valu: 1}}, matmul_cycles: {bf16: 8}}\nmemory_spaces: {1: vmem}\n";
  int accepted = 0;
  for (int i = 0; i < test::Cases(600); ++i) accepted += CheckOutcome(files, Mutate(seed, random, 1));
  CHECK(accepted > 10);
}

TEST_CASE("hostile shapes are refused") {
  const ChipFiles files;
  const std::string head = "schema: spillway.chip/1\nextends: v6e\n";
  const auto repeat = [](const std::string& piece, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += piece;
    return out;
  };
  CHECK_FALSE(CheckOutcome(files, head + "hbm: " + repeat("[", 20000)));
  CHECK_FALSE(CheckOutcome(files, head + "hbm: " + repeat("{a: ", 20000)));
  CHECK_FALSE(CheckOutcome(files, head + "hbm:\n" + repeat("- ", 20000)));
  CHECK_FALSE(CheckOutcome(files, repeat("? ", 20000)));
  CHECK_FALSE(CheckOutcome(files, head + "a: &a [x]\nb: &b [*a, *a]\nc: &c [*b, *b, *b]\n"));
  CHECK_FALSE(CheckOutcome(files, head + "hbm: {" + repeat("a, ", 20000) + "}"));
  CHECK_FALSE(CheckOutcome(files, std::string(1000, '\0')));
  CHECK_FALSE(CheckOutcome(files, "\xff\xfes\0c\0h\0"));
  CHECK_FALSE(CheckOutcome(files, head + repeat("k: 1\n", 20000)));
  // The text breaks off where a value is due: the key before it must not take a neighbour's.
  CHECK_FALSE(CheckOutcome(files, head + "memory_spaces: {1: vmem, 2: {value: hbm, source"));
  CHECK_FALSE(CheckOutcome(files, head + "memory_spaces: {1: {value: hbm, source: }, 2: [}"));
  CHECK_FALSE(CheckOutcome(files, head + "x" + repeat("y", 200000) + ": 1\n"));
}

TEST_CASE("mutated --set arguments never crash") {
  std::mt19937 random(99);
  const std::vector<std::string> seeds{"hbm.channels=16", "dma.read_latency=1us", "core.matmul_cycles.bf16=8",
                                       "core.op_slots.exponential.bf16.eup=2", "hbm={timing: {trp: 14ns}}",
                                       "hbm.address_hash=[{field: bank, bit: 0, mask: 0x200000}]", "name='x y'"};
  int accepted = 0;
  for (int i = 0; i < test::Cases(700); ++i) {
    const std::string argument = Mutate(seeds[random() % seeds.size()], random, 2);
    const Result<LoadedChip> loaded = Load("v6e", {argument});
    accepted += loaded.ok();
    if (!loaded.ok()) CHECK_FALSE(RenderAll(loaded.errors()).empty());
  }
  CHECK(accepted > 5);
}

}  // namespace
}  // namespace spillway::config
