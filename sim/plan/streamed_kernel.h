// SPDX-License-Identifier: Apache-2.0
// One kernel out of a merged graph: the fusion that says what it computes, and how it is cut into tiles.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/chip_config.h"
#include "sim/plan/kernel.h"
#include "sim/plan/streamed_carry.h"
#include "sim/plan/streamed_graph.h"

namespace spillway::plan {

/// HLO of the merged kernel. With an online rewrite the division by the sum stands behind the contraction.
struct MergedFusion {
  hlo::Computation body;
  hlo::Instruction fusion;              ///< Operands: the values outside the group.
  std::deque<std::string> strings;
  std::deque<hlo::Instruction> outside; ///< Stand-ins for operands that are no values of the module.
  int domain = -1;                      ///< Of a phase: node whose windows its loops cut.
};
std::shared_ptr<const MergedFusion> WriteFusion(const StreamGraph& graph, const Carry* online, const std::string& name);

/// The phases of a tile: where a reduction has to be complete before the array that it reduced is used again, and
/// where a matrix product takes a tile that the kernel computes, work before and after cannot overlap. One fusion a phase, for its cost alone; what passes from one to the next is
/// in VMEM (memory space `vmem`).
std::vector<std::shared_ptr<const MergedFusion>> WritePhases(const StreamGraph& graph, const Carry* online, std::int64_t vmem);

struct StreamAxis {
  int dim_class = -1;
  std::int64_t tile = 1, trips = 1;
};

struct Tiling {
  std::vector<StreamAxis> axes;         ///< Outermost first.
  std::vector<char> held;               ///< By parameter: whole in VMEM, fetched once.
  bool online = false;
  Carry carry;                          ///< Of the innermost axis, if it is one that is summed over.
  Bytes scoped_vmem = 0;
  Bytes hbm_bytes = 0;
  Bytes again_bytes = 0;                ///< Of them, what operands take beyond being read once …
  std::string again;                    ///< … and which, how often: "k.1 16 times".
  double estimate_ps = 0;               ///< For the choice only.
  std::shared_ptr<const MergedFusion> fusion;
  std::vector<std::shared_ptr<const MergedFusion>> phases;
};

/// Sizes of tiles that a plan file asks for: dimension class -> length.
using WantedTiles = std::vector<std::pair<int, std::int64_t>>;

/// The tiling with the lowest estimate within `vmem` bytes. `why` says why there is none.
std::optional<Tiling> SearchTiling(const StreamGraph& graph, const config::ChipConfig& chip, Bytes vmem,
                                   const WantedTiles& wanted, const std::string& name, std::string& why);

/// "rows of 'x' in 16 tiles of 512, …" for notes.
std::string DescribeTiling(const StreamGraph& graph, const Tiling& tiling);

Kernel BuildStreamedKernel(const StreamGraph& graph, const Tiling& tiling, const KernelInputs& inputs);

}  // namespace spillway::plan
