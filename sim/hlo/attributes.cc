// SPDX-License-Identifier: Apache-2.0
#include "sim/hlo/attributes.h"

#include <algorithm>

#include "sim/hlo/cursor.h"

namespace spillway::hlo {
namespace {

bool ReadInt(Cursor* cursor, std::int64_t* value) { return cursor->Integer(value, "a number"); }

bool Done(Cursor* cursor) {
  cursor->SkipSpace();
  return cursor->AtEnd();
}

// Splits `1x2x3` and hands each part to `read`, which must consume exactly one part.
template <class Read>
bool ForEachByX(Cursor* cursor, Read read) {
  std::size_t i = 0;
  do {
    if (!read(i++)) return false;
  } while (cursor->Consume('x'));
  return true;
}

using WindowField = std::int64_t WindowDimension::*;

bool ReadWindowField(std::string_view name, Cursor* cursor, std::vector<WindowDimension>* window) {
  const auto at = [window](std::size_t i) -> WindowDimension& {
    if (i >= window->size()) window->resize(i + 1);
    return (*window)[i];
  };
  if (name == "pad") {
    return ForEachByX(cursor, [&](std::size_t i) {
      WindowDimension& dimension = at(i);
      return ReadInt(cursor, &dimension.padding_low) && cursor->Consume('_') &&
             ReadInt(cursor, &dimension.padding_high);
    });
  }
  if (name == "rhs_reversal") {
    return ForEachByX(cursor, [&](std::size_t i) {
      std::int64_t value = 0;
      if (!ReadInt(cursor, &value)) return false;
      at(i).reversed = value != 0;
      return true;
    });
  }
  WindowField field = nullptr;
  if (name == "size") field = &WindowDimension::size;
  if (name == "stride") field = &WindowDimension::stride;
  if (name == "lhs_dilate") field = &WindowDimension::base_dilation;
  if (name == "rhs_dilate") field = &WindowDimension::window_dilation;
  if (field == nullptr) return false;
  return ForEachByX(cursor, [&](std::size_t i) { return ReadInt(cursor, &(at(i).*field)); });
}

// One side of dim_labels: letters give special dimensions, digits the spatial ones in their order.
bool ReadLabels(std::string_view labels, char first, char second, std::int64_t* first_at, std::int64_t* second_at,
                Dims* spatial) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const char c = labels[i];
    if (c == first) {
      *first_at = static_cast<std::int64_t>(i);
    } else if (c == second) {
      *second_at = static_cast<std::int64_t>(i);
    } else if (c >= '0' && c <= '9') {
      const auto number = static_cast<std::size_t>(c - '0');
      if (spatial->size() <= number) spatial->resize(number + 1, -1);
      (*spatial)[number] = static_cast<std::int64_t>(i);
    } else if (c != '?') {
      return false;
    }
  }
  return *first_at >= 0 && *second_at >= 0 && std::find(spatial->begin(), spatial->end(), -1) == spatial->end();
}

}  // namespace

std::optional<Dims> ParseIntList(std::string_view text) {
  Cursor cursor(text);
  Dims list;
  if (!cursor.Consume('{')) return std::nullopt;
  if (!cursor.Consume('}')) {
    do {
      std::int64_t value = 0;
      if (!ReadInt(&cursor, &value)) return std::nullopt;
      list.push_back(value);
    } while (cursor.Consume(','));
    if (!cursor.Consume('}')) return std::nullopt;
  }
  if (!Done(&cursor)) return std::nullopt;
  return list;
}

std::optional<std::int64_t> IntAttr(const Instruction& instruction, std::string_view name) {
  const auto text = instruction.Attr(name);
  if (!text) return std::nullopt;
  Cursor cursor(*text);
  std::int64_t value = 0;
  if (!ReadInt(&cursor, &value) || !Done(&cursor)) return std::nullopt;
  return value;
}

std::optional<Dims> IntListAttr(const Instruction& instruction, std::string_view name) {
  const auto text = instruction.Attr(name);
  if (!text) return std::nullopt;
  if (!text->empty() && text->front() == '{') return ParseIntList(*text);
  const auto value = IntAttr(instruction, name);
  if (!value) return std::nullopt;
  Dims list;
  list.push_back(*value);
  return list;
}

