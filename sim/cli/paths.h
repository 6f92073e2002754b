// SPDX-License-Identifier: Apache-2.0
// Where the files that come with Spillway are.
#pragma once

#include <string>
#include <vector>

namespace spillway::cli {

/// The directory that holds `configs/` and `workloads/`: $SPILLWAY_SHARE, else `../share/spillway`
/// beside the executable's folder, else the source tree the executable was built from. Empty if none
/// of them exists.
std::string ShareDirectory();

/// Directories that hold `chips/`, first hit wins: `extra` (--config-path), $SPILLWAY_CONFIG_PATH
/// (colon-separated), `configs` of the share directory.
std::vector<std::string> ConfigSearchPath(const std::vector<std::string>& extra);

/// The folder of the bundled workloads; may not exist.
std::string WorkloadDirectory();

bool IsDirectory(const std::string& path);
/// Anything that is there, a pipe or device too.
bool Exists(const std::string& path);
/// Last component, and what precedes it (empty if nothing).
std::string BaseName(const std::string& path);
std::string DirectoryOf(const std::string& path);
/// `name` inside `directory`; `name` itself if it is absolute or `directory` is empty.
std::string JoinPath(const std::string& directory, const std::string& name);
/// Names of the regular files in a directory, sorted.
std::vector<std::string> FilesIn(const std::string& directory);
bool EndsWith(const std::string& text, const std::string& end);

}  // namespace spillway::cli
