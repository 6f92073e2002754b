// SPDX-License-Identifier: Apache-2.0
// What an address map must look like for a given HBM, and how it follows when the HBM is resized.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/config/chip_config.h"

namespace spillway::config {

/// Bits of `field` that the sizes of `hbm` demand; empty if a size is not a power of two. The row takes what
/// the capacity leaves, rounded up.
std::optional<int> ExpectedBits(const HbmConfig& hbm, const std::string& field);

/// Bits of `field` in `map`, summed over its slices; "" sums all fields.
int SliceBits(const std::vector<AddressSlice>& map, const std::string& field);

/// The field bit that each address bit feeds, low to high.
struct FieldBit {
  std::string field;
  int bit = 0;
};
std::vector<FieldBit> LayOut(const std::vector<AddressSlice>& map);

/// Gives every field the bits that the sizes demand: the highest slice of a field grows or shrinks, a field
/// without a slice gets one just below the row. REQUIRES: all sizes are powers of two.
std::vector<AddressSlice> FitAddressMap(const HbmConfig& hbm);

/// Moves hash masks from the bits of `from` to those of `to`; bits that no longer exist are dropped.
std::vector<AddressHash> MoveHash(const std::vector<AddressHash>& hash, const std::vector<AddressSlice>& from,
                                  const std::vector<AddressSlice>& to);

}  // namespace spillway::config
