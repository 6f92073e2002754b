// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "sim/hlo/rebind.h"

namespace spillway::plan {

/// `RebindRequest::kernel_windows` of Mosaic kernels in MLIR text. Empty for bytecode, which cannot be rewritten, and
/// for code whose grid cannot be read.
std::optional<hlo::KernelWindows> KernelWindowsOf(const hlo::Instruction& kernel);

}  // namespace spillway::plan
