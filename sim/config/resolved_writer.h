// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "sim/config/entries.h"

namespace spillway::config {

/// `chip` as a complete chip file: loading it gives the identical ChipConfig. Every value carries its
/// provenance and, as a comment, where it came from. `map_adapted`: AdaptAddressMap has changed the map.
std::string WriteResolved(const ChipConfig& chip, const EntryMap& entries, bool map_adapted);

}  // namespace spillway::config
