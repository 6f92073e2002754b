// SPDX-License-Identifier: Apache-2.0
// Addresses for buffers from their live ranges alone.
#pragma once

#include <vector>

#include "sim/base/units.h"

namespace spillway::plan {

/// A block that must not overlap another one that lives at the same time.
struct Block {
  Bytes size = 0;
  int first = 0, last = 0;      ///< Inclusive.
  std::int64_t offset = 0;      ///< Result.
};

/// Larger blocks first, each at the lowest free offset. Offsets are multiples of `alignment`.
/// Returns the end of the highest block.
Bytes Allocate(std::vector<Block>& blocks, Bytes alignment);

}  // namespace spillway::plan
