// SPDX-License-Identifier: Apache-2.0
#include "sim/hlo/rebind_edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/hlo/attributes.h"
#include "sim/hlo/text_util.h"

namespace spillway::hlo {
namespace {

using nlohmann::ordered_json;

std::int64_t PowerOfTwoUpTo(std::int64_t size, std::int64_t low, std::int64_t high) {
  std::int64_t power = low;
  while (power < size && power < high) power *= 2;
  return power;
}

std::string Base64(std::string_view bytes) {
  static const char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    const std::size_t have = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8U | (k < have ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) out += k <= have ? kDigits[group >> (18 - 6 * k) & 63U] : '=';
  }
  return out;
}

std::string Braced(const std::vector<std::string>& items) { return fmt::format("{{{}}}", fmt::join(items, ", ")); }

/// Whole words of digits.
bool HasNumber(std::string_view text, std::int64_t number) {
  const std::string digits = std::to_string(number);
  for (std::size_t at = text.find(digits); at != std::string_view::npos; at = text.find(digits, at + 1)) {
    const auto digit = [&](std::size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
    if ((at == 0 || !digit(at - 1)) && !digit(at + digits.size())) return true;
  }
  return false;
}

class Editor {
 public:
  Editor(const Module& module, DimRules& rules) : module_(module), rules_(rules), solver_(rules.solver()) {}

  void Instructions() {
    for (const Computation& computation : module_.computations) {
      for (const Instruction& instruction : computation.instructions) Edit(instruction);
    }
  }

  void Loops(const std::vector<RebindLoop>& loops) {
    for (const RebindLoop& loop : loops) {
      if (!solver_.Changed(loop.unknown)) continue;
      const std::int64_t trips = *solver_.Value(loop.unknown);
      if (loop.constant == nullptr) {
        Fail(*loop.loop, fmt::format("the loop must run {} times in place of {}, but its condition states no such limit",
                                     trips, loop.trips));
        continue;
      }
      InstructionEdit& constant = edits_[loop.constant];
      if (constant.literal && *constant.literal != std::to_string(trips)) {
        Fail(*loop.constant, "two loops share this limit and need different ones");
      }
      constant.literal = std::to_string(trips);
      Config(*loop.loop, [&](ordered_json& config) {
        const auto known = config.find("known_trip_count");
        if (known != config.end() && known->is_object()) (*known)["n"] = std::to_string(trips);
      });
    }
  }

  Result<ModuleEdits> Take() {
    if (!errors_.empty()) return errors_;
    return std::move(edits_);
  }

 private:
  void Fail(const Instruction& where, std::string message, std::string hint = "") {
    errors_.push_back(module_.ErrorAt(where, std::move(message), std::move(hint)));
  }

  std::int64_t NewSize(int v) { return solver_.Value(v).value_or(solver_.Old(v)); }

  bool AnyChanged(const Instruction& instruction) {
    for (int i = 0; i < rules_.ArrayCount(instruction); ++i) {
      for (const int v : rules_.Dims(instruction, i)) {
        if (solver_.Changed(v)) return true;
      }
    }
    return false;
  }

  void Edit(const Instruction& instruction) {
    bool operands = false;
    for (const Instruction* operand : instruction.operands) operands = operands || AnyChanged(*operand);
    const bool own = AnyChanged(instruction);
    if (own) NewShape(instruction);
    if (own || operands) Attributes(instruction);
  }

  void NewShape(const Instruction& instruction) {
    Shape shape = instruction.shape;
    int at = 0;
    for (Shape* array : ArraysOf(shape)) {
      const std::vector<int>& dims = rules_.Dims(instruction, at++);
      const Dims old = array->dimensions;
      for (std::size_t d = 0; d < dims.size(); ++d) array->dimensions[d] = NewSize(dims[d]);
      Retile(*array, old);
    }
    if (SizeOverflows(shape)) {
      return Fail(instruction, fmt::format("the new size of '{}' does not fit 62 bits", instruction.name));
    }
    edits_[&instruction].shape = std::move(shape);
  }

  void Attributes(const Instruction& instruction) {
    Opcode opcode = instruction.opcode;
    if (opcode == Opcode::kAsyncStart && instruction.called.empty()) {
      opcode = OpcodeFromName(instruction.opcode_name.substr(0, instruction.opcode_name.rfind('-')));
    }
    switch (opcode) {
      case Opcode::kConstant: Constant(instruction); break;
      case Opcode::kSlice: Slice(instruction); break;
      case Opcode::kPad: Pad(instruction); break;
      case Opcode::kDynamicSlice: DynamicSlice(instruction); break;
      case Opcode::kGather: Gather(instruction); break;
      case Opcode::kConvolution: BatchWindow(instruction); break;
      case Opcode::kCustomCall: CustomCall(instruction); break;
      default: break;
    }
    Config(instruction, [](ordered_json& config) { config.erase("float_type_correction_info"); });
  }

  /// Only constants without printed elements can be longer or shorter.
  void Constant(const Instruction& instruction) {
    if (instruction.literal.find("...") != std::string_view::npos) return;
    Fail(instruction, fmt::format("the constant '{}' lists its elements: it cannot become {}", instruction.name,
                                  ToString(*edits_[&instruction].shape)));
  }

  const std::vector<int>& ResultDims(const Instruction& instruction) {
    // Of an asynchronous start: operands come first.
    int at = 0;
    if (instruction.opcode == Opcode::kAsyncStart) {
      for (const Instruction* operand : instruction.operands) at += rules_.ArrayCount(*operand);
    }
    return rules_.Dims(instruction, at);
  }

  void Slice(const Instruction& instruction) {
    const auto slices = SliceOf(instruction);
    const std::vector<int>&in = rules_.Dims(*instruction.operands[0]), &out = ResultDims(instruction);
    if (!slices || slices->size() != in.size() || out.size() != in.size()) return;
    std::vector<std::string> parts;
    for (std::size_t d = 0; d < in.size(); ++d) {
      SliceDimension s = (*slices)[d];
      const std::int64_t old_in = solver_.Old(in[d]), old_out = solver_.Old(out[d]);
      const std::int64_t now_in = NewSize(in[d]), now_out = NewSize(out[d]);
      if (now_in != old_in || now_out != old_out) {
        __extension__ using Wide = __int128;
        const Wide moved = static_cast<Wide>(s.start) * now_in;
        const bool share = rules_.KeepsShare(instruction, d) && moved % old_in == 0;
        const bool part = old_out > 0 && s.start % old_out == 0 && old_in % old_out == 0 &&
                          now_in == old_in / old_out * now_out;
        if (s.stride != 1) {
          Fail(instruction, "a slice with a stride takes a dimension that changes");
        } else if (part) {
          s.start = s.start / old_out * now_out;
        } else if (share) {
          s.start = static_cast<std::int64_t>(moved / old_in);
        } else if (s.start != 0 && s.limit == old_in && now_out <= now_in) {
          s.start = now_in - now_out;
        } else if (s.start != 0 || now_out > now_in) {
          Fail(instruction, fmt::format("where the slice [{}:{}] begins does not follow for a dimension of {}", s.start,
                                        s.limit, now_in));
        }
        s.limit = s.start + now_out;
      }
      parts.push_back(s.stride == 1 ? fmt::format("[{}:{}]", s.start, s.limit)
                                    : fmt::format("[{}:{}:{}]", s.start, s.limit, s.stride));
    }
    edits_[&instruction].attributes["slice"] = Braced(parts);
  }

  void Pad(const Instruction& instruction) {
    const auto padding = PaddingOf(instruction);
    const std::vector<int>&in = rules_.Dims(*instruction.operands[0]), &out = rules_.Dims(instruction);
    if (!padding || padding->size() != in.size()) return;
    std::vector<std::string> parts;
    for (std::size_t d = 0; d < in.size(); ++d) {
      PadDimension p = (*padding)[d];
      const std::int64_t now_in = NewSize(in[d]);
      const std::int64_t inside = now_in == 0 ? 0 : now_in + (now_in - 1) * p.interior;
      if (now_in != solver_.Old(in[d]) || NewSize(out[d]) != solver_.Old(out[d])) {
        if (p.low != 0 && p.high != 0) Fail(instruction, "which side of the pad changes does not follow");
        (p.high == 0 && p.low != 0 ? p.low : p.high) = NewSize(out[d]) - inside;
      }
      parts.push_back(p.interior == 0 ? fmt::format("{}_{}", p.low, p.high)
                                      : fmt::format("{}_{}_{}", p.low, p.high, p.interior));
    }
    edits_[&instruction].attributes["padding"] = fmt::format("{}", fmt::join(parts, "x"));
  }

  void DynamicSlice(const Instruction& instruction) {
    std::vector<std::string> sizes;
    for (const int v : ResultDims(instruction)) sizes.push_back(std::to_string(NewSize(v)));
    edits_[&instruction].attributes["dynamic_slice_sizes"] = fmt::format("{{{}}}", fmt::join(sizes, ","));
  }

  void Gather(const Instruction& instruction) {
    const auto old = IntListAttr(instruction, "slice_sizes");
    const std::vector<int>& in = rules_.Dims(*instruction.operands[0]);
    if (!old || old->size() != in.size()) return;
    std::vector<std::string> sizes;
    for (std::size_t d = 0; d < in.size(); ++d) {
      const bool whole = (*old)[d] == solver_.Old(in[d]);
      sizes.push_back(std::to_string(whole ? NewSize(in[d]) : (*old)[d]));
    }
    edits_[&instruction].attributes["slice_sizes"] = fmt::format("{{{}}}", fmt::join(sizes, ","));
  }

  /// `window={size=8x8 stride=7x7 lhs_dilate=8x8}` of batch dimensions that are written as spatial ones.
  void BatchWindow(const Instruction& instruction) {
    const auto labels = ConvolutionOf(instruction);
    const auto window = instruction.Attr("window");
    if (!labels || !window) return;
    std::vector<std::string> fields;
    std::string text(window->substr(1, window->size() - 2));
    bool changed = false;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find(' ', at), text.size());
      std::string field = text.substr(at, end - at);
      at = end + 1;
      const std::size_t equals = field.find('=');
      const std::string name = field.substr(0, equals);
      if (name == "size" || name == "stride" || name == "lhs_dilate") {
        std::vector<std::string> numbers;
        std::size_t from = equals + 1;
        for (std::size_t s = 0; s < labels->input_spatial.size(); ++s) {
          const std::size_t stop = std::min(field.find('x', from), field.size());
          const int kernel = rules_.Dims(*instruction.operands[1])[static_cast<std::size_t>(labels->kernel_spatial[s])];
          const std::int64_t size = NewSize(kernel);
          if (solver_.Changed(kernel)) {
            numbers.push_back(std::to_string(name == "stride" ? size - 1 : size));
            changed = true;
          } else {
            numbers.push_back(field.substr(from, stop - from));
          }
          from = stop + 1;
        }
        field = fmt::format("{}={}", name, fmt::join(numbers, "x"));
      }
      if (!field.empty()) fields.push_back(std::move(field));
    }
    if (changed) edits_[&instruction].attributes["window"] = fmt::format("{{{}}}", fmt::join(fields, " "));
  }

