// SPDX-License-Identifier: Apache-2.0
#include "sim/config/address_map.h"

#include <algorithm>

#include "sim/base/result.h"
#include "sim/config/chip_keys.h"

namespace spillway::config {
namespace {

std::optional<int> Log2(std::int64_t value) {
  if (value <= 0 || (value & (value - 1)) != 0) return std::nullopt;
  int bits = 0;
  while (value >>= 1) ++bits;
  return bits;
}

int CeilLog2(std::int64_t value) {
  int bits = 0;
  while (bits < 62 && (std::int64_t{1} << bits) < value) ++bits;
  return bits;
}

}  // namespace

std::optional<int> ExpectedBits(const HbmConfig& hbm, const std::string& field) {
  if (field == "offset") return Log2(hbm.burst_bytes);
  if (field == "column") {
    const std::optional<int> row = Log2(hbm.row_bytes), burst = Log2(hbm.burst_bytes);
    if (!row || !burst || *row < *burst) return std::nullopt;
    return *row - *burst;
  }
  if (field == "channel") return Log2(hbm.channels);
  if (field == "bank_group") return Log2(hbm.bank_groups);
  if (field == "bank") return Log2(hbm.banks_per_group);
  if (field == "stack") return Log2(hbm.stack_ids);
  SPILLWAY_CHECK(field == "row");
  int below = 0;
  for (const std::string& other : AddressFields()) {
    if (other == "row") continue;
    const std::optional<int> bits = ExpectedBits(hbm, other);
    if (!bits) return std::nullopt;
    below += *bits;
  }
  return std::max(0, CeilLog2(hbm.capacity) - below);
}

int SliceBits(const std::vector<AddressSlice>& map, const std::string& field) {
  int bits = 0;
  for (const AddressSlice& slice : map) {
    if (field.empty() || slice.field == field) bits += slice.bits;
  }
  return bits;
}

std::vector<FieldBit> LayOut(const std::vector<AddressSlice>& map) {
  std::vector<FieldBit> bits;
  std::map<std::string, int> next;
  for (const AddressSlice& slice : map) {
    for (int i = 0; i < slice.bits; ++i) bits.push_back({slice.field, next[slice.field]++});
  }
  return bits;
}

std::vector<AddressSlice> FitAddressMap(const HbmConfig& hbm) {
  std::vector<AddressSlice> map = hbm.address_map;
  for (const std::string& field : AddressFields()) {
    const std::optional<int> wanted = ExpectedBits(hbm, field);
    SPILLWAY_CHECK(wanted.has_value());
    int missing = *wanted - SliceBits(map, field);
    for (auto slice = map.rbegin(); missing != 0 && slice != map.rend(); ++slice) {
      if (slice->field != field) continue;
      const int change = std::max(missing, -slice->bits);
      slice->bits += change;
      missing -= change;
    }
    if (missing > 0) {
      const auto row = std::find_if(map.begin(), map.end(), [](const auto& s) { return s.field == "row"; });
      map.insert(row, {field, missing});
    }
    map.erase(std::remove_if(map.begin(), map.end(), [](const auto& s) { return s.bits == 0; }), map.end());
  }
  return map;
}

std::vector<AddressHash> MoveHash(const std::vector<AddressHash>& hash, const std::vector<AddressSlice>& from,
                                  const std::vector<AddressSlice>& to) {
  const std::vector<FieldBit> old_bits = LayOut(from), new_bits = LayOut(to);
  const auto position = [&](const FieldBit& wanted) {
    return std::find_if(new_bits.begin(), new_bits.end(), [&](const FieldBit& bit) {
             return bit.field == wanted.field && bit.bit == wanted.bit;
           }) - new_bits.begin();
  };
  std::vector<AddressHash> moved;
  for (const AddressHash& item : hash) {
    AddressHash next{item.field, item.bit, 0};
    for (std::size_t i = 0; i < old_bits.size() && i < 64; ++i) {
      if ((item.mask >> i & 1) == 0) continue;
      const auto at = static_cast<std::size_t>(position(old_bits[i]));
      if (at < new_bits.size()) next.mask |= std::uint64_t{1} << at;
    }
    const bool target_exists = item.bit < SliceBits(to, item.field);
    if (next.mask != 0 && target_exists) moved.push_back(next);
  }
  return moved;
}

}  // namespace spillway::config
