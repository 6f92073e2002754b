// SPDX-License-Identifier: Apache-2.0
// A sweep file (schema spillway.sweep/1, docs/sweeps.md): what stays the same, what varies and how.
#pragma once

#include <string>
#include <vector>

#include "sim/base/result.h"
#include "sim/config/yaml_node.h"

namespace spillway::config {

/// KEY is "workload", "chip", "plan", "variant", "module", "tag", a symbol of the workload ("S") or a key
/// of the chip ("hbm.channels"). Whether it exists is not looked at here.
struct SweepSetting {
  std::string key, value;
  YamlLocation at;
};

struct SweepAxis {
  std::string key;
  std::vector<std::string> values;  ///< At least one, no two alike.
  bool geometric = false;           ///< Made by a range with a factor, which is
  std::string range;                ///< "512:32768:x2" then.
  YamlLocation at;
};

struct SweepConfig {
  std::string file;                              ///< As it was named; empty: made from the command line.
  std::string description;
  std::vector<SweepSetting> base;                ///< The same for all points.
  std::vector<std::string> config_files;         ///< YAML over the chip, as written (relative to `file`).
  std::vector<SweepAxis> axes;                   ///< All combinations; the first varies slowest.
  std::vector<std::vector<SweepAxis>> zips;      ///< Axes of one group advance together; equally long.
  std::vector<std::vector<SweepSetting>> exclude;  ///< Points that match all settings of a group are left out.
};

/// Errors: all of the file at once, each at its place: malformed YAML, unknown or duplicate keys, bad
/// ranges, a key that is set twice (base, axes and zip are one name space), zipped lists of different
/// length, an exclusion of what no axis has.
Result<SweepConfig> LoadSweep(const std::string& path);

/// "KEY=VALUES" of the command line, VALUES as in axis_values.h.
Result<SweepAxis> ParseAxis(const std::string& argument);

/// Puts an axis of the command line over the file: it replaces an axis or a base value of the same key.
/// An exclusion of a value that the axis no longer has then matches nothing. Error: the key belongs to a zip group.
Status OverrideAxis(SweepConfig& sweep, SweepAxis axis);

/// Whether the YAML text calls itself a sweep (`schema: spillway.sweep/…`).
bool LooksLikeSweep(const std::string& text);

}  // namespace spillway::config
