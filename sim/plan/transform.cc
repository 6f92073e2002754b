// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/transform.h"

#include <algorithm>

namespace spillway::plan {
namespace {

std::int64_t FloorDiv(std::int64_t a, std::int64_t b) {
  std::int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}
std::int64_t CeilDivide(std::int64_t a, std::int64_t b) { return -FloorDiv(-a, b); }

Interval ApplyDim(const AffineDim& dim, const Box& box) {
  if (dim.source < 0 || dim.source >= static_cast<int>(box.size())) return {0, dim.size};
  std::int64_t lo = dim.add, hi = dim.add + dim.extra;
  auto accumulate = [&](const Interval& x, std::int64_t mul) {
    lo += mul >= 0 ? mul * x.lo : mul * (x.hi - 1);
    hi += mul >= 0 ? mul * (x.hi - 1) : mul * x.lo;
  };
  accumulate(box[dim.source], dim.mul);
  if (dim.source2 >= 0 && dim.source2 < static_cast<int>(box.size())) accumulate(box[dim.source2], dim.mul2);
  if (dim.div != 1) {
    lo = CeilDivide(lo, dim.div);
    hi = FloorDiv(hi, dim.div);
  }
  return {std::max<std::int64_t>(lo, 0), std::min(hi + 1, dim.size)};
}

/// One factor group: dimensions [from_begin, from_end) hold the same elements as [to_begin, to_end).
void ReshapeGroup(const Transform& t, int from_begin, int from_end, int to_begin, int to_end, const Box& box,
                  Box& out) {
  std::int64_t first = 0, last = 0;
  for (int i = from_begin; i < from_end; ++i) {
    first = first * t.from[i] + box[i].lo;
    last = last * t.from[i] + (box[i].hi - 1);
  }
  // Leading dimensions that are the same for the first and last element are narrow, the first that
  // differs spans a range, the rest are whole.
  std::int64_t span = 1;
  for (int i = to_begin; i < to_end; ++i) span *= t.to[i];
  bool whole = false;
  for (int i = to_begin; i < to_end; ++i) {
    if (whole) {
      out[i] = {0, t.to[i]};
      continue;
    }
    span /= t.to[i];
    std::int64_t a = first / span, b = last / span;
    out[i] = {a, b + 1};
    if (a != b) whole = true;
    first %= span;
    last %= span;
  }
}

Box ApplyReshape(const Transform& t, const Box& box) {
  Box out(t.to.size(), Interval{0, 1});
  std::size_t i = 0, j = 0;
  while (i < t.from.size() || j < t.to.size()) {
    std::size_t i0 = i, j0 = j;
    std::int64_t a = 1, b = 1;
    if (i < t.from.size()) a = t.from[i++];
    if (j < t.to.size()) b = t.to[j++];
    while (a != b) {
      if (a < b && i < t.from.size()) {
        a *= t.from[i++];
      } else if (b < a && j < t.to.size()) {
        b *= t.to[j++];
      } else {
        break;
      }
    }
    ReshapeGroup(t, i0, i, j0, j, box, out);
  }
  return out;
}

Path One(Transform step) {
  Path path;
  Append(path, std::move(step));
  return path;
}

Transform Affine(std::vector<AffineDim> dims) {
  Transform t;
  t.dims = std::move(dims);
  return t;
}

AffineDim From(int source, std::int64_t size, std::int64_t mul = 1, std::int64_t add = 0) {
  AffineDim dim;
  dim.source = source;
  dim.mul = mul;
  dim.add = add;
  dim.size = size;
  return dim;
}

Transform SameDims(const hlo::Dims& sizes) {
  hlo::Dims order;
  for (std::size_t i = 0; i < sizes.size(); ++i) order.push_back(i);
  return Select(order, sizes);
}

/// Index of `value` in `list`, -1 if absent.
int Find(const hlo::Dims& list, std::int64_t value) {
  auto it = std::find(list.begin(), list.end(), value);
  return it == list.end() ? -1 : static_cast<int>(it - list.begin());
}

/// Attribute values beyond this are nonsense and could overflow what is computed from them.
bool Sane(std::initializer_list<std::int64_t> values) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 40;
  return std::all_of(values.begin(), values.end(), [](std::int64_t v) { return v > -kLimit && v < kLimit; });
}

bool Sane(const hlo::WindowDimension& w) {
  return Sane({w.size, w.stride, w.padding_low, w.padding_high, w.base_dilation, w.window_dilation}) && w.size >= 0 &&
         w.stride < (std::int64_t{1} << 20) && w.stride > -(std::int64_t{1} << 20) &&
         w.size * static_cast<double>(w.window_dilation) < 1e15;
}

Path ReduceOperand(const hlo::Instruction& reduce, const hlo::Shape& operand) {
  hlo::Dims reduced = hlo::DimensionsOf(reduce);
  std::vector<AffineDim> dims;
  int next = 0;
  for (int d = 0; d < operand.rank(); ++d) {
    dims.push_back(From(Find(reduced, d) >= 0 ? -1 : next, operand.dimensions[d]));
    if (Find(reduced, d) < 0) ++next;
  }
  return One(Affine(dims));
}

std::optional<Path> ConcatenateOperand(const hlo::Instruction& concatenate, int operand) {
  hlo::Dims along = hlo::DimensionsOf(concatenate);
  int axis = along.empty() ? 0 : static_cast<int>(along[0]);
  std::int64_t start = 0;
  for (int i = 0; i < operand; ++i) {
    const hlo::Shape& before = concatenate.operands[i]->shape;
    if (axis < 0 || axis >= before.rank()) return std::nullopt;
    start += before.dimensions[axis];
  }
  std::vector<AffineDim> dims;
  const hlo::Dims& sizes = concatenate.operands[operand]->shape.dimensions;
  for (int d = 0; d < static_cast<int>(sizes.size()); ++d) dims.push_back(From(d, sizes[d], 1, d == axis ? -start : 0));
  return One(Affine(dims));
}

std::optional<Path> WindowedOperand(const hlo::Instruction& instruction, const hlo::Shape& operand) {
  auto window = hlo::WindowOf(instruction);
  if (!window || static_cast<int>(window->size()) != operand.rank()) return std::nullopt;
  std::vector<AffineDim> dims;
  for (int d = 0; d < operand.rank(); ++d) {
    const hlo::WindowDimension& w = (*window)[d];
    if (!Sane(w)) return std::nullopt;
    AffineDim dim = From(d, operand.dimensions[d], w.stride, -w.padding_low);
    dim.extra = (w.size - 1) * w.window_dilation;
    dim.div = std::max<std::int64_t>(w.base_dilation, 1);
    dims.push_back(dim);
  }
  return One(Affine(dims));
}

std::optional<Path> ConvolutionOperand(const hlo::Instruction& conv, int operand) {
  auto labels = hlo::ConvolutionOf(conv);
  if (!labels || conv.operands.size() < 2) return std::nullopt;
  std::vector<hlo::WindowDimension> window = hlo::WindowOf(conv).value_or(std::vector<hlo::WindowDimension>());
  window.resize(labels->output_spatial.size());
  if (operand > 1 || labels->kernel_spatial.size() != window.size() || labels->input_spatial.size() != window.size() ||
      !std::all_of(window.begin(), window.end(), [](const hlo::WindowDimension& w) { return Sane(w); })) {
    return std::nullopt;
  }
  int rank = conv.shape.rank();
  const hlo::Dims& sizes = conv.operands[operand]->shape.dimensions;
  std::vector<AffineDim> dims(sizes.size());
  for (std::size_t d = 0; d < sizes.size(); ++d) dims[d].size = sizes[d];
  auto set = [&](std::int64_t at, AffineDim dim) {
    if (at < 0 || at >= static_cast<std::int64_t>(dims.size())) return;
    dim.size = dims[at].size;
    dims[at] = dim;
  };
  bool grouped = hlo::IntAttr(conv, "feature_group_count").value_or(1) > 1 ||
                 hlo::IntAttr(conv, "batch_group_count").value_or(1) > 1;
  if (operand == 0 && !grouped) {
    set(labels->input_batch, From(labels->output_batch, 0));
    set(labels->input_feature, From(rank, 0));
  } else if (operand == 1) {
    set(labels->kernel_output_feature, From(labels->output_feature, 0));
    if (!grouped) set(labels->kernel_input_feature, From(rank, 0));
  }
  for (std::size_t s = 0; s < labels->output_spatial.size(); ++s) {
    const hlo::WindowDimension& w = window[s];
    int out = static_cast<int>(labels->output_spatial[s]);
    int kernel = rank + 1 + static_cast<int>(s);
    if (operand == 1) {
      set(labels->kernel_spatial[s], IsBatchLike(w.size, w.stride, w.base_dilation) ? From(out, 0) : From(kernel, 0));
      continue;
    }
    AffineDim dim = From(out, 0, w.stride, -w.padding_low);
    dim.source2 = kernel;
    dim.mul2 = w.reversed ? -w.window_dilation : w.window_dilation;
    if (w.reversed) dim.add += (w.size - 1) * w.window_dilation;
    dim.div = std::max<std::int64_t>(w.base_dilation, 1);
    set(labels->input_spatial[s], dim);
  }
  return One(Affine(dims));
}

std::optional<Path> DotOperand(const hlo::Instruction& dot, int operand) {
  if (dot.operands.size() < 2) return std::nullopt;
  hlo::DotDimensions numbers = hlo::DotOf(dot);
  const hlo::Dims& batch = operand == 0 ? numbers.lhs_batch : numbers.rhs_batch;
  const hlo::Dims& contracting = operand == 0 ? numbers.lhs_contracting : numbers.rhs_contracting;
  const hlo::Dims& sizes = dot.operands[operand]->shape.dimensions;
  int rank = dot.shape.rank();
  int lhs_free = dot.operands[0]->shape.rank() - static_cast<int>(numbers.lhs_batch.size()) -
                 static_cast<int>(numbers.lhs_contracting.size());
  int next = static_cast<int>(batch.size()) + (operand == 0 ? 0 : lhs_free);
  std::vector<AffineDim> dims;
  for (int d = 0; d < static_cast<int>(sizes.size()); ++d) {
    int b = Find(batch, d), c = Find(contracting, d);
    dims.push_back(From(b >= 0 ? b : c >= 0 ? rank + c : next++, sizes[d]));
  }
  return One(Affine(dims));
}

std::optional<Path> SliceOperand(const hlo::Instruction& slice, const hlo::Shape& operand) {
  auto ranges = hlo::SliceOf(slice);
  if (!ranges || static_cast<int>(ranges->size()) != operand.rank()) return std::nullopt;
  std::vector<AffineDim> dims;
  for (int d = 0; d < operand.rank(); ++d) {
    const hlo::SliceDimension& range = (*ranges)[d];
    if (!Sane({range.start, range.limit}) || range.stride < 1 || range.stride > (std::int64_t{1} << 20)) {
      return std::nullopt;
    }
    dims.push_back(From(d, operand.dimensions[d], range.stride, range.start));
  }
  return One(Affine(dims));
}

std::optional<Path> PadOperand(const hlo::Instruction& pad, const hlo::Shape& operand) {
  auto padding = hlo::PaddingOf(pad);
  if (!padding || static_cast<int>(padding->size()) != operand.rank()) return std::nullopt;
  std::vector<AffineDim> dims;
  for (int d = 0; d < operand.rank(); ++d) {
    if (!Sane({(*padding)[d].low, (*padding)[d].interior}) || (*padding)[d].interior < 0) return std::nullopt;
    AffineDim dim = From(d, operand.dimensions[d], 1, -(*padding)[d].low);
    dim.div = (*padding)[d].interior + 1;
    dims.push_back(dim);
  }
  return One(Affine(dims));
}

bool KeepsElements(hlo::Opcode opcode) {
  switch (opcode) {
    case hlo::Opcode::kCopy:
    case hlo::Opcode::kConvert:
    case hlo::Opcode::kReducePrecision:
    case hlo::Opcode::kOptimizationBarrier:
    case hlo::Opcode::kDomain:
    case hlo::Opcode::kAddDependency:
    case hlo::Opcode::kStochasticConvert:
    case hlo::Opcode::kMap:
      return true;
    default:
      return hlo::IsElementwise(opcode);
  }
}

}  // namespace

