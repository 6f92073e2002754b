// SPDX-License-Identifier: Apache-2.0
#include "sim/hlo/flops.h"

#include <algorithm>

#include "sim/hlo/attributes.h"

namespace spillway::hlo {
namespace {

constexpr int kMaxDepth = 64;
constexpr double kMostPairs = 1 << 24;   ///< Output times window positions of one dimension that are looked at one by one.

double Elements(const Shape& shape) { return shape.IsArray() ? static_cast<double>(shape.ElementCount()) : 0; }

std::int64_t SizeAt(const Shape& shape, std::int64_t dim) {
  return dim >= 0 && dim < shape.rank() ? shape.dimensions[static_cast<std::size_t>(dim)] : 1;
}

/// Pairs of output position and window position that meet an element of the input.
double Pairs(std::int64_t outputs, std::int64_t inputs, const WindowDimension& window) {
  if (window.size == 1 && window.padding_low == 0 && window.base_dilation == 1) return static_cast<double>(outputs);
  if (static_cast<double>(outputs) * static_cast<double>(window.size) > kMostPairs) {
    return static_cast<double>(outputs) * static_cast<double>(std::min(window.size, inputs));
  }
  double pairs = 0;
  for (std::int64_t out = 0; out < outputs; ++out) {
    for (std::int64_t w = 0; w < window.size; ++w) {
      const std::int64_t at = out * window.stride - window.padding_low + w * window.window_dilation;
      if (at >= 0 && at % window.base_dilation == 0 && at / window.base_dilation < inputs) ++pairs;
    }
  }
  return pairs;
}

double OfDot(const Instruction& dot) {
  if (dot.operands.size() < 2) return 0;
  double sum = 1;
  for (std::int64_t d : DotOf(dot).lhs_contracting) sum *= static_cast<double>(SizeAt(dot.operands[0]->shape, d));
  return 2 * sum * Elements(dot.shape);
}

double OfConvolution(const Instruction& convolution) {
  const auto labels = ConvolutionOf(convolution);
  if (!labels || convolution.operands.size() < 2) return 0;
  const Shape& input = convolution.operands[0]->shape;
  const Shape& kernel = convolution.operands[1]->shape;
  double flops = 2 * static_cast<double>(SizeAt(convolution.shape, labels->output_batch)) *
                 static_cast<double>(SizeAt(convolution.shape, labels->output_feature)) *
                 static_cast<double>(SizeAt(kernel, labels->kernel_input_feature));
  const auto windows = WindowOf(convolution).value_or(std::vector<WindowDimension>());
  for (std::size_t s = 0; s < labels->output_spatial.size(); ++s) {
    WindowDimension window;
    if (s < windows.size()) window = windows[s];
    window.base_dilation = std::max<std::int64_t>(window.base_dilation, 1);
    flops *= Pairs(SizeAt(convolution.shape, labels->output_spatial[s]),
                   s < labels->input_spatial.size() ? SizeAt(input, labels->input_spatial[s]) : 1, window);
  }
  return flops;
}

/// What an element-by-element opcode does that is no arithmetic.
bool OnlyMoves(Opcode opcode) {
  switch (opcode) {
    case Opcode::kCopy:
    case Opcode::kConvert:
    case Opcode::kBitcastConvert:
    case Opcode::kStochasticConvert:
    case Opcode::kReducePrecision:
    case Opcode::kCompare:
    case Opcode::kSelect:
    case Opcode::kComplex:
    case Opcode::kReal:
    case Opcode::kImag:
    case Opcode::kIsFinite:
      return true;
    default:
      return false;
  }
}

double Count(const Instruction& instruction, int depth) {
  switch (instruction.opcode) {
    case Opcode::kDot:
      return OfDot(instruction);
    case Opcode::kConvolution:
      return OfConvolution(instruction);
    case Opcode::kReduce: {
      double taken = 0;   // Operands are the arrays, then as many initial values.
      for (std::size_t i = 0; i < instruction.operands.size() / 2; ++i) taken += Elements(instruction.operands[i]->shape);
      double results = Elements(instruction.shape);
      for (const Shape& element : instruction.shape.elements) results += Elements(element);
      return std::max(taken - results, 0.0);
    }
    case Opcode::kFusion: {
      double sum = 0;
      if (instruction.called.empty() || depth > kMaxDepth) return 0;
      for (const Instruction& inner : instruction.called.front()->instructions) sum += Count(inner, depth + 1);
      return sum;
    }
    default:
      return IsElementwise(instruction.opcode) && !OnlyMoves(instruction.opcode) ? Elements(instruction.shape) : 0;
  }
}

}  // namespace

double Flops(const Instruction& instruction) { return Count(instruction, 0); }

}  // namespace spillway::hlo
