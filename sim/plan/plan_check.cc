// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/plan_check.h"

#include <algorithm>

namespace spillway::plan {
namespace {

void Count(const Transfer& transfer, int op, std::int64_t times, HbmTraffic& traffic) {
  Bytes bytes = transfer.bytes() * times;
  bool reads = transfer.direction == Direction::kHbmToVmem || transfer.direction == Direction::kHbmToHbm;
  bool writes = transfer.direction == Direction::kVmemToHbm || transfer.direction == Direction::kHbmToHbm;
  auto add = [&](std::vector<Bytes>& by_buffer) {
    if (transfer.buffer >= 0 && transfer.buffer < static_cast<int>(by_buffer.size())) by_buffer[transfer.buffer] += bytes;
  };
  if (reads) {
    traffic.read_bytes += bytes;
    add(traffic.read_by_buffer);
  }
  if (writes) {
    traffic.write_bytes += bytes;
    add(traffic.written_by_buffer);
  }
  if (op >= 0 && op < static_cast<int>(traffic.by_op.size())) traffic.by_op[op] += bytes * (reads + writes);
}

void Count(const std::vector<Item>& items, std::int64_t times, HbmTraffic& traffic) {
  for (const Item& item : items) {
    if (item.kind == Item::Kind::kLoop) Count(item.body, times * item.trips, traffic);
    for (const Transfer& transfer : item.transfers) Count(transfer, item.op, times, traffic);
    if (item.kind != Item::Kind::kKernel || !item.source) continue;
    std::unique_ptr<ActionSource> source = item.source();
    Action action;
    Bytes before = traffic.by_op[item.op];
    Cycles cycles = 0;
    while (source->Next(action)) {
      if (action.kind == Action::Kind::kIssue) Count(action.transfer, item.op, times, traffic);
      if (action.kind == Action::Kind::kCompute) cycles += action.cycles;
    }
    traffic.cycles_by_op[item.op] = cycles;
    if (times > 0) traffic.once_by_op[item.op] = (traffic.by_op[item.op] - before) / times;
  }
}

}  // namespace

std::vector<Bytes> LiveVmem(const Program& program) {
  std::vector<Bytes> change(program.ops.size() + 1, 0);
  int last = static_cast<int>(program.ops.size()) - 1;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.space != Space::kVmem || buffer.alias_of >= 0 || last < 0) continue;
    int first = std::clamp(buffer.first_op, 0, last), end = std::clamp(buffer.last_op, first, last);
    change[first] += buffer.allocated_bytes;
    change[end + 1] -= buffer.allocated_bytes;
  }
  std::vector<Bytes> live(program.ops.size(), 0);
  Bytes now = 0;
  for (std::size_t op = 0; op < live.size(); ++op) live[op] = now += change[op];
  return live;
}

Bytes PeakVmem(const Program& program, int* at) {
  std::vector<Bytes> live = LiveVmem(program);
  Bytes peak = 0;
  if (at != nullptr) *at = -1;
  for (std::size_t op = 0; op < live.size(); ++op) {
    Bytes held = live[op] + program.ops[op].scoped_vmem;
    if (held <= peak) continue;
    peak = held;
    if (at != nullptr) *at = static_cast<int>(op);
  }
  return peak;
}

HbmTraffic CountHbm(const Program& program) {
  HbmTraffic traffic;
  traffic.by_op.resize(program.ops.size(), 0);
  traffic.once_by_op.resize(program.ops.size(), 0);
  traffic.cycles_by_op.resize(program.ops.size(), 0);
  traffic.read_by_buffer.resize(program.buffers.size(), 0);
  traffic.written_by_buffer.resize(program.buffers.size(), 0);
  Count(program.items, 1, traffic);
  return traffic;
}

}  // namespace spillway::plan
