// SPDX-License-Identifier: Apache-2.0
#include "sim/compute/matmul.h"

#include <algorithm>

#include "sim/compute/registers.h"
#include "sim/hlo/attributes.h"

namespace spillway::compute {
namespace {

constexpr double kMaxTapSearch = 1 << 16;

double At(const hlo::Shape& shape, std::int64_t dim) {
  return dim >= 0 && dim < shape.rank() ? static_cast<double>(shape.dimensions[dim]) : 1;
}

bool IsMinor(const hlo::Shape& shape, std::int64_t dim) {
  return shape.rank() > 0 && shape.MinorDimension(0) == dim;
}

/// Padded so far that most positions see little of the data: a batch or outer product printed as a convolution.
bool SlidesPast(const hlo::WindowDimension& window) { return window.size > 4 && window.padding_low >= window.size - 1; }

/// Taps of a window dimension that meet data for an output position, on average (at least one).
double TapsOf(const hlo::WindowDimension& window, double input, double output) {
  double size = static_cast<double>(std::max<std::int64_t>(window.size, 1));
  if (window.base_dilation <= 1 && !SlidesPast(window)) return size;
  if (size * output > kMaxTapSearch) return std::max(1.0, size / static_cast<double>(window.base_dilation));
  std::int64_t valid = 0;
  const std::int64_t last = static_cast<std::int64_t>(input - 1) * std::max<std::int64_t>(window.base_dilation, 1);
  for (std::int64_t o = 0; o < static_cast<std::int64_t>(output); ++o) {
    for (std::int64_t k = 0; k < window.size; ++k) {
      std::int64_t at = o * window.stride + k * window.window_dilation - window.padding_low;
      valid += at >= 0 && at <= last && at % std::max<std::int64_t>(window.base_dilation, 1) == 0;
    }
  }
  return std::max(1.0, static_cast<double>(valid) / std::max(output, 1.0));
}

/// A batch dimension is printed as a spatial one whose dilation leaves one tap an output.
bool IsBatch(const hlo::WindowDimension& window, double taps) {
  return (window.base_dilation > 1 || window.stride > 1 || SlidesPast(window)) && window.size > 1 && taps < 1.5;
}

std::optional<MatmulShape> OfConvolution(const hlo::Instruction& instruction) {
  auto labels = hlo::ConvolutionOf(instruction);
  if (!labels) return std::nullopt;
  const hlo::Shape& left = instruction.operands[0]->shape;
  const hlo::Shape& right = instruction.operands[1]->shape;
  const hlo::Shape& result = instruction.shape;
  auto window = hlo::WindowOf(instruction).value_or(std::vector<hlo::WindowDimension>());
  MatmulShape shape;
  shape.contraction = At(right, labels->kernel_input_feature);
  double rows = At(result, labels->output_batch);
  shape.row_dims.push_back(static_cast<int>(labels->output_batch));
  bool spatial = false;
  for (std::size_t i = 0; i < labels->output_spatial.size(); ++i) {
    std::int64_t dim = labels->output_spatial[i];
    double taps = 1;
    if (i < window.size() && i < labels->input_spatial.size()) {
      taps = TapsOf(window[i], At(left, labels->input_spatial[i]), At(result, dim));
      if (IsBatch(window[i], taps)) {
        shape.batch *= At(result, dim);
        continue;
      }
    }
    spatial = true;
    rows *= At(result, dim);
    shape.taps *= taps;
    shape.row_dims.push_back(static_cast<int>(dim));
  }
  double features = At(result, labels->output_feature);
  shape.rows = rows;
  shape.lanes = features;
  shape.lanes_dim = static_cast<int>(labels->output_feature);
  bool left_minor = IsMinor(left, labels->input_feature), right_minor = IsMinor(right, labels->kernel_input_feature);
  if (!spatial && IsMinor(result, labels->output_batch) && rows > 1) {
    shape.swapped = true;
    std::swap(shape.rows, shape.lanes);
    shape.lanes_dim = static_cast<int>(labels->output_batch);
    shape.row_dims.assign(1, static_cast<int>(labels->output_feature));
  }
  shape.streamed_transposed = shape.swapped ? !right_minor : !left_minor;
  shape.held_transposed = shape.swapped ? left_minor : right_minor;
  shape.contraction *= shape.taps;
  return shape;
}

std::optional<MatmulShape> OfDot(const hlo::Instruction& instruction) {
  hlo::DotDimensions numbers = hlo::DotOf(instruction);
  const hlo::Shape& left = instruction.operands[0]->shape;
  const hlo::Shape& right = instruction.operands[1]->shape;
  MatmulShape shape;
  for (std::int64_t d : numbers.lhs_batch) shape.batch *= At(left, d);
  for (std::int64_t d : numbers.lhs_contracting) shape.contraction *= At(left, d);
  auto free = [](const hlo::Shape& operand, const hlo::Dims& batch, const hlo::Dims& contracting) {
    double product = 1;
    for (std::int64_t d = 0; d < operand.rank(); ++d) {
      bool taken = std::count(batch.begin(), batch.end(), d) + std::count(contracting.begin(), contracting.end(), d) > 0;
      if (!taken) product *= At(operand, d);
    }
    return product;
  };
  shape.rows = free(left, numbers.lhs_batch, numbers.lhs_contracting);
  shape.lanes = free(right, numbers.rhs_batch, numbers.rhs_contracting);
  int batch = static_cast<int>(numbers.lhs_batch.size()), rank = instruction.shape.rank();
  int right_free = right.rank() - static_cast<int>(numbers.rhs_batch.size() + numbers.rhs_contracting.size());
  shape.lanes_dim = right_free > 0 ? rank - 1 : -1;
  for (int d = batch; d < rank - right_free; ++d) shape.row_dims.push_back(d);
  if (!numbers.lhs_contracting.empty()) shape.streamed_transposed = !IsMinor(left, numbers.lhs_contracting[0]);
  if (!numbers.rhs_contracting.empty()) shape.held_transposed = IsMinor(right, numbers.rhs_contracting[0]);
  return shape;
}

}  // namespace

std::optional<MatmulShape> MatmulShapeOf(const hlo::Instruction& instruction) {
  if (instruction.operands.size() < 2 || !instruction.shape.IsArray()) return std::nullopt;
  if (!instruction.operands[0]->shape.IsArray() || !instruction.operands[1]->shape.IsArray()) return std::nullopt;
  if (instruction.opcode == hlo::Opcode::kConvolution) return OfConvolution(instruction);
  if (instruction.opcode == hlo::Opcode::kDot) return OfDot(instruction);
  return std::nullopt;
}

MatmulKind MatmulKindOf(const hlo::Instruction& instruction) {
  MatmulKind kind;
  hlo::ElementType left = instruction.operands[0]->shape.type, right = instruction.operands[1]->shape.type;
  std::string_view a = TypeClass(left), b = TypeClass(right);
  if (a == "i8" && b == "i8") {
    kind.type = "s8";
    kind.rows = 32;
  } else if (a == "f8" && b == "f8") {
    kind.type = "f8e5m2";
    kind.rows = 32;
  } else if (auto precision = instruction.Attr("operand_precision")) {
    // f32 runs as bf16 pieces: two pieces an operand make three products, three make six.
    if (precision->find("highest") != std::string_view::npos) kind.passes = 6;
    else if (precision->find("high") != std::string_view::npos) kind.passes = 3;
  }
  if (a != "f32" && b != "f32") kind.passes = 1;
  return kind;
}

MatmulVisits CountMatmul(const hlo::Instruction& instruction, const MatrixShape& mxu, const Windows& windows,
                         KernelFeatures& features) {
  auto shape = MatmulShapeOf(instruction);
  if (!shape) return {};
  MatmulKind kind = MatmulKindOf(instruction);
  auto trips = [&](int dim) { return dim >= 0 && dim < static_cast<int>(windows.trips.size()) ? windows.trips[dim] : 1; };
  double lane_trips = trips(shape->lanes_dim), row_trips = 1;
  for (int dim : shape->row_dims) row_trips *= trips(dim);

  // Several taps share the array: halves of it can be filled by different taps.
  double contraction = shape->taps > 1 ? CeilDiv(2 * shape->contraction, mxu.rows) / 2
                                       : CeilDiv(shape->contraction, mxu.rows);
  double lanes = CeilDiv(shape->lanes, mxu.columns);
  double half = kind.rows / 2;
  double issues = shape->batch * contraction * lanes * CeilDiv(shape->rows, half) / 2 * kind.passes;
  // Small weights fill half of both sides: two streams of rows share the array (read from v6e bundles).
  if (shape->contraction <= mxu.rows / 2 && shape->lanes <= mxu.columns / 2) issues /= 2;
  features.Add(std::string("matmul.") + kind.type, issues * windows.coverage);
  // Held as it lies, rows of the array are filled 16 (bf16) at a time; transposed, its columns are.
  double pushes = shape->held_transposed ? CeilDiv(shape->lanes, kind.rows) * CeilDiv(shape->contraction, kLanes)
                                         : CeilDiv(shape->contraction, kind.rows) * CeilDiv(shape->lanes, kLanes) *
                                               kLanes / mxu.columns;
  pushes *= shape->batch * row_trips * kind.passes;
  features.Add(shape->held_transposed ? "push.transposed" : "push", pushes);

  double out = shape->batch * CeilDiv(shape->rows, kSublanes) * CeilDiv(shape->lanes, kLanes) * windows.coverage;
  features.Add("pop.result", out);
  if (contraction > 1) features.Add("pop.partial", out * (contraction - 1) * kind.passes);
  double streamed = shape->batch * CeilDiv(shape->rows, kSublanes) * CeilDiv(shape->contraction, kLanes);
  if (shape->streamed_transposed) features.Add("stream.transposed", streamed * lane_trips);
  if (shape->swapped) features.Add("pop.swapped", out);
  if (shape->taps > 1.5) features.Add("stream.window", streamed);
  double held = shape->batch * CeilDiv(shape->contraction, kSublanes) * CeilDiv(shape->lanes, kLanes);
  for (int side = 0; side < 2; ++side) {
    const hlo::Shape& operand = instruction.operands[side]->shape;
    bool is_held = (side == 1) != shape->swapped;
    std::string_view type = TypeClass(operand.type);
    if (type == "bf16" || std::string_view(kind.type) != "bf16") continue;
    features.Add("mxu.convert." + std::string(type), (is_held ? held * row_trips : streamed * lane_trips) * kind.passes);
  }
  double left = shape->swapped ? row_trips : lane_trips, right = shape->swapped ? lane_trips : row_trips;
  return {left, right};
}

}  // namespace spillway::compute