Dims DimensionsOf(const Instruction& instruction) {
  if (auto list = IntListAttr(instruction, "dimensions")) return *list;
  return IntListAttr(instruction, "iota_dimension").value_or(Dims());
}

std::optional<std::vector<WindowDimension>> WindowOf(const Instruction& instruction) {
  const auto text = instruction.Attr("window");
  if (!text) return std::nullopt;
  Cursor cursor(*text);
  std::vector<WindowDimension> window;
  if (!cursor.Consume('{')) return std::nullopt;
  while (!cursor.Consume('}')) {
    const std::string_view name = cursor.Name();
    if (name.empty() || !cursor.Consume('=') || !ReadWindowField(name, &cursor, &window)) return std::nullopt;
  }
  if (!Done(&cursor)) return std::nullopt;
  return window;
}

std::optional<ConvolutionDimensions> ConvolutionOf(const Instruction& instruction) {
  const std::string_view text = instruction.Attr("dim_labels").value_or("");
  const std::size_t underscore = text.find('_');
  const std::size_t arrow = text.find("->");
  if (underscore == std::string_view::npos || arrow == std::string_view::npos || arrow < underscore) {
    return std::nullopt;
  }
  ConvolutionDimensions c;
  const bool well =
      ReadLabels(text.substr(0, underscore), 'b', 'f', &c.input_batch, &c.input_feature, &c.input_spatial) &&
      ReadLabels(text.substr(underscore + 1, arrow - underscore - 1), 'i', 'o', &c.kernel_input_feature,
                 &c.kernel_output_feature, &c.kernel_spatial) &&
      ReadLabels(text.substr(arrow + 2), 'b', 'f', &c.output_batch, &c.output_feature, &c.output_spatial);
  if (!well) return std::nullopt;
  return c;
}

DotDimensions DotOf(const Instruction& instruction) {
  DotDimensions dot;
  dot.lhs_batch = IntListAttr(instruction, "lhs_batch_dims").value_or(Dims());
  dot.rhs_batch = IntListAttr(instruction, "rhs_batch_dims").value_or(Dims());
  dot.lhs_contracting = IntListAttr(instruction, "lhs_contracting_dims").value_or(Dims());
  dot.rhs_contracting = IntListAttr(instruction, "rhs_contracting_dims").value_or(Dims());
  return dot;
}

std::optional<std::vector<SliceDimension>> SliceOf(const Instruction& instruction) {
  const auto text = instruction.Attr("slice");
  if (!text) return std::nullopt;
  Cursor cursor(*text);
  std::vector<SliceDimension> slices;
  if (!cursor.Consume('{')) return std::nullopt;
  if (!cursor.Consume('}')) {
    do {
      SliceDimension slice;
      if (!cursor.Consume('[') || !ReadInt(&cursor, &slice.start) || !cursor.Consume(':') ||
          !ReadInt(&cursor, &slice.limit) || (cursor.Consume(':') && !ReadInt(&cursor, &slice.stride)) ||
          !cursor.Consume(']')) {
        return std::nullopt;
      }
      slices.push_back(slice);
    } while (cursor.Consume(','));
    if (!cursor.Consume('}')) return std::nullopt;
  }
  if (!Done(&cursor)) return std::nullopt;
  return slices;
}

std::optional<std::vector<PadDimension>> PaddingOf(const Instruction& instruction) {
  const auto text = instruction.Attr("padding");
  if (!text) return std::nullopt;
  Cursor cursor(*text);
  std::vector<PadDimension> padding;
  if (Done(&cursor)) return padding;
  do {
    PadDimension dimension;
    if (!ReadInt(&cursor, &dimension.low) || !cursor.Consume('_') || !ReadInt(&cursor, &dimension.high) ||
        (cursor.Consume('_') && !ReadInt(&cursor, &dimension.interior))) {
      return std::nullopt;
    }
    padding.push_back(dimension);
  } while (cursor.Consume('x'));
  if (!Done(&cursor)) return std::nullopt;
  return padding;
}

}  // namespace spillway::hlo
