// SPDX-License-Identifier: Apache-2.0
#include "sim/config/chip_keys.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/result.h"
#include "sim/base/units.h"

namespace spillway::config {
namespace {

constexpr double kMaxBytes = 1125899906842624.0;  // 1 PiB: exact in a double
constexpr double kMaxPicos = 1e15;                // 1000 s
constexpr double kMaxCount = 1e6;
constexpr double kMaxRate = 1e15;
constexpr bool kRequired = true;
constexpr bool kOptional = false;

// A key is the path of its member: one spelling in C++ and YAML.
#define SPILLWAY_KEY(member) #member, [](ChipConfig& chip) -> Slot { return &chip.member; }

std::vector<ChipKey> MakeKeys() {
  using K = KeyKind;
  return {
      {SPILLWAY_KEY(name), K::kText, 0, 0, kRequired, "short name of the chip"},
      {SPILLWAY_KEY(description), K::kText, 0, 0, kOptional, "one line about the chip"},

      {SPILLWAY_KEY(hbm.capacity), K::kBytes, 1, kMaxBytes, kRequired, "installed HBM"},
      {SPILLWAY_KEY(hbm.usable), K::kBytes, 1, kMaxBytes, kRequired, "HBM that XLA may allocate"},
      {SPILLWAY_KEY(hbm.channels), K::kCount, 1, 4096, kRequired, "independent pseudo-channels; a power of two"},
      {SPILLWAY_KEY(hbm.bank_groups), K::kCount, 1, 64, kRequired, "bank groups of a pseudo-channel; a power of two"},
      {SPILLWAY_KEY(hbm.banks_per_group), K::kCount, 1, 64, kRequired, "banks of a bank group; a power of two"},
      {SPILLWAY_KEY(hbm.stack_ids), K::kCount, 1, 16, kOptional, "stack ids (ranks) of a pseudo-channel; a power of two"},
      {SPILLWAY_KEY(hbm.burst_bytes), K::kBytes, 1, 4096, kOptional, "one column access of a pseudo-channel; a power of two"},
      {SPILLWAY_KEY(hbm.row_bytes), K::kBytes, 1, 1048576, kOptional, "row (page) of a pseudo-channel; a power of two"},

      {SPILLWAY_KEY(hbm.timing.tck), K::kDuration, 1, 1e6, kRequired, "command clock; the unit of values in ck"},
      {SPILLWAY_KEY(hbm.timing.burst), K::kDramTime, 1, 1e6, kRequired, "data bus time of one access"},
      {SPILLWAY_KEY(hbm.timing.cl), K::kDramTime, 0, 1e9, kRequired, "read command to first data"},
      {SPILLWAY_KEY(hbm.timing.cwl), K::kDramTime, 0, 1e9, kRequired, "write command to first data"},
      {SPILLWAY_KEY(hbm.timing.trcd_rd), K::kDramTime, 0, 1e9, kRequired, "activate to read"},
      {SPILLWAY_KEY(hbm.timing.trcd_wr), K::kDramTime, 0, 1e9, kRequired, "activate to write"},
      {SPILLWAY_KEY(hbm.timing.trp), K::kDramTime, 0, 1e9, kRequired, "precharge to activate"},
      {SPILLWAY_KEY(hbm.timing.tras), K::kDramTime, 0, 1e9, kRequired, "activate to precharge"},
      {SPILLWAY_KEY(hbm.timing.trc), K::kDramTime, 0, 1e9, kRequired, "activate to activate of the same bank"},
      {SPILLWAY_KEY(hbm.timing.tccd_s), K::kDramTime, 0, 1e9, kRequired, "column to column, other bank group"},
      {SPILLWAY_KEY(hbm.timing.tccd_l), K::kDramTime, 0, 1e9, kRequired, "column to column, same bank group"},
      {SPILLWAY_KEY(hbm.timing.tccd_r), K::kDramTime, 0, 1e9, kRequired, "column to column, other stack id"},
      {SPILLWAY_KEY(hbm.timing.trrd_s), K::kDramTime, 0, 1e9, kRequired, "activate to activate, other bank group"},
      {SPILLWAY_KEY(hbm.timing.trrd_l), K::kDramTime, 0, 1e9, kRequired, "activate to activate, same bank group"},
      {SPILLWAY_KEY(hbm.timing.tfaw), K::kDramTime, 0, 1e9, kRequired, "window of at most four activates"},
      {SPILLWAY_KEY(hbm.timing.twtr_s), K::kDramTime, 0, 1e9, kRequired, "end of write data to read, other bank group"},
      {SPILLWAY_KEY(hbm.timing.twtr_l), K::kDramTime, 0, 1e9, kRequired, "end of write data to read, same bank group"},
      {SPILLWAY_KEY(hbm.timing.trtw), K::kDramTime, 0, 1e9, kRequired, "read command to write command"},
      {SPILLWAY_KEY(hbm.timing.twr), K::kDramTime, 0, 1e9, kRequired, "end of write data to precharge"},
      {SPILLWAY_KEY(hbm.timing.trtp), K::kDramTime, 0, 1e9, kRequired, "read to precharge"},
      {SPILLWAY_KEY(hbm.timing.trfc), K::kDramTime, 0, 1e9, kRequired, "length of an all-bank refresh"},
      {SPILLWAY_KEY(hbm.timing.trfc_pb), K::kDramTime, 0, 1e9, kRequired, "length of a per-bank refresh"},
      {SPILLWAY_KEY(hbm.timing.trrefd), K::kDramTime, 0, 1e9, kRequired, "per-bank refresh to refresh or activate of another bank"},
      {SPILLWAY_KEY(hbm.timing.trefi), K::kDramTime, 1, 1e12, kRequired, "every bank is refreshed once in this time"},

      {SPILLWAY_KEY(hbm.refresh_mode), K::kChoice, 0, 0, kOptional, "how refresh is done"},
      {SPILLWAY_KEY(hbm.refresh_phase), K::kChoice, 0, 0, kOptional, "refresh of all channels at once, or spread over the interval"},
      {SPILLWAY_KEY(hbm.refresh_postpone), K::kCount, 0, 64, kOptional, "refreshes that may be owed while there is work"},
      {SPILLWAY_KEY(hbm.read_queue), K::kCount, 1, kMaxCount, kRequired, "read entries of a channel controller"},
      {SPILLWAY_KEY(hbm.write_queue), K::kCount, 1, kMaxCount, kRequired, "write entries of a channel controller"},
      {SPILLWAY_KEY(hbm.write_high_watermark), K::kCount, 1, kMaxCount, kRequired, "pending writes that start a write phase"},
      {SPILLWAY_KEY(hbm.write_low_watermark), K::kCount, 0, kMaxCount, kRequired, "pending writes that end a write phase"},
      {SPILLWAY_KEY(hbm.fidelity), K::kChoice, 0, 0, kOptional, "run: row runs in closed form; command: every DRAM command"},
      {SPILLWAY_KEY(hbm.address_map), K::kAddressMap, 0, 63, kRequired, "slices of an address, low bits first"},
      {SPILLWAY_KEY(hbm.address_hash), K::kAddressHash, 0, 63, kOptional, "field bits XORed with the parity of masked address bits"},

      {SPILLWAY_KEY(dma.read_latency), K::kDuration, 0, kMaxPicos, kRequired, "HBM to VMEM: issue to completion of an empty transfer"},
      {SPILLWAY_KEY(dma.write_latency), K::kDuration, 0, kMaxPicos, kRequired, "VMEM to HBM: issue to completion of an empty transfer"},
      {SPILLWAY_KEY(dma.issue_cycles), K::kCycles, 0, kMaxCount, kOptional, "scalar core time to start one descriptor"},
      {SPILLWAY_KEY(dma.threads), K::kCount, 1, 1024, kOptional, "hardware queues"},
      {SPILLWAY_KEY(dma.queue_depth), K::kCount, 0, kMaxCount, kOptional, "descriptors a queue holds before issue blocks; 0: no limit"},
      {SPILLWAY_KEY(dma.outstanding), K::kCount, 0, kMaxCount, kOptional, "descriptors of a queue in flight at once; 0: no limit"},
      {SPILLWAY_KEY(dma.hbm_address_unit), K::kBytes, 1, 1048576, kOptional, "unit of HBM pointers in bundles"},
      {SPILLWAY_KEY(dma.granule), K::kBytes, 1, 1048576, kOptional, "unit of sync-flag counts and sizes"},
      {SPILLWAY_KEY(dma.chunk_overhead), K::kDuration, 0, kMaxPicos, kOptional, "extra engine time for each run of a strided transfer"},
      {SPILLWAY_KEY(dma.vmem_bytes_per_second), K::kBandwidth, 0, kMaxRate, kOptional, "on-chip limit of one direction; 0B/s: no limit"},

      {SPILLWAY_KEY(vmem.capacity), K::kBytes, 1, kMaxBytes, kRequired, "VMEM of the core"},
      {SPILLWAY_KEY(vmem.usable), K::kBytes, 1, kMaxBytes, kRequired, "most that one program may take"},
      {SPILLWAY_KEY(vmem.scoped_limit), K::kBytes, 0, kMaxBytes, kRequired, "scoped VMEM of one op by default"},
      {SPILLWAY_KEY(vmem.load_bytes), K::kBytes, 1, 1048576, kOptional, "one vector load or store"},
      {SPILLWAY_KEY(vmem.load_slots), K::kCount, 1, 64, kRequired, "vector loads of a bundle"},
      {SPILLWAY_KEY(vmem.store_slots), K::kCount, 1, 64, kRequired, "vector stores of a bundle"},
      {SPILLWAY_KEY(vmem.dma_contention), K::kNumber, 0, 1, kOptional, "share of VMEM cycles that a DMA at full rate takes from loads and stores"},

      {SPILLWAY_KEY(smem_capacity), K::kBytes, 1, kMaxBytes, kRequired, "scalar memory of the core"},

      {SPILLWAY_KEY(core.clock_hz), K::kFrequency, 1e6, 1e11, kRequired, "core clock; one bundle a cycle"},
      {SPILLWAY_KEY(core.mxus), K::kCount, 1, 64, kRequired, "matrix units"},
      {SPILLWAY_KEY(core.mxu_rows), K::kCount, 1, 4096, kRequired, "rows of a matrix unit"},
      {SPILLWAY_KEY(core.mxu_columns), K::kCount, 1, 4096, kRequired, "columns of a matrix unit"},
      {SPILLWAY_KEY(core.matmul_cycles), K::kNumberMap, 0, kMaxCount, kRequired, "by element type: cycles between vmatmuls of 8 x 32/bits rows on one unit"},
      {SPILLWAY_KEY(core.latch_cycles), K::kNumberMap, 0, kMaxCount, kRequired, "by element type: cycles to push one register of weight rows"},
      {SPILLWAY_KEY(core.matmul_latency), K::kNumberMap, 0, kMaxCount, kRequired, "by element type: cycles to the first result"},
      {SPILLWAY_KEY(core.valu_slots), K::kCount, 1, 64, kRequired, "vector ALU operations of a bundle"},
      {SPILLWAY_KEY(core.eup_slots), K::kCount, 1, 64, kRequired, "transcendental operations of a bundle"},
      {SPILLWAY_KEY(core.xlu_slots), K::kCount, 1, 64, kRequired, "cross-lane operations of a bundle"},
      {SPILLWAY_KEY(core.eup_cycles), K::kNumber, 0, kMaxCount, kOptional, "cycles of one transcendental per register"},
      {SPILLWAY_KEY(core.transpose_cycles), K::kNumberMap, 0, kMaxCount, kRequired, "by element type: cross-lane cycles to transpose one register"},
      {SPILLWAY_KEY(core.branch_delay_slots), K::kCount, 0, 64, kOptional, "bundles after a branch that still execute"},
      {SPILLWAY_KEY(core.op_slots), K::kSlotMap, 0, kMaxCount, kOptional, "opcode[.type|.part] -> unit -> issue slots per register"},
      {SPILLWAY_KEY(core.pop_slots), K::kCount, 1, 64, kOptional, "queue results taken in a bundle"},
      {SPILLWAY_KEY(core.packing), K::kNumberMap, 0.01, 10, kOptional, "by unit: share of its slots that a steady loop fills"},
      {SPILLWAY_KEY(core.sharpness), K::kNumber, 1, 100, kOptional, "norm over the units' loads; large: the busiest alone sets the pace"},
      {SPILLWAY_KEY(core.error_band), K::kNumberMap, 0, 100, kOptional, "by class of computation: relative error of the compute model"},
      {SPILLWAY_KEY(core.kernel_overhead), K::kCycles, 0, 1e9, kOptional, "prologue and epilogue of a kernel"},
      {SPILLWAY_KEY(core.step_overhead), K::kCycles, 0, 1e9, kOptional, "scalar work of one grid step"},
      {SPILLWAY_KEY(core.stream_overhead), K::kCycles, 0, 1e9, kOptional, "scalar work of one stream in one grid step"},

      {SPILLWAY_KEY(memory_spaces), K::kSpaceMap, 0, 1e9, kRequired, "which memory S(n) of a layout names"},

      {SPILLWAY_KEY(run.warm), K::kBool, 0, 0, kOptional, "a cross-program prefetch was done by the previous execution"},
      {SPILLWAY_KEY(run.default_trip_count), K::kCount, 1, 1e12, kOptional, "trips of a while loop whose count is unknown"},
      {SPILLWAY_KEY(run.recall_kernels), K::kBool, 0, 0, kOptional, "kernels take the time of kernels like them, once known; off with hbm.fidelity=command"},
      {SPILLWAY_KEY(run.max_events), K::kCount, 0, 1e15, kOptional, "stop after so many events; 0: no limit"},
  };
}
#undef SPILLWAY_KEY

std::string Quantity(const ChipKey& key, double value) {
  switch (key.kind) {
    case KeyKind::kBytes: return value == 0 ? "0B" : FormatBytes(static_cast<Bytes>(value));
    case KeyKind::kDuration:
    case KeyKind::kDramTime:
      return value < 1000 ? fmt::format("{:.0f}ps", value) : FormatDuration(static_cast<Picos>(value));
    case KeyKind::kBandwidth: return value == 0 ? "0B/s" : FormatBandwidth(value);
    case KeyKind::kFrequency:
      return value >= 1e9 ? fmt::format("{:.0f}GHz", value / 1e9) : fmt::format("{:.0f}MHz", value / 1e6);
    default: return fmt::format("{:.0f}", value);
  }
}

std::string Join(const std::vector<std::string>& words, const char* separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

}  // namespace

const std::vector<ChipKey>& ChipKeys() {
  static const std::vector<ChipKey> keys = MakeKeys();
  return keys;
}

const ChipKey* FindChipKey(std::string_view path) {
  static const auto* const index = [] {
    auto* map = new std::map<std::string_view, const ChipKey*>;
    for (const ChipKey& key : ChipKeys()) (*map)[key.path] = &key;
    return map;
  }();
  const auto found = index->find(path);
  return found == index->end() ? nullptr : found->second;
}

bool IsSection(std::string_view path) { return !ChildrenOf(path).empty(); }

std::vector<std::string> ChildrenOf(std::string_view section) {
  std::vector<std::string> names;
  for (const ChipKey& key : ChipKeys()) {
    std::string_view rest = key.path;
    if (!section.empty()) {
      if (rest.substr(0, section.size()) != section) continue;
      rest.remove_prefix(section.size());
      if (rest.empty() || rest.front() != '.') continue;
      rest.remove_prefix(1);
    }
    const std::string name(rest.substr(0, rest.find('.')));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

const std::vector<std::string>& ChoicesOf(const Slot& slot) {
  static const std::vector<std::string> modes{"none", "all_bank", "per_bank"};
  static const std::vector<std::string> phases{"aligned", "staggered"};
  static const std::vector<std::string> fidelities{"run", "command"};
  if (std::holds_alternative<RefreshMode*>(slot)) return modes;
  if (std::holds_alternative<RefreshPhase*>(slot)) return phases;
  SPILLWAY_CHECK(std::holds_alternative<HbmFidelity*>(slot));
  return fidelities;
}

const std::vector<std::string>& MemoryKindNames() {
  static const std::vector<std::string> names{"hbm", "vmem", "smem", "sync_flag", "host", "other"};
  return names;
}

const std::vector<std::string>& ElementTypeNames() {
  static const std::vector<std::string> names{
      "pred", "s1", "s2", "s4", "s8", "s16", "s32", "s64", "u1", "u2", "u4", "u8", "u16", "u32", "u64",
      "f4e2m1fn", "f8e3m4", "f8e4m3", "f8e4m3fn", "f8e4m3b11fnuz", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz",
      "f8e8m0fnu", "f16", "bf16", "f32", "f64", "c64", "c128"};
  return names;
}

const std::vector<std::string>& UnitNames() {
  static const std::vector<std::string> names{"valu", "eup", "xlu", "mxu_cycles", "mxu_push", "mxu_pop",
                                              "vload", "vstore", "salu", "serial"};
  return names;
}

const std::vector<std::string>& ComputationClasses() {
  static const std::vector<std::string> names{"elementwise", "reduce", "matmul", "relayout", "other", "custom"};
  return names;
}

const std::vector<std::string>& SlotParts() {
  static const std::vector<std::string> names{
      "8", "16", "32", "64", "f8", "i8", "i16", "i32", "x64", "alone", "convert", "index", "lanes", "major", "partial",
      "result", "rows", "serial", "splat", "stream", "strided", "sublanes", "swapped", "transposed", "use", "window"};
  return names;
}

const std::vector<std::string>& AddressFields() {
  static const std::vector<std::string> names{"offset", "column", "channel", "bank_group", "bank", "stack", "row"};
  return names;
}

std::string TypeName(const ChipKey& key) {
  switch (key.kind) {
    case KeyKind::kText: return "text";
    case KeyKind::kBool: return "bool";
    case KeyKind::kCount: return "count";
    case KeyKind::kCycles: return "cycles";
    case KeyKind::kNumber: return "number";
    case KeyKind::kBytes: return "bytes";
    case KeyKind::kDuration: return "duration";
    case KeyKind::kDramTime: return "duration or clocks";
    case KeyKind::kBandwidth: return "bandwidth";
    case KeyKind::kFrequency: return "frequency";
    case KeyKind::kChoice: return "choice";
    case KeyKind::kNumberMap: return "map: type -> number";
    case KeyKind::kSlotMap: return "map: opcode -> unit -> number";
    case KeyKind::kSpaceMap: return "map: number -> memory";
    case KeyKind::kAddressMap: return "list of {field, bits}";
    case KeyKind::kAddressHash: return "list of {field, bit, mask}";
  }
  return "";
}

std::string RangeText(const ChipKey& key) {
  switch (key.kind) {
    case KeyKind::kText: return "";
    case KeyKind::kBool: return "true | false";
    case KeyKind::kChoice: {
      ChipConfig chip;
      return Join(ChoicesOf(key.slot(chip)), " | ");
    }
    case KeyKind::kSpaceMap: return Join(MemoryKindNames(), " | ");
    case KeyKind::kAddressMap: return Join(AddressFields(), " | ");
    case KeyKind::kAddressHash: return "channel | bank_group | bank | stack";
    default: return fmt::format("{} .. {}", Quantity(key, key.min), Quantity(key, key.max));
  }
}

bool IsNumeric(const ChipKey& key) { return key.kind != KeyKind::kText && key.kind != KeyKind::kBool; }

}  // namespace spillway::config
