// SPDX-License-Identifier: Apache-2.0
#include "sim/config/chip_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/config/address_map.h"

namespace spillway::config {
namespace {

// The keys that decide how wide the slices of the address map are.
const std::vector<std::string> kSizeKeys{"hbm.capacity",        "hbm.channels",  "hbm.bank_groups",
                                         "hbm.banks_per_group", "hbm.stack_ids", "hbm.burst_bytes",
                                         "hbm.row_bytes"};

const Entry* Find(const EntryMap& entries, const std::string& path) {
  const auto found = entries.find({FindChipKey(path), {}});
  return found == entries.end() ? nullptr : &found->second;
}

int LayerOf(const EntryMap& entries, const std::string& path) {
  const Entry* entry = Find(entries, path);
  return entry == nullptr ? -1 : entry->layer;
}

// The field's size key, for messages.
std::string SizeKeyOf(const std::string& field) {
  if (field == "offset") return "hbm.burst_bytes";
  if (field == "column") return "hbm.row_bytes / hbm.burst_bytes";
  if (field == "channel") return "hbm.channels";
  if (field == "bank_group") return "hbm.bank_groups";
  if (field == "bank") return "hbm.banks_per_group";
  if (field == "stack") return "hbm.stack_ids";
  return "hbm.capacity and the other fields";
}

class Checker {
 public:
  Checker(const ChipConfig& chip, const EntryMap& entries, const std::set<std::string>& bad, Diagnostics& errors)
      : chip_(chip), entries_(entries), bad_(bad), errors_(errors) {}

  void Run() {
    Sizes();
    Timing();
    Queues();
    if (Good(kSizeKeys) && PowersOfTwo() && Good({"hbm.address_map", "hbm.address_hash"})) AddressMap();
  }

 private:
  void Fail(const std::vector<std::string>& keys, std::string message, std::string hint = "") {
    const Entry* last = nullptr;
    for (const std::string& key : keys) {
      const Entry* entry = Find(entries_, key);
      if (entry != nullptr && (last == nullptr || entry->layer > last->layer)) last = entry;
    }
    errors_.push_back(last == nullptr ? Error(std::move(message), std::move(hint))
                                      : ErrorAtNode(last->value.at, std::move(message), std::move(hint)));
  }
  std::string Text(const std::string& key) const {
    const Entry* entry = Find(entries_, key);
    return entry == nullptr ? "default" : entry->value.text;
  }
  std::int64_t Value(const std::string& path) {
    const Slot slot = FindChipKey(path)->slot(chip_);
    if (int* const* small = std::get_if<int*>(&slot)) return **small;
    return *std::get<std::int64_t*>(slot);
  }
  bool Good(const std::vector<std::string>& keys) const {
    return std::none_of(keys.begin(), keys.end(), [&](const std::string& key) { return bad_.count(key) != 0; });
  }
  // Whoever changes one of a pair may have to change the other.
  std::string HintFor(const std::string& low, const std::string& high) const {
    const int low_layer = LayerOf(entries_, low), high_layer = LayerOf(entries_, high);
    if (low_layer == high_layer) return "";
    return fmt::format("set '{}' as well", low_layer < high_layer ? low : high);
  }
  void AtMost(const std::string& low, const std::string& high) {
    if (!Good({low, high}) || Value(low) <= Value(high)) return;
    Fail({low, high}, fmt::format("'{}' ({}) is above '{}' ({})", low, Text(low), high, Text(high)), HintFor(low, high));
  }
  void Below(const std::string& low, const std::string& high) {
    if (!Good({low, high}) || Value(low) < Value(high)) return;
    Fail({low, high}, fmt::format("'{}' ({}) must be below '{}' ({})", low, Text(low), high, Text(high)),
         HintFor(low, high));
  }

  void Sizes() {
    AtMost("hbm.usable", "hbm.capacity");
    AtMost("vmem.usable", "vmem.capacity");
    AtMost("vmem.scoped_limit", "vmem.usable");
  }

  void Timing() {
    const std::string t = "hbm.timing.";
    AtMost(t + "tras", t + "trc");
    AtMost(t + "trcd_rd", t + "tras");
    AtMost(t + "tccd_s", t + "tccd_l");
    AtMost(t + "trrd_s", t + "trrd_l");
    AtMost(t + "twtr_s", t + "twtr_l");
    AtMost(t + "trrd_s", t + "tfaw");
    if (!Good({"hbm.refresh_mode", "hbm.bank_groups", "hbm.banks_per_group", "hbm.stack_ids"})) return;
    if (chip_.hbm.refresh_mode == RefreshMode::kAllBank) Below(t + "trfc", t + "trefi");
    if (chip_.hbm.refresh_mode == RefreshMode::kPerBank) {
      Below(t + "trfc_pb", t + "trefi");
      const std::int64_t banks = std::int64_t{chip_.hbm.bank_groups} * chip_.hbm.banks_per_group * chip_.hbm.stack_ids;
      if (Good({t + "trrefd", t + "trefi"}) && chip_.hbm.timing.trrefd * banks >= chip_.hbm.timing.trefi) {
        Fail({t + "trrefd", t + "trefi"},
             fmt::format("'hbm.timing.trrefd' ({}) x {} banks is not below 'hbm.timing.trefi' ({})",
                         Text(t + "trrefd"), banks, Text(t + "trefi")));
      }
    }
  }

  void Queues() {
    Below("hbm.write_low_watermark", "hbm.write_high_watermark");
    AtMost("hbm.write_high_watermark", "hbm.write_queue");
  }

