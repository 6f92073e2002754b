// SPDX-License-Identifier: Apache-2.0
// Typed reading of instruction attributes. Each function takes the raw attribute text; an absent
// or malformed attribute gives an empty optional (the parser has already checked the structure).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/hlo/module.h"

namespace spillway::hlo {

/// `{1,0}` or `{}`.
std::optional<Dims> ParseIntList(std::string_view text);

/// `dimensions={…}` of broadcast, reduce, transpose, reverse, concatenate, iota (`iota_dimension=`).
Dims DimensionsOf(const Instruction& instruction);

/// `window={size=3x3 stride=2x2 pad=1_1x1_1 lhs_dilate=… rhs_dilate=… rhs_reversal=…}`.
struct WindowDimension {
  std::int64_t size = 1, stride = 1, padding_low = 0, padding_high = 0;
  std::int64_t base_dilation = 1, window_dilation = 1;
  bool reversed = false;
};
std::optional<std::vector<WindowDimension>> WindowOf(const Instruction& instruction);

/// `dim_labels=bf_io->bf` / `b01f_01io->b01f`. Positions are dimension numbers.
struct ConvolutionDimensions {
  std::int64_t input_batch = -1, input_feature = -1;
  Dims input_spatial;
  std::int64_t kernel_input_feature = -1, kernel_output_feature = -1;
  Dims kernel_spatial;
  std::int64_t output_batch = -1, output_feature = -1;
  Dims output_spatial;
};
std::optional<ConvolutionDimensions> ConvolutionOf(const Instruction& instruction);

/// `lhs_contracting_dims=…` etc. of a dot.
struct DotDimensions {
  Dims lhs_batch, rhs_batch, lhs_contracting, rhs_contracting;
};
DotDimensions DotOf(const Instruction& instruction);

/// `slice={[0:128:1],[0:64]}`.
struct SliceDimension {
  std::int64_t start = 0, limit = 0, stride = 1;
};
std::optional<std::vector<SliceDimension>> SliceOf(const Instruction& instruction);

/// `padding=0_1x0_0_2` of pad: low_high or low_high_interior per dimension.
struct PadDimension {
  std::int64_t low = 0, high = 0, interior = 0;
};
std::optional<std::vector<PadDimension>> PaddingOf(const Instruction& instruction);

/// `slice_sizes`, `dynamic_slice_sizes`, … any attribute that is a plain integer list or integer.
std::optional<Dims> IntListAttr(const Instruction& instruction, std::string_view name);
std::optional<std::int64_t> IntAttr(const Instruction& instruction, std::string_view name);

/// XLA:TPU's `window_config`: window bounds count tiles, not elements.
struct WindowConfig {
  std::vector<std::int64_t> kernel_bounds, output_bounds, input_bounds, iteration_bounds;
  std::int64_t estimated_cycles = 0;
  std::int64_t buffering_level = 0;  ///< 0: not stated (older dumps), means 2.
};
struct ScopedMemory {
  std::int64_t memory_space = 0;
  Bytes offset = 0, size = 0;
};
/// `backend_config={…}` or `backend_config="…"` as far as Spillway uses it.
struct BackendConfig {
  std::optional<WindowConfig> window;
  std::vector<ScopedMemory> used_scoped_memory;
  std::optional<std::int64_t> known_trip_count;
  std::string json;  ///< The JSON text itself (unescaped if it was a string).
};
/// Empty if absent. A backend_config that is no JSON gives one with only `json` set.
std::optional<BackendConfig> BackendConfigOf(const Instruction& instruction);

}  // namespace spillway::hlo
