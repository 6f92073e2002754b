// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/result.h"
#include "sim/llo/kernel.h"

namespace spillway::llo {

/// Static slot use of each bundle of a kernel, from the compiler's table.
struct Utilization {
  std::vector<std::string> slots;            ///< "MATMUL", "XLU", "VALU", …
  std::vector<std::int64_t> capacity;        ///< Per bundle.
  std::vector<std::int32_t> use;             ///< [bundle * slots.size() + slot].

  std::size_t bundles() const { return slots.empty() ? 0 : use.size() / slots.size(); }
  static Result<Utilization> Parse(std::string_view text, const std::string& file);
};

/// Slot use summed over an execution: table rows times how often each bundle ran.
struct SlotUse {
  std::string slot;
  std::int64_t used = 0;        ///< Slot entries. MATMUL counts reserved cycles, not instructions.
  std::int64_t capacity = 0;    ///< Per bundle.
  double share = 0;             ///< used / (capacity x executed bundles).
};

/// `block_runs` as Machine::block_runs() after a run of `kernel`.
std::vector<SlotUse> ExecutedUse(const Kernel& kernel, const std::vector<std::int64_t>& block_runs,
                                 const Utilization& utilization);

}  // namespace spillway::llo
