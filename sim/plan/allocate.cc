// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/allocate.h"

#include <algorithm>
#include <numeric>

namespace spillway::plan {

Bytes Allocate(std::vector<Block>& blocks, Bytes alignment) {
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (blocks[a].size != blocks[b].size) return blocks[a].size > blocks[b].size;
    return blocks[a].first < blocks[b].first;
  });
  Bytes peak = 0;
  std::vector<std::size_t> placed;   // By offset.
  for (std::size_t index : order) {
    Block& block = blocks[index];
    std::int64_t offset = 0;
    for (std::size_t other : placed) {
      const Block& taken = blocks[other];
      if (taken.last < block.first || block.last < taken.first) continue;
      if (offset + block.size <= taken.offset) break;
      std::int64_t end = taken.offset + taken.size;
      offset = std::max(offset, (end + alignment - 1) / alignment * alignment);
    }
    block.offset = offset;
    peak = std::max(peak, offset + block.size);
    auto at = std::upper_bound(placed.begin(), placed.end(), index, [&](std::size_t a, std::size_t b) {
      return blocks[a].offset < blocks[b].offset;
    });
    placed.insert(at, index);
  }
  return peak;
}

}  // namespace spillway::plan
