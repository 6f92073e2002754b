// SPDX-License-Identifier: Apache-2.0
#include "sim/hlo/proto_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "hlo/hlo.pb.h"  // generated from hlo.proto
#include "sim/hlo/cursor.h"
#include "sim/hlo/text_util.h"

namespace spillway::hlo {
namespace {

// PrimitiveType of xla_data.proto.
ElementType TypeOf(int primitive) {
  using E = ElementType;
  constexpr std::array<E, 35> kTypes{
      E::kInvalid, E::kPred, E::kS8, E::kS16, E::kS32, E::kS64, E::kU8, E::kU16, E::kU32, E::kU64, E::kF16, E::kF32,
      E::kF64, E::kTuple, E::kOpaque, E::kC64, E::kBF16, E::kToken, E::kC128, E::kF8E5M2, E::kF8E4M3FN, E::kS4,
      E::kU4, E::kF8E4M3B11FNUZ, E::kF8E5M2FNUZ, E::kF8E4M3FNUZ, E::kS2, E::kU2, E::kF8E4M3, E::kF8E3M4, E::kS1,
      E::kU1, E::kF4E2M1FN, E::kF8E8M0FNU, E::kBuffer};
  return primitive < 0 || primitive >= static_cast<int>(kTypes.size()) ? E::kInvalid
                                                                      : kTypes[static_cast<std::size_t>(primitive)];
}

Shape ShapeOf(const wire::Shape& wire) {
  Shape shape;
  shape.type = TypeOf(wire.element_type());
  for (const auto& element : wire.tuple_shapes()) shape.elements.push_back(ShapeOf(element));
  for (int i = 0; i < wire.dimensions_size(); ++i) {
    const bool dynamic = i < wire.is_dynamic_dimension_size() && wire.is_dynamic_dimension(i);
    if (dynamic && i < kMaxRank) shape.dynamic_mask |= std::uint64_t{1} << i;
    shape.dimensions.push_back(wire.dimensions(i) < 0 ? kUnboundedDimension : wire.dimensions(i));
  }
  if (!wire.has_layout() || !shape.IsArray()) return shape;
  const wire::Layout& layout = wire.layout();
  // XLA prints no layout for a plain scalar.
  const bool plain = layout.tiles_size() == 0 && layout.memory_space() == 0 && layout.element_size_in_bits() == 0 &&
                     layout.tail_padding_alignment_in_elements() <= 1;
  if (plain && shape.rank() == 0) return shape;
  shape.has_layout = true;
  shape.layout.minor_to_major.assign(layout.minor_to_major().begin(), layout.minor_to_major().end());
  for (const auto& tile : layout.tiles()) {
    shape.layout.tiles.emplace_back();
    // The smallest integer stands for `*`.
    for (const std::int64_t d : tile.dimensions()) shape.layout.tiles.back().dims.push_back(d < 0 ? Tile::kCombine : d);
  }
  shape.layout.memory_space = layout.memory_space();
  shape.layout.element_size_bits = layout.element_size_in_bits();
  shape.layout.tail_padding_alignment = std::max<std::int64_t>(1, layout.tail_padding_alignment_in_elements());
  shape.layout.metadata_prefix_bytes = layout.dynamic_shape_metadata_prefix_bytes();
  return shape;
}

bool IsName(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return chars::Is(c, chars::kName); });
}

using Names = std::unordered_map<std::int64_t, std::string>;
using ById = std::unordered_map<std::int64_t, const wire::Instruction*>;

// A conditional on a pred has two branches with names of their own.
bool BranchesOnPred(const wire::Instruction& instruction, const ById& by_id) {
  if (instruction.operand_ids().empty()) return false;
  const auto selector = by_id.find(instruction.operand_ids(0));
  return selector != by_id.end() && TypeOf(selector->second->shape().element_type()) == ElementType::kPred;
}

class Writer {
 public:
  explicit Writer(const wire::Module& module) : module_(module) {}

  Result<std::string> Write() {
    out_ = fmt::format("HloModule {}{}\n\n", IsName(module_.name()) ? module_.name() : "module",
                       module_.has_schedule() ? ", is_scheduled=true" : "");
    for (const auto& computation : module_.computations()) computations_[computation.id()] = computation.name();
    for (const auto& computation : module_.computations()) WriteComputation(computation);
    if (!problem_.empty()) return Error(problem_);
    return out_;
  }

 private:
  void Fail(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }

  std::string NameOf(const Names& names, std::int64_t id, std::string_view what) {
    const auto found = names.find(id);
    if (found != names.end()) return found->second;
    Fail(fmt::format("{} with id {} does not exist", what, id));
    return "missing";
  }

