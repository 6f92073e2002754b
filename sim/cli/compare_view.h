// SPDX-License-Identifier: Apache-2.0
// The report of `compare` as text and as JSON.
#pragma once

#include "sim/cli/program_view.h"
#include "sim/explain/compare.h"

namespace spillway::cli {

/// The JSON keeps to docs/explain.md (schema spillway.compare/1).
View ViewCompare(const explain::Run& a, const explain::Run& b, const explain::Comparison& comparison, const ViewStyle& style);

}  // namespace spillway::cli
