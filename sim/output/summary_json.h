// SPDX-License-Identifier: Apache-2.0
// The machine form of a run's figures, schema spillway.summary/1.
#pragma once

#include <string>
#include <string_view>

#include "sim/base/result.h"
#include "sim/timeline/summary.h"

namespace spillway::output {

inline constexpr const char* kSummarySchema = "spillway.summary/1";

struct JsonOptions {
  int indent = 2;       ///< -1: one line.
  bool buffers = true;  ///< With the list of buffers.
};

/// One object, keys in a fixed order, integers exact, a final newline. The same summary gives the same bytes.
/// A byte that is not UTF-8 becomes U+FFFD; a number that JSON cannot hold (infinity) becomes null.
std::string SummaryJson(const timeline::Summary& summary, const JsonOptions& options = {});

/// `[{"name","shape","memory_space","logical_bytes","allocated_bytes","first_op","last_op","offset",…}]`.
std::string BuffersJson(const timeline::Summary& summary);

/// Reads what SummaryJson wrote: unknown keys are ignored, missing ones keep their default. `file` names the
/// source in errors. Errors: not JSON (with line and column), another schema, a value of the wrong type.
Result<timeline::Summary> ReadSummaryJson(std::string_view text, const std::string& file);

}  // namespace spillway::output
