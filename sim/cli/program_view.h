// SPDX-License-Identifier: Apache-2.0
// What `inspect` shows of a program, as text and as JSON. Nothing here lets time pass: kernels are
// walked through their actions and added up.
#pragma once

#include <string>

#include "sim/config/chip_config.h"
#include "sim/plan/program.h"

namespace spillway::cli {

struct View {
  std::string text;
  std::string json;  ///< With a final newline.
};

/// How the text is laid out.
struct ViewStyle {
  std::size_t width = 110;
  bool unicode = true;
};

/// Each op once: kind, steps, HBM bytes, DMAs, compute cycles of one execution.
View ViewOps(const plan::Program& program, const ViewStyle& style);
/// Every buffer: memory, sizes, address, first and last op.
View ViewBuffers(const plan::Program& program, const ViewStyle& style);
/// The schedule with its loops, and the transfers of each item (alike ones counted together).
View ViewProgram(const plan::Program& program, const ViewStyle& style);

}  // namespace spillway::cli