bool AffineDim::operator==(const AffineDim& o) const {
  return source == o.source && source2 == o.source2 && mul == o.mul && add == o.add && mul2 == o.mul2 && div == o.div &&
         extra == o.extra && size == o.size;
}

bool Transform::operator==(const Transform& o) const {
  return kind == o.kind && dims == o.dims && from == o.from && to == o.to;
}

Box Transform::Apply(const Box& box) const {
  if (kind == Kind::kReshape) {
    if (box.size() != from.size()) return FullBox(to);
    if (IsEmpty(box)) return Box(to.size(), Interval{0, 0});
    return ApplyReshape(*this, box);
  }
  Box out;
  bool empty = IsEmpty(box);
  for (const AffineDim& dim : dims) out.push_back(empty ? Interval{0, 0} : ApplyDim(dim, box));
  return out;
}

bool Transform::IsIdentity() const {
  if (kind == Kind::kReshape) return from == to;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const AffineDim& d = dims[i];
    if (d.source != static_cast<int>(i) || d.source2 >= 0 || d.mul != 1 || d.add != 0 || d.div != 1 || d.extra != 0) {
      return false;
    }
  }
  return true;
}

bool Transform::KeepsWindowsOf(const Transform& before) const {
  if (!IsIdentity() || before.Rank() != Rank()) return false;
  for (std::size_t i = 0; i < Rank(); ++i) {
    if (OutSize(i) < before.OutSize(i)) return false;
  }
  return true;
}

