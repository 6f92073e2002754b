// SPDX-License-Identifier: Apache-2.0
// Random modules of fused computations, with the bytes of every array counted here, from the tile sizes of the text alone.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <rapidcheck.h>

#include "sim/base/units.h"

namespace spillway::testing {

/// A node of a random program: an array of [rows, columns], or of [rows].
struct GeneratedNode {
  enum class Op { kArgument, kUnary, kBinary, kBias, kReduce, kSpread, kConvert };
  Op op = Op::kArgument;
  bool matrix = true;
  bool narrow = false;          ///< bf16; else f32.
  std::string word;             ///< Opcode.
  std::vector<int> operands;
  int kernel = -1;              ///< The fusion that it is part of; -1: an argument.
};

/// Nodes in order; kernels are consecutive fusions of consecutive nodes.
class GeneratedModule {
 public:
  std::int64_t rows = 8, columns = 128;
  std::vector<GeneratedNode> nodes;
  int kernels = 1;

  bool IsResult(int n) const {
    if (n + 1 == static_cast<int>(nodes.size())) return true;
    for (const GeneratedNode& node : nodes) {
      for (int operand : node.operands) {
        if (operand == n && node.kernel != nodes[At(n)].kernel) return true;
      }
    }
    return !IsUsed(n);
  }
  bool IsUsed(int n) const {
    return std::any_of(nodes.begin(), nodes.end(), [&](const GeneratedNode& node) {
      return std::find(node.operands.begin(), node.operands.end(), n) != node.operands.end();
    });
  }
  /// Instructions of `kernel` that read `n`, each once.
  int ReadsIn(int n, int kernel) const {
    int reads = 0;
    for (const GeneratedNode& node : nodes) {
      if (node.kernel == kernel && std::find(node.operands.begin(), node.operands.end(), n) != node.operands.end()) ++reads;
    }
    return reads;
  }
  std::vector<int> ResultsOf(int kernel) const {
    std::vector<int> results;
    for (int n = 0; n < static_cast<int>(nodes.size()); ++n) {
      if (nodes[At(n)].kernel == kernel && IsResult(n)) results.push_back(n);
    }
    return results;
  }
  std::vector<int> OperandsOf(int kernel) const {
    std::set<int> operands;
    for (const GeneratedNode& node : nodes) {
      for (int operand : node.operands) {
        if (node.kernel == kernel && nodes[At(operand)].kernel != kernel) operands.insert(operand);
      }
    }
    return {operands.begin(), operands.end()};
  }

  /// Matrices are tiled (8,128), bf16 ones with two rows packed; vectors (1024).
  Bytes BytesOf(int n) const {
    auto up = [](std::int64_t size, std::int64_t tile) { return (size + tile - 1) / tile * tile; };
    const Bytes element = nodes[At(n)].narrow ? 2 : 4;
    return element * (nodes[At(n)].matrix ? up(rows, 8) * up(columns, 128) : up(rows, 1024));
  }

  std::string ShapeOf(int n) const {
    const GeneratedNode& node = nodes[At(n)];
    if (node.matrix) {
      return fmt::format("{}[{},{}]{{1,0:T(8,128){}}}", node.narrow ? "bf16" : "f32", rows, columns, node.narrow ? "(2,1)" : "");
    }
    return fmt::format("{}[{}]{{0:T(1024){}}}", node.narrow ? "bf16" : "f32", rows, node.narrow ? "(128)(2,1)" : "");
  }

  std::string Text() const {
    std::string text = "HloModule generated, is_scheduled=true\n\n";
    for (const char* type : {"f32", "bf16"}) {
      text += fmt::format("%add.{0} (p: {0}[], q: {0}[]) -> {0}[] {{\n  %p.{0} = {0}[] parameter(0)\n  %q.{0} = {0}[] parameter(1)\n"
                          "  ROOT %s.{0} = {0}[] add(%p.{0}, %q.{0})\n}}\n\n", type);
    }
    for (int kernel = 0; kernel < kernels; ++kernel) text += Body(kernel);
    return text + Entry();
  }

