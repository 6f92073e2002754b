// SPDX-License-Identifier: Apache-2.0
#include "sim/hlo/mlir_scalar.h"

#include <algorithm>
#include <string>

namespace spillway::hlo {
namespace {

constexpr int kMaxDepth = 32;
constexpr std::int64_t kMaxValue = std::int64_t{1} << 62;

// Wide enough for the exact result of one operation on 64-bit values.
__extension__ using Wide = __int128;

/// True and the wrapped result clear if the exact result fits.
bool Fits(Wide exact, std::int64_t& out) {
  if (exact > kMaxValue || exact < -kMaxValue) return false;
  out = static_cast<std::int64_t>(exact);
  return true;
}

/// arith.cmpi predicates: eq, ne, slt, sle, sgt, sge, ult, ule, ugt, uge.
bool Compare(std::int64_t predicate, std::int64_t a, std::int64_t b) {
  auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
  switch (predicate) {
    case 0: return a == b;
    case 1: return a != b;
    case 2: return a < b;
    case 3: return a <= b;
    case 4: return a > b;
    case 5: return a >= b;
    case 6: return ua < ub;
    case 7: return ua <= ub;
    case 8: return ua > ub;
    default: return ua >= ub;
  }
}

}  // namespace

int ScalarProgram::Push(Node node) {
  nodes_.push_back(node);
  return static_cast<int>(nodes_.size()) - 1;
}

void ScalarProgram::AddInput(int value) {
  Node node;
  node.op = Op::kInput;
  node.constant = inputs_++;
  node_of_[value] = Push(node);
}

int ScalarProgram::NodeOf(int value) {
  auto it = node_of_.find(value);
  if (it != node_of_.end()) return it->second;
  return node_of_[value] = Push(Node());
}

void ScalarProgram::Add(const MlirOperation& operation, int depth) {
  static const std::map<std::string, Op> kBinary = {
      {"arith.addi", Op::kAdd},          {"arith.subi", Op::kSub},         {"arith.muli", Op::kMul},
      {"arith.divsi", Op::kDiv},         {"arith.divui", Op::kDiv},        {"arith.floordivsi", Op::kFloorDiv},
      {"arith.ceildivsi", Op::kCeilDiv}, {"arith.ceildivui", Op::kCeilDiv}, {"arith.remsi", Op::kRem},
      {"arith.remui", Op::kRem},         {"arith.minsi", Op::kMin},        {"arith.minui", Op::kMin},
      {"arith.maxsi", Op::kMax},         {"arith.maxui", Op::kMax},        {"arith.andi", Op::kAnd},
      {"arith.ori", Op::kOr},            {"arith.xori", Op::kXor},         {"arith.shli", Op::kShl},
      {"arith.shrsi", Op::kShr},         {"arith.cmpi", Op::kCompare}};
  if (operation.results.empty()) return;
  if (operation.name == "scf.if" && depth < kMaxDepth) return AddIf(operation, depth);
  const std::vector<int>& in = operation.operands;
  Node node;
  if (operation.name == "arith.constant") {
    const MlirAttribute* value = module_->Find(operation, "value");
    if (value != nullptr && value->kind == MlirAttribute::Kind::kInteger) {
      node.op = Op::kConstant;
      node.constant = value->integer;
      // A true of one bit is -1 as a signed number.
      const MlirType* type = module_->Type(value->type);
      if (type != nullptr && type->bits == 1) node.constant &= 1;
    }
  } else if (auto it = kBinary.find(operation.name); it != kBinary.end() && in.size() == 2) {
    node.op = it->second;
    node.a = NodeOf(in[0]);
    node.b = NodeOf(in[1]);
    if (node.op == Op::kCompare) {
      auto predicate = module_->Integer(operation, "predicate");
      if (!predicate) node.op = Op::kUnknown;
      node.constant = predicate.value_or(0);
    }
  } else if (operation.name == "arith.select" && in.size() == 3) {
    node.op = Op::kSelect;
    node.a = NodeOf(in[0]);
    node.b = NodeOf(in[1]);
    node.c = NodeOf(in[2]);
  } else if (operation.name == "memref.load" && !in.empty()) {
    node.op = Op::kAssume;
    node.a = in.size() > 1 ? NodeOf(in.back()) : Push({Op::kConstant, 0});
  } else if ((operation.name == "arith.index_cast" || operation.name == "arith.extsi" || operation.name == "arith.extui" ||
              operation.name == "arith.trunci" || operation.name == "tpu.assume_multiple") &&
             !in.empty()) {
    node_of_[operation.results[0]] = NodeOf(in[0]);
    return;
  }
  node_of_[operation.results[0]] = Push(node);
}

void ScalarProgram::AddIf(const MlirOperation& operation, int depth) {
  std::vector<std::vector<int>> yields;
  for (const MlirRegion& region : operation.regions) {
    yields.emplace_back();
    if (region.size() != 1) continue;
    for (const MlirOperation& inner : region[0].operations) {
      if (inner.name == "scf.yield") {
        yields.back() = inner.operands;
      } else {
        Add(inner, depth + 1);
      }
    }
  }
  for (std::size_t i = 0; i < operation.results.size(); ++i) {
    Node node;
    if (yields.size() == 2 && i < yields[0].size() && i < yields[1].size() && operation.operands.size() == 1) {
      node.op = Op::kSelect;
      node.a = NodeOf(operation.operands[0]);
      node.b = NodeOf(yields[0][i]);
      node.c = NodeOf(yields[1][i]);
    }
    node_of_[operation.results[i]] = Push(node);
  }
}

ScalarProgram::Value ScalarProgram::Apply(const Node& node, const Values& values, const std::vector<std::int64_t>& inputs) {
  Value out;
  switch (node.op) {
    case Op::kUnknown: return out;
    case Op::kInput:
      if (node.constant < static_cast<std::int64_t>(inputs.size())) return {inputs[node.constant], true, false};
      return out;
    case Op::kConstant: return {node.constant, true, false};
    case Op::kAssume:
      out = values[node.a];
      out.assumed = true;
      if (!out.known) out = {0, true, true};
      return out;
    case Op::kSelect: {
      const Value& condition = values[node.a];
      if (!condition.known) return out;
      out = condition.value != 0 ? values[node.b] : values[node.c];
      out.assumed = out.assumed || condition.assumed;
      return out;
    }
    default: break;
  }
  const Value &x = values[node.a], &y = values[node.b];
  if (!x.known || !y.known) return out;
  out.known = true;
  out.assumed = x.assumed || y.assumed;
  std::int64_t a = x.value, b = y.value;
  Wide wide = a;
  bool divides = node.op == Op::kDiv || node.op == Op::kFloorDiv || node.op == Op::kCeilDiv || node.op == Op::kRem;
  if ((divides && b == 0) || ((node.op == Op::kShl || node.op == Op::kShr) && (b < 0 || b > 62))) return Value();
  switch (node.op) {
    case Op::kAdd: wide += b; break;
    case Op::kSub: wide -= b; break;
    case Op::kMul: wide *= b; break;
    case Op::kDiv: wide /= b; break;
    case Op::kRem: wide %= b; break;
    case Op::kFloorDiv: wide = wide / b - (wide % b != 0 && (a < 0) != (b < 0) ? 1 : 0); break;
    case Op::kCeilDiv: wide = wide / b + (wide % b != 0 && (a < 0) == (b < 0) ? 1 : 0); break;
    case Op::kMin: wide = std::min(a, b); break;
    case Op::kMax: wide = std::max(a, b); break;
    case Op::kAnd: wide = a & b; break;
    case Op::kOr: wide = a | b; break;
    case Op::kXor: wide = a ^ b; break;
    case Op::kShl: wide *= static_cast<Wide>(1) << b; break;
    case Op::kShr: wide = a >> b; break;
    case Op::kCompare: wide = Compare(node.constant, a, b) ? 1 : 0; break;
    default: return Value();
  }
  if (!Fits(wide, out.value)) return Value();
  return out;
}

ScalarProgram::Values ScalarProgram::Evaluate(const std::vector<std::int64_t>& inputs) const {
  Values values;
  values.reserve(nodes_.size());
  for (const Node& node : nodes_) values.push_back(Apply(node, values, inputs));
  return values;
}

ScalarProgram::Value ScalarProgram::Get(const Values& values, int number) const {
  auto it = node_of_.find(number);
  return it != node_of_.end() && it->second < static_cast<int>(values.size()) ? values[it->second] : Value();
}

}  // namespace spillway::hlo
