// SPDX-License-Identifier: Apache-2.0
// Chip files for tests: written to a directory of their own, loaded beside the real ones.
#pragma once

#include <stdlib.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>

#include "sim/config/config_loader.h"
#include "sim/config/resolved_writer.h"

namespace spillway::config {

/// The chips that users get.
inline const std::string kConfigs = SPILLWAY_SOURCE_DIR "/configs";
/// The same with values pinned, for tests of the loader.
inline const std::string kPinned = SPILLWAY_SOURCE_DIR "/tests/unit/config/data";

class ChipFiles {
 public:
  ChipFiles() {
    std::string pattern = (std::filesystem::temp_directory_path() / "spillway_config_XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    directory_ = pattern;
  }
  ChipFiles(const ChipFiles&) = delete;
  ChipFiles& operator=(const ChipFiles&) = delete;
  ~ChipFiles() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  /// Path of a new file; `name` may hold folders.
  std::string Write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = std::filesystem::path(directory_) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
  const std::string& directory() const { return directory_; }

 private:
  std::string directory_;
};

inline std::string RenderAll(const Diagnostics& errors) {
  std::string out;
  for (const Diagnostic& error : errors) out += Render(error);
  return out;
}

inline Result<LoadedChip> Load(const std::string& chip, std::vector<std::string> sets = {},
                               std::vector<std::string> files = {}) {
  ChipRequest request;
  request.chip = chip;
  request.sets = std::move(sets);
  request.files = std::move(files);
  request.search = {kPinned};
  return LoadChip(request);
}

/// The config, or a failed test that prints why not.
inline LoadedChip MustLoad(const std::string& chip, std::vector<std::string> sets = {},
                           std::vector<std::string> files = {}) {
  Result<LoadedChip> loaded = Load(chip, std::move(sets), std::move(files));
  if (!loaded.ok()) FAIL(RenderAll(loaded.errors()));
  return std::move(*loaded);
}

/// Every member of the table in exact text: equal texts are equal configs.
inline std::string ExactText(const ChipConfig& chip) { return WriteResolved(chip, {}, false); }

/// Without the comments that name origins.
inline std::string WithoutComments(const std::string& yaml) {
  return std::regex_replace(yaml, std::regex("  # [^\n]*"), "");
}

}  // namespace spillway::config
