// SPDX-License-Identifier: Apache-2.0
// Where a byte of HBM lives. The map is linear over GF(2): every bit of every field is the parity of
// a set of address bits (one slice bit, plus the hash terms), so decoding is a few table look-ups,
// encoding is the inverse matrix, and "is it a bijection" is "has the matrix full rank".
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/base/result.h"
#include "sim/base/units.h"
#include "sim/config/chip_config.h"

namespace spillway::model {

struct Location {
  int channel = 0;
  int bank = 0;             ///< Of the channel: (stack * groups + group) * banks_per_group + bank.
  std::int64_t row = 0;
  int column = 0;           ///< In bursts.
  int offset = 0;           ///< Byte inside the burst.
  bool operator==(const Location& o) const {
    return channel == o.channel && bank == o.bank && row == o.row && column == o.column && offset == o.offset;
  }
};

class AddressMap {
 public:
  /// Uses `config.address_map`; when that is empty DefaultSlices(). Errors: an unknown field, slice widths
  /// that contradict the counts of the configuration, a count that is no power of two, a hash bit or
  /// mask outside the map, a map that is no bijection.
  static Result<AddressMap> Create(const config::HbmConfig& config);
  /// offset, bank group, channel, column, bank, stack, row: consecutive bursts alternate bank groups, and a
  /// channel's share of a block is one row in each bank group.
  static std::vector<config::AddressSlice> DefaultSlices(const config::HbmConfig& config);

  /// Address bits in use; higher bits are ignored.
  int bits() const { return bits_; }
  Location Decode(std::int64_t address) const;
  std::int64_t Encode(const Location& location) const;

  /// The fields of an address in one word, XOR-linear: Pack(a ^ b) == Pack(a) ^ Pack(b).
  std::uint64_t Pack(std::int64_t address) const {
    const auto a = static_cast<std::uint64_t>(address);
    return table_[0][a & 255] ^ table_[1][(a >> 8) & 255] ^ table_[2][(a >> 16) & 255] ^
           table_[3][(a >> 24) & 255] ^ table_[4][(a >> 32) & 255] ^ table_[5][(a >> 40) & 255];
  }
  int ChannelOf(std::uint64_t packed) const { return static_cast<int>(packed >> channel_shift_); }
  int BankOf(std::uint64_t packed) const {
    return static_cast<int>((packed >> bank_shift_) & bank_mask_);
  }
  std::int64_t RowOf(std::uint64_t packed) const {
    return static_cast<std::int64_t>((packed >> row_shift_) & row_mask_);
  }

  /// Bank and row together.
  std::uint64_t PlaceOf(std::uint64_t packed) const {
    return (packed & below_channel_) >> bank_shift_;
  }
  bool SamePlace(std::uint64_t a, std::uint64_t b) const { return PlaceOf(a ^ b) == 0; }

  // Geometry for walking: a *unit* is the largest aligned block that stays in one channel, a *stripe* an aligned
  // block that holds all channels and the banks that alternate below the columns, a *tile* a run of stripes
  // that differ in column only.
  int unit_bits() const { return unit_bits_; }
  int stripe_bits() const { return stripe_bits_; }
  int tile_bits() const { return tile_bits_; }
  /// The units of a stripe go through the same banks and rows in the same order in all channels.
  bool symmetric() const { return symmetric_; }
  /// Packed offsets in a stripe of the units whose channel differs from the stripe base's by XOR `delta`.
  const std::vector<std::uint64_t>& UnitsByDelta(int delta) const {
    return units_by_delta_[static_cast<std::size_t>(delta)];
  }
  /// A unit's bursts by bank and row, in order of appearance; `packed` is relative to the unit's base.
  struct UnitPart {
    std::uint64_t packed = 0;
    int bursts = 0;
  };
  const std::vector<UnitPart>& unit_parts() const { return unit_parts_; }
  /// Aligned blocks of a unit of this size have the same bursts in each of its parts, in the same order.
  int even_bits() const { return even_bits_; }
  Bytes burst_bytes() const { return Bytes{1} << burst_bits_; }
  int burst_bits() const { return burst_bits_; }
  int channels() const { return 1 << channel_bits_; }

 private:
  AddressMap() = default;
  void BuildGeometry(std::uint64_t direct_channel, std::uint64_t direct_column, std::uint64_t direct_bank);

  int bits_ = 0, burst_bits_ = 0;
  int bank_bits_ = 0, row_bits_ = 0, column_bits_ = 0, channel_bits_ = 0;
  int column_shift_ = 0, bank_shift_ = 0, row_shift_ = 0, channel_shift_ = 0;
  std::uint64_t bank_mask_ = 0, row_mask_ = 0, below_channel_ = 0;  ///< The first two of fields shifted down.
  std::vector<std::uint64_t> masks_;    ///< Per packed bit: the address bits whose parity it is.
  std::vector<std::uint64_t> inverse_;  ///< Per address bit: the packed bits whose parity it is.
  std::array<std::array<std::uint64_t, 256>, 6> table_{};
  int unit_bits_ = 0, stripe_bits_ = 0, tile_bits_ = 0, even_bits_ = 0;
  bool symmetric_ = false;
  std::vector<std::vector<std::uint64_t>> units_by_delta_;
  std::vector<UnitPart> unit_parts_;
};

}  // namespace spillway::model