Box ApplyPath(const Path& path, const Box& box) {
  Box current = box;
  for (const Transform& step : path) current = step.Apply(current);
  return current;
}

void Append(Path& path, Transform step) { path.push_back(std::move(step)); }

Transform Select(const hlo::Dims& order, const hlo::Dims& sizes) {
  std::vector<AffineDim> dims;
  for (std::size_t i = 0; i < order.size(); ++i) dims.push_back(From(static_cast<int>(order[i]), sizes[i]));
  return Affine(dims);
}

Transform Whole(const hlo::Dims& sizes) {
  std::vector<AffineDim> dims;
  for (std::int64_t size : sizes) dims.push_back(From(-1, size));
  return Affine(dims);
}

Transform Reshape(const hlo::Dims& from, const hlo::Dims& to) {
  Transform t;
  t.kind = Transform::Kind::kReshape;
  t.from = from;
  t.to = to;
  return t;
}

hlo::Dims PhysicalOrder(const hlo::Shape& shape) {
  hlo::Dims order;
  for (int i = shape.rank() - 1; i >= 0; --i) order.push_back(shape.MinorDimension(i));
  return order;
}

std::optional<Path> BitcastPath(const hlo::Shape& from, const hlo::Shape& to) {
  if (!from.IsArray() || !to.IsArray() || from.ElementCount() != to.ElementCount()) return std::nullopt;
  Path path;
  hlo::Dims from_order = PhysicalOrder(from), to_order = PhysicalOrder(to);
  hlo::Dims from_sizes, to_sizes, back(to.rank(), 0);
  for (std::int64_t d : from_order) from_sizes.push_back(from.dimensions[d]);
  for (std::size_t i = 0; i < to_order.size(); ++i) {
    to_sizes.push_back(to.dimensions[to_order[i]]);
    back[to_order[i]] = static_cast<std::int64_t>(i);
  }
  Append(path, Select(from_order, from_sizes));
  Append(path, Reshape(from_sizes, to_sizes));
  Append(path, Select(back, to.dimensions));
  return path;
}

