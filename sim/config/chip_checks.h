// SPDX-License-Identifier: Apache-2.0
// Rules between keys. Each error points at the value that was given last among those involved.
#pragma once

#include "sim/base/result.h"
#include "sim/config/entries.h"

namespace spillway::config {

/// REQUIRES: every required key has been read into `chip` from `entries`.
void CheckChip(const ChipConfig& chip, const EntryMap& entries, Diagnostics& errors);

/// When a size of the HBM was set in a later layer than the address map, the map and the hash follow it.
/// True if they were changed. Sizes that are no powers of two are left to CheckChip.
bool AdaptAddressMap(const EntryMap& entries, ChipConfig& chip);

}  // namespace spillway::config
