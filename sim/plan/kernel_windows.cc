// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/kernel_windows.h"

#include "sim/hlo/mlir_bytecode.h"
#include "sim/hlo/mosaic_body.h"
#include "sim/plan/mosaic_text.h"

namespace spillway::plan {

std::optional<hlo::KernelWindows> KernelWindowsOf(const hlo::Instruction& kernel) {
  auto body = hlo::MosaicBytesOf(kernel);
  if (!body || hlo::IsMlirBytecode(*body)) return std::nullopt;
  auto grid = GridFromText(*body);
  if (!grid) return std::nullopt;
  hlo::KernelWindows windows;
  windows.grid = grid->iteration_bounds;
  for (const TextWindow& window : grid->windows) {
    auto& dims = windows.windows.emplace_back();
    for (std::size_t d = 0; d < window.bounds.size(); ++d) dims.push_back({window.bounds[d], window.index[d].axis});
  }
  windows.text = std::move(*body);
  return windows;
}

}  // namespace spillway::plan
