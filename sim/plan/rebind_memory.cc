// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <unordered_map>

#include "sim/hlo/rebind_rules.h"
#include "sim/plan/aliasing.h"
#include "sim/plan/rebind_plan.h"

namespace spillway::plan {
namespace {

using hlo::ArrayRef;
using hlo::Instruction;
using hlo::Opcode;
using Key = std::pair<const Instruction*, int>;

constexpr std::int64_t kVmemSpace = 1;

/// "copy-start.1{0}" -> the instruction that is no parameter of a fused computation, and the array.
std::optional<Key> Locate(const hlo::Module& module, const std::string& name) {
  std::size_t brace = name.find('{');
  std::string base = name.substr(0, brace);
  std::string index = brace == std::string::npos ? "" : name.substr(brace + 1, name.size() - brace - 2);
  for (const hlo::Computation& computation : module.computations) {
    const Instruction* instruction = computation.Find(base);
    if (instruction == nullptr) continue;
    const hlo::Shape* shape = &instruction->shape;
    int array = 0;
    for (std::size_t at = 0; at < index.size();) {
      std::size_t end = std::min(index.find(',', at), index.size());
      std::size_t member = 0;
      for (std::size_t i = at; i < end; ++i) member = member * 10 + static_cast<std::size_t>(index[i] - '0');
      if (member >= shape->elements.size()) return std::nullopt;
      for (std::size_t i = 0; i < member; ++i) array += static_cast<int>(hlo::ArraysOf(shape->elements[i]).size());
      shape = &shape->elements[member];
      at = end + 1;
    }
    return Key{instruction, array};
  }
  return std::nullopt;
}

/// Arrays that must lie in one memory space.
class Storage {
 public:
  explicit Storage(const hlo::Module& module) : module_(module), rules_(module, request_) {
    for (const auto& [a, b] : rules_.same_value()) Link({a.instruction, a.array}, {b.instruction, b.array});
    for (const hlo::Computation& computation : module.computations) {
      for (const Instruction& instruction : computation.instructions) {
        if (instruction.opcode == Opcode::kDynamicUpdateSlice) Link({instruction.operands[0], 0}, {&instruction, 0});
        if (!IsJoin(instruction)) continue;
        for (const Instruction* part : instruction.operands) Link({part, 0}, {&instruction, 0});
      }
    }
  }

  /// `from` and what shares its storage, as far as it is in VMEM.
  std::vector<Key> ClassOf(Key from) const {
    std::vector<Key> all, todo = {from};
    while (!todo.empty()) {
      Key key = todo.back();
      todo.pop_back();
      if (!InVmem(key) || std::find(all.begin(), all.end(), key) != all.end()) continue;
      all.push_back(key);
      auto it = links_.find(key);
      if (it != links_.end()) todo.insert(todo.end(), it->second.begin(), it->second.end());
    }
    return all;
  }

 private:
  static bool InVmem(Key key) {
    auto arrays = hlo::ArraysOf(key.first->shape);
    if (key.second >= static_cast<int>(arrays.size())) return false;
    const hlo::Shape& shape = *arrays[key.second];
    return shape.has_layout && shape.layout.memory_space == kVmemSpace;
  }
  void Link(Key a, Key b) {
    links_[a].push_back(b);
    links_[b].push_back(a);
  }

  const hlo::Module& module_;
  hlo::RebindRequest request_;
  hlo::DimRules rules_;
  std::map<Key, std::vector<Key>> links_;
};

class Mover {
 public:
  explicit Mover(const hlo::Module& module) : module_(module) {
    for (const hlo::Computation& computation : module.computations) {
      for (const Instruction& instruction : computation.instructions) {
        for (const Instruction* operand : instruction.operands) users_[operand].push_back(&instruction);
      }
    }
  }

  hlo::ModuleEdits Move(const std::vector<Key>& arrays) {
    for (const auto& [instruction, array] : arrays) {
      hlo::InstructionEdit& edit = edits_[instruction];
      if (!edit.shape) edit.shape = instruction->shape;
      hlo::ArraysOf(*edit.shape)[array]->layout.memory_space = 0;
    }
    for (const auto& [instruction, array] : arrays) {
      if (instruction->opcode == Opcode::kCopyStart) DropCopy(*instruction);
      if (IsJoin(*instruction)) DropPieces(*instruction);
    }
    return std::move(edits_);
  }

 private:
  const hlo::Shape& ShapeOf(const Instruction& instruction) const {
    auto it = edits_.find(&instruction);
    return it != edits_.end() && it->second.shape ? *it->second.shape : instruction.shape;
  }
  const std::vector<const Instruction*>& UsersOf(const Instruction& instruction) const {
    static const std::vector<const Instruction*> kNone;
    auto it = users_.find(&instruction);
    return it == users_.end() ? kNone : it->second;
  }

  /// A copy within HBM has no purpose: its result is its source.
  void DropCopy(const Instruction& start) {
    const hlo::Shape& shape = ShapeOf(start);
    if (shape.elements.size() < 2 || !(shape.elements[0] == shape.elements[1])) return;
    for (const Instruction* user : UsersOf(start)) {
      if (user->opcode != Opcode::kCopyDone || user->Attr("control-predecessors")) return;
    }
    Replace(start, *start.operands[0]);
  }

  /// Pieces of one array that were fetched one by one and joined: the join is the array.
  void DropPieces(const Instruction& join) {
    const Instruction* source = nullptr;
    std::vector<const Instruction*> starts;
    for (const Instruction* part : join.operands) {
      if (part->opcode != Opcode::kAsyncDone || UsersOf(*part).size() != 1) return;
      const Instruction* start = part->operands[0];
      if (start->opcode_name != "slice-start" || UsersOf(*start).size() != 1 || start->operands.size() != 1) return;
      if (source != nullptr && source != start->operands[0]) return;
      source = start->operands[0];
      starts.push_back(start);
    }
    if (source == nullptr || hlo::LogicalBytes(source->shape) != hlo::LogicalBytes(join.shape)) return;
    for (const Instruction* start : starts) {
      edits_[start].drop = true;
      edits_[UsersOf(*start)[0]].drop = true;
    }
    edits_[&join].replacement = source;
  }

  void Replace(const Instruction& start, const Instruction& source) {
    edits_[&start].drop = true;
    for (const Instruction* done : UsersOf(start)) edits_[done].replacement = &source;
  }

  const hlo::Module& module_;
  std::unordered_map<const Instruction*, std::vector<const Instruction*>> users_;
  hlo::ModuleEdits edits_;
};

/// A dropped instruction that another one names as its control predecessor must stay.
bool IsNamedAsPredecessor(const hlo::Module& module) {
  for (const hlo::Computation& computation : module.computations) {
    for (const Instruction& instruction : computation.instructions) {
      if (instruction.Attr("control-predecessors")) return true;
    }
  }
  return false;
}

}  // namespace

hlo::ModuleEdits MoveToHbm(const hlo::Module& module, const std::string& name) {
  auto key = Locate(module, name);
  if (!key) return {};
  std::vector<Key> arrays = Storage(module).ClassOf(*key);
  hlo::ModuleEdits edits = Mover(module).Move(arrays);
  if (!IsNamedAsPredecessor(module)) return edits;
  for (auto& [instruction, edit] : edits) {
    edit.drop = false;
    edit.replacement = nullptr;
  }
  return edits;
}

}  // namespace spillway::plan
