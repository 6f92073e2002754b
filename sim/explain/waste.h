// SPDX-License-Identifier: Apache-2.0
// Bytes that are moved or held for nothing: relayout copies, padding, the same array read again.
#pragma once

#include <string>
#include <vector>

#include "sim/explain/dataflow.h"

namespace spillway::explain {

/// A kernel that only changes a layout.
struct LayoutCopy {
  int op = -1;
  std::string from, to;              ///< Shapes as printed.
  Bytes read_bytes = 0, write_bytes = 0;   ///< HBM.
  Picos time_ps = 0;                 ///< What the program would save if it were free: its busy time.
};

/// An array whose tiles hold far more than its elements.
struct Padding {
  std::string tensor, shape;
  Bytes logical_bytes = 0, allocated_bytes = 0;
  std::string cause;                 ///< "dimension 1 (minor) of length 1 fills 128 lanes".
  std::string advice;
  Bytes wasted() const { return allocated_bytes - logical_bytes; }
};

/// An array that crosses HBM more than once.
struct Reread {
  std::string tensor;
  Bytes bytes = 0, read_bytes = 0;   ///< Its size, and what was read of it in all.
  std::vector<int> ops;              ///< Who reads it.
  bool within = false;               ///< One kernel reads it again and again (its windows come back).
};

/// Padding by at least this factor and this many bytes is reported.
inline constexpr double kPaddingFactor = 1.5;
inline constexpr Bytes kPaddingBytes = Bytes{1} << 20;

std::vector<Padding> FindPadding(const Dataflow& flow);
/// `read_bytes[op][buffer]`: HBM bytes by op and root buffer.
std::vector<Reread> FindRereads(const Dataflow& flow, const std::vector<std::map<int, Bytes>>& read_bytes);
/// Without bytes and time.
std::vector<LayoutCopy> FindLayoutCopies(const Dataflow& flow);

}  // namespace spillway::explain