  bool PowersOfTwo() {
    const std::size_t before = errors_.size();
    for (const std::string& key : kSizeKeys) {
      const std::int64_t value = Value(key);
      if (key == "hbm.capacity" || (value & (value - 1)) == 0) continue;
      Fail({key}, fmt::format("'{}' must be a power of two, not {}: it is a slice of the address", key, Text(key)));
    }
    if (chip_.hbm.row_bytes < chip_.hbm.burst_bytes) AtMost("hbm.burst_bytes", "hbm.row_bytes");
    return errors_.size() == before;
  }

  void AddressMap() {
    const std::vector<AddressSlice>& map = chip_.hbm.address_map;
    const std::string key = "hbm.address_map";
    const std::size_t before = errors_.size();
    if (map.empty() || map.front().field != "offset" || SliceBits({map.front()}, "offset") != SliceBits(map, "offset")) {
      Fail({key}, "'hbm.address_map' must begin with its one 'offset' slice: a burst is contiguous");
    }
    for (const std::string& field : AddressFields()) {
      const int wanted = *ExpectedBits(chip_.hbm, field), given = SliceBits(map, field);
      if (wanted == given) continue;
      Fail({key}, fmt::format("'hbm.address_map' gives '{}' {} bits, {} needs {}", field, given, SizeKeyOf(field), wanted),
           "leave the map out to have it follow the sizes");
    }
    if (errors_.size() == before) Hash();
  }

  void Hash() {
    const std::vector<FieldBit> bits = LayOut(chip_.hbm.address_map);
    const std::string key = "hbm.address_hash";
    if (chip_.hbm.address_hash.empty()) return;
    if (LayerOf(entries_, "hbm.address_map") > LayerOf(entries_, key)) {
      Fail({"hbm.address_map"}, "'hbm.address_hash' was written for another 'hbm.address_map'",
           "give 'hbm.address_hash' too; [] turns hashing off");
      return;
    }
    std::set<std::pair<std::string, int>> targets;
    for (const AddressHash& hash : chip_.hbm.address_hash) {
      if (hash.field == "offset" || hash.field == "column" || hash.field == "row") {
        Fail({key}, fmt::format("'hbm.address_hash' cannot hash '{}'", hash.field),
             "only channel, bank_group, bank and stack");
      } else if (hash.bit >= SliceBits(chip_.hbm.address_map, hash.field)) {
        Fail({key}, fmt::format("'hbm.address_hash' names bit {} of '{}', which has {} bits", hash.bit, hash.field,
                                SliceBits(chip_.hbm.address_map, hash.field)));
      } else if (!targets.insert({hash.field, hash.bit}).second) {
        Fail({key}, fmt::format("'hbm.address_hash' gives bit {} of '{}' twice", hash.bit, hash.field));
      }
    }
    // Decoding undoes hashes from the highest bit down, so a mask may hold a hashed bit only from above its target:
    // otherwise two addresses could have one place.
    for (const AddressHash& hash : chip_.hbm.address_hash) {
      const auto is_target = [&hash](const FieldBit& bit) { return bit.field == hash.field && bit.bit == hash.bit; };
      const auto target = static_cast<std::size_t>(std::find_if(bits.begin(), bits.end(), is_target) - bits.begin());
      for (std::size_t i = 0; i < 64; ++i) {
        if ((hash.mask >> i & 1) == 0) continue;
        if (i >= bits.size()) {
          Fail({key}, fmt::format("mask {:#x} of 'hbm.address_hash' reaches above the {} address bits", hash.mask, bits.size()));
          break;
        }
        const bool hashed = targets.count({bits[i].field, bits[i].bit}) != 0;
        if (bits[i].field == "offset" || (hashed && i <= target)) {
          Fail({key}, fmt::format("mask {:#x} of 'hbm.address_hash' includes address bit {} ({} bit {})", hash.mask, i,
                                  bits[i].field, bits[i].bit),
               "masks may hold only bits above the offset, and hashed ones only above the bit they change");
          break;
        }
      }
    }
  }

  ChipConfig chip_;  // a copy: slots are places to write to
  const EntryMap& entries_;
  const std::set<std::string>& bad_;
  Diagnostics& errors_;
};

}  // namespace

void CheckChip(const ChipConfig& chip, const EntryMap& entries, const std::set<std::string>& bad, Diagnostics& errors) {
  Checker(chip, entries, bad, errors).Run();
}

bool AdaptAddressMap(const EntryMap& entries, const std::set<std::string>& bad, ChipConfig& chip) {
  int newest = -1;
  for (const std::string& key : kSizeKeys) {
    if (bad.count(key) != 0) return false;
    newest = std::max(newest, LayerOf(entries, key));
  }
  if (bad.count("hbm.address_map") != 0 || bad.count("hbm.address_hash") != 0) return false;
  if (newest <= LayerOf(entries, "hbm.address_map")) return false;
  for (const std::string& field : AddressFields()) {
    if (!ExpectedBits(chip.hbm, field)) return false;
  }
  const std::vector<AddressSlice> before = chip.hbm.address_map;
  chip.hbm.address_map = FitAddressMap(chip.hbm);
  if (newest > LayerOf(entries, "hbm.address_hash")) {
    chip.hbm.address_hash = MoveHash(chip.hbm.address_hash, before, chip.hbm.address_map);
  }
  return true;
}

}  // namespace spillway::config
