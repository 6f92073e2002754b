// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/async.h"

#include <algorithm>

#include "sim/hlo/attributes.h"

namespace spillway::plan {
namespace {

config::MemoryKind KindOf(const hlo::Shape& shape, const config::ChipConfig& chip) {
  return chip.SpaceKind(shape.has_layout ? shape.layout.memory_space : 0);
}

Box TilesOf(const TileView& view, const Box& window) {
  Box tiles;
  for (std::size_t p = 0; p < view.order.size(); ++p) {
    const Interval& side = window[view.order[p]];
    tiles.push_back({side.lo / view.tile[p], (side.hi + view.tile[p] - 1) / view.tile[p]});
  }
  return tiles;
}

/// First array of a shape.
const hlo::Shape& ArrayOf(const hlo::Shape& shape) {
  const hlo::Shape* at = &shape;
  while (at->IsTuple() && !at->elements.empty()) at = &at->elements[0];
  return *at;
}

/// The op that an async-start wraps: the instruction itself for the sugared forms.
const hlo::Instruction& Wrapped(const hlo::Instruction& start) {
  if (!start.called.empty() && start.called.front()->root != nullptr) return *start.called.front()->root;
  return start;
}

Box WindowAt(const hlo::Dims& sizes, const hlo::Dims& within) {
  Box window;
  for (std::size_t d = 0; d < sizes.size(); ++d) window.push_back({0, std::min(sizes[d], within[d])});
  return window;
}

AsyncMove Unmodelled(const std::string& why) {
  AsyncMove move;
  move.unmodelled = true;
  move.why = why;
  return move;
}

bool Names(const hlo::Instruction& start, std::string_view op) {
  std::string_view name = start.opcode_name;
  return name.substr(0, op.size()) == op && name.size() > op.size() && name[op.size()] == '-';
}

}  // namespace

AsyncMove MoveArray(const hlo::Shape& from, const Box& from_window, Location source, const hlo::Shape& to,
                    const Box& to_window, Location destination, const config::ChipConfig& chip) {
  AsyncMove move;
  config::MemoryKind a = KindOf(from, chip), b = KindOf(to, chip);
  bool from_hbm = a == config::MemoryKind::kHbm, to_hbm = b == config::MemoryKind::kHbm;
  if (!from.IsArray() || !to.IsArray()) return move;
  if (from_window.size() != from.dimensions.size() || to_window.size() != to.dimensions.size()) {
    return Unmodelled("an asynchronous copy between shapes of different rank");
  }
  if (a == config::MemoryKind::kHost || b == config::MemoryKind::kHost) {
    move.unmodelled = true;
    move.why = "host memory: only its HBM side is replayed";
  }
  TileView from_view = ViewOf(from), to_view = ViewOf(to);
  if (from_hbm) {
    move.transfers = TransfersOf(from_view, TilesOf(from_view, from_window), source.address, 1);
    std::int64_t written = destination.address;
    for (Transfer& t : move.transfers) {
      t.direction = to_hbm ? Direction::kHbmToHbm : Direction::kHbmToVmem;
      t.destination = written;
      t.buffer = source.buffer;
      written += t.bytes();
    }
  } else if (to_hbm) {
    move.transfers = TransfersOf(to_view, TilesOf(to_view, to_window), destination.address, 1);
    for (Transfer& t : move.transfers) {
      t.direction = Direction::kVmemToHbm;
      t.buffer = destination.buffer;
    }
  }
  for (Transfer& t : move.transfers) t.thread = kAsyncThread;
  return move;
}

AsyncMove MoveOf(const hlo::Instruction& start, const config::ChipConfig& chip, Location source, Location update,
                 Location destination) {
  if (start.operands.empty()) return Unmodelled("no model of " + std::string(start.opcode_name));
  const hlo::Shape& operand = ArrayOf(start.operands[0]->shape);
  const hlo::Instruction& op = Wrapped(start);
  if (start.opcode == hlo::Opcode::kCopyStart) {
    const hlo::Shape& result = ArrayOf(start.shape);
    return MoveArray(operand, FullBox(operand.dimensions), source, result, FullBox(result.dimensions), destination, chip);
  }
  const hlo::Shape& result =
      start.shape.elements.size() > 1 ? ArrayOf(start.shape.elements[1]) : ArrayOf(start.shape);
  bool own = &op == &start;
  if (own ? Names(start, "slice") : op.opcode == hlo::Opcode::kSlice) {
    auto ranges = hlo::SliceOf(op);
    if (!ranges || ranges->size() != operand.dimensions.size()) return Unmodelled("a slice-start without ranges");
    Box window;
    for (std::size_t d = 0; d < ranges->size(); ++d) {
      std::int64_t lo = std::clamp<std::int64_t>((*ranges)[d].start, 0, operand.dimensions[d]);
      window.push_back({lo, std::clamp<std::int64_t>((*ranges)[d].limit, lo, operand.dimensions[d])});
    }
    return MoveArray(operand, window, source, result, FullBox(result.dimensions), destination, chip);
  }
  if (own ? Names(start, "dynamic-slice") : op.opcode == hlo::Opcode::kDynamicSlice) {
    if (result.rank() != operand.rank()) return Unmodelled("a dynamic-slice-start of another rank");
    return MoveArray(operand, WindowAt(result.dimensions, operand.dimensions), source, result,
                     FullBox(result.dimensions), destination, chip);
  }
  if (own ? Names(start, "dynamic-update-slice") : op.opcode == hlo::Opcode::kDynamicUpdateSlice) {
    if (start.operands.size() < 2) return Unmodelled("a dynamic-update-slice-start without an update");
    const hlo::Shape& piece = ArrayOf(start.operands[1]->shape);
    if (piece.rank() != result.rank()) return Unmodelled("a dynamic-update-slice-start of another rank");
    return MoveArray(piece, FullBox(piece.dimensions), update, result, WindowAt(piece.dimensions, result.dimensions),
                     destination, chip);
  }
  if (op.opcode == hlo::Opcode::kCopy) {
    return MoveArray(operand, FullBox(operand.dimensions), source, result, FullBox(result.dimensions), destination, chip);
  }
  return Unmodelled("no model of " + std::string(own ? start.opcode_name : op.opcode_name));
}

}  // namespace spillway::plan
