// SPDX-License-Identifier: Apache-2.0
// What fills VMEM, op by op, and what a tensor in HBM would need to live there: text and JSON.
#pragma once

#include "sim/cli/program_view.h"
#include "sim/explain/vmem.h"

namespace spillway::cli {

View ViewVmemReport(const explain::VmemReport& report, const ViewStyle& style);

}  // namespace spillway::cli
