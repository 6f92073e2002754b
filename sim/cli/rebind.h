// SPDX-License-Identifier: Apache-2.0
// Rewriting the shapes of an input for the sizes that were asked for (docs/rebind.md).
#pragma once

#include "sim/cli/prepare.h"

namespace spillway::cli {

/// If `prepared.input.rebind` is set: replaces the module by the one that was compiled, rewritten for the chip of
/// `prepared`. May be called again for another chip. Says in `messages` what was assumed, and that a real compiler
/// may choose another plan. The program of before is gone.
Status ApplyRebind(Prepared& prepared, Diagnostics& messages);

}  // namespace spillway::cli
