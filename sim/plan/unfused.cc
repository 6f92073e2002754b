// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/unfused.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "sim/hlo/attributes.h"
#include "sim/plan/plan_check.h"
#include "sim/plan/rewriter.h"

namespace spillway::plan {
namespace {

using hlo::Instruction;
using hlo::Opcode;

constexpr int kMaxDepth = 64;
constexpr int kMaxUniform = 64;   ///< Longest expression that is repeated instead of computed once.
constexpr Bytes kSmallestLimit = 64 * kKiB;

class Unfuser : public Rewriter {
 public:
  using Rewriter::Rewriter;

 private:
  struct Uniform;
  /// What an instruction of a fused computation has become.
  struct Value {
    const Instruction* made = nullptr;                       ///< It exists as a value …
    std::shared_ptr<const Uniform> folded;                   ///< … or is the same everywhere …
    std::shared_ptr<const std::vector<Value>> members;       ///< … or is a tuple.
    bool IsTuple() const { return members != nullptr; }
  };
  /// Repeated in each kernel that uses it.
  struct Uniform {
    const Instruction* instruction = nullptr;
    std::vector<Value> operands;
    int depth = 0;
  };

  void Rewrite(const Instruction& instruction, hlo::Computation& to) override {
    if (instruction.opcode != Opcode::kFusion || instruction.called.empty()) {
      Copy(instruction, to);
      return;
    }
    std::vector<Value> arguments;
    for (const Instruction* operand : instruction.operands) arguments.push_back({Now(*operand), nullptr, nullptr});
    fusion_ = &instruction;
    to_ = &to;
    Value root = Inline(*instruction.called.front(), arguments, {&instruction.shape, true}, 0);
    Become(instruction, Result(root, arguments));
  }

  /// Where a value ends up that is a result of the fusion.
  struct Destination {
    const hlo::Shape* shape = nullptr;   ///< Null: it is none.
    bool exact = false;                  ///< It has this shape; else it lies in the memory of it, a bitcast follows.
  };
  using Destinations = std::unordered_map<const Instruction*, Destination>;

  /// Of the values of a computation whose root ends up at `root`.
  static Destinations DestinationsIn(const hlo::Computation& computation, const Destination& root) {
    Destinations found;
    auto add = [&](const Instruction* inner, Destination destination) {
      while (found.emplace(inner, destination).second && inner->opcode == Opcode::kBitcast && !inner->operands.empty()) {
        inner = inner->operands[0];
        destination.exact = false;
      }
    };
    if (computation.root == nullptr || root.shape == nullptr) return found;
    if (computation.root->opcode != Opcode::kTuple || !root.shape->IsTuple()) {
      add(computation.root, root);
      return found;
    }
    const auto& members = computation.root->operands;
    for (std::size_t i = 0; i < members.size() && i < root.shape->elements.size(); ++i) {
      add(members[i], {&root.shape->elements[i], root.exact});
    }
    return found;
  }

  Value Inline(const hlo::Computation& computation, const std::vector<Value>& arguments, const Destination& to, int depth) {
    std::unordered_map<const Instruction*, Value> values;
    const Destinations destinations = DestinationsIn(computation, to);
    for (const Instruction& inner : computation.instructions) {
      auto at = destinations.find(&inner);
      values[&inner] = Make(inner, values, arguments, at != destinations.end() ? at->second : Destination(),
                            depth == 0 && &inner == computation.root, depth);
    }
    return computation.root != nullptr ? values[computation.root] : Value();
  }

  Value Make(const Instruction& inner, std::unordered_map<const Instruction*, Value>& values,
             const std::vector<Value>& arguments, const Destination& place, bool root, int depth) {
    if (inner.opcode == Opcode::kParameter) {
      auto number = static_cast<std::size_t>(inner.parameter_number);
      SPILLWAY_CHECK(number < arguments.size());
      return arguments[number];
    }
    std::vector<Value> operands;
    for (const Instruction* operand : inner.operands) operands.push_back(values[operand]);
    if (inner.opcode == Opcode::kTuple) return {nullptr, nullptr, std::make_shared<std::vector<Value>>(operands)};
    if (inner.opcode == Opcode::kGetTupleElement && !operands.empty() && operands[0].IsTuple() && !operands[0].members->empty()) {
      auto index = static_cast<std::size_t>(hlo::IntAttr(inner, "index").value_or(0));
      return (*operands[0].members)[std::min(index, operands[0].members->size() - 1)];
    }
    if (inner.opcode == Opcode::kFusion && !inner.called.empty() && depth < kMaxDepth) {
      return Inline(*inner.called.front(), operands, place, depth + 1);
    }
    if (IsUniform(inner, operands)) {
      int longest = 0;
      for (const Value& operand : operands) longest = std::max(longest, operand.folded != nullptr ? operand.folded->depth : 0);
      return {nullptr, std::make_shared<Uniform>(Uniform{&inner, operands, longest + 1}), nullptr};
    }
    return {Kernel(inner, operands, place, root), nullptr, nullptr};
  }

