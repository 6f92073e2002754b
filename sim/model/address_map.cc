// SPDX-License-Identifier: Apache-2.0
#include "sim/model/address_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace spillway::model {
namespace {

constexpr int kMaxBits = 48;
constexpr int kMaxUnitBurstBits = 5;
constexpr int kMaxStripeUnitBits = 12;

int Parity(std::uint64_t word) { return __builtin_parityll(word); }

/// log2 of a power of two, -1 for anything else.
int Log2(std::int64_t value) {
  if (value <= 0 || (value & (value - 1)) != 0) return -1;
  return __builtin_ctzll(static_cast<std::uint64_t>(value));
}

struct Widths {
  int offset, column, channel, group, bank, stack;
};

Result<Widths> WidthsOf(const config::HbmConfig& c) {
  const Widths w{Log2(c.burst_bytes), Log2(c.burst_bytes > 0 ? c.row_bytes / c.burst_bytes : 0), Log2(c.channels),
                 Log2(c.bank_groups), Log2(c.banks_per_group), Log2(c.stack_ids)};
  if (w.offset < 0 || w.column < 0 || w.channel < 0 || w.group < 0 || w.bank < 0 || w.stack < 0) {
    return Error("hbm: channels, bank_groups, banks_per_group, stack_ids, burst and row size must be powers of two");
  }
  if (w.channel > 12 || w.group + w.bank + w.stack > 8) return Error("hbm: more channels or banks than the model holds");
  return w;
}

/// Inverts a square matrix over GF(2); rows are bit masks. False if it is singular.
bool Invert(std::vector<std::uint64_t> rows, std::vector<std::uint64_t>& inverse) {
  const std::size_t n = rows.size();
  inverse.assign(n, 0);
  for (std::size_t i = 0; i < n; ++i) inverse[i] = std::uint64_t{1} << i;
  for (std::size_t column = 0; column < n; ++column) {
    std::size_t pivot = column;
    while (pivot < n && ((rows[pivot] >> column) & 1) == 0) ++pivot;
    if (pivot == n) return false;
    std::swap(rows[pivot], rows[column]);
    std::swap(inverse[pivot], inverse[column]);
    for (std::size_t i = 0; i < n; ++i) {
      if (i == column || ((rows[i] >> column) & 1) == 0) continue;
      rows[i] ^= rows[column];
      inverse[i] ^= inverse[column];
    }
  }
  return true;
}

}  // namespace

std::vector<config::AddressSlice> AddressMap::DefaultSlices(const config::HbmConfig& config) {
  const Result<Widths> w = WidthsOf(config);
  if (!w.ok()) return {};
  const int used = w->offset + w->group + w->channel + w->column + w->bank + w->stack;
  int row = 1;
  while (used + row < kMaxBits && (Bytes{1} << (used + row)) < config.capacity) ++row;
  return {{"offset", w->offset}, {"bank_group", w->group}, {"channel", w->channel}, {"column", w->column},
          {"bank", w->bank},     {"stack", w->stack},      {"row", row}};
}

