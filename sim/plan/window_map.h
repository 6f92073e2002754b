// SPDX-License-Identifier: Apache-2.0
// A window that follows from the grid by a function of its own instead of affine steps.
#pragma once

#include "sim/plan/box.h"

namespace spillway::plan {

class WindowMap {
 public:
  virtual ~WindowMap() = default;
  /// Window of the array at a domain box of one grid step.
  virtual Box At(const Box& domain) const = 0;
};

}  // namespace spillway::plan
