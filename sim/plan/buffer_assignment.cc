// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/buffer_assignment.h"

#include <charconv>
#include <map>
#include <optional>

#include "sim/base/file.h"

namespace spillway::plan {
namespace {

constexpr Bytes kHbmAlignment = 1024;

// The integer that follows `key` in `line`.
std::optional<std::int64_t> NumberAfter(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  std::int64_t value = 0;
  const char* begin = line.data() + at + key.size();
  const auto [end, error] = std::from_chars(begin, line.data() + line.size(), value);
  if (error != std::errc() || end == begin || value < 0) return std::nullopt;
  return value;
}

// "allocation 12: size 4227072, color 1, preallocated-temp:"
std::optional<BufferAssignment::Allocation> ParseAllocation(std::string_view line) {
  const auto id = NumberAfter(line, "allocation ");
  const auto size = NumberAfter(line, ": size ");
  if (!id || !size || *id > 1'000'000'000) return std::nullopt;
  BufferAssignment::Allocation allocation;
  allocation.id = static_cast<int>(*id);
  allocation.size = *size;
  allocation.color = NumberAfter(line, ", color ").value_or(0);
  allocation.parameter = static_cast<int>(NumberAfter(line, ", parameter ").value_or(-1));
  allocation.thread_local_ = line.find(", thread-local") != std::string_view::npos;
  allocation.live_out = line.find("maybe-live-out") != std::string_view::npos;
  return allocation;
}

// " value: <50 copy-start.1{0} @1> (size=2097152,offset=2129920): bf16[8192,128]{…}"
std::optional<BufferAssignment::Value> ParseValue(std::string_view line, int allocation) {
  const std::size_t open = line.find('<');
  const std::size_t name = line.find(' ', open);
  const std::size_t end = line.find(" @", name);
  const auto size = NumberAfter(line, "(size=");
  const auto offset = NumberAfter(line, ",offset=");
  if (open == std::string_view::npos || end == std::string_view::npos || !size || !offset) return std::nullopt;
  BufferAssignment::Value value;
  value.name = std::string(line.substr(name + 1, end - name - 1));
  value.allocation = allocation;
  value.size = *size;
  value.offset = *offset;
  return value;
}

}  // namespace

Result<BufferAssignment> BufferAssignment::Parse(std::string_view text, const std::string& file) {
  BufferAssignment assignment;
  // A memory report may stand in front of it and uses similar words.
  std::size_t at = text.find("BufferAssignment:");
  if (at == std::string_view::npos) {
    return ErrorAt(text, file, 0, "no 'BufferAssignment:' section", "this is a *buffer-assignment.txt of --xla_dump_to");
  }
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (line.rfind("allocation ", 0) == 0) {
      const auto allocation = ParseAllocation(line);
      if (!allocation) return ErrorAt(text, file, at, "malformed allocation", "expected 'allocation N: size BYTES, …'");
      assignment.allocations_.push_back(*allocation);
    } else if (line.rfind(" value: ", 0) == 0) {
      auto value = ParseValue(line, static_cast<int>(assignment.allocations_.size()) - 1);
      if (!value || assignment.allocations_.empty()) {
        return ErrorAt(text, file, at, "malformed value", "expected 'value: <N NAME @COLOR> (size=…,offset=…): SHAPE'");
      }
      assignment.values_.push_back(std::move(*value));
    } else if (line.rfind("Used values:", 0) == 0 || line.rfind("HloLiveRange", 0) == 0) {
      break;
    }
    at = end + 1;
  }
  std::map<std::int64_t, std::int64_t> next;
  for (Allocation& allocation : assignment.allocations_) {
    if (allocation.thread_local_) continue;
    std::int64_t& base = next[allocation.color];
    allocation.base = base;
    base += (allocation.size + kHbmAlignment - 1) / kHbmAlignment * kHbmAlignment;
  }
  for (std::size_t i = 0; i < assignment.values_.size(); ++i) {
    assignment.by_name_.emplace(assignment.values_[i].name, i);
  }
  return assignment;
}

const BufferAssignment::Value* BufferAssignment::Find(std::string_view name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : &values_[it->second];
}

Bytes BufferAssignment::AllocatedBytes(std::int64_t color) const {
  Bytes total = 0;
  for (const Allocation& allocation : allocations_) {
    if (allocation.color == color && !allocation.thread_local_) total += allocation.size;
  }
  return total;
}

}  // namespace spillway::plan
