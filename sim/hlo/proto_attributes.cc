// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "hlo/hlo.pb.h"  // generated from hlo.proto
#include "sim/hlo/proto_text.h"
#include "sim/hlo/text_util.h"

namespace spillway::hlo {
namespace {

template <class List>
std::string Braced(const List& list) {
  return fmt::format("{{{}}}", fmt::join(list, ","));
}

template <class List>
void AddList(const char* name, const List& list, std::string* out) {
  *out += fmt::format(", {}={}", name, Braced(list));
}

template <class List>
void AddListIfAny(const char* name, const List& list, std::string* out) {
  if (!list.empty()) AddList(name, list, out);
}

// One `name=AxBxC` of a window; left out when every dimension has the usual value.
template <class Get>
void AddWindowField(const wire::Window& window, const char* name, std::int64_t usual, Get get, std::string* out) {
  const auto& dims = window.dimensions();
  if (std::all_of(dims.begin(), dims.end(), [&](const auto& d) { return get(d) == usual; })) return;
  *out += fmt::format(" {}=", name);
  for (int i = 0; i < dims.size(); ++i) *out += (i > 0 ? "x" : "") + std::to_string(get(dims[i]));
}

std::string WindowText(const wire::Window& window) {
  std::string out;
  AddWindowField(window, "size", -1, [](const auto& d) { return d.size(); }, &out);
  AddWindowField(window, "stride", 1, [](const auto& d) { return d.stride(); }, &out);
  const auto& dims = window.dimensions();
  if (std::any_of(dims.begin(), dims.end(), [](const auto& d) { return d.padding_low() != 0 || d.padding_high() != 0; })) {
    out += " pad=";
    for (int i = 0; i < dims.size(); ++i) {
      out += fmt::format("{}{}_{}", i > 0 ? "x" : "", dims[i].padding_low(), dims[i].padding_high());
    }
  }
  AddWindowField(window, "lhs_dilate", 1, [](const auto& d) { return d.base_dilation(); }, &out);
  AddWindowField(window, "rhs_dilate", 1, [](const auto& d) { return d.window_dilation(); }, &out);
  AddWindowField(window, "rhs_reversal", 0, [](const auto& d) { return std::int64_t{d.window_reversal()}; }, &out);
  return out.empty() ? "{}" : fmt::format("{{{}}}", out.substr(1));
}

template <class List>
std::string Labels(char first, std::int64_t first_at, char second, std::int64_t second_at, const List& spatial) {
  std::string labels(static_cast<std::size_t>(spatial.size()) + 2, '?');
  const auto put = [&labels](std::int64_t at, char c) {
    if (at >= 0 && at < static_cast<std::int64_t>(labels.size())) labels[static_cast<std::size_t>(at)] = c;
  };
  put(first_at, first);
  put(second_at, second);
  for (int i = 0; i < spatial.size(); ++i) put(spatial[i], static_cast<char>('0' + i % 10));
  return labels;
}

std::string ConvolutionText(const wire::ConvolutionDimensions& c) {
  return fmt::format(
      "{}_{}->{}",
      Labels('b', c.input_batch_dimension(), 'f', c.input_feature_dimension(), c.input_spatial_dimensions()),
      Labels('i', c.kernel_input_feature_dimension(), 'o', c.kernel_output_feature_dimension(),
             c.kernel_spatial_dimensions()),
      Labels('b', c.output_batch_dimension(), 'f', c.output_feature_dimension(), c.output_spatial_dimensions()));
}

// XLA prints every stride or none.
std::string SliceText(const wire::Instruction& instruction) {
  std::string out;
  const auto& dims = instruction.slice_dimensions();
  const bool strides = std::any_of(dims.begin(), dims.end(), [](const auto& s) { return s.stride() != 1; });
  for (const auto& s : dims) {
    out += fmt::format("{}[{}:{}", out.empty() ? "" : ", ", s.start(), s.limit());
    out += strides ? fmt::format(":{}]", s.stride()) : "]";
  }
  return "{" + out + "}";
}

std::string PaddingText(const wire::Padding& padding) {
  std::string out;
  const auto& dims = padding.dimensions();
  const bool interior = std::any_of(dims.begin(), dims.end(), [](const auto& d) { return d.interior_padding() != 0; });
  for (const auto& d : dims) {
    out += fmt::format("{}{}_{}", out.empty() ? "" : "x", d.edge_padding_low(), d.edge_padding_high());
    if (interior) out += fmt::format("_{}", d.interior_padding());
  }
  return out;
}

}  // namespace

std::string MetadataText(const wire::OpMetadata& metadata) {
  std::string out;
  if (!metadata.op_type().empty()) out += " op_type=" + Quote(metadata.op_type());
  if (!metadata.op_name().empty()) out += " op_name=" + Quote(metadata.op_name());
  if (!metadata.source_file().empty()) out += " source_file=" + Quote(metadata.source_file());
  if (metadata.source_line() != 0) out += fmt::format(" source_line={}", metadata.source_line());
  if (metadata.stack_frame_id() != 0) out += fmt::format(" stack_frame_id={}", metadata.stack_frame_id());
  return out.empty() ? "" : fmt::format(", metadata={{{}}}", out.substr(1));
}

namespace {

bool PrintsDimensions(const std::string& opcode) {
  constexpr std::array<std::string_view, 11> kOpcodes{
      "broadcast", "reduce", "transpose", "concatenate", "reverse", "sort", "map", "all-gather", "reduce-scatter",
      "get-dimension-size", "set-dimension-size"};
  return std::find(kOpcodes.begin(), kOpcodes.end(), opcode) != kOpcodes.end();
}

void AddIndexing(const wire::Instruction& instruction, std::string* out) {
  if (instruction.has_gather_dimension_numbers()) {
    const auto& g = instruction.gather_dimension_numbers();
    AddList("offset_dims", g.offset_dims(), out);
    AddList("collapsed_slice_dims", g.collapsed_slice_dims(), out);
    AddList("start_index_map", g.start_index_map(), out);
    AddListIfAny("operand_batching_dims", g.operand_batching_dims(), out);
    AddListIfAny("start_indices_batching_dims", g.start_indices_batching_dims(), out);
    *out += fmt::format(", index_vector_dim={}", g.index_vector_dim());
    AddList("slice_sizes", instruction.gather_slice_sizes(), out);
  }
  if (instruction.has_scatter_dimension_numbers()) {
    const auto& s = instruction.scatter_dimension_numbers();
    AddList("update_window_dims", s.update_window_dims(), out);
    AddList("inserted_window_dims", s.inserted_window_dims(), out);
    AddList("scatter_dims_to_operand_dims", s.scatter_dims_to_operand_dims(), out);
    AddListIfAny("input_batching_dims", s.input_batching_dims(), out);
    AddListIfAny("scatter_indices_batching_dims", s.scatter_indices_batching_dims(), out);
    *out += fmt::format(", index_vector_dim={}", s.index_vector_dim());
  }
}

float FromHalf(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const float fraction = static_cast<float>(bits & 1023) / 1024.0f;
  float value = exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1.0f + fraction, exponent - 15);
  if (exponent == 31) value = (bits & 1023) != 0 ? NAN : INFINITY;
  return (bits & 0x8000) != 0 ? -value : value;
}

float FromBrain(std::uint16_t bits) {
  const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  float value = 0;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

template <class T>
std::vector<T> Unpack(const std::string& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

std::string Scalar(double value, bool single) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return single ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
}

std::vector<std::string> Elements(const wire::Literal& l) {
  std::vector<std::string> out;
  const auto integers = [&out](const auto& list) { for (const auto v : list) out.push_back(std::to_string(+v)); };
  for (const bool v : l.preds()) out.push_back(v ? "true" : "false");
  integers(l.s32s());
  integers(l.s64s());
  integers(l.u32s());
  integers(l.u64s());
  integers(Unpack<std::int8_t>(l.s8s()));
  integers(Unpack<std::uint8_t>(l.u8s()));
  integers(Unpack<std::int16_t>(l.s16s()));
  integers(Unpack<std::uint16_t>(l.u16s()));
  for (const float v : l.f32s()) out.push_back(Scalar(v, true));
  for (const double v : l.f64s()) out.push_back(Scalar(v, false));
  for (const std::uint16_t v : Unpack<std::uint16_t>(l.f16s())) out.push_back(Scalar(FromHalf(v), true));
  for (const std::uint16_t v : Unpack<std::uint16_t>(l.bf16s())) out.push_back(Scalar(FromBrain(v), true));
  return out;
}

}  // namespace

std::string LiteralText(const wire::Literal& literal) {
  constexpr std::int64_t kMostPrinted = 256;
  const auto& dims = literal.shape().dimensions();
  std::int64_t count = 1;
  for (const std::int64_t d : dims) {
    if (d < 0 || d > kMostPrinted || (count *= d) > kMostPrinted) return "{...}";
  }
  const std::vector<std::string> elements = Elements(literal);
  if (static_cast<std::int64_t>(elements.size()) != count) return "{...}";  // a type kept packed
  if (dims.empty()) return elements[0];
  if (count == 0) return "{}";
  // Braces open and close where a row of a dimension starts and ends: the innermost closes first.
  std::string out;
  for (std::int64_t i = 0; i < count; ++i) {
    std::string opens, closes;
    std::int64_t row = 1;
    for (int d = dims.size() - 1; d >= 0; --d) {
      const bool innermost = d == dims.size() - 1;
      row *= dims[d];
      if (i % row == 0) opens = (innermost ? "{" : "{ ") + opens;
      if ((i + 1) % row == 0) closes += innermost ? "}" : " }";
    }
    out += (i > 0 ? ", " : "") + opens + elements[static_cast<std::size_t>(i)] + closes;
  }
  return out;
}

std::string AttributesText(const wire::Instruction& instruction) {
  std::string out;
  const std::string& opcode = instruction.opcode();
  if (!instruction.fusion_kind().empty()) out += ", kind=" + instruction.fusion_kind();
  if (opcode == "get-tuple-element") out += fmt::format(", index={}", instruction.tuple_index());
  if (opcode == "iota" && instruction.dimensions_size() > 0) {
    out += fmt::format(", iota_dimension={}", instruction.dimensions(0));
  }
  if (PrintsDimensions(opcode)) AddList("dimensions", instruction.dimensions(), &out);
  if (opcode == "all-to-all") AddListIfAny("dimensions", instruction.dimensions(), &out);
  if (instruction.window().dimensions_size() > 0) out += ", window=" + WindowText(instruction.window());
  if (instruction.has_convolution_dimension_numbers()) {
    out += ", dim_labels=" + ConvolutionText(instruction.convolution_dimension_numbers());
  }
  if (instruction.feature_group_count() > 1) {
    out += fmt::format(", feature_group_count={}", instruction.feature_group_count());
  }
  if (instruction.batch_group_count() > 1) {
    out += fmt::format(", batch_group_count={}", instruction.batch_group_count());
  }
  if (instruction.has_dot_dimension_numbers()) {
    const auto& dot = instruction.dot_dimension_numbers();
    AddListIfAny("lhs_batch_dims", dot.lhs_batch_dimensions(), &out);
    AddList("lhs_contracting_dims", dot.lhs_contracting_dimensions(), &out);
    AddListIfAny("rhs_batch_dims", dot.rhs_batch_dimensions(), &out);
    AddList("rhs_contracting_dims", dot.rhs_contracting_dimensions(), &out);
  }
  AddIndexing(instruction, &out);
  if (opcode == "slice") out += ", slice=" + SliceText(instruction);
  AddListIfAny("dynamic_slice_sizes", instruction.dynamic_slice_sizes(), &out);
  if (opcode == "dynamic-slice" && instruction.dynamic_slice_sizes().empty()) out += ", dynamic_slice_sizes={}";
  if (opcode == "pad") out += ", padding=" + PaddingText(instruction.padding_config());
  if (!instruction.comparison_direction().empty()) out += ", direction=" + instruction.comparison_direction();
  if (instruction.comparison_type() == "TOTALORDER") out += ", type=TOTALORDER";
  if (opcode == "custom-call") out += ", custom_call_target=" + Quote(instruction.custom_call_target());
  if (instruction.channel_id() > 0) out += fmt::format(", channel_id={}", instruction.channel_id());
  if (instruction.is_stable()) out += ", is_stable=true";
  if (instruction.k() > 0) out += fmt::format(", k={}, largest={}", instruction.k(), instruction.largest());
  if (instruction.optional_cross_program_prefetch_index_case() != 0) {
    out += fmt::format(", cross_program_prefetch_index={}", instruction.cross_program_prefetch_index());
  }
  if (!instruction.async_execution_thread().empty() && instruction.async_execution_thread() != "main") {
    out += ", async_execution_thread=" + Quote(instruction.async_execution_thread());
  }
  return out;
}

}  // namespace spillway::hlo