Result<AddressMap> AddressMap::Create(const config::HbmConfig& config) {
  const Result<Widths> widths = WidthsOf(config);
  if (!widths.ok()) return widths.errors();
  const std::vector<config::AddressSlice> slices =
      config.address_map.empty() ? DefaultSlices(config) : config.address_map;
  std::map<std::string, int> total = {{"offset", 0}, {"column", 0}, {"bank", 0},   {"bank_group", 0},
                                      {"stack", 0},  {"row", 0},    {"channel", 0}};
  int bits = 0;
  for (const config::AddressSlice& slice : slices) {
    if (total.count(slice.field) == 0) {
      return Error(fmt::format("hbm.address_map: unknown field \"{}\"", slice.field),
                   "fields are offset, column, channel, bank_group, bank, stack, row");
    }
    if (slice.bits < 0 || slice.bits > kMaxBits) return Error("hbm.address_map: a slice of impossible width");
    total[slice.field] += slice.bits;
    bits += slice.bits;
  }
  const std::pair<const char*, int> wanted[] = {{"offset", widths->offset}, {"column", widths->column},
                                                {"channel", widths->channel}, {"bank_group", widths->group},
                                                {"bank", widths->bank}, {"stack", widths->stack}};
  for (const auto& [field, width] : wanted) {
    if (total[field] != width) {
      return Error(fmt::format("hbm.address_map: field \"{}\" has {} bits, the configuration needs {}", field,
                               total[field], width));
    }
  }
  if (bits > kMaxBits || total["row"] > 31) return Error("hbm.address_map: too many bits");
  if (!slices.empty() && (slices[0].field != "offset" || slices[0].bits != widths->offset)) {
    return Error("hbm.address_map: the lowest slice must be the whole offset inside a burst");
  }

  AddressMap map;
  map.bits_ = bits;
  map.burst_bits_ = widths->offset;
  map.column_bits_ = widths->column;
  map.bank_bits_ = widths->bank + widths->group + widths->stack;
  map.row_bits_ = total["row"];
  map.channel_bits_ = widths->channel;
  map.column_shift_ = widths->offset;
  map.bank_shift_ = map.column_shift_ + map.column_bits_;
  map.row_shift_ = map.bank_shift_ + map.bank_bits_;
  map.channel_shift_ = map.row_shift_ + map.row_bits_;
  map.bank_mask_ = (std::uint64_t{1} << map.bank_bits_) - 1;
  map.row_mask_ = (std::uint64_t{1} << map.row_bits_) - 1;
  map.below_channel_ = (std::uint64_t{1} << map.channel_shift_) - 1;
  std::map<std::string, int> next = {{"offset", 0},
                                     {"column", map.column_shift_},
                                     {"bank", map.bank_shift_},
                                     {"bank_group", map.bank_shift_ + widths->bank},
                                     {"stack", map.bank_shift_ + widths->bank + widths->group},
                                     {"row", map.row_shift_},
                                     {"channel", map.channel_shift_}};
  const std::map<std::string, int> first = next;
  map.masks_.assign(static_cast<std::size_t>(bits), 0);
  int address_bit = 0;
  std::uint64_t direct_channel = 0, direct_column = 0, direct_bank = 0;
  for (const config::AddressSlice& slice : slices) {
    for (int i = 0; i < slice.bits; ++i, ++address_bit) {
      const std::uint64_t bit = std::uint64_t{1} << address_bit;
      map.masks_[static_cast<std::size_t>(next[slice.field]++)] = bit;
      if (slice.field == "channel") direct_channel |= bit;
      if (slice.field == "column") direct_column |= bit;
      if (slice.field == "bank_group" || slice.field == "bank") direct_bank |= bit;
    }
  }
  for (const config::AddressHash& hash : config.address_hash) {
    const auto field = first.find(hash.field);
    if (field == first.end() || hash.field == "offset" || hash.bit < 0 || hash.bit >= total[hash.field]) {
      return Error(fmt::format("hbm.address_hash: no bit {} in field \"{}\"", hash.bit, hash.field));
    }
    if ((hash.mask >> bits) != 0 || (hash.mask & ((std::uint64_t{1} << widths->offset) - 1)) != 0) {
      return Error("hbm.address_hash: the mask has bits outside the map or inside a burst");
    }
    map.masks_[static_cast<std::size_t>(field->second + hash.bit)] ^= hash.mask;
  }
  if (!Invert(map.masks_, map.inverse_)) {
    return Error("hbm.address_hash: two addresses share one location (the map is no bijection)");
  }
  for (std::size_t byte = 0; byte < map.table_.size(); ++byte) {
    std::array<std::uint64_t, 256>& table = map.table_[byte];
    for (std::uint64_t value = 1; value < 256; ++value) {
      const std::uint64_t lowest = value & -value;
      if (value != lowest) {
        table[value] = table[value ^ lowest] ^ table[lowest];
        continue;
      }
      const std::uint64_t address = value << (8 * byte);
      for (std::size_t bit = 0; bit < map.masks_.size(); ++bit) {
        table[value] |= static_cast<std::uint64_t>(Parity(address & map.masks_[bit])) << bit;
      }
    }
  }
  map.BuildGeometry(direct_channel, direct_column, direct_bank);
  return map;
}

