// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/value_table.h"

#include <algorithm>
#include <map>

#include "sim/plan/allocate.h"

namespace spillway::plan {
namespace {

constexpr Bytes kHbmAlignment = 512;
constexpr Bytes kVmemAlignment = 512;

Space SpaceOf(config::MemoryKind kind) {
  switch (kind) {
    case config::MemoryKind::kHbm:
      return Space::kHbm;
    case config::MemoryKind::kVmem:
      return Space::kVmem;
    case config::MemoryKind::kSmem:
      return Space::kSmem;
    default:
      return Space::kOther;
  }
}

void Walk(const hlo::Shape& shape, const std::string& index, std::vector<std::pair<const hlo::Shape*, std::string>>& out) {
  if (!shape.IsTuple()) {
    out.emplace_back(&shape, index);
    return;
  }
  for (std::size_t i = 0; i < shape.elements.size(); ++i) {
    Walk(shape.elements[i], index.empty() ? std::to_string(i) : index + "," + std::to_string(i), out);
  }
}

}  // namespace

std::size_t LeafCount(const hlo::Shape& shape) {
  if (!shape.IsTuple()) return 1;
  std::size_t count = 0;
  for (const hlo::Shape& element : shape.elements) count += LeafCount(element);
  return count;
}

std::size_t LeafOffset(const hlo::Shape& shape, std::size_t index) {
  std::size_t offset = 0;
  for (std::size_t i = 0; i < index && i < shape.elements.size(); ++i) offset += LeafCount(shape.elements[i]);
  return offset;
}

int ValueTable::NewBuffer(const hlo::Instruction& instruction, const hlo::Shape& shape, const std::string& index,
                          int op) {
  if (!shape.IsArray()) return -1;
  Buffer buffer;
  buffer.name = std::string(instruction.name) + (index.empty() ? "" : "{" + index + "}");
  buffer.shape = hlo::ToString(shape);
  buffer.space = SpaceOf(chip_.SpaceKind(shape.has_layout ? shape.layout.memory_space : 0));
  buffer.logical_bytes = hlo::LogicalBytes(shape);
  buffer.allocated_bytes = hlo::AllocatedBytes(shape);
  buffer.first_op = buffer.last_op = op;
  buffers_.push_back(std::move(buffer));
  return static_cast<int>(buffers_.size()) - 1;
}

Leaves ValueTable::Define(const hlo::Instruction& instruction, int op) {
  Leaves leaves(LeafCount(instruction.shape), -1);
  DefineRange(instruction, leaves, 0, leaves.size(), op);
  return leaves;
}

void ValueTable::DefineRange(const hlo::Instruction& instruction, Leaves& leaves, std::size_t first, std::size_t count,
                             int op) {
  std::vector<std::pair<const hlo::Shape*, std::string>> all;
  Walk(instruction.shape, "", all);
  leaves.resize(all.size(), -1);
  for (std::size_t i = first; i < first + count && i < all.size(); ++i) {
    leaves[i] = NewBuffer(instruction, *all[i].first, all[i].second, op);
  }
}

const Leaves& ValueTable::Of(const hlo::Instruction& instruction) const {
  static const Leaves kNone;
  auto it = leaves_.find(&instruction);
  return it != leaves_.end() ? it->second : kNone;
}

int ValueTable::Root(int buffer) const {
  while (buffer >= 0 && buffers_[buffer].alias_of >= 0) buffer = buffers_[buffer].alias_of;
  return buffer;
}

void ValueTable::Use(int buffer, int op) {
  if (buffer < 0) return;
  for (int b : {buffer, Root(buffer)}) {
    buffers_[b].first_op = std::min(buffers_[b].first_op, op);
    buffers_[b].last_op = std::max(buffers_[b].last_op, op);
  }
}

void ValueTable::Alias(int buffer, int other) {
  int a = Root(buffer), b = Root(other);
  if (a < 0 || b < 0 || a == b || buffers_[a].space != buffers_[b].space) return;
  // Storage of another size is not the same storage.
  if (buffers_[a].allocated_bytes > buffers_[b].allocated_bytes) return;
  buffers_[a].alias_of = b;
  Use(b, buffers_[a].first_op);
  Use(b, buffers_[a].last_op);
}

void ValueTable::ExtendOver(int begin, int end) {
  for (Buffer& buffer : buffers_) {
    if (buffer.first_op < begin && buffer.last_op >= begin && buffer.last_op < end) buffer.last_op = end;
  }
}

void ValueTable::PlaceFromAssignment() {
  for (Buffer& buffer : buffers_) {
    const BufferAssignment::Value* value = assignment_->Find(buffer.name);
    if (value == nullptr || assignment_->AllocationOf(*value).thread_local_) continue;
    if (SpaceOf(chip_.SpaceKind(assignment_->AllocationOf(*value).color)) != buffer.space) continue;
    buffer.offset = assignment_->AddressOf(*value);
    buffer.exact_offset = true;
  }
}

Bytes ValueTable::Finish(int ops) {
  int end = std::max(ops - 1, 0);
  for (int buffer : always_) {
    Use(buffer, 0);
    Use(buffer, end);
  }
  for (int buffer : to_end_) Use(buffer, end);
  if (assignment_ != nullptr) PlaceFromAssignment();
  std::map<Space, Bytes> peak;
  for (Space space : {Space::kHbm, Space::kVmem, Space::kSmem}) {
    // What the compiler placed keeps its place; the rest goes behind it.
    Bytes base = 0;
    for (const Buffer& buffer : buffers_) {
      if (buffer.space == space && buffer.exact_offset) base = std::max(base, buffer.offset + buffer.allocated_bytes);
    }
    Bytes alignment = space == Space::kHbm ? kHbmAlignment : kVmemAlignment;
    base = (base + alignment - 1) / alignment * alignment;
    std::vector<Block> blocks;
    std::vector<int> owners;
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      const Buffer& buffer = buffers_[i];
      if (buffer.space != space || buffer.alias_of >= 0 || buffer.exact_offset) continue;
      blocks.push_back({buffer.allocated_bytes, buffer.first_op, buffer.last_op, 0});
      owners.push_back(static_cast<int>(i));
    }
    peak[space] = base + Allocate(blocks, alignment);
    for (std::size_t i = 0; i < owners.size(); ++i) buffers_[owners[i]].offset = base + blocks[i].offset;
  }
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    Buffer& buffer = buffers_[i];
    if (buffer.alias_of < 0) continue;
    int root = Root(static_cast<int>(i));
    if (!buffer.exact_offset) buffer.offset = buffers_[root].offset;
    buffer.alias_of = root;
  }
  return assignment_ != nullptr ? std::max(assignment_->AllocatedBytes(0), peak[Space::kHbm]) : peak[Space::kHbm];
}

}  // namespace spillway::plan
