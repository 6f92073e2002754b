// SPDX-License-Identifier: Apache-2.0
// The one table that binds a YAML key to a member of ChipConfig. Reader, writer, `list keys` and
// `--set` all go through it, so that a key cannot exist in one of them only.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/config/chip_config.h"

namespace spillway::config {

enum class KeyKind {
  kText, kBool, kCount, kCycles, kNumber, kBytes, kDuration,
  kDramTime,  ///< A duration, or clocks of hbm.timing.tck: "22ck".
  kBandwidth, kFrequency, kChoice, kNumberMap, kSlotMap, kSpaceMap, kAddressMap, kAddressHash,
};

using NumberMap = std::map<std::string, double>;
using SlotMap = std::map<std::string, NumberMap>;
using SpaceMap = std::map<std::int64_t, MemoryKind>;

/// The member, by type.
using Slot = std::variant<std::string*, bool*, int*, std::int64_t*, double*, RefreshMode*, RefreshPhase*,
                          HbmFidelity*, NumberMap*, SlotMap*, SpaceMap*, std::vector<AddressSlice>*,
                          std::vector<AddressHash>*>;

struct ChipKey {
  const char* path;           ///< "hbm.timing.trp"
  Slot (*slot)(ChipConfig&);
  KeyKind kind;
  double min, max;            ///< In bytes, ps, Hz, B/s or as is. Of each number of a map.
  bool required;              ///< No default: some file must give it.
  const char* doc;
};

const std::vector<ChipKey>& ChipKeys();
const ChipKey* FindChipKey(std::string_view path);
/// Whether `path` is a map of keys, like "hbm.timing".
bool IsSection(std::string_view path);
/// Names directly below a section ("" is the top), in the order of the table.
std::vector<std::string> ChildrenOf(std::string_view section);

/// Values of a kChoice key and of memory_spaces, in the order of their enums.
const std::vector<std::string>& ChoicesOf(const Slot& slot);
const std::vector<std::string>& MemoryKindNames();
/// Keys of maps by element type; units of op_slots; fields of the address map.
const std::vector<std::string>& ElementTypeNames();
const std::vector<std::string>& UnitNames();
/// Members of core.error_band.
const std::vector<std::string>& ComputationClasses();
/// What may follow the opcode in a member of core.op_slots, besides element types.
const std::vector<std::string>& SlotParts();
const std::vector<std::string>& AddressFields();

std::string TypeName(const ChipKey& key);
std::string RangeText(const ChipKey& key);
/// Whether source and certainty are due: everything but names, switches and choices of the run.
bool IsNumeric(const ChipKey& key);

}  // namespace spillway::config
