// SPDX-License-Identifier: Apache-2.0
#include "sim/explain/dataflow.h"

#include <algorithm>
#include <functional>

#include "sim/plan/value_table.h"

namespace spillway::explain {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using plan::Item;

/// Copies of copies that are followed; a chain of asynchronous copies is never longer in practice.
constexpr int kMaxCopies = 16;

bool StartsWith(const std::string& text, std::string_view start) {
  return text.compare(0, start.size(), start) == 0;
}

}  // namespace

bool IsContraction(Opcode opcode) {
  return opcode == Opcode::kDot || opcode == Opcode::kConvolution || opcode == Opcode::kRaggedDot ||
         opcode == Opcode::kScaledDot;
}

bool IsLocal(const plan::GraphNode& node) {
  if (node.nested || node.parameter >= 0) return true;
  const Opcode opcode = node.instruction->opcode;
  if (hlo::IsElementwise(opcode) || hlo::IsFree(opcode)) return true;
  switch (opcode) {
    case Opcode::kConvert:
    case Opcode::kCopy:
    case Opcode::kBroadcast:
    case Opcode::kReshape:
    case Opcode::kTranspose:
    case Opcode::kSlice:
    case Opcode::kDynamicSlice:
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kPad:
    case Opcode::kConcatenate:
    case Opcode::kReverse:
    case Opcode::kBitcastConvert:
    case Opcode::kReducePrecision:
    case Opcode::kClamp:
    case Opcode::kSelect:
      return true;
    default:
      return false;
  }
}

Dataflow::Dataflow(const hlo::Module& module, const plan::Program& program) : module_(module), program_(program) {
  instructions_.resize(program.ops.size(), nullptr);
  graphs_.resize(program.ops.size());
  users_.resize(program.ops.size());
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const hlo::Computation* computation = module.Find(program.ops[i].computation);
    if (computation != nullptr) instructions_[i] = computation->Find(program.ops[i].name);
  }
  Walk(program.items);
  const int end = static_cast<int>(program.ops.size()) - 1;
  for (const auto& [root, tensor] : current_) {
    const plan::Buffer& buffer = program.buffers[static_cast<std::size_t>(root)];
    Tensor& last = tensors_[static_cast<std::size_t>(tensor)];
    // An intermediate dies with its last use; what lives to the end without being used there is a result.
    const bool used_last = !last.uses.empty() && last.uses.back().op == end;
    last.result = last.producer >= 0 && buffer.last_op >= end && last.producer <= end && !used_last;
  }
}

int Dataflow::Root(int buffer) const {
  int guard = static_cast<int>(program_.buffers.size());
  while (buffer >= 0 && program_.buffers[static_cast<std::size_t>(buffer)].alias_of >= 0 && guard-- > 0) {
    buffer = program_.buffers[static_cast<std::size_t>(buffer)].alias_of;
  }
  return buffer;
}

void Dataflow::Walk(const std::vector<Item>& items) {
  for (const Item& item : items) {
    if (item.kind == Item::Kind::kLoop) {
      Walk(item.body);   // Twice: what a trip leaves is what the next one reads.
      Walk(item.body);
    } else if (item.kind != Item::Kind::kDone && item.op >= 0) {
      Visit(item.op);
    }
  }
}

int Dataflow::Current(int root) {
  auto at = current_.find(root);
  if (at != current_.end()) return at->second;
  Tensor tensor;
  tensor.buffer = root;
  const std::string& name = program_.buffers[static_cast<std::size_t>(root)].name;
  if (module_.entry != nullptr) {
    for (const Instruction* parameter : module_.entry->parameters) {
      if (parameter != nullptr && StartsWith(name, parameter->name) &&
          (name.size() == parameter->name.size() || name[parameter->name.size()] == '{')) {
        tensor.argument = true;
      }
    }
  }
  tensors_.push_back(tensor);
  const int index = static_cast<int>(tensors_.size()) - 1;
  current_[root] = index;
  return index;
}

void Dataflow::AddUse(int tensor, Use use) {
  std::vector<Use>& uses = tensors_[static_cast<std::size_t>(tensor)].uses;
  const bool known = std::any_of(uses.begin(), uses.end(), [&](const Use& old) {
    return old.op == use.op && old.operand == use.operand;
  });
  if (!known) uses.push_back(use);
}

void Dataflow::Visit(int op) {
  const plan::Op& entry = this->op(op);
  const Instruction* instruction = this->instruction(op);
  if (instruction == nullptr) return;
  std::size_t next = 0;
  for (std::size_t i = 0; i < instruction->operands.size(); ++i) {
    const std::size_t leaves = plan::LeafCount(instruction->operands[i]->shape);
    for (std::size_t leaf = 0; leaf < leaves && next < entry.arguments.size(); ++leaf, ++next) {
      const int root = Root(entry.arguments[next]);
      if (root < 0) continue;
      const int tensor = Current(root);
      AddUse(tensor, {op, static_cast<int>(i)});
      if (leaf == 0) reads_[{op, static_cast<int>(i)}] = tensor;
    }
  }
  for (int element = 0; next < entry.arguments.size(); ++next, ++element) {
    const int root = Root(entry.arguments[next]);
    if (root < 0) continue;
    auto known = writes_.find({op, element});
    if (known != writes_.end()) {
      current_[root] = known->second;
      continue;
    }
    // Pieces of one array that several asynchronous copies bring are one tensor.
    auto now = current_.find(root);
    if (now != current_.end() && IsAsync(op)) {
      const Tensor& before = tensors_[static_cast<std::size_t>(now->second)];
      if (before.producer >= 0 && IsAsync(before.producer) && before.uses.empty()) {
        writes_[{op, element}] = now->second;
        continue;
      }
    }
    Tensor tensor;
    tensor.buffer = root;
    tensor.producer = op;
    tensor.element = element;
    tensors_.push_back(tensor);
    writes_[{op, element}] = current_[root] = static_cast<int>(tensors_.size()) - 1;
  }
}

