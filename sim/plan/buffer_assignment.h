// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/base/result.h"
#include "sim/base/units.h"

namespace spillway::plan {

/// The compiler's own placement of every value: `*buffer-assignment.txt` of an `--xla_dump_to` directory.
class BufferAssignment {
 public:
  struct Allocation {
    int id = 0;
    Bytes size = 0;
    std::int64_t color = 0;        ///< Memory space.
    bool thread_local_ = false;    ///< Scalars of reducers and the like: no memory of the program.
    int parameter = -1;            ///< Number of the entry parameter it holds, or -1.
    bool live_out = false;
    std::int64_t base = 0;         ///< Address in its memory space. The runtime places HBM allocations;
                                   ///< here they follow each other, aligned to 1 KiB, in the order of their ids.
  };
  struct Value {
    std::string name;              ///< "fusion.2"; members of tuples: "copy-start.1{0}", the tuple itself "x{}".
    int allocation = 0;            ///< Index into allocations().
    Bytes size = 0;
    Bytes offset = 0;              ///< Inside its allocation.
  };

  /// Errors: no `BufferAssignment:` section, a malformed allocation or value line.
  static Result<BufferAssignment> Parse(std::string_view text, const std::string& file);

  const std::vector<Allocation>& allocations() const { return allocations_; }
  const std::vector<Value>& values() const { return values_; }
  /// Null if the compiler assigned no memory to that value (it shares another one's).
  const Value* Find(std::string_view name) const;
  const Allocation& AllocationOf(const Value& value) const {
    return allocations_[static_cast<std::size_t>(value.allocation)];
  }
  std::int64_t AddressOf(const Value& value) const { return AllocationOf(value).base + value.offset; }
  /// Sum of the allocations of one memory space, thread-local ones left out.
  Bytes AllocatedBytes(std::int64_t color) const;

 private:
  std::vector<Allocation> allocations_;
  std::vector<Value> values_;
  std::unordered_map<std::string_view, std::size_t> by_name_;
};

}  // namespace spillway::plan
