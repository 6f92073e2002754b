// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/gather.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/hlo/attributes.h"

namespace spillway::plan {
namespace {

constexpr std::int64_t kDefaultRows = 256;
constexpr Bytes kSublaneBytes = 512;   ///< 128 lanes x 4 B: the smallest piece a DMA moves.

/// The parameter that `node` is an alias of; -1 if it is computed.
int ParameterOf(const FusedGraph& graph, int node) {
  while (node >= 0) {
    const GraphNode& n = graph.nodes[node];
    if (n.parameter >= 0) return n.parameter;
    bool same = n.nested || n.instruction->opcode == hlo::Opcode::kBitcast ||
                n.instruction->opcode == hlo::Opcode::kCopy || n.instruction->opcode == hlo::Opcode::kReshape;
    if (!same || n.operands.empty()) return -1;
    node = n.operands[0];
  }
  return -1;
}

std::int64_t StatedRows(const hlo::Instruction& kernel) {
  auto config = hlo::BackendConfigOf(kernel);
  if (!config) return 0;
  nlohmann::json json = nlohmann::json::parse(config->json, nullptr, false);
  if (!json.is_object() || !json.contains("integer_config") || !json["integer_config"].is_object()) return 0;
  const nlohmann::json& value = json["integer_config"].value("integer", nlohmann::json());
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_string()) return 0;
  const std::string text = value.get<std::string>();
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos) return 0;
  return std::stoll(text);
}

}  // namespace

std::optional<GatherAccess> FindGather(const FusedGraph& graph, const hlo::Instruction& kernel) {
  for (const GraphNode& node : graph.nodes) {
    if (node.nested || node.parameter >= 0 || node.instruction->opcode != hlo::Opcode::kGather) continue;
    const hlo::Instruction& gather = *node.instruction;
    auto sizes = hlo::IntListAttr(gather, "slice_sizes");
    if (!sizes || node.operands.empty() || static_cast<int>(sizes->size()) != gather.operands[0]->shape.rank()) continue;
    GatherAccess access;
    access.parameter = ParameterOf(graph, node.operands[0]);
    if (access.parameter < 0) continue;
    access.slice_sizes = *sizes;
    hlo::Dims offsets = hlo::IntListAttr(gather, "offset_dims").value_or(hlo::Dims());
    access.rows = 1;
    for (int d = 0; d < gather.shape.rank(); ++d) {
      if (std::find(offsets.begin(), offsets.end(), d) == offsets.end()) access.rows *= gather.shape.dimensions[d];
    }
    std::int64_t stated = StatedRows(kernel);
    access.rows_per_step = std::min(stated > 0 ? stated : kDefaultRows, std::max<std::int64_t>(access.rows, 1));
    return access;
  }
  return std::nullopt;
}

Grid GatherGrid(const FusedGraph& graph, const GatherAccess& gather) {
  Grid grid;
  if (graph.outputs.empty()) return WholeGrid(graph);
  grid.anchor = graph.outputs[0];
  const hlo::Shape& shape = *graph.output_shapes[0];
  grid.sizes = shape.dimensions;
  std::int64_t steps = (gather.rows + gather.rows_per_step - 1) / std::max<std::int64_t>(gather.rows_per_step, 1);
  if (shape.rank() == 0 || steps <= 1) return grid;
  int major = static_cast<int>(PhysicalOrder(shape)[0]);
  std::int64_t window = (shape.dimensions[major] + steps - 1) / steps;
  if (window <= 0) return grid;
  grid.axes.push_back({major, window, (shape.dimensions[major] + window - 1) / window});
  grid.steps = grid.axes[0].trips;
  return grid;
}

void FitGather(Stream& stream, const GatherAccess& gather, const hlo::Shape& shape, std::int64_t steps) {
  if (static_cast<int>(gather.slice_sizes.size()) != shape.rank() || shape.rank() == 0) return;
  const TileView& view = stream.view;
  std::size_t last = view.order.size() - 1;
  std::int64_t lanes = gather.slice_sizes[view.order[last]];
  bool whole_lanes = lanes >= shape.dimensions[view.order[last]];
  std::int64_t tiles = 1;
  for (std::size_t p = 0; p < view.order.size(); ++p) {
    std::int64_t size = gather.slice_sizes[view.order[p]];
    tiles *= (size + view.tile[p] - 1) / view.tile[p];
  }
  bool one_row = view.order.size() >= 2 && gather.slice_sizes[view.order[last - 1]] == 1 && view.tile[last - 1] > 1;
  stream.row.chunk_bytes =
      whole_lanes && one_row && view.tile_bytes > kSublaneBytes ? kSublaneBytes : view.tile_bytes;
  stream.row.chunks = std::max<std::int64_t>(tiles, 1);
  stream.row.stride = view.tile_bytes;
  stream.rows = gather.rows;
  stream.rows_per_step = (gather.rows + steps - 1) / std::max<std::int64_t>(steps, 1);
  stream.row_space = hlo::AllocatedBytes(shape);
}

}  // namespace spillway::plan
