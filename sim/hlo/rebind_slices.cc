// SPDX-License-Identifier: Apache-2.0
// Parts of arrays: slices, pads, blocks, gathers.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/hlo/attributes.h"
#include "sim/hlo/rebind_rules.h"

namespace spillway::hlo {
namespace {

bool Has(const Dims& dims, std::int64_t d) { return std::find(dims.begin(), dims.end(), d) != dims.end(); }

}  // namespace

void DimRules::Slice(const Instruction& instruction, const std::vector<int>& result) {
  const auto slices = SliceOf(instruction);
  const std::vector<int>& in = Operand(instruction, 0);
  if (!slices || slices->size() != in.size() || result.size() != in.size()) return opaque_.push_back(&instruction);
  for (std::size_t d = 0; d < in.size(); ++d) {
    const SliceDimension& s = (*slices)[d];
    if (s.start == 0 && s.limit == solver_.Old(in[d]) && s.stride == 1) {
      solver_.Equal(in[d], result[d], &instruction);
      continue;
    }
    solver_.Partial(result[d], in[d], &instruction);
    if (s.stride == 1) cuts_.push_back({&instruction, s.start, s.limit, result[d], in[d], d});
  }
}

/// Slices that cut a dimension without a gap are parts of it, whatever its size: equal ones stay equal, others keep
/// their share (ShareAssumptions).
void DimRules::GroupSlices() {
  std::map<std::pair<const Instruction*, std::size_t>, std::vector<Cut>> groups;
  for (const Cut& cut : cuts_) groups[{cut.instruction->operands[0], cut.dimension}].push_back(cut);
  for (auto& [key, cuts] : groups) {
    std::sort(cuts.begin(), cuts.end(), [](const Cut& a, const Cut& b) { return a.start < b.start; });
    std::int64_t end = 0;
    bool even = true, whole = true;
    std::vector<int> parts;
    for (const Cut& cut : cuts) {
      even = even && cut.limit - cut.start == cuts[0].limit - cuts[0].start;
      whole = whole && cut.start == end && cut.limit > cut.start;
      end = cut.limit;
      parts.push_back(cut.out);
    }
    const std::int64_t size = solver_.Old(cuts[0].in);
    if (!whole || end != size) continue;
    for (const Cut& cut : cuts) {
      shares_.insert({cut.instruction, cut.dimension});
      if (even) {
        solver_.Equal(cut.out, cuts[0].out, cut.instruction);
      } else {
        const int of = solver_.New(size, cut.instruction), part = solver_.New(solver_.Old(cut.out), cut.instruction);
        solver_.Fix(of, cut.instruction);
        solver_.Fix(part, cut.instruction);
        solver_.Product({cut.out, of}, {cut.in, part}, cut.instruction);
      }
    }
    if (even) {
      solver_.Sum(cuts[0].in, std::move(parts), cuts[0].instruction);
    } else {
      unequal_.push_back(cuts[0]);
    }
  }
}

std::vector<std::string> DimRules::ShareAssumptions() {
  std::vector<std::string> assumptions;
  for (const Cut& cut : unequal_) {
    if (!solver_.Changed(cut.in)) continue;
    assumptions.push_back(fmt::format("'{}' and others cut {} of '{}' into unequal pieces: each keeps its share",
                                      cut.instruction->name, solver_.Old(cut.in), cut.instruction->operands[0]->name));
  }
  return assumptions;
}

void DimRules::Pad(const Instruction& instruction) {
  const auto padding = PaddingOf(instruction);
  const std::vector<int>&in = Operand(instruction, 0), &out = Dims(instruction);
  if (!padding || padding->size() != in.size()) return opaque_.push_back(&instruction);
  for (std::size_t d = 0; d < in.size(); ++d) {
    const PadDimension& p = (*padding)[d];
    if (p.low == 0 && p.high == 0 && p.interior == 0) {
      solver_.Equal(in[d], out[d], &instruction);
    } else {
      solver_.Partial(out[d], in[d], &instruction);
    }
  }
}

/// A block of a whole: where they agree, the block is the whole; else its size must follow from its own use.
void DimRules::Blocks(const Instruction& instruction, const std::vector<int>& whole, const std::vector<int>& block) {
  if (whole.size() != block.size()) return opaque_.push_back(&instruction);
  for (std::size_t d = 0; d < whole.size(); ++d) Block(block[d], whole[d], &instruction);
}

void DimRules::Block(int block, int whole, const Instruction* where) {
  if (solver_.Old(block) == solver_.Old(whole)) {
    solver_.Equal(whole, block, where);
  } else {
    solver_.Partial(block, whole, where);
  }
}

void DimRules::Gather(const Instruction& instruction) {
  const auto sizes = IntListAttr(instruction, "slice_sizes");
  const hlo::Dims offset = IntListAttr(instruction, "offset_dims").value_or(hlo::Dims{});
  hlo::Dims skipped = IntListAttr(instruction, "collapsed_slice_dims").value_or(hlo::Dims{});
  for (const std::int64_t d : IntListAttr(instruction, "operand_batching_dims").value_or(hlo::Dims{})) skipped.push_back(d);
  const std::int64_t index_vector = IntAttr(instruction, "index_vector_dim").value_or(-1);
  const std::vector<int>&in = Operand(instruction, 0), &indices = Operand(instruction, 1), &out = Dims(instruction);
  if (!sizes || sizes->size() != in.size()) return opaque_.push_back(&instruction);
  std::size_t next_index = 0, next_window = 0;
  for (std::size_t d = 0; d < out.size(); ++d) {
    if (!Has(offset, static_cast<std::int64_t>(d))) {
      if (static_cast<std::int64_t>(next_index) == index_vector) ++next_index;
      if (next_index < indices.size()) solver_.Equal(indices[next_index++], out[d], &instruction);
      continue;
    }
    while (next_window < in.size() && Has(skipped, static_cast<std::int64_t>(next_window))) ++next_window;
    if (next_window < in.size()) Block(out[d], in[next_window++], &instruction);
  }
}

void DimRules::Scatter(const Instruction& instruction) {
  if (instruction.operands.size() != 3) return opaque_.push_back(&instruction);
  const hlo::Dims window = IntListAttr(instruction, "update_window_dims").value_or(hlo::Dims{});
  hlo::Dims skipped = IntListAttr(instruction, "inserted_window_dims").value_or(hlo::Dims{});
  for (const std::int64_t d : IntListAttr(instruction, "input_batching_dims").value_or(hlo::Dims{})) skipped.push_back(d);
  const std::int64_t index_vector = IntAttr(instruction, "index_vector_dim").value_or(-1);
  const std::vector<int>&in = Operand(instruction, 0), &indices = Operand(instruction, 1);
  const std::vector<int>& updates = Operand(instruction, 2);
  EqualAll(in, Dims(instruction), &instruction);
  std::size_t next_index = 0, next_window = 0;
  for (std::size_t d = 0; d < updates.size(); ++d) {
    if (!Has(window, static_cast<std::int64_t>(d))) {
      if (static_cast<std::int64_t>(next_index) == index_vector) ++next_index;
      if (next_index < indices.size()) solver_.Equal(indices[next_index++], updates[d], &instruction);
      continue;
    }
    while (next_window < in.size() && Has(skipped, static_cast<std::int64_t>(next_window))) ++next_window;
    if (next_window < in.size()) Block(updates[d], in[next_window++], &instruction);
  }
}

}  // namespace spillway::hlo
