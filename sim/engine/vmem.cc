// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/vmem.h"

#include <fmt/format.h>

#include <algorithm>

namespace spillway::engine {
namespace {

// "a 64.00 MiB, b 2.00 MiB and 3 more", largest first.
std::string Holders(std::vector<std::pair<Bytes, std::string>> holders) {
  std::stable_sort(holders.begin(), holders.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  constexpr std::size_t kShown = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(holders.size(), kShown); ++i) {
    text += fmt::format("{}{} {}", i ? ", " : "", holders[i].second, FormatBytes(holders[i].first));
  }
  if (holders.size() > kShown) text += fmt::format(" and {} more", holders.size() - kShown);
  return text;
}

}  // namespace

VmemOccupancy::VmemOccupancy(const plan::Program& program)
    : program_(program), live_(program.ops.size() + 1, 0) {
  for (const plan::Buffer& buffer : program.buffers) {
    if (buffer.space != plan::Space::kVmem || buffer.alias_of >= 0 || buffer.first_op < 0) continue;
    live_[static_cast<std::size_t>(buffer.first_op)] += buffer.allocated_bytes;
    const std::size_t after = static_cast<std::size_t>(buffer.last_op) + 1;
    if (after < live_.size()) live_[after] -= buffer.allocated_bytes;
  }
  for (std::size_t i = 1; i < live_.size(); ++i) live_[i] += live_[i - 1];
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Bytes held = live_[i] + program.ops[i].scoped_vmem;
    peak_buffers_ = std::max(peak_buffers_, live_[i]);
    if (held <= peak_ && peak_op_ >= 0) continue;
    peak_ = held;
    peak_op_ = static_cast<int>(i);
  }
}

Bytes VmemOccupancy::HeldBy(int op, bool running) const {
  if (op < 0) return 0;
  const std::size_t i = static_cast<std::size_t>(op);
  return live_[i] + (running ? program_.ops[i].scoped_vmem : 0);
}

Status VmemOccupancy::Check(const config::ChipConfig& chip) const {
  if (peak_op_ < 0 || peak_ <= chip.vmem.usable) return Done{};
  const plan::Op& op = program_.ops[static_cast<std::size_t>(peak_op_)];
  std::vector<std::pair<Bytes, std::string>> holders;
  for (const plan::Buffer& buffer : program_.buffers) {
    if (buffer.space == plan::Space::kVmem && buffer.alias_of < 0 && buffer.first_op <= peak_op_ &&
        buffer.last_op >= peak_op_) {
      holders.emplace_back(buffer.allocated_bytes, buffer.name);
    }
  }
  if (op.scoped_vmem > 0) holders.emplace_back(op.scoped_vmem, "windows and scratch of " + op.name);
  return Error(fmt::format("VMEM over capacity at '{}': {} held, {} usable on {} ({})", op.name,
                           FormatBytes(peak_), FormatBytes(chip.vmem.usable), chip.name,
                           Holders(std::move(holders))),
               "the dump may be of another chip; check --chip, or raise vmem.usable with --set");
}

Status CheckHbm(const plan::Program& program, const config::ChipConfig& chip) {
  if (program.hbm_allocated_bytes <= chip.hbm.usable) return Done{};
  std::vector<std::pair<Bytes, std::string>> holders;
  for (const plan::Buffer& buffer : program.buffers) {
    if (buffer.space == plan::Space::kHbm && buffer.alias_of < 0) {
      holders.emplace_back(buffer.allocated_bytes, buffer.name + " " + buffer.shape);
    }
  }
  return Error(fmt::format("HBM over capacity: {} needed, {} usable on {} (largest: {})",
                           FormatBytes(program.hbm_allocated_bytes), FormatBytes(chip.hbm.usable), chip.name,
                           Holders(std::move(holders))),
               "a real chip would refuse this program too; raise hbm.usable with --set to replay it anyway");
}

}  // namespace spillway::engine
