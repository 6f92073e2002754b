// SPDX-License-Identifier: Apache-2.0
#include "sim/llo/matrix_units.h"

#include <algorithm>
#include <deque>
#include <limits>

namespace spillway::llo {
namespace {

// Rows of a vmatmul are one register: 8 sublanes of 32 bits.
int RowsOf(const std::string& type) {
  if (type == "bf16") return 16;
  if (type == "s4" || type == "u4") return 64;
  return type == "f32" ? 8 : 32;
}

}  // namespace

MatrixUnits::MatrixUnits(const Kernel& kernel, const MatrixConfig& config)
    : kernel_(kernel), enabled_(config.units > 0 && !kernel.matrix_ops().empty()),
      depth_(std::max(1, config.queue_depth)) {
  if (!enabled_) return;
  units_.resize(8);
  std::vector<Cycles> scheduled(kernel.matrix_types().size(), std::numeric_limits<Cycles>::max());
  for (const std::string& name : kernel.matrix_types()) {
    Type type;
    auto cycles = config.cycles.find(name);
    if (cycles == config.cycles.end()) cycles = config.cycles.find("bf16");
    type.cycles = cycles == config.cycles.end() ? 1 : std::max<Cycles>(0, cycles->second);
    auto latency = config.latency.find(name);
    type.latency = latency == config.latency.end() ? 0 : latency->second;
    int registers = RowsOf(name) / 8 * std::max(1, config.columns / 128);
    type.results = static_cast<std::uint32_t>(std::max(1, registers));
    types_.push_back(type);
  }
  // The least distance of a vmatmul and its pop inside a block: what the compiler counts on.
  for (const Block& block : kernel.blocks()) {
    std::array<std::deque<std::pair<std::uint32_t, std::uint8_t>>, 8> waiting;
    for (std::uint32_t i = block.first_matrix; i < block.last_matrix; ++i) {
      const MatrixOp& op = kernel.matrix_ops()[i];
      auto& queue = waiting[op.unit];
      if (op.kind == MatrixOp::Kind::kMultiply) {
        for (std::uint32_t r = 0; r < types_[op.type].results; ++r) queue.emplace_back(op.bundle, op.type);
      } else if (!queue.empty()) {
        Cycles distance = op.bundle - queue.front().first;
        Cycles& least = scheduled[queue.front().second];
        least = std::min(least, distance);
        queue.pop_front();
      }
    }
  }
  for (std::size_t i = 0; i < types_.size(); ++i) {
    if (types_[i].latency <= 0 && scheduled[i] < std::numeric_limits<Cycles>::max()) {
      types_[i].latency = scheduled[i];
    }
  }
}

Cycles MatrixUnits::Run(std::uint32_t first, std::uint32_t last, std::uint32_t begin, Cycles clock) {
  Cycles stall = 0;
  const MatrixOp* ops = kernel_.matrix_ops().data();
  for (std::uint32_t i = first; i < last; ++i) {
    const MatrixOp& op = ops[i];
    Unit& unit = units_[op.unit];
    Cycles now = clock + (op.bundle - begin) + stall;
    if (op.kind == MatrixOp::Kind::kMultiply) {
      const Type& type = types_[op.type];
      Cycles start = std::max(now, unit.free);
      Cycles longest = depth_ * type.cycles;
      if (start - now > longest) {
        stall += start - now - longest;
      }
      unit.free = start + type.cycles;
      for (std::uint32_t r = 0; r < type.results; ++r) {
        if (unit.size == kRing) {
          unit.head = (unit.head + 1) % kRing;
          --unit.size;
        }
        unit.results[(unit.head + unit.size) % kRing] = start + type.latency;
        ++unit.size;
      }
    } else if (unit.size > 0) {
      Cycles ready = unit.results[unit.head];
      unit.head = (unit.head + 1) % kRing;
      --unit.size;
      if (ready > now) stall += ready - now;
    }
  }
  return stall;
}

}  // namespace spillway::llo