void AddressMap::BuildGeometry(std::uint64_t direct_channel, std::uint64_t direct_column, std::uint64_t direct_bank) {
  std::uint64_t channel_mask = 0, place_mask = 0;  // Address bits that decide the channel; bank or row.
  for (int i = 0; i < channel_bits_; ++i) channel_mask |= masks_[static_cast<std::size_t>(channel_shift_ + i)];
  for (int i = bank_shift_; i < channel_shift_; ++i) place_mask |= masks_[static_cast<std::size_t>(i)];
  const auto has = [](std::uint64_t mask, int bit) { return ((mask >> bit) & 1) != 0; };
  unit_bits_ = channel_mask == 0 ? burst_bits_ : __builtin_ctzll(channel_mask);
  stripe_bits_ = direct_channel == 0 ? burst_bits_ : 64 - __builtin_clzll(direct_channel);
  // Banks that alternate below the columns belong to the stripe: a tile is then one row in each of them.
  int above = stripe_bits_;
  while (above < bits_ && has(direct_bank, above)) ++above;
  if (above < bits_ && has(direct_column, above)) stripe_bits_ = above;
  if (channel_mask == 0) unit_bits_ = stripe_bits_;
  unit_bits_ = std::min(unit_bits_, burst_bits_ + kMaxUnitBurstBits);
  // Channels far up in the address: walk unit by unit instead.
  if (stripe_bits_ - unit_bits_ > kMaxStripeUnitBits) stripe_bits_ = unit_bits_;
  tile_bits_ = stripe_bits_;
  while (tile_bits_ < bits_ && has(direct_column, tile_bits_) && !has(place_mask, tile_bits_)) ++tile_bits_;

  units_by_delta_.assign(static_cast<std::size_t>(channels()), {});
  for (std::int64_t offset = 0; offset < (std::int64_t{1} << stripe_bits_); offset += std::int64_t{1} << unit_bits_) {
    units_by_delta_[static_cast<std::size_t>(ChannelOf(Pack(offset)))].push_back(Pack(offset));
  }
  // Alike if each channel visits the same places in the same order.
  symmetric_ = true;
  for (const std::vector<std::uint64_t>& units : units_by_delta_) {
    symmetric_ = symmetric_ && units.size() == units_by_delta_[0].size();
    for (std::size_t i = 0; symmetric_ && i < units.size(); ++i) {
      symmetric_ = PlaceOf(units[i]) == PlaceOf(units_by_delta_[0][i]);
    }
  }
  if (!symmetric_) tile_bits_ = stripe_bits_;
  even_bits_ = unit_bits_;
  while (even_bits_ > burst_bits_ && !has(place_mask, even_bits_ - 1)) --even_bits_;
  for (std::int64_t offset = 0; offset < (std::int64_t{1} << unit_bits_); offset += burst_bytes()) {
    const std::uint64_t packed = Pack(offset);
    const auto same = std::find_if(unit_parts_.begin(), unit_parts_.end(), [this, packed](const UnitPart& part) {
      return PlaceOf(part.packed) == PlaceOf(packed);
    });
    if (same == unit_parts_.end()) {
      unit_parts_.push_back({packed, 1});
    } else {
      same->bursts++;
    }
  }
}

Location AddressMap::Decode(std::int64_t address) const {
  const std::uint64_t packed = Pack(address & ((std::int64_t{1} << bits_) - 1));
  Location location;
  location.offset = static_cast<int>(packed & ((1U << burst_bits_) - 1));
  location.column = static_cast<int>((packed >> column_shift_) & ((1U << column_bits_) - 1));
  location.bank = BankOf(packed);
  location.row = RowOf(packed);
  location.channel = ChannelOf(packed);
  return location;
}

std::int64_t AddressMap::Encode(const Location& l) const {
  const std::uint64_t packed = static_cast<std::uint64_t>(l.offset) |
                               static_cast<std::uint64_t>(l.column) << column_shift_ |
                               static_cast<std::uint64_t>(l.bank) << bank_shift_ |
                               static_cast<std::uint64_t>(l.row) << row_shift_ |
                               static_cast<std::uint64_t>(l.channel) << channel_shift_;
  std::uint64_t address = 0;
  for (std::size_t bit = 0; bit < inverse_.size(); ++bit) {
    address |= static_cast<std::uint64_t>(Parity(packed & inverse_[bit])) << bit;
  }
  return static_cast<std::int64_t>(address);
}

}  // namespace spillway::model