bool IsBatchLike(std::int64_t size, std::int64_t stride, std::int64_t base_dilation) {
  if (size < 1) return false;
  // XLA writes a batch dimension of length n as window n with dilation n and stride n-1, or with
  // dilation n-1 and stride n: both leave one valid tap a position.
  bool first = base_dilation == size && stride == std::max<std::int64_t>(size - 1, 1) && size > 1;
  bool second = base_dilation == std::max<std::int64_t>(size - 1, 1) && stride == size && size > 1;
  return first || second;
}

hlo::Dims ContractionSizes(const hlo::Instruction& instruction) {
  hlo::Dims sizes;
  if (instruction.operands.size() < 2) return sizes;
  if (instruction.opcode == hlo::Opcode::kDot) {
    const hlo::Dims& lhs = instruction.operands[0]->shape.dimensions;
    for (std::int64_t d : hlo::DotOf(instruction).lhs_contracting) {
      if (d >= 0 && d < static_cast<std::int64_t>(lhs.size())) sizes.push_back(lhs[d]);
    }
  } else if (instruction.opcode == hlo::Opcode::kConvolution) {
    auto labels = hlo::ConvolutionOf(instruction);
    if (!labels) return sizes;
    const hlo::Dims& kernel = instruction.operands[1]->shape.dimensions;
    const hlo::Dims& input = instruction.operands[0]->shape.dimensions;
    if (labels->input_feature < 0 || labels->input_feature >= static_cast<std::int64_t>(input.size())) return sizes;
    sizes.push_back(input[labels->input_feature]);
    for (std::int64_t d : labels->kernel_spatial) {
      sizes.push_back(d >= 0 && d < static_cast<std::int64_t>(kernel.size()) ? kernel[d] : 1);
    }
  }
  return sizes;
}