  void CustomCall(const Instruction& instruction) {
    if (const auto constraints = instruction.Attr("operand_layout_constraints")) {
      std::vector<std::string> shapes;
      for (const Instruction* operand : instruction.operands) {
        Shape shape = edits_.count(operand) > 0 && edits_[operand].shape ? *edits_[operand].shape : operand->shape;
        for (Shape* array : ArraysOf(shape)) {
          array->layout.tiles.clear();
          array->layout.memory_space = 0;
        }
        shapes.push_back(ToString(shape));
      }
      edits_[&instruction].attributes["operand_layout_constraints"] = Braced(shapes);
    }
    const auto kernel = rules_.kernels().find(&instruction);
    if (kernel != rules_.kernels().end()) Kernel(instruction, kernel->second);
  }

  void Kernel(const Instruction& instruction, const DimRules::Kernel& kernel) {
    std::string body = kernel.windows.text;
    std::vector<std::int64_t> grid;
    for (const int v : kernel.grid) grid.push_back(NewSize(v));
    CheckKernel(instruction, kernel);
    const std::string key = "iteration_bounds = array<i64: ";
    const std::size_t at = body.find(key);
    const std::size_t end = at == std::string::npos ? at : body.find('>', at);
    if (end == std::string::npos) return Fail(instruction, "the code of the kernel states no grid");
    body.replace(at + key.size(), end - at - key.size(), fmt::format("{}", fmt::join(grid, ", ")));
    Config(instruction, [&](ordered_json& config) {
      const auto call = config.find("custom_call_config");
      if (call != config.end() && call->is_object()) (*call)["body"] = Base64(body);
    });
  }

