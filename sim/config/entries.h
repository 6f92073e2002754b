// SPDX-License-Identifier: Apache-2.0
// Between YAML trees and the table: a tree becomes entries, one for each value, with its place and
// provenance; entries of later layers replace those of earlier ones; entries become a ChipConfig.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/result.h"
#include "sim/config/chip_keys.h"
#include "sim/config/yaml_node.h"

namespace spillway::config {

/// One value as written somewhere.
struct Entry {
  const ChipKey* key = nullptr;
  /// Place inside a map: {"bf16"}, {"exponential.f32", "eup"}, {"5"}; empty for other keys.
  std::vector<std::string> member;
  YamlNode value;
  std::string source;     ///< Provenance; empty if none is stated.
  std::string certainty;  ///< official | measured | derived | assumed.
  int layer = 0;          ///< Later layers win.

  std::string Path() const;
};

/// Unwraps `tree` (a map) into entries of `layer`, checking keys and shapes. `skip`: top-level keys
/// that belong to the loader.
std::vector<Entry> FlattenTree(const YamlNode& tree, int layer, const std::vector<std::string>& skip,
                               Diagnostics& errors);

/// `--set KEY=VALUE` as a layer of its own. Only keys that exist.
std::vector<Entry> FlattenSet(const std::string& argument, int layer, Diagnostics& errors);

/// The winning entries by key (table order) and member.
using EntryMap = std::map<std::pair<const ChipKey*, std::vector<std::string>>, Entry>;
void Overlay(EntryMap& base, std::vector<Entry> layer);

/// Reads one value into `chip`, with its range checked. `tck`: what "ck" means; 0: not known yet, then
/// only the form of the value is checked. False, with an error added, if the value is bad.
bool ReadEntry(const Entry& entry, Picos tck, ChipConfig& chip, Diagnostics& errors);

}  // namespace spillway::config