  /// The same number at every place, from scalars alone.
  static bool IsUniform(const Instruction& inner, const std::vector<Value>& operands) {
    if (inner.opcode == Opcode::kConstant) return inner.shape.IsArray() && inner.shape.rank() == 0;
    bool keeps = hlo::IsElementwise(inner.opcode) || inner.opcode == Opcode::kBroadcast ||
                 inner.opcode == Opcode::kConvert || inner.opcode == Opcode::kBitcast;
    if (!keeps || operands.empty() || !inner.shape.IsArray()) return false;
    return std::all_of(operands.begin(), operands.end(), [](const Value& value) {
      return value.folded != nullptr ? value.folded->depth < kMaxUniform : IsScalar(value);
    });
  }

  std::string NameOf(const Instruction& inner) const { return fmt::format("{}.{}", fusion_->name, inner.name); }

  static bool IsScalar(const Value& value) {
    if (value.folded != nullptr) return value.folded->instruction->shape.rank() == 0;
    return value.made != nullptr && value.made->shape.IsArray() && value.made->shape.rank() == 0;
  }

  /// Brings a value into the schedule: what is repeated in kernels gets an instruction where one must stand.
  const Instruction* Materialize(const Value& value) {
    if (value.made != nullptr) return value.made;
    SPILLWAY_CHECK(value.folded != nullptr);
    const Instruction& inner = *value.folded->instruction;
    if (inner.opcode == Opcode::kConstant) return Add(inner, NameOf(inner), {}, *to_);
    return Kernel(inner, value.folded->operands, {}, false);
  }

  const Instruction* Kernel(const Instruction& inner, const std::vector<Value>& operands, const Destination& place,
                            bool root) {
    std::set<const Instruction*> seen;
    bool plain = true;
    for (const Value& value : operands) {
      if (value.IsTuple()) return Plain(inner, operands, place, root);
      if (value.folded != nullptr && !IsScalar(value)) plain = false;
      if (value.made != nullptr && !IsScalar(value) && !seen.insert(value.made).second) plain = false;
    }
    return plain || hlo::IsFree(inner.opcode) ? Plain(inner, operands, place, root) : Wrapped(inner, operands, place, root);
  }

  static std::int64_t SpaceOf(const hlo::Shape& shape) { return shape.has_layout ? shape.layout.memory_space : 0; }

  void Place(Instruction& made, const Instruction& inner, const Destination& place) const {
    if (place.shape != nullptr && place.exact) {
      made.shape = *place.shape;
    } else if (place.shape != nullptr && place.shape->IsArray() && made.shape.IsArray()) {
      if (!made.shape.has_layout) made.shape = hlo::WithImpliedTiles(made.shape);
      made.shape.layout.memory_space = SpaceOf(*place.shape);
    } else if (made.shape.has_layout && !inner.shape.IsTuple()) {
      // A bitcast lies where its operand lies; what fusion removed would have been in HBM.
      bool follows = inner.opcode == Opcode::kBitcast && !made.operands.empty() && made.operands[0]->shape.has_layout;
      made.shape.layout.memory_space = follows ? made.operands[0]->shape.layout.memory_space : 0;
    }
  }

  const Instruction* Plain(const Instruction& inner, const std::vector<Value>& operands, const Destination& place, bool root) {
    Operands list;
    for (const Value& value : operands) {
      if (!value.IsTuple()) {
        list.push_back(Materialize(value));
      } else {
        for (const Value& member : *value.members) list.push_back(Materialize(member));
      }
    }
    Instruction* made = Add(inner, root ? std::string(fusion_->name) : NameOf(inner), list, *to_);
    DropAttribute(*made, "backend_config");
    Place(*made, inner, place);
    return made;
  }

  /// A fusion of one instruction and the immediates it uses, each operand taken once.
  const Instruction* Wrapped(const Instruction& inner, const std::vector<Value>& operands, const Destination& place, bool root) {
    hlo::Computation* body = NewComputation(fmt::format("{}.kernel", NameOf(inner)));
    Operands outer;
    std::unordered_map<const void*, const Instruction*> inside;
    Operands list;
    for (const Value& value : operands) list.push_back(Inside(value, *body, outer, inside));
    Instruction* result = Add(inner, std::string(inner.name), list, *body);
    DropAttribute(*result, "backend_config");
    SetRoot(*body, result);
    Instruction fusion;
    fusion.opcode = Opcode::kFusion;
    fusion.opcode_name = hlo::OpcodeName(Opcode::kFusion);
    fusion.shape = inner.shape;
    fusion.offset = inner.offset;
    Instruction* made = Add(fusion, root ? std::string(fusion_->name) : NameOf(inner), outer, *to_);
    made->called.push_back(body);
    bool matmul = inner.opcode == Opcode::kDot || inner.opcode == Opcode::kConvolution;
    SetAttribute(*made, "kind", matmul ? "kOutput" : inner.opcode == Opcode::kReduce ? "kInput" : "kLoop");
    SetAttribute(*made, "calls", "%" + std::string(body->name));
    if (auto metadata = inner.Attr("metadata")) made->attributes.push_back({"metadata", *metadata});
    Place(*made, inner, place);
    result->shape = made->shape;
    return made;
  }