  /// The code must not depend on the sizes that change.
  void CheckKernel(const Instruction& instruction, const DimRules::Kernel& kernel) {
    std::vector<int> sizes;
    for (std::size_t i = 0; i < kernel.windows.windows.size(); ++i) {
      const bool operand = i < instruction.operands.size();
      const std::vector<int>& dims =
          operand ? rules_.Dims(*instruction.operands[i])
                  : rules_.Dims(instruction, static_cast<int>(i - instruction.operands.size()));
      for (std::size_t d = 0; d < dims.size(); ++d) {
        const std::int64_t length = kernel.windows.windows[i][d].length;
        if (solver_.Changed(dims[d]) && NewSize(dims[d]) < length) {
          return Fail(instruction, fmt::format("the windows of the kernel '{}' are {} long, a dimension becomes {}",
                                               instruction.name, length, NewSize(dims[d])),
                      "use a dump compiled for the wanted value");
        }
        if (solver_.Changed(dims[d]) && solver_.Old(dims[d]) != length) sizes.push_back(dims[d]);
      }
    }
    const auto is_length = [&](std::int64_t size) {
      for (const auto& window : kernel.windows.windows) {
        for (const KernelWindows::Dimension& d : window) {
          if (d.length == size) return true;
        }
      }
      return false;
    };
    for (const int v : sizes) {
      // The length of a window stands in the code anyway.
      if (!is_length(solver_.Old(v)) && HasNumber(kernel.windows.text, solver_.Old(v))) {
        return Fail(instruction, fmt::format("the code of the kernel '{}' has the number {}, which may be the dimension "
                                             "that changes", instruction.name, solver_.Old(v)),
                    "use a dump compiled for the wanted value");
      }
    }
    for (const int v : kernel.grid) {
      const std::int64_t bound = solver_.Old(v);
      if (!solver_.Changed(v) || bound < 3) continue;
      for (const std::int64_t number : {bound, bound - 1}) {
        if (kernel.windows.text.find(fmt::format("arith.constant {} : i", number)) == std::string::npos) continue;
        return Fail(instruction, fmt::format("the code of the kernel '{}' has the constant {}, which may be a bound of "
                                             "its grid", instruction.name, number),
                    "use a dump compiled for the wanted value");
      }
    }
  }

