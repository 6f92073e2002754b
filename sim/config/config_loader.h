// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/base/result.h"
#include "sim/config/chip_config.h"

namespace spillway::config {

struct YamlNode;

/// Files that LoadChip has parsed, for the next call: a sweep loads the same chip for every point. Files must
/// not change meanwhile.
struct ChipFileCache {
  std::map<std::string, std::shared_ptr<const YamlNode>> trees;  ///< By path; faultless ones only.
};

/// What the user asked for, in the order of precedence (last wins): `extends` chain of the chip,
/// `files` left to right, `sets` left to right.
struct ChipRequest {
  std::string chip;                 ///< Name in `<search path>/chips/NAME.yaml`, or a path.
  std::vector<std::string> files;   ///< `--config FILE`, merged over the chip.
  std::vector<std::string> sets;    ///< `--set KEY=VALUE`.
  std::vector<std::string> search;  ///< Directories that hold `chips/`.
  bool want_resolved = true;        ///< Off: LoadedChip::resolved_yaml stays empty, which saves time.
  ChipFileCache* cache = nullptr;   ///< Read and added to; null: every file is parsed.
};

/// A resolved configuration and where each value came from.
struct LoadedChip {
  ChipConfig config;
  std::string resolved_yaml;  ///< Loadable text that gives the identical config; each value is
                              ///< commented with the file:line or flag it came from.
};

/// All errors of all files at once. Unknown chip: error with the known names and "did you mean".
Result<LoadedChip> LoadChip(const ChipRequest& request);

/// Names of the chips found in `search`, sorted.
std::vector<std::string> ListChips(const std::vector<std::string>& search);

/// One row of `spillway list keys`.
struct KeyInfo {
  std::string key;      ///< "hbm.timing.trp"
  std::string type;     ///< "duration", "bytes", "count", "bandwidth", "frequency", "bool", "map", …
  std::string range;
  std::string doc;
};
std::vector<KeyInfo> ListKeys();

/// Checks one chip file without resolving a request; every error it holds.
Diagnostics CheckChipFile(const std::string& path, const std::vector<std::string>& search);

}  // namespace spillway::config
