// SPDX-License-Identifier: Apache-2.0
// Programs in which tensors no longer cross HBM, for what-if replays.
#pragma once

#include <set>
#include <vector>

#include "sim/plan/program.h"

namespace spillway::explain {

/// `program` as if the tensors of `buffers` (roots, see Dataflow::Root) lay in VMEM: the same kernels with the same
/// compute, but their transfers of those buffers are there at once. Whether VMEM has room is not looked at.
/// `program` must outlive the result.
plan::Program WithoutTraffic(const plan::Program& program, const std::set<int>& buffers);

/// Only the items of `ops` (kernels) and the asynchronous copies that are under way while one of them runs; one trip of
/// every loop.
plan::Program Excerpt(const plan::Program& program, const std::set<int>& ops);

}  // namespace spillway::explain
