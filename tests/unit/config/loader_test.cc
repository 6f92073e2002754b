// SPDX-License-Identifier: Apache-2.0
// Layers: extends, files, --set; and what they do to maps, clocks and the address map.
#include <fmt/format.h>

#include <set>

#include "sim/config/address_map.h"
#include "tests/unit/config/chip_files.h"

namespace spillway::config {
namespace {

const std::string kHead = "schema: spillway.chip/1\n";

std::string MapText(const ChipConfig& chip) {
  std::string out;
  for (const AddressSlice& slice : chip.hbm.address_map) out += fmt::format("{}{} ", slice.field, slice.bits);
  return out;
}

TEST_CASE("units of values") {
  const ChipConfig chip = MustLoad("v6e", {"hbm.capacity=64GiB", "dma.read_latency=1us", "core.clock_hz=940MHz",
                                           "dma.vmem_bytes_per_second=1.6TB/s", "vmem.dma_contention=0.25",
                                           "run.warm=true", "hbm.fidelity=command", "dma.issue_cycles=3",
                                           "name=mine", "run.max_events=5000000000"}).config;
  CHECK(chip.hbm.capacity == 64 * kGiB);
  CHECK(chip.dma.read_latency == 1'000'000);
  CHECK(chip.core.clock_hz == 940e6);
  CHECK(chip.dma.vmem_bytes_per_second == 1.6e12);
  CHECK(chip.vmem.dma_contention == 0.25);
  CHECK(chip.run.warm);
  CHECK(chip.hbm.fidelity == HbmFidelity::kCommand);
  CHECK(chip.dma.issue_cycles == 3);
  CHECK(chip.name == "mine");
  CHECK(chip.run.max_events == 5'000'000'000);
}

TEST_CASE("clocks follow the command clock of the last layer") {
  const ChipConfig chip = MustLoad("v6e", {"hbm.timing.trp=22ck", "hbm.timing.trcd_rd=14ns"}).config;
  CHECK(chip.hbm.timing.trp == 22 * 625);
  CHECK(chip.hbm.timing.trcd_rd == 14'000);
  CHECK(chip.hbm.timing.tras == 45 * 625);
  // Twice the clock: what is in clocks scales, what is in ns stays; so does the peak.
  const ChipConfig slow = MustLoad("v6e", {"hbm.timing.tck=1250ps"}).config;
  CHECK(slow.hbm.timing.tras == 45 * 1250);
  CHECK(slow.hbm.timing.trfc == 350'000);
  CHECK(slow.hbm.PeakBytesPerSecond() == Approx(8.192e11));
}

TEST_CASE("later layers win: extends, then files left to right, then sets left to right") {
  const ChipFiles files;
  files.Write("base.yaml", kHead + "extends: v6e\nname: base\ndma: {threads: 3, queue_depth: 7, outstanding: 5}\n");
  const std::string chip = files.Write("sub/chip.yaml", kHead + "extends: ../base.yaml\nname: chip\ndma: {threads: 4}\n");
  const std::string one = files.Write("one.yaml", kHead + "dma: {threads: 5, granule: 64B}\n");
  const std::string two = files.Write("two.yaml", kHead + "dma: {threads: 6}\n");
  const auto dma = [&](std::vector<std::string> sets, std::vector<std::string> over) {
    const ChipConfig config = MustLoad(chip, std::move(sets), std::move(over)).config;
    CHECK(config.name == "chip");
    CHECK(config.dma.outstanding == 5);
    CHECK(config.dma.queue_depth == 7);
    return fmt::format("{} {}", config.dma.threads, config.dma.granule);
  };
  CHECK(dma({}, {}) == "4 32");
  CHECK(dma({}, {one}) == "5 64");
  CHECK(dma({}, {one, two}) == "6 64");
  CHECK(dma({}, {two, one}) == "5 64");
  CHECK(dma({"dma.threads=7"}, {two, one}) == "7 64");
  CHECK(dma({"dma.threads=7", "dma.threads=8"}, {two}) == "8 32");
  CHECK(dma({"dma={threads: 9, granule: 16B}"}, {two}) == "9 16");
}

TEST_CASE("a file that is laid over a chip may extend another") {
  const ChipFiles files;
  files.Write("slow.yaml", kHead + "dma: {threads: 3, queue_depth: 9}\n");
  const std::string over = files.Write("over.yaml", kHead + "extends: ./slow.yaml\ndma: {threads: 4}\n");
  const ChipConfig chip = MustLoad("v5e", {}, {over}).config;
  CHECK(chip.name == "v5e");
  CHECK(chip.dma.threads == 4);
  CHECK(chip.dma.queue_depth == 9);
}

TEST_CASE("maps merge, lists replace") {
  const ChipFiles files;
  const std::string chip = files.Write("chip.yaml", kHead +
      "extends: v6e\n"
      "core:\n"
      "  matmul_cycles: {value: {bf16: 6, s4: 2.5}, source: me, certainty: assumed}\n"
      "  op_slots:\n"
      "    add: {valu: 1}\n"
      "    exponential.bf16: {eup: 1, valu: {value: 2, source: x, certainty: derived}}\n"
      "memory_spaces: {7: vmem}\n"
      "hbm: {address_hash: []}\n");
  const ChipConfig config = MustLoad(chip, {"core.op_slots.exponential.bf16.valu=3", "core.op_slots.add.f32.valu=4",
                                            "core.op_slots.add.vload=2", "memory_spaces.1=hbm",
                                            "core.matmul_cycles={s8: 5}"}).config;
  CHECK(config.core.matmul_cycles.at("bf16") == 6);
  CHECK(config.core.matmul_cycles.at("s4") == 2.5);
  CHECK(config.core.matmul_cycles.at("f32") == 4);
  CHECK(config.core.matmul_cycles.at("s8") == 5);
  // Other opcodes may come with the chip file.
  CHECK(config.core.op_slots.at("add") == std::map<std::string, double>{{"valu", 1}, {"vload", 2}});
  CHECK(config.core.op_slots.at("add.f32").at("valu") == 4);
  CHECK(config.core.op_slots.at("exponential.bf16").at("eup") == 1);
  CHECK(config.core.op_slots.at("exponential.bf16").at("valu") == 3);
  CHECK(config.SpaceKind(7) == MemoryKind::kVmem);
  CHECK(config.SpaceKind(1) == MemoryKind::kHbm);
  CHECK(config.SpaceKind(6) == MemoryKind::kSmem);
  CHECK(config.hbm.address_hash.empty());
}

TEST_CASE("extends: circles and missing parents") {
  const ChipFiles files;
  const std::string a = files.Write("a.yaml", kHead + "extends: ./b.yaml\n");
  const std::string b = files.Write("b.yaml", kHead + "extends: ./a.yaml\n");
  const Result<LoadedChip> circle = Load(a);
  REQUIRE_FALSE(circle.ok());
  REQUIRE(circle.errors().size() == 1);
  const std::string dir = files.directory();
  CHECK(circle.errors()[0].message ==
        fmt::format("'extends' runs in a circle: {0}/a.yaml -> {0}/./b.yaml -> {0}/././a.yaml", dir));
  CHECK(circle.errors()[0].line == 2);
  CHECK(circle.errors()[0].column == 10);

  const auto message = [&](const std::string& extends) {
    const Result<LoadedChip> loaded = Load(files.Write("c.yaml", kHead + "extends: " + extends + "\n"));
    REQUIRE_FALSE(loaded.ok());
    const Diagnostic& error = loaded.errors().front();
    return fmt::format("{}:{} {} ({})", error.line, error.column, error.message, error.hint);
  };
  CHECK(message("v6") == "2:10 unknown chip 'v6' (did you mean 'v6e'?)");
  CHECK(message("tpu9") == "2:10 unknown chip 'tpu9' (known chips: v5e, v6e; or give the path of a .yaml file)");
  CHECK_THAT(message("./none.yaml"), Catch::StartsWith("2:10 cannot open '"));
  CHECK(message("[v6e]") == "2:10 'extends' must name one chip or file, not a list ()");
  CHECK_THAT(message("./c.yaml"), Catch::StartsWith("2:10 'extends' runs in a circle: "));
}

TEST_CASE("extends finds a chip beside the file as well") {
  const ChipFiles files;
  files.Write("house.yaml", kHead + "extends: v5e\nname: house\n");
  const std::string chip = files.Write("chip.yaml", kHead + "extends: house\ndma: {threads: 4}\n");
  CHECK(MustLoad(chip).config.name == "house");
}

TEST_CASE("chips by name") {
  CHECK(ListChips({kPinned}) == std::vector<std::string>{"v5e", "v6e"});
  CHECK(ListChips({"/nowhere"}).empty());
  const Diagnostic typo = Load("v6w").errors().front();
  CHECK(typo.message == "unknown chip 'v6w'");
  CHECK(typo.hint == "did you mean 'v6e'?");
  CHECK(Load("").errors().front().message == "no chip given");
  const ChipFiles files;
  files.Write("chips/mine.yaml", kHead + "extends: v6e\nname: mine\n");
  ChipRequest request;
  request.chip = "mine";
  request.search = {files.directory(), kPinned};
  const Result<LoadedChip> loaded = LoadChip(request);
  if (!loaded.ok()) FAIL(RenderAll(loaded.errors()));
  CHECK(loaded->config.name == "mine");
  CHECK(ListChips(request.search) == std::vector<std::string>{"mine", "v5e", "v6e"});
}

TEST_CASE("the address map follows sizes that are set later") {
  const ChipConfig normal = MustLoad("v6e").config;
  for (const std::string channels : {"1", "2", "16", "32", "128", "1024"}) {
    CAPTURE(channels);
    const ChipConfig chip = MustLoad("v6e", {"hbm.channels=" + channels}).config;
    CHECK(1 << SliceBits(chip.hbm.address_map, "channel") == std::stoi(channels));
    CHECK(SliceBits(chip.hbm.address_map, "") == 35);
    // The order of the fields stays, and each hash whose target is left reads the same field bits as before.
    const std::vector<FieldBit> before = LayOut(normal.hbm.address_map), after = LayOut(chip.hbm.address_map);
    for (const AddressHash& hash : chip.hbm.address_hash) {
      const auto old = std::find_if(normal.hbm.address_hash.begin(), normal.hbm.address_hash.end(),
                                    [&](const AddressHash& h) { return h.field == hash.field && h.bit == hash.bit; });
      REQUIRE(old != normal.hbm.address_hash.end());
      std::set<std::pair<std::string, int>> old_bits, new_bits;
      for (std::size_t bit = 0; bit < 35; ++bit) {
        if (old->mask >> bit & 1) old_bits.insert({before[bit].field, before[bit].bit});
        if (hash.mask >> bit & 1) new_bits.insert({after[bit].field, after[bit].bit});
      }
      if (channels == "16" || channels == "32") CHECK(old_bits == new_bits);
      CHECK(std::includes(old_bits.begin(), old_bits.end(), new_bits.begin(), new_bits.end()));
    }
  }
  CHECK(SliceBits(MustLoad("v6e", {"hbm.stack_ids=1"}).config.hbm.address_map, "stack") == 0);
  CHECK(MapText(MustLoad("v5e", {"hbm.stack_ids=2"}).config) ==
        "offset5 channel5 bank_group2 column5 bank2 stack1 row14 ");
  CHECK(MapText(MustLoad("v5e", {"hbm.row_bytes=2KiB", "hbm.burst_bytes=64B"}).config) ==
        "offset6 channel5 bank_group2 column5 bank2 row14 ");
  // 24 GiB need the 35 bits of 32 GiB.
  CHECK(SliceBits(MustLoad("v6e", {"hbm.capacity=24GiB", "hbm.usable=20GiB"}).config.hbm.address_map, "row") == 14);
}

TEST_CASE("an address map that was given last is taken as it is, and must fit") {
  const std::string map =
      "hbm.address_map=[{field: offset, bits: 5}, {field: column, bits: 2}, {field: channel, bits: 6}, "
      "{field: bank_group, bits: 2}, {field: column, bits: 3}, {field: bank, bits: 2}, {field: stack, bits: 1}, "
      "{field: row, bits: 14}]";
  const std::string no_hash = "hbm.address_hash=[]";
  CHECK(MapText(MustLoad("v6e", {map, no_hash}).config) ==
        "offset5 column2 channel6 bank_group2 column3 bank2 stack1 row14 ");
  // Set before the channels it follows them; the highest slice of a split field gives way.
  CHECK(MapText(MustLoad("v6e", {map, no_hash, "hbm.channels=32", "hbm.row_bytes=512B"}).config) ==
        "offset5 column2 channel5 bank_group2 column2 bank2 stack1 row16 ");
  const auto first = [&](std::vector<std::string> sets) {
    const Result<LoadedChip> loaded = Load("v6e", std::move(sets));
    REQUIRE_FALSE(loaded.ok());
    return loaded.errors().front().message;
  };
  CHECK(first({"hbm.channels=32", map, no_hash}) == "'hbm.address_map' gives 'channel' 6 bits, hbm.channels needs 5");
  CHECK(first({map}) == "'hbm.address_hash' was written for another 'hbm.address_map'");
  CHECK(first({"hbm.address_map=[{field: row, bits: 30}, {field: offset, bits: 5}]", no_hash}) ==
        "'hbm.address_map' must begin with its one 'offset' slice: a burst is contiguous");
  CHECK(first({"hbm.address_map=[]", no_hash}) ==
        "'hbm.address_map' must begin with its one 'offset' slice: a burst is contiguous");
}

TEST_CASE("rules between keys") {
  const auto first = [&](std::vector<std::string> sets) {
    const Result<LoadedChip> loaded = Load("v6e", std::move(sets));
    REQUIRE_FALSE(loaded.ok());
    return loaded.errors().front().message;
  };
  CHECK(first({"hbm.usable=33GiB"}) == "'hbm.usable' (33GiB) is above 'hbm.capacity' (32GiB)");
  CHECK(first({"vmem.scoped_limit=129MiB"}) == "'vmem.scoped_limit' (129MiB) is above 'vmem.usable' (131008KiB)");
  CHECK(first({"hbm.timing.tccd_s=5ck"}) == "'hbm.timing.tccd_s' (5ck) is above 'hbm.timing.tccd_l' (4ck)");
  CHECK(first({"hbm.timing.trrd_l=3ck"}) == "'hbm.timing.trrd_s' (4ck) is above 'hbm.timing.trrd_l' (3ck)");
  CHECK(first({"hbm.timing.twtr_l=1ck"}) == "'hbm.timing.twtr_s' (7ck) is above 'hbm.timing.twtr_l' (1ck)");
  CHECK(first({"hbm.timing.tfaw=3ck"}) == "'hbm.timing.trrd_s' (4ck) is above 'hbm.timing.tfaw' (3ck)");
  CHECK(first({"hbm.timing.trcd_rd=46ck"}) == "'hbm.timing.trcd_rd' (46ck) is above 'hbm.timing.tras' (45ck)");
  CHECK(first({"hbm.refresh_mode=all_bank", "hbm.timing.trfc=4us"}) ==
        "'hbm.timing.trfc' (4us) must be below 'hbm.timing.trefi' (3.9us)");
  CHECK(first({"hbm.refresh_mode=per_bank", "hbm.timing.trfc_pb=4us"}) ==
        "'hbm.timing.trfc_pb' (4us) must be below 'hbm.timing.trefi' (3.9us)");
  CHECK(first({"hbm.refresh_mode=per_bank", "hbm.timing.trrefd=200ns"}) ==
        "'hbm.timing.trrefd' (200ns) x 32 banks is not below 'hbm.timing.trefi' (3.9us)");
  CHECK(first({"hbm.write_low_watermark=64", "hbm.write_high_watermark=64"}) ==
        "'hbm.write_low_watermark' (64) must be below 'hbm.write_high_watermark' (64)");
  CHECK(first({"hbm.write_queue=8", "hbm.write_high_watermark=9", "hbm.write_low_watermark=1"}) ==
        "'hbm.write_high_watermark' (9) is above 'hbm.write_queue' (8)");
  CHECK(first({"hbm.channels=24"}) == "'hbm.channels' must be a power of two, not 24: it is a slice of the address");
  CHECK(first({"hbm.row_bytes=16B"}) == "'hbm.burst_bytes' (32B) is above 'hbm.row_bytes' (16B)");
  CHECK(first({"hbm.address_hash=[{field: row, bit: 0, mask: 0x400}]"}) == "'hbm.address_hash' cannot hash 'row'");
  CHECK(first({"hbm.address_hash=[{field: bank, bit: 2, mask: 0x200000}]"}) ==
        "'hbm.address_hash' names bit 2 of 'bank', which has 2 bits");
  CHECK(first({"hbm.address_hash=[{field: bank, bit: 0, mask: 0x800000000}]"}) ==
        "mask 0x800000000 of 'hbm.address_hash' reaches above the 35 address bits");
  CHECK(first({"hbm.address_hash=[{field: bank, bit: 0, mask: 0x200010}]"}) ==
        "mask 0x200010 of 'hbm.address_hash' includes address bit 4 (offset bit 4)");
  CHECK(first({"hbm.address_hash=[{field: bank, bit: 0, mask: 0x40000}]"}) ==
        "mask 0x40000 of 'hbm.address_hash' includes address bit 18 (bank bit 0)");
  CHECK(first({"hbm.address_hash=[{field: bank, bit: 0, mask: 0x200000}, {field: bank, bit: 0, mask: 0x400000}]"}) ==
        "'hbm.address_hash' gives bit 0 of 'bank' twice");
}

TEST_CASE("cycles to picoseconds round to nearest and do not drift") {
  ChipConfig chip = MustLoad("v6e").config;
  CHECK(chip.CyclesToPicos(0) == 0);
  CHECK(chip.CyclesToPicos(1) == 571);
  CHECK(chip.CyclesToPicos(7) == 4000);
  CHECK(chip.CyclesToPicos(-7) == -4000);
  CHECK(chip.CyclesToPicos(1'750'000'000LL * 3600) == 3600 * kPicosPerSecond);
  CHECK(chip.CyclesToPicos(9'223'372'036'854'775'807LL) == 9'223'372'036'854'775'807LL);  // saturates
}

}  // namespace
}  // namespace spillway::config