  const Instruction* Inside(const Value& value, hlo::Computation& body, Operands& outer,
                            std::unordered_map<const void*, const Instruction*>& inside) {
    const void* key = value.made != nullptr ? static_cast<const void*>(value.made) : value.folded.get();
    SPILLWAY_CHECK(key != nullptr);
    auto known = inside.find(key);
    if (known != inside.end()) return known->second;
    Instruction* made = nullptr;
    if (value.made != nullptr) {
      made = AddNew(Opcode::kParameter, value.made->shape, fmt::format("operand.{}", outer.size()), {}, body);
      made->parameter_number = static_cast<std::int64_t>(outer.size());
      outer.push_back(value.made);
    } else {
      Operands list;
      for (const Value& operand : value.folded->operands) list.push_back(Inside(operand, body, outer, inside));
      const Instruction& inner = *value.folded->instruction;
      made = Add(inner, std::string(inner.name), list, body);
      DropAttribute(*made, "backend_config");
    }
    return inside[key] = made;
  }

  bool IsArgument(const Instruction* made, const std::vector<Value>& arguments) const {
    while (made->opcode == Opcode::kBitcast && !made->operands.empty()) {
      if (std::any_of(arguments.begin(), arguments.end(), [&](const Value& v) { return v.made == made; })) return true;
      made = made->operands[0];
    }
    return std::any_of(arguments.begin(), arguments.end(), [&](const Value& v) { return v.made == made; });
  }

  const Instruction* ResultArray(const Value& value, const std::vector<Value>& arguments, const hlo::Shape& shape) {
    const Instruction* made = Materialize(value);
    const Instruction* source = made;
    while (source->opcode == Opcode::kBitcast && !source->operands.empty()) source = source->operands[0];
    // A fusion that hands an operand on is a copy of it; two results of one value may lie in two memories.
    if (!IsArgument(made, arguments) && SpaceOf(source->shape) == SpaceOf(shape)) return made;
    return AddNew(Opcode::kCopy, shape, std::string(fusion_->name), {made}, *to_);
  }

  const Instruction* Result(const Value& root, const std::vector<Value>& arguments) {
    if (!root.IsTuple()) return ResultArray(root, arguments, fusion_->shape);
    Operands list;
    for (std::size_t i = 0; i < root.members->size() && fusion_->shape.IsTuple() && i < fusion_->shape.elements.size(); ++i) {
      list.push_back(ResultArray((*root.members)[i], arguments, fusion_->shape.elements[i]));
    }
    return AddNew(Opcode::kTuple, fusion_->shape, std::string(fusion_->name), list, *to_);
  }

  const Instruction* fusion_ = nullptr;
  hlo::Computation* to_ = nullptr;
};

}  // namespace

std::unique_ptr<hlo::Module> UnfuseModule(const hlo::Module& module) { return Unfuser(module).Run(); }

Result<Program> PlanUnfused(const PlanInputs& inputs, Diagnostics& warnings) {
  SPILLWAY_CHECK(inputs.module != nullptr && inputs.chip != nullptr);
  const std::unique_ptr<hlo::Module> module = UnfuseModule(*inputs.module);
  config::ChipConfig chip = *inputs.chip;
  PlanInputs unfused = inputs;
  unfused.module = module.get();
  unfused.chip = &chip;
  for (;;) {
    Diagnostics found;
    Result<Program> program = PlanAsCompiled(unfused, found);
    if (!program.ok()) return program;
    bool fits = PeakVmem(*program) <= chip.vmem.usable || chip.vmem.usable <= 0;
    if (!fits && chip.vmem.scoped_limit / 2 >= kSmallestLimit) {
      chip.vmem.scoped_limit /= 2;
      continue;
    }
    warnings.insert(warnings.end(), found.begin(), found.end());
    program->plan = "unfused";
    for (Op& op : program->ops) op.as_compiled = false;
    program->notes.push_back("every instruction of a fused computation is a kernel of its own; what is the same "
                             "everywhere (constants that are broadcast) is repeated in its users");
    if (chip.vmem.scoped_limit != inputs.chip->vmem.scoped_limit) {
      program->notes.push_back(fmt::format("windows are kept below {} of VMEM beside the buffers that live there",
                                           FormatBytes(chip.vmem.scoped_limit / 2)));
    }
    return program;
  }
}

}  // namespace spillway::plan