const plan::FusedGraph& Dataflow::graph(int op) const {
  std::unique_ptr<plan::FusedGraph>& graph = graphs_[static_cast<std::size_t>(op)];
  if (graph == nullptr) {
    const Instruction* instruction = this->instruction(op);
    graph = std::make_unique<plan::FusedGraph>();
    if (instruction != nullptr && !IsAsync(op)) *graph = plan::FlattenKernel(*instruction);
  }
  return *graph;
}

int Dataflow::Read(int op, int operand) const {
  auto at = reads_.find({op, operand});
  return at != reads_.end() ? at->second : -1;
}

int Dataflow::Made(int op, int element) const {
  auto at = writes_.find({op, element});
  return at != writes_.end() ? at->second : -1;
}

std::vector<Value> Dataflow::Definition(int tensor) const {
  for (int copies = 0; tensor >= 0 && copies < kMaxCopies; ++copies) {
    const Tensor& made = tensors_[static_cast<std::size_t>(tensor)];
    if (made.producer < 0) return {};
    if (!IsAsync(made.producer)) {
      const plan::FusedGraph& graph = this->graph(made.producer);
      std::vector<Value> values;
      for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
        if (graph.output_elements[i] == made.element) values.push_back({made.producer, graph.outputs[i]});
      }
      return values;
    }
    tensor = Read(made.producer, 0);
  }
  return {};
}

int Dataflow::Maker(int tensor) const {
  for (int copies = 0; tensor >= 0 && copies < kMaxCopies; ++copies) {
    const int producer = tensors_[static_cast<std::size_t>(tensor)].producer;
    if (producer < 0 || !IsAsync(producer)) return producer;
    tensor = Read(producer, 0);
  }
  return -1;
}

std::vector<Value> Dataflow::Entries(int tensor) const {
  std::vector<Value> entries;
  std::set<int> seen;
  std::function<void(int)> follow = [&](int index) {
    if (index < 0 || !seen.insert(index).second) return;
    for (const Use& use : tensors_[static_cast<std::size_t>(index)].uses) {
      if (IsAsync(use.op)) {
        for (int element = 0; element < 4; ++element) follow(Made(use.op, element));
        continue;
      }
      const plan::FusedGraph& graph = this->graph(use.op);
      for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
        if (graph.nodes[node].parameter == use.operand) entries.push_back({use.op, static_cast<int>(node)});
      }
    }
  };
  follow(tensor);
  return entries;
}

std::vector<int> Dataflow::Consumers(int tensor) const {
  std::set<int> ops;
  std::set<int> seen;
  std::function<void(int)> follow = [&](int index) {
    if (index < 0 || !seen.insert(index).second) return;
    for (const Use& use : tensors_[static_cast<std::size_t>(index)].uses) {
      if (!IsAsync(use.op)) {
        ops.insert(use.op);
        continue;
      }
      for (int element = 0; element < 4; ++element) follow(Made(use.op, element));
    }
  };
  follow(tensor);
  return {ops.begin(), ops.end()};
}

std::vector<Value> Dataflow::Operands(const Value& value) const {
  const plan::GraphNode& node = graph(value.op).nodes[static_cast<std::size_t>(value.node)];
  if (node.parameter >= 0) return Definition(Read(value.op, node.parameter));
  std::vector<Value> operands;
  for (int operand : node.operands) operands.push_back({value.op, operand});
  return operands;
}

std::vector<Value> Dataflow::Users(const Value& value) const {
  const plan::FusedGraph& graph = this->graph(value.op);
  std::unique_ptr<std::vector<std::vector<int>>>& table = users_[static_cast<std::size_t>(value.op)];
  if (table == nullptr) {
    table = std::make_unique<std::vector<std::vector<int>>>(graph.nodes.size());
    for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
      for (int operand : graph.nodes[node].operands) (*table)[static_cast<std::size_t>(operand)].push_back(static_cast<int>(node));
    }
  }
  std::vector<Value> users;
  for (int user : (*table)[static_cast<std::size_t>(value.node)]) users.push_back({value.op, user});
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    if (graph.outputs[i] != value.node) continue;
    const int tensor = Made(value.op, graph.output_elements[i]);
    if (tensor < 0) continue;
    for (const Value& entry : Entries(tensor)) users.push_back(entry);
  }
  return users;
}

}  // namespace spillway::explain
