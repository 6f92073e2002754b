// SPDX-License-Identifier: Apache-2.0
#include "sim/explain/waste.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/explain/patterns.h"

namespace spillway::explain {
namespace {

/// Reading an array once and a little more (ragged last windows) is no second read.
constexpr double kReadAgain = 1.5;
constexpr Bytes kSmall = Bytes{64} << 10;

/// The dimension whose padding costs most, in words.
void Blame(const hlo::Shape& shape, Padding& padding) {
  const hlo::TileGrid grid = hlo::GridOf(shape);
  int worst = -1;
  double factor = 1;
  for (std::size_t d = 0; d < grid.tile.size() && d < shape.dimensions.size(); ++d) {
    if (shape.dimensions[d] <= 0) continue;
    const double padded = static_cast<double>(grid.tile[d] * grid.count[d]);
    const double ratio = padded / static_cast<double>(shape.dimensions[d]);
    if (ratio <= factor) continue;
    factor = ratio;
    worst = static_cast<int>(d);
  }
  if (worst < 0) {
    padding.cause = shape.layout.element_size_bits > hlo::ElementBits(shape.type)
        ? fmt::format("each element takes {} bits in memory (E({}))", shape.layout.element_size_bits, shape.layout.element_size_bits)
        : "its tiles";
    padding.advice = "use a type of the size that memory gives it, or pack several flags into one element";
    return;
  }
  const std::int64_t length = shape.dimensions[static_cast<std::size_t>(worst)];
  const bool lanes = shape.MinorDimension(0) == worst;
  padding.cause = fmt::format("dimension {} of length {} lies in the {} and is padded to {} ({:.4g}x)", worst, length,
                              lanes ? "lanes" : "sublanes", length <= 0 ? 0 : grid.tile[static_cast<std::size_t>(worst)] * grid.count[static_cast<std::size_t>(worst)], factor);
  padding.advice = length == 1 ? fmt::format("drop dimension {} (reshape to the others) or put a long dimension into the {}", worst, lanes ? "lanes" : "sublanes")
                               : fmt::format("put a dimension that is a multiple of {} into the {}: reorder the axes, or merge dimension {} with its neighbour",
                                             grid.tile[static_cast<std::size_t>(worst)], lanes ? "lanes" : "sublanes", worst);
}

}  // namespace

std::vector<Padding> FindPadding(const Dataflow& flow) {
  std::vector<Padding> found;
  for (const plan::Buffer& buffer : flow.program().buffers) {
    if (buffer.space != plan::Space::kHbm || buffer.alias_of >= 0 || buffer.logical_bytes <= 0) continue;
    const Bytes wasted = buffer.allocated_bytes - buffer.logical_bytes;
    const double factor = static_cast<double>(buffer.allocated_bytes) / static_cast<double>(buffer.logical_bytes);
    if (wasted < kPaddingBytes || factor < kPaddingFactor) continue;
    Padding padding;
    padding.tensor = buffer.name;
    padding.shape = buffer.shape;
    padding.logical_bytes = buffer.logical_bytes;
    padding.allocated_bytes = buffer.allocated_bytes;
    const Result<hlo::Shape> shape = hlo::ParseShape(buffer.shape);
    if (shape.ok() && shape->IsArray()) Blame(*shape, padding);
    found.push_back(std::move(padding));
  }
  std::sort(found.begin(), found.end(), [](const Padding& a, const Padding& b) {
    return std::make_pair(-a.wasted(), a.tensor) < std::make_pair(-b.wasted(), b.tensor);
  });
  return found;
}

std::vector<Reread> FindRereads(const Dataflow& flow, const std::vector<std::map<int, Bytes>>& read_bytes) {
  std::map<int, Reread> across;
  std::vector<Reread> found;
  for (std::size_t op = 0; op < read_bytes.size(); ++op) {
    for (const auto& [root, bytes] : read_bytes[op]) {
      const plan::Buffer& buffer = flow.program().buffers[static_cast<std::size_t>(root)];
      if (buffer.allocated_bytes < kSmall) continue;
      Reread& reread = across[root];
      reread.tensor = buffer.name;
      reread.bytes = buffer.allocated_bytes;
      reread.read_bytes += bytes;
      reread.ops.push_back(static_cast<int>(op));
    }
  }
  for (auto& [root, reread] : across) {
    if (static_cast<double>(reread.read_bytes) < kReadAgain * static_cast<double>(reread.bytes)) continue;
    reread.within = reread.ops.size() == 1;
    found.push_back(std::move(reread));
  }
  std::sort(found.begin(), found.end(), [](const Reread& a, const Reread& b) {
    return std::make_pair(b.read_bytes - b.bytes, a.tensor) < std::make_pair(a.read_bytes - a.bytes, b.tensor);
  });
  return found;
}

std::vector<LayoutCopy> FindLayoutCopies(const Dataflow& flow) {
  std::vector<LayoutCopy> found;
  for (std::size_t op = 0; op < flow.program().ops.size(); ++op) {
    if (!IsRelayout(flow, static_cast<int>(op))) continue;
    const hlo::Instruction* instruction = flow.instruction(static_cast<int>(op));
    LayoutCopy copy;
    copy.op = static_cast<int>(op);
    if (instruction != nullptr && !instruction->operands.empty()) copy.from = hlo::ToString(instruction->operands[0]->shape);
    if (instruction != nullptr) copy.to = hlo::ToString(instruction->shape);
    found.push_back(std::move(copy));
  }
  return found;
}

}  // namespace spillway::explain