Backward OperandWindow(const hlo::Instruction& instruction, int operand) {
  using hlo::Opcode;
  const hlo::Shape& shape = instruction.operands[operand]->shape;
  Backward result;
  auto use = [&](std::optional<Path> path) {
    if (path) {
      result.path = std::move(*path);
    } else {
      result.path = One(Whole(shape.dimensions));
      result.exact = false;
    }
    return result;
  };
  if (shape.rank() == 0) return use(One(Whole(shape.dimensions)));
  switch (instruction.opcode) {
    case Opcode::kBroadcast: {
      hlo::Dims order = hlo::DimensionsOf(instruction);
      if (order.size() != shape.dimensions.size()) return use(std::nullopt);
      return use(One(Select(order, shape.dimensions)));
    }
    case Opcode::kTranspose: {
      hlo::Dims permutation = hlo::DimensionsOf(instruction), order(shape.rank(), 0);
      if (permutation.size() != order.size()) return use(std::nullopt);
      for (std::size_t i = 0; i < permutation.size(); ++i) {
        if (permutation[i] < 0 || permutation[i] >= shape.rank()) return use(std::nullopt);
        order[permutation[i]] = static_cast<std::int64_t>(i);
      }
      return use(One(Select(order, shape.dimensions)));
    }
    case Opcode::kReshape:
      if (instruction.shape.ElementCount() != shape.ElementCount()) return use(std::nullopt);
      return use(One(Reshape(instruction.shape.dimensions, shape.dimensions)));
    case Opcode::kBitcast:
      return use(BitcastPath(instruction.shape, shape));
    case Opcode::kBitcastConvert:
      if (instruction.shape.dimensions == shape.dimensions) return use(One(SameDims(shape.dimensions)));
      return use(std::nullopt);
    case Opcode::kReduce:
      return use(ReduceOperand(instruction, shape));
    case Opcode::kReduceWindow:
      return use(WindowedOperand(instruction, shape));
    case Opcode::kSlice:
      return use(SliceOperand(instruction, shape));
    case Opcode::kPad:
      return use(PadOperand(instruction, shape));
    case Opcode::kConcatenate:
      return use(ConcatenateOperand(instruction, operand));
    case Opcode::kDynamicSlice:
      // Where the slice starts is data; its first position stands for all of them.
      return use(One(SameDims(shape.dimensions)));
    case Opcode::kDynamicUpdateSlice:
      return use(operand == 0 ? One(SameDims(shape.dimensions)) : One(Whole(shape.dimensions)));
    case Opcode::kReverse: {
      hlo::Dims reversed = hlo::DimensionsOf(instruction);
      std::vector<AffineDim> dims;
      for (int d = 0; d < shape.rank(); ++d) {
        bool flip = Find(reversed, d) >= 0;
        dims.push_back(From(d, shape.dimensions[d], flip ? -1 : 1, flip ? shape.dimensions[d] - 1 : 0));
      }
      return use(One(Affine(dims)));
    }
    case Opcode::kSort: {
      hlo::Dims along = hlo::DimensionsOf(instruction);
      std::vector<AffineDim> dims;
      for (int d = 0; d < shape.rank(); ++d) dims.push_back(From(Find(along, d) >= 0 ? -1 : d, shape.dimensions[d]));
      return use(One(Affine(dims)));
    }
    case Opcode::kGather:
      // The indices are all read; which rows they pick, a GatherAccess models.
      return use(operand == 0 ? std::optional<Path>() : std::optional<Path>(One(Whole(shape.dimensions))));
    case Opcode::kConvolution:
      return use(ConvolutionOperand(instruction, operand));
    case Opcode::kDot:
      return use(DotOperand(instruction, operand));
    default:
      if (KeepsElements(instruction.opcode) && instruction.shape.IsArray() &&
          instruction.shape.dimensions == shape.dimensions) {
        return use(One(SameDims(shape.dimensions)));
      }
      return use(std::nullopt);
  }
}

