// SPDX-License-Identifier: Apache-2.0
// Every kind of mistake in a chip file: its exact place, message and hint.
#include <fmt/format.h>

#include "tests/unit/config/chip_files.h"

namespace spillway::config {
namespace {

struct Mistake {
  const char* text;     // after "schema: spillway.chip/1\nextends: v6e\n": the first line is line 3
  int line, column;
  const char* message;
  const char* hint;     // empty: any
};

const std::vector<Mistake> kMistakes{
    {"hbm:\n  chanels: 3\n", 4, 3, "unknown key 'hbm.chanels'", "did you mean 'hbm.channels'?"},
    {"hmb: {channels: 32}\n", 3, 1, "unknown key 'hmb'", "did you mean 'hbm'?"},
    {"trp: 14ns\n", 3, 1, "unknown key 'trp'", "did you mean 'hbm.timing.trp'?"},
    {"zebra: 1\n", 3, 1, "unknown key 'zebra'", "'spillway list keys' prints every key"},
    {"hbm:\n  channels: 32\n  channels: 64\n", 5, 3, "duplicate key 'channels'", "first given in line 4"},
    {"hbm: 3\n", 3, 6, "'hbm' holds keys of its own, but is given '3'", "indent its keys below 'hbm:'"},
    {"hbm:\n", 3, 1, "'hbm' holds keys of its own, but is given no value", ""},
    {"hbm: [1]\n", 3, 6, "'hbm' holds keys of its own, but is given a list", ""},
    {"hbm:\n  channels:\n  usable: 1GiB\n", 4, 3, "'hbm.channels' has no value", ""},
    {"hbm:\n  channels: [32]\n", 4, 13, "'hbm.channels' must be one value, not a list", ""},
    {"hbm:\n  channels: {count: 32}\n", 4, 13, "'hbm.channels' must be one value, not a map", ""},
    {"hbm:\n  channels: many\n", 4, 13, "'hbm.channels' must be a whole number, not 'many'", "a bare decimal number"},
    {"hbm:\n  channels: 32.0\n", 4, 13, "'hbm.channels' must be a whole number, not '32.0'", ""},
    {"hbm:\n  channels: 040\n", 4, 13, "'hbm.channels' must be a whole number, not '040'",
     "drop the leading zero: some read it as octal"},
    {"hbm:\n  channels: 0x20\n", 4, 13, "'hbm.channels' must be a whole number, not '0x20'", ""},
    {"hbm:\n  channels: '32'\n", 4, 13, "'hbm.channels' must be a whole number, not '32'", "drop the quotes"},
    {"hbm:\n  channels: 99999999999999999999\n", 4, 13,
     "'hbm.channels' must be a whole number, not '99999999999999999999'", ""},
    {"hbm:\n  channels: 0\n", 4, 13, "'hbm.channels' is out of range: '0'", "allowed: 1 .. 4096"},
    {"hbm:\n  channels: -4\n", 4, 13, "'hbm.channels' is out of range: '-4'", "allowed: 1 .. 4096"},
    {"hbm:\n  capacity: 32\n", 4, 13, "'hbm.capacity' lacks a unit: '32'",
     "units: B, kB, MB, GB (powers of 1000), KiB, MiB, GiB (powers of 1024)"},
    {"hbm:\n  capacity: 32Gib\n", 4, 13, "'hbm.capacity' has an unknown unit: '32Gib'", ""},
    {"hbm:\n  capacity: 1.5B\n", 4, 13, "'hbm.capacity' is not a whole number of bytes: '1.5B'", ""},
    {"hbm:\n  capacity: -1GiB\n", 4, 13, "'hbm.capacity' is negative: '-1GiB'", ""},
    {"hbm:\n  capacity: big\n", 4, 13, "'hbm.capacity' must be a size, not 'big'", ""},
    {"hbm:\n  capacity: 2048TiB\n", 4, 13, "'hbm.capacity' is out of range: '2048TiB'", ""},
    {"dma:\n  read_latency: 628\n", 4, 17, "'dma.read_latency' lacks a unit: '628'", "units: ps, ns, us, ms, s"},
    {"dma:\n  read_latency: 22ck\n", 4, 17, "'dma.read_latency' has an unknown unit: '22ck'", ""},
    {"dma:\n  read_latency: 0.5ps\n", 4, 17, "'dma.read_latency' is not a whole number of picoseconds: '0.5ps'", ""},
    {"dma:\n  read_latency: nanns\n", 4, 17, "'dma.read_latency' must be a duration, not 'nanns'", ""},
    {"dma:\n  vmem_bytes_per_second: 1GB\n", 4, 26, "'dma.vmem_bytes_per_second' has an unknown unit: '1GB'", ""},
    {"hbm:\n  timing:\n    trp: 2.5ck\n", 5, 10, "'hbm.timing.trp' must be a whole number of clocks, not '2.5ck'", ""},
    {"hbm:\n  timing:\n    trp: -2ck\n", 5, 10, "'hbm.timing.trp' must be a whole number of clocks, not '-2ck'", ""},
    {"hbm:\n  timing:\n    trp: 22\n", 5, 10, "'hbm.timing.trp' lacks a unit: '22'",
     "units: ck (clocks of hbm.timing.tck), ps, ns, us, ms"},
    {"hbm:\n  timing:\n    burst: 0ck\n", 5, 12, "'hbm.timing.burst' is out of range: '0ck'", ""},
    {"core:\n  clock_hz: 1.75\n", 4, 13, "'core.clock_hz' lacks a unit: '1.75'", "units: Hz, kHz, MHz, GHz"},
    {"core:\n  clock_hz: 1kHz\n", 4, 13, "'core.clock_hz' is out of range: '1kHz'", "allowed: 1MHz .. 100GHz"},
    {"vmem:\n  dma_contention: 1.5\n", 4, 19, "'vmem.dma_contention' is out of range: '1.5'", "allowed: 0 .. 1"},
    {"vmem:\n  dma_contention: .nan\n", 4, 19, "'vmem.dma_contention' must be a number, not '.nan'", ""},
    {"run:\n  warm: yes\n", 4, 9, "'run.warm' must be true or false, not 'yes'", ""},
    {"run:\n  warm: 'true'\n", 4, 9, "'run.warm' must be true or false, not 'true'", ""},
    {"hbm:\n  refresh_mode: perbank\n", 4, 17, "'hbm.refresh_mode' cannot be 'perbank'", "did you mean 'per_bank'?"},
    {"hbm:\n  fidelity: exact\n", 4, 13, "'hbm.fidelity' cannot be 'exact'", "one of run, command"},
    {"core:\n  matmul_cycles: 8\n", 4, 18, "'core.matmul_cycles' must be a map, not '8'", ""},
    {"core:\n  matmul_cycles: {bf61: 8}\n", 4, 19, "unknown element type 'bf61' in 'core.matmul_cycles'",
     "did you mean 'bf16'?"},
    {"core:\n  matmul_cycles: {bf16: fast}\n", 4, 25, "'core.matmul_cycles.bf16' must be a number, not 'fast'", ""},
    {"core:\n  op_slots: {add: {vau: 1}}\n", 4, 20, "unknown unit 'vau' in 'core.op_slots'", "did you mean 'valu'?"},
    {"core:\n  op_slots: {Add!: {valu: 1}}\n", 4, 14, "'Add!' is not an opcode", ""},
    {"core:\n  op_slots: {add.f99x: {valu: 1}}\n", 4, 14, "unknown element type 'f99x' in 'core.op_slots'", ""},
    {"core:\n  op_slots: {add: 1}\n", 4, 19, "'core.op_slots.add' must be a map, not '1'", ""},
    {"memory_spaces: {one: vmem}\n", 3, 17, "'one' is not the number of a memory space", "write n of S(n)"},
    {"memory_spaces: {1: vram}\n", 3, 20, "'memory_spaces.1' cannot be 'vram'", "did you mean 'vmem'?"},
    {"hbm:\n  address_map: 5\n", 4, 16, "'hbm.address_map' must be a list, not '5'", ""},
    {"hbm:\n  address_map: [row]\n", 4, 17, "an item of 'hbm.address_map' must be {field, bits}, not 'row'", ""},
    {"hbm:\n  address_map: [{field: rwo, bits: 3}]\n", 4, 25, "unknown address field 'rwo'", "did you mean 'row'?"},
    {"hbm:\n  address_map: [{field: row}]\n", 4, 17, "an item of 'hbm.address_map' lacks 'bits'", ""},
    {"hbm:\n  address_map: [{field: row, bits: 3, bit: 4}]\n", 4, 39,
     "unknown key 'bit' in an item of 'hbm.address_map'", "did you mean 'bits'?"},
    {"hbm:\n  address_map: [{field: row, bits: 64}]\n", 4, 36, "'bits' is out of range: '64'", "allowed: 1 .. 63"},
    {"hbm:\n  address_hash: [{field: bank, bit: 0, mask: 0}]\n", 4, 46,
     "'mask' must be a non-zero mask of address bits, not '0'", "for example 0x84200000"},
    {"hbm:\n  channels: {value: 32, sauce: x}\n", 4, 25, "unknown key 'sauce' beside the value of 'hbm.channels'",
     "only 'value', 'source' and 'certainty' go together"},
    {"hbm:\n  channels: {value: 32, certainty: sure}\n", 4, 36, "unknown certainty 'sure'",
     "official, measured, derived or assumed"},
    {"hbm:\n  channels: {value: 32, certainty: mesured}\n", 4, 36, "unknown certainty 'mesured'",
     "did you mean 'measured'?"},
    {"hbm:\n  channels: {source: docs}\n", 4, 13, "'hbm.channels' has a source but no 'value'", ""},
    {"hbm:\n  channels: {value: 32, source: []}\n", 4, 33, "'source' of 'hbm.channels' must be text, not a list", ""},
    {"hbm: &x {channels: 32}\n", 3, 6, "anchors are not supported", "use 'extends' to share values"},
    {"hbm: {<<: {channels: 3}}\n", 3, 7, "merge keys are not supported", "use 'extends' to share values"},
    {"hbm:\n  channels: !!int 32\n", 4, 13, "tags are not supported: 'tag:yaml.org,2002:int'", ""},
    {"hbm: {[1]: 2}\n", 3, 7, "a key must be a plain word", ""},
    {"hbm: {channels: 32\n", 4, 1, "malformed YAML: end of map flow not found", ""},
    {"hbm:\n\tchannels: 32\n", 4, 10, "malformed YAML: illegal map value",
     "indent with spaces: YAML allows no tabs there"},
    {"---\nhbm: {channels: 32}\n", 4, 1, "more than one YAML document", "keep one per file"},
};

TEST_CASE("a mistake in a chip file is reported at its place") {
  const ChipFiles files;
  for (const Mistake& mistake : kMistakes) {
    CAPTURE(mistake.text);
    const std::string path =
        files.Write("bad.yaml", std::string("schema: spillway.chip/1\nextends: v6e\n") + mistake.text);
    const Diagnostics errors = CheckChipFile(path, {kPinned});
    CAPTURE(RenderAll(errors));
    REQUIRE_FALSE(errors.empty());
    const Diagnostic& error = errors.front();
    CHECK(error.file == path);
    CHECK(error.line == mistake.line);
    CHECK(error.column == mistake.column);
    CHECK(error.caret == mistake.column);
    CHECK(error.message == mistake.message);
    if (*mistake.hint != '\0') CHECK(error.hint == mistake.hint);
    // The same through LoadChip.
    CHECK(RenderAll(Load(path).errors()) == RenderAll(errors));
  }
}

TEST_CASE("a rendered error shows file, line, column, the line, a caret and a hint") {
  const ChipFiles files;
  const std::string path = files.Write("bad.yaml", "schema: spillway.chip/1\nextends: v6e\nhbm:\n  chanels: 32  # why\n");
  CHECK(RenderAll(Load(path).errors()) == path + ":4:3: error: unknown key 'hbm.chanels'\n"
                                                 "    chanels: 32  # why\n"
                                                 "    ^\n"
                                                 "hint: did you mean 'hbm.channels'?\n");
}

TEST_CASE("all errors of all layers come at once, in order") {
  const ChipFiles files;
  const std::string chip = files.Write("chip.yaml",
      "schema: spillway.chip/1\nextends: v6e\nhbm:\n  chanels: 32\n  capacity: 7\n  timing: {tras: 80ck}\n");
  const std::string over = files.Write("over.yaml", "schema: spillway.chip/2\ndma: {threads: 0}\n");
  const Result<LoadedChip> loaded = Load(chip, {"core.mxus=four", "vmem.usable=1GiB"}, {over});
  REQUIRE_FALSE(loaded.ok());
  std::vector<std::string> messages;
  for (const Diagnostic& error : loaded.errors()) messages.push_back(error.message);
  CHECK(messages == std::vector<std::string>{
                        "unknown key 'hbm.chanels'", "'hbm.capacity' lacks a unit: '7'",
                        "'schema' must be spillway.chip/1, not 'spillway.chip/2'", "'dma.threads' is out of range: '0'",
                        "'core.mxus' must be a whole number, not 'four'",
                        "'vmem.usable' (1GiB) is above 'vmem.capacity' (128MiB)",
                        "'hbm.timing.tras' (80ck) is above 'hbm.timing.trc' (72ck)"});
}

TEST_CASE("an overridden mistake is still a mistake") {
  const ChipFiles files;
  const std::string path = files.Write("bad.yaml", "schema: spillway.chip/1\nextends: v6e\nhbm: {channels: x}\n");
  const Result<LoadedChip> loaded = Load(path, {"hbm.channels=32"});
  REQUIRE_FALSE(loaded.ok());
  CHECK(loaded.errors().front().message == "'hbm.channels' must be a whole number, not 'x'");
}

TEST_CASE("files that are no chip file") {
  const ChipFiles files;
  const auto first = [&](const std::string& text) {
    const Diagnostics errors = CheckChipFile(files.Write("bad.yaml", text), {kPinned});
    REQUIRE_FALSE(errors.empty());
    return fmt::format("{}:{} {}", errors.front().line, errors.front().column, errors.front().message);
  };
  CHECK(first("") == "1:1 the file holds no configuration");
  CHECK(first("# only a comment\n") == "1:1 the file holds no configuration");
  CHECK(first("[1, 2]\n") == "1:1 a configuration must be a map of keys");
  CHECK(first("hbm: {channels: 32}\n") == "1:1 no 'schema'");
  CHECK(first("schema: [spillway.chip/1]\n") == "1:9 'schema' must be spillway.chip/1, not a list");
  CHECK(first("schema: spillway.sweep/1\n") == "1:9 'schema' must be spillway.chip/1, not 'spillway.sweep/1'");
  CHECK(first(std::string(300 << 10, 'a')) == "1:1 a configuration of more than 256 KiB");
  const Diagnostics missing = CheckChipFile(files.directory() + "/none.yaml", {kPinned});
  REQUIRE(missing.size() == 1);
  CHECK_THAT(missing.front().message, Catch::StartsWith("cannot open"));
}

TEST_CASE("a chip that leaves values out lists each of them") {
  const ChipFiles files;
  const std::string path = files.Write("new.yaml", "schema: spillway.chip/1\nname: new\n");
  const Diagnostics errors = CheckChipFile(path, {kPinned});
  CHECK(errors.size() > 40);
  CHECK(errors.front().message == "no value for 'hbm.capacity' (installed HBM)");
  // A file that only overrides need not be whole.
  CHECK(CheckChipFile(files.Write("over.yaml", "schema: spillway.chip/1\ndma: {threads: 4}\n"), {kPinned}).empty());
}

TEST_CASE("a hostile file gets a bounded number of messages of bounded length") {
  const ChipFiles files;
  std::string text = "schema: spillway.chip/1\n";
  for (int i = 0; i < 20000; ++i) text += fmt::format("key{}: 1\n", i % 10000);
  text += std::string(1000, 'x') + ": 1\n";
  const Diagnostics errors = CheckChipFile(files.Write("big.yaml", text), {kPinned});
  CHECK(errors.size() == 101);
  CHECK(errors.back().message == "too many errors: the rest is not shown");
  const Diagnostics one = CheckChipFile(
      files.Write("long.yaml", "schema: spillway.chip/1\n" + std::string(1000, 'x') + ": 1\n"), {kPinned});
  REQUIRE(one.size() == 1);
  CHECK(one.front().message.size() < 100);
}

TEST_CASE("option --set errors point into the argument") {
  struct Row {
    const char* argument;
    int caret;
    const char* message;
    const char* hint;
  };
  const std::vector<Row> rows{
      {"hbm.chanels=3", 7, "unknown key 'hbm.chanels'", "did you mean 'hbm.channels'?"},
      {"hmb.channels=3", 7, "unknown key 'hmb.channels'", "did you mean 'hbm.channels'?"},
      {"channels=3", 7, "unknown key 'channels'", "did you mean 'hbm.channels'?"},
      {"schema=3", 7, "unknown key 'schema'", ""},
      {"hbm.channels", 7, "'--set hbm.channels' is not KEY=VALUE", "for example --set hbm.channels=16"},
      {"=3", 7, "'--set =3' is not KEY=VALUE", ""},
      {"hbm.channels=", 7, "'--set hbm.channels=' has no value", ""},
      {"hbm.channels=x", 20, "'hbm.channels' must be a whole number, not 'x'", ""},
      {"hbm=3", 7, "'hbm' holds keys of its own, but is given '3'", "for example hbm.capacity"},
      {"hbm.channels.x=3", 7, "unknown key 'hbm.channels.x'", ""},
      {"hbm={channels: 0}", 22, "'hbm.channels' is out of range: '0'", ""},
      {"core.matmul_cycles.bf61=3", 7, "unknown element type 'bf61' in 'core.matmul_cycles'", "did you mean 'bf16'?"},
      {"hbm.channels=[", 20, "malformed YAML: end of sequence flow not found", ""},
      {"hbm..channels=3", 7, "unknown key 'hbm..channels'", "did you mean 'hbm.channels'?"},
      {".=3", 7, "unknown key '.'", ""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.argument);
    const Result<LoadedChip> loaded = Load("v6e", {row.argument});
    REQUIRE_FALSE(loaded.ok());
    CAPTURE(RenderAll(loaded.errors()));
    const Diagnostic& error = loaded.errors().front();
    CHECK(error.file.empty());
    CHECK(error.line == 0);
    CHECK(error.source_line == std::string("--set ") + row.argument);
    CHECK(error.caret == row.caret);
    CHECK(error.message == row.message);
    if (*row.hint != '\0') CHECK(error.hint == row.hint);
  }
}

}  // namespace
}  // namespace spillway::config
