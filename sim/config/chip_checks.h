// SPDX-License-Identifier: Apache-2.0
// Rules between keys. Each error points at the value that was given last among those involved.
#pragma once

#include <set>
#include <string>

#include "sim/base/result.h"
#include "sim/config/entries.h"

namespace spillway::config {

/// `bad`: keys that could not be read, reported already; rules that involve one are passed over.
/// REQUIRES: every other required key has been read into `chip` from `entries`.
void CheckChip(const ChipConfig& chip, const EntryMap& entries, const std::set<std::string>& bad, Diagnostics& errors);

/// When a size of the HBM was set in a later layer than the address map, the map and the hash follow it.
/// True if they were changed. Sizes that are `bad` or no powers of two are left to CheckChip.
bool AdaptAddressMap(const EntryMap& entries, const std::set<std::string>& bad, ChipConfig& chip);

}  // namespace spillway::config
