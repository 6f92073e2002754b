// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace spillway {

/// `hash` with one more value in it.
inline std::uint64_t Mix(std::uint64_t hash, std::int64_t value) {
  hash = (hash ^ static_cast<std::uint64_t>(value)) * 0xff51afd7ed558ccdULL;
  return hash ^ hash >> 32;
}

}  // namespace spillway