 private:
  static std::size_t At(int n) { return static_cast<std::size_t>(n); }

  std::string Tuple(const std::vector<int>& members) const {
    if (members.size() == 1) return ShapeOf(members[0]);
    std::string list;
    for (int n : members) list += (list.empty() ? "" : ", ") + ShapeOf(n);
    return "(" + list + ")";
  }
  static std::string Names(const std::string& prefix, const std::vector<int>& members) {
    std::string list;
    for (int n : members) list += fmt::format("{}%{}{}", list.empty() ? "" : ", ", prefix, n);
    return list;
  }

  std::string Instruction(int n) const {
    const GeneratedNode& node = nodes[At(n)];
    const std::string operands = Names("n", node.operands), shape = ShapeOf(n), type = node.narrow ? "bf16" : "f32";
    switch (node.op) {
      case GeneratedNode::Op::kBias:
        return fmt::format("  %one{0} = {1}[] constant(1)\n  %ones{0} = {2} broadcast(%one{0}), dimensions={{}}\n"
                           "  %n{0} = {2} {3}({4}, %ones{0})\n", n, type, shape, node.word, operands);
      case GeneratedNode::Op::kReduce:
        return fmt::format("  %zero{0} = {1}[] constant(0)\n  %n{0} = {2} reduce({3}, %zero{0}), dimensions={{1}}, to_apply=%add.{1}\n",
                           n, type, shape, operands);
      case GeneratedNode::Op::kSpread:
        return fmt::format("  %n{} = {} broadcast({}), dimensions={{0}}\n", n, shape, operands);
      default:
        return fmt::format("  %n{} = {} {}({})\n", n, shape, node.word, operands);
    }
  }

  std::string Body(int kernel) const {
    const std::vector<int> operands = OperandsOf(kernel), results = ResultsOf(kernel);
    std::string text, parameters;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      parameters += fmt::format("{}p{}: {}", i == 0 ? "" : ", ", operands[i], ShapeOf(operands[i]));
      text += fmt::format("  %n{} = {} parameter({})\n", operands[i], ShapeOf(operands[i]), i);
    }
    for (int n = 0; n < static_cast<int>(nodes.size()); ++n) {
      if (nodes[At(n)].kernel == kernel) text += Instruction(n);
    }
    if (results.size() > 1) {
      text += fmt::format("  ROOT %all{} = {} tuple({})\n", kernel, Tuple(results), Names("n", results));
    } else {
      const std::string line = fmt::format("  %n{} = ", results[0]);
      text.insert(text.rfind(line) + 2, "ROOT ");
    }
    return fmt::format("%fused.{} ({}) -> {} {{\n{}}}\n\n", kernel, parameters, Tuple(results), text);
  }

  std::string Entry() const {
    std::string text, parameters;
    int number = 0;
    for (int n = 0; n < static_cast<int>(nodes.size()); ++n) {
      if (nodes[At(n)].kernel >= 0) continue;
      parameters += fmt::format("{}a{}: {}", number == 0 ? "" : ", ", n, ShapeOf(n));
      text += fmt::format("  %v{} = {} parameter({})\n", n, ShapeOf(n), number++);
    }
    for (int kernel = 0; kernel < kernels; ++kernel) {
      const std::vector<int> results = ResultsOf(kernel);
      const std::string made = results.size() == 1 ? fmt::format("v{}", results[0]) : fmt::format("k{}", kernel);
      text += fmt::format("  %{} = {} fusion({}), kind=kLoop, calls=%fused.{}\n", made, Tuple(results), Names("v", OperandsOf(kernel)), kernel);
      for (std::size_t i = 0; i < results.size() && results.size() > 1; ++i) {
        text += fmt::format("  %v{} = {} get-tuple-element(%k{}), index={}\n", results[i], ShapeOf(results[i]), kernel, i);
      }
    }
    std::vector<int> kept;
    for (int n = 0; n < static_cast<int>(nodes.size()); ++n) {
      if (nodes[At(n)].kernel >= 0 && (!IsUsed(n) || n + 1 == static_cast<int>(nodes.size()))) kept.push_back(n);
    }
    text += fmt::format("  ROOT %results = ({}) tuple({})\n", kept.size() > 1 ? Tuple(kept).substr(1, Tuple(kept).size() - 2) : Tuple(kept),
                        Names("v", kept));
    return fmt::format("ENTRY %main ({}) -> ({}) {{\n{}}}\n", parameters,
                       kept.size() > 1 ? Tuple(kept).substr(1, Tuple(kept).size() - 2) : Tuple(kept), text);
  }
};

