// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/cli/program_view.h"
#include "sim/llo/dump.h"

namespace spillway::cli {

/// Loops, DMAs, waits and slot use of each op of `program` that has bundles in `dump`, in schedule order. An
/// op whose bundles cannot be read is shown with the reason.
View ViewBundles(const plan::Program& program, const llo::Dump& dump, const config::ChipConfig& chip);

}  // namespace spillway::cli