  void WriteComputation(const wire::Computation& computation) {
    if (!IsName(computation.name())) return Fail(fmt::format("'{}' is no computation name", computation.name()));
    const bool entry = module_.entry_computation_id() != 0 ? computation.id() == module_.entry_computation_id()
                                                           : computation.name() == module_.entry_computation_name();
    ById by_id;
    Names names;
    for (const auto& instruction : computation.instructions()) {
      if (!IsName(instruction.name())) return Fail(fmt::format("'{}' is no instruction name", instruction.name()));
      by_id[instruction.id()] = &instruction;
      names[instruction.id()] = instruction.name();
    }
    out_ += fmt::format("{}%{} {{\n", entry ? "ENTRY " : "", computation.name());
    const auto sequence = module_.schedule().sequences().find(computation.id());
    if (sequence != module_.schedule().sequences().end()) {
      for (const std::int64_t id : sequence->second.instruction_ids()) {
        const auto found = by_id.find(id);
        if (found == by_id.end()) return Fail(fmt::format("the schedule names an unknown instruction {}", id));
        WriteInstruction(*found->second, names, by_id, id == computation.root_id());
      }
    } else {
      for (const auto& instruction : computation.instructions()) {
        WriteInstruction(instruction, names, by_id, instruction.id() == computation.root_id());
      }
    }
    out_ += "}\n\n";
  }

  void WriteInstruction(const wire::Instruction& instruction, const Names& names, const ById& by_id, bool root) {
    const Shape shape = ShapeOf(instruction.shape());
    if (!IsName(instruction.opcode())) return Fail(fmt::format("'{}' is no opcode", instruction.opcode()));
    out_ += fmt::format("  {}%{} = {} {}(", root ? "ROOT " : "", instruction.name(), ToString(shape),
                        instruction.opcode());
    if (instruction.opcode() == "parameter") {
      out_ += std::to_string(instruction.parameter_number());
    } else if (instruction.opcode() == "constant") {
      out_ += shape.IsArray() ? LiteralText(instruction.literal()) : "{...}";
    } else {
      for (int i = 0; i < instruction.operand_ids_size(); ++i) {
        out_ += (i > 0 ? ", %" : "%") + NameOf(names, instruction.operand_ids(i), "an operand");
      }
    }
    out_ += ')';
    out_ += AttributesText(instruction);
    WriteCallees(instruction, by_id);
    WritePredecessors(instruction, names);
    out_ += MetadataText(instruction.metadata());
    WriteBackendConfig(instruction.backend_config());
    out_ += '\n';
  }

  void WriteCallees(const wire::Instruction& instruction, const ById& by_id) {
    std::vector<std::string> names;
    for (const std::int64_t id : instruction.called_computation_ids()) names.push_back(NameOf(computations_, id, "a computation"));
    if (names.empty()) return;
    const std::string& opcode = instruction.opcode();
    const auto add = [this](std::string_view attribute, const std::string& name) {
      out_ += fmt::format(", {}=%{}", attribute, name);
    };
    if (opcode == "while" && names.size() == 2) {
      add("condition", names[1]);
      add("body", names[0]);
    } else if (opcode == "select-and-scatter" && names.size() == 2) {
      add("select", names[0]);
      add("scatter", names[1]);
    } else if (opcode == "conditional" && names.size() == 2 && BranchesOnPred(instruction, by_id)) {
      add("true_computation", names[0]);
      add("false_computation", names[1]);
    } else if (opcode == "conditional") {
      out_ += fmt::format(", branch_computations={{%{}}}", fmt::join(names, ", %"));
    } else if (opcode == "custom-call") {
      out_ += fmt::format(", called_computations={{%{}}}", fmt::join(names, ", %"));
    } else if (opcode == "fusion" || opcode.rfind("async-", 0) == 0) {
      add("calls", names[0]);
    } else {
      add("to_apply", names[0]);
    }
  }

  void WritePredecessors(const wire::Instruction& instruction, const Names& names) {
    if (instruction.control_predecessor_ids().empty()) return;
    std::vector<std::string> before;
    for (const std::int64_t id : instruction.control_predecessor_ids()) before.push_back(NameOf(names, id, "a predecessor"));
    out_ += fmt::format(", control-predecessors={{%{}}}", fmt::join(before, ", %"));
  }

  // JSON objects stand bare in the text, anything else in quotes.
  void WriteBackendConfig(const std::string& config) {
    if (config.empty()) return;
    const bool bare = config.front() == '{' && nlohmann::json::accept(config);
    out_ += ", backend_config=" + (bare ? config : Quote(config));
  }

  const wire::Module& module_;
  Names computations_;
  std::string out_;
  std::string problem_;
};

}  // namespace

Result<std::string> ToText(const wire::Module& module) { return Writer(module).Write(); }

}  // namespace spillway::hlo
