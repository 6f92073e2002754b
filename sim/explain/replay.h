// SPDX-License-Identifier: Apache-2.0
// Programs in which tensors no longer cross HBM, for what-if replays.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "sim/plan/program.h"

namespace spillway::explain {

/// Tensors that are to lie in VMEM: root buffer (Dataflow::Root) -> the one op whose transfers of it stay (who reads an
/// argument first has to), or -1.
using Kept = std::map<int, int>;

/// `program` as if those tensors lay in VMEM: the same kernels with the same compute, but their transfers of those
/// buffers are there at once. Whether VMEM has room is not looked at. `program` must outlive the result.
plan::Program WithoutTraffic(const plan::Program& program, const Kept& tensors);

using SourceMaker = std::function<std::unique_ptr<plan::ActionSource>()>;
/// The same for one kernel of `program`.
SourceMaker WithoutTraffic(const plan::Program& program, const plan::Item& kernel, const Kept& tensors);

}  // namespace spillway::explain