/// `chain`: every value has one user, in its own kernel or as the operand of the next, and is read once.
inline GeneratedModule Generate(bool chain, int most_kernels) {
  using Op = GeneratedNode::Op;
  GeneratedModule module;
  module.rows = *rc::gen::inRange<std::int64_t>(1, 3000);
  module.columns = *rc::gen::inRange<std::int64_t>(2, 1500);
  module.kernels = *rc::gen::inRange(1, most_kernels + 1);
  const int arguments = *rc::gen::inRange(1, 4);
  for (int i = 0; i < arguments; ++i) {
    GeneratedNode node;
    node.matrix = i == 0 || *rc::gen::arbitrary<bool>();
    node.narrow = *rc::gen::arbitrary<bool>();
    module.nodes.push_back(node);
  }
  std::vector<int> open;   // Chain: values that nobody has used yet.
  for (int i = 0; i < arguments; ++i) open.push_back(i);
  for (int kernel = 0; kernel < module.kernels; ++kernel) {
    const int length = *rc::gen::inRange(1, 7);
    for (int i = 0; i < length; ++i) {
      auto& from = open;
      const auto pick = static_cast<std::size_t>(*rc::gen::inRange(0, static_cast<int>(from.size())));
      // A chain goes on from its newest value, so that kernels depend on each other.
      int first = chain ? from.back() : from[pick];
      // What is summed and spread again in one kernel may be read in two passes: not a question of fusion.
      if (!chain && module.nodes[static_cast<std::size_t>(first)].kernel == kernel && !module.nodes[static_cast<std::size_t>(first)].matrix) first = 0;
      GeneratedNode node;
      node.kernel = kernel;
      node.operands = {first};
      node.matrix = module.nodes[static_cast<std::size_t>(first)].matrix;
      node.narrow = module.nodes[static_cast<std::size_t>(first)].narrow;
      int second = -1;
      for (int candidate : from) {
        const GeneratedNode& other = module.nodes[static_cast<std::size_t>(candidate)];
        if ((candidate != first || !chain) && other.matrix == node.matrix && other.narrow == node.narrow) second = candidate;
        if (second >= 0 && *rc::gen::arbitrary<bool>()) break;
      }
      node.op = *rc::gen::element(Op::kUnary, Op::kUnary, Op::kBinary, Op::kBinary, Op::kBias, Op::kConvert, node.matrix ? Op::kReduce : Op::kSpread);
      // A fusion's results are of one shape, or reductions of it: no vector is computed beside matrices.
      if (!chain && !node.matrix) node.op = Op::kSpread;
      if (node.op == Op::kBinary && second < 0) node.op = Op::kUnary;
      if (node.op == Op::kUnary) node.word = *rc::gen::element<std::string>("exponential", "negate", "tanh");
      if (node.op == Op::kBinary || node.op == Op::kBias) node.word = *rc::gen::element<std::string>("add", "multiply", "maximum");
      if (node.op == Op::kBinary) node.operands.push_back(second);
      if (node.op == Op::kConvert) {
        node.word = "convert";
        node.narrow = !node.narrow;
      }
      if (node.op == Op::kReduce || node.op == Op::kSpread) node.matrix = !node.matrix;
      module.nodes.push_back(node);
      if (chain) {
        for (int operand : node.operands) open.erase(std::find(open.begin(), open.end(), operand));
      }
      open.push_back(static_cast<int>(module.nodes.size()) - 1);
    }
  }
  return module;
}

}  // namespace spillway::testing
