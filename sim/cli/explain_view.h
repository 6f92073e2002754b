// SPDX-License-Identifier: Apache-2.0
// The report of `explain` as text and as JSON.
#pragma once

#include "sim/cli/program_view.h"
#include "sim/explain/explain.h"

namespace spillway::cli {

/// The JSON keeps to docs/explain.md (schema spillway.explain/1).
View ViewExplain(const explain::Report& report, const std::string& input, const ViewStyle& style);

}  // namespace spillway::cli
