// SPDX-License-Identifier: Apache-2.0
// Mosaic kernels whose body is MLIR text (the compiler's own, such as `online-softmax`).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace spillway::plan {

/// A window and, for each dimension, what its block index is: a grid axis, or a constant.
struct TextWindow {
  struct Index {
    int axis = -1;                ///< Grid axis, outermost first; -1: `constant`.
    std::int64_t constant = 0;
  };
  std::vector<std::int64_t> bounds;
  std::vector<Index> index;
};

struct TextGrid {
  std::vector<std::int64_t> iteration_bounds;
  std::vector<TextWindow> windows;
};

/// Empty if the text has no such main function or an index map is more than grid indices and constants.
std::optional<TextGrid> GridFromText(const std::string& body);

}  // namespace spillway::plan