  template <class Change>
  void Config(const Instruction& instruction, Change change) {
    const auto raw = instruction.Attr("backend_config");
    if (!raw) return;
    auto& edited = edits_[&instruction].attributes;
    const auto earlier = edited.find("backend_config");
    const std::string text = earlier != edited.end() ? earlier->second : std::string(*raw);
    ordered_json config = ordered_json::parse(Unescape(text), nullptr, false);
    if (!config.is_object()) return;
    change(config);
    const std::string plain = config.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
    edited["backend_config"] = raw->front() == '"' ? Quote(plain) : plain;
  }

  const Module& module_;
  DimRules& rules_;
  DimSolver& solver_;
  ModuleEdits edits_;
  Diagnostics errors_;
};

}  // namespace

void Retile(Shape& shape, const Dims& old_dimensions) {
  if (!shape.has_layout || shape.layout.tiles.empty() || shape.rank() == 0) return;
  auto& tile = shape.layout.tiles.front().dims;
  const int bits = shape.layout.element_size_bits > 0 ? static_cast<int>(shape.layout.element_size_bits)
                                                      : ElementBits(shape.type);
  const std::int64_t packing = std::max<std::int64_t>(1, 32 / std::max(1, bits));
  const auto pick = [&](int minor, std::int64_t low, std::int64_t high, std::int64_t& length) {
    const auto d = static_cast<std::size_t>(shape.MinorDimension(minor));
    if (PowerOfTwoUpTo(old_dimensions[d], low, high) != length) return;
    length = PowerOfTwoUpTo(shape.dimensions[d], low, high);
  };
  if (shape.rank() == 1 && tile.size() == 1) {
    pick(0, 128 * packing, 1024, tile[0]);
  } else if (shape.rank() >= 2 && tile.size() == 2) {
    pick(1, packing, std::max<std::int64_t>(8, tile[0]), tile[0]);
  }
}

Result<ModuleEdits> MakeEdits(const Module& module, DimRules& rules, const std::vector<RebindLoop>& loops) {
  Editor editor(module, rules);
  editor.Instructions();
  editor.Loops(loops);
  return editor.Take();
}

}  // namespace spillway::hlo
