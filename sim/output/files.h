// SPDX-License-Identifier: Apache-2.0
// Puts a result's files on disk, all or none.
#pragma once

#include <string>
#include <vector>

#include "sim/base/result.h"
#include "sim/output/run_data.h"

namespace spillway::output {

/// Writes `files` into directory `dir`. A new directory appears complete under its name (it is filled beside
/// it and renamed); in an existing one every file is first written to a hidden folder, then renamed over the
/// old file, so each is old or new, never half. Files that are not ours to write stay as they are.
/// Missing parent directories are made. Errors (unwritable, full disk, `dir` is a file) leave nothing behind.
Status WriteFiles(const std::string& dir, const std::vector<OutputFile>& files);

}  // namespace spillway::output