std::optional<Path> ResultWindow(const hlo::Instruction& instruction, int operand) {
  using hlo::Opcode;
  const hlo::Shape& from = instruction.operands[operand]->shape;
  const hlo::Shape& to = instruction.shape.IsTuple() && !instruction.shape.elements.empty()
                             ? instruction.shape.elements[0]
                             : instruction.shape;
  switch (instruction.opcode) {
    case Opcode::kBitcast:
      return BitcastPath(from, to);
    case Opcode::kReshape:
      if (from.ElementCount() != to.ElementCount()) return std::nullopt;
      return One(Reshape(from.dimensions, to.dimensions));
    case Opcode::kTranspose:
      if (hlo::DimensionsOf(instruction).size() != to.dimensions.size()) return std::nullopt;
      return One(Select(hlo::DimensionsOf(instruction), to.dimensions));
    case Opcode::kReduce: {
      hlo::Dims reduced = hlo::DimensionsOf(instruction), order;
      for (int d = 0; d < from.rank(); ++d) {
        if (Find(reduced, d) < 0) order.push_back(d);
      }
      if (order.size() != to.dimensions.size()) return std::nullopt;
      return One(Select(order, to.dimensions));
    }
    case Opcode::kReverse:
      return OperandWindow(instruction, operand).path;
    case Opcode::kDynamicUpdateSlice:
      if (operand != 1) return std::nullopt;
      return One(SameDims(to.dimensions));
    default:
      if (KeepsElements(instruction.opcode) && from.dimensions == to.dimensions) return One(SameDims(to.dimensions));
      return std::nullopt;
  }
}

}  // namespace spillway::plan
