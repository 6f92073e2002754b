// SPDX-License-Identifier: Apache-2.0
// Which buffer each array value of a program lives in, and for how long.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "sim/config/chip_config.h"
#include "sim/hlo/module.h"
#include "sim/plan/buffer_assignment.h"
#include "sim/plan/program.h"

namespace spillway::plan {

/// Buffers of the arrays of a value, in depth-first tuple order; -1 for tokens and opaque values.
using Leaves = std::vector<int>;

/// Number of leaves of a shape.
std::size_t LeafCount(const hlo::Shape& shape);
/// First leaf of tuple element `index`.
std::size_t LeafOffset(const hlo::Shape& shape, std::size_t index);

class ValueTable {
 public:
  ValueTable(const config::ChipConfig& chip, const BufferAssignment* assignment) : chip_(chip), assignment_(assignment) {}

  /// New buffers for the whole shape of `instruction`, defined at schedule position `op`.
  Leaves Define(const hlo::Instruction& instruction, int op);
  /// New buffers for leaves [first, first + count) only; the rest of `leaves` is kept.
  void DefineRange(const hlo::Instruction& instruction, Leaves& leaves, std::size_t first, std::size_t count, int op);

  const Leaves& Of(const hlo::Instruction& instruction) const;
  void Set(const hlo::Instruction& instruction, Leaves leaves) { leaves_[&instruction] = std::move(leaves); }

  /// The value of `buffer` is read or written at position `op`.
  void Use(int buffer, int op);
  /// `buffer` shares the storage of `other`.
  void Alias(int buffer, int other);
  int Root(int buffer) const;
  /// Buffers defined before `begin` that are used in [begin, end] live to `end`.
  void ExtendOver(int begin, int end);
  /// Lives from the start to the end of the program.
  void KeepAlways(int buffer) { always_.push_back(buffer); }
  void KeepToEnd(int buffer) { to_end_.push_back(buffer); }

  /// Live ranges and addresses. `ops`: number of ops of the program. Returns the bytes of HBM that
  /// the program allocates.
  Bytes Finish(int ops);

  std::vector<Buffer>& buffers() { return buffers_; }

 private:
  int NewBuffer(const hlo::Instruction& instruction, const hlo::Shape& shape, const std::string& index, int op);
  void PlaceFromAssignment();

  const config::ChipConfig& chip_;
  const BufferAssignment* assignment_;
  std::vector<Buffer> buffers_;
  std::unordered_map<const hlo::Instruction*, Leaves> leaves_;
  std::vector<int> always_, to_end_;
};

}  // namespace spillway::plan
