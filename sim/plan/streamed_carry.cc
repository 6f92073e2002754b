// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/streamed_carry.h"

#include <fmt/format.h>

#include <algorithm>

namespace spillway::plan {
namespace {

using hlo::Opcode;

bool Contains(const std::vector<int>& list, int value) { return std::find(list.begin(), list.end(), value) != list.end(); }

class Analysis {
 public:
  Analysis(const StreamGraph& graph, int dim_class) : graph_(graph), class_(dim_class), users_(graph.nodes.size()) {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      for (int operand : graph.nodes[n].operands) users_[operand].push_back(static_cast<int>(n));
    }
  }

  Carry Run() {
    std::vector<int> blocked;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      int node = static_cast<int>(n);
      if (!Contains(graph_.ReducedBy(node), class_)) continue;
      carry_.accumulators.push_back(node);
      if (Reaches(node) >= 0) blocked.push_back(node);
    }
    if (blocked.empty()) return carry_;
    carry_.online = true;
    for (int node : blocked) {
      if (Kind(node) == Opcode::kMaximum) Maximum(node);
    }
    for (int node : blocked) {
      if (Kind(node) == Opcode::kMaximum || Contains(carry_.sums, node)) continue;
      Refuse(node, Reaches(node));
    }
    for (int sum : carry_.sums) Sum(sum);
    for (const StreamOutput& output : graph_.outputs) {
      if (Contains(weights_, output.node) || Contains(carry_.divisions, output.node)) Refuse(carry_.maxima.front(), output.node);
    }
    return carry_;
  }

 private:
  const StreamNode& Node(int n) const { return graph_.nodes[n]; }
  Opcode OpcodeOf(int n) const { return Node(n).parameter >= 0 ? Opcode::kParameter : Node(n).like->opcode; }
  bool HasClass(int n) const { return graph_.Carries(n, class_); }

  void Refuse(int reduction, int user) {
    if (!carry_.possible) return;
    carry_.possible = false;
    carry_.why = fmt::format("'{}' must be complete before '{}' can begin", Node(reduction).like->name,
                             user >= 0 ? Node(user).like->name : std::string_view("its user"));
  }

  /// What a reduction combines with: maximum, add, …
  Opcode Kind(int n) const {
    if (OpcodeOf(n) != Opcode::kReduce) return OpcodeOf(n);
    const hlo::Instruction& like = *Node(n).like;
    if (!like.called.empty() && like.called[0]->root != nullptr) return like.called[0]->root->opcode;
    std::string_view region = like.Attr("to_apply").value_or("");
    return region == "%maximum" ? Opcode::kMaximum : region == "%add" ? Opcode::kAdd : Opcode::kReduce;
  }

  /// A node with the dimension that depends on `start`; -1: none.
  int Reaches(int start) const {
    std::vector<char> seen(graph_.nodes.size(), 0);
    seen[start] = 1;
    for (std::size_t n = start + 1; n < graph_.nodes.size(); ++n) {
      for (int operand : Node(static_cast<int>(n)).operands) seen[n] = seen[n] || seen[operand];
      if (seen[n] && HasClass(static_cast<int>(n))) return static_cast<int>(n);
    }
    return -1;
  }

  static bool PassesOn(Opcode opcode) {
    return opcode == Opcode::kConvert || opcode == Opcode::kCopy || opcode == Opcode::kBitcast || opcode == Opcode::kReshape;
  }

  int Strip(int n) const {
    while (PassesOn(OpcodeOf(n)) && !Node(n).operands.empty()) n = Node(n).operands[0];
    return n;
  }

  /// Nodes that hold the value of `start` as it is, converted or (if `spread`) broadcast.
  std::vector<int> Holders(int start, bool spread) const {
    std::vector<int> holders = {start};
    for (std::size_t i = 0; i < holders.size(); ++i) {
      for (int user : users_[holders[i]]) {
        bool passes = PassesOn(OpcodeOf(user)) || (spread && OpcodeOf(user) == Opcode::kBroadcast);
        if (passes && !Contains(holders, user)) holders.push_back(user);
      }
    }
    return holders;
  }

  /// exp(x - max): the weights of a softmax.
  void Maximum(int node) {
    carry_.maxima.push_back(node);
    int of = Strip(Node(node).operands[0]);
    std::vector<int> holders = Holders(node, true);
    for (int holder : holders) {
      for (int user : users_[holder]) {
        if (Contains(holders, user)) continue;
        bool shifts = OpcodeOf(user) == Opcode::kSubtract && Strip(Node(user).operands[0]) == of && Node(user).operands[1] == holder;
        if (shifts) {
          Shifted(node, user);
        } else if (HasClass(user) || Reaches(user) >= 0) {
          Refuse(node, user);
        }
      }
    }
  }

  void Shifted(int maximum, int shifted) {
    std::vector<int> holders = Holders(shifted, false);
    for (int holder : holders) {
      for (int user : users_[holder]) {
        if (Contains(holders, user)) continue;
        if (OpcodeOf(user) == Opcode::kExp) {
          Weights(maximum, user);
        } else {
          Refuse(maximum, user);
        }
      }
    }
  }

  void Weights(int maximum, int exp) {
    std::vector<int> holders = Holders(exp, false);
    weights_.insert(weights_.end(), holders.begin(), holders.end());
    for (int holder : holders) {
      for (int user : users_[holder]) {
        if (Contains(holders, user)) continue;
        bool over = Contains(graph_.ReducedBy(user), class_);
        bool adds = OpcodeOf(user) == Opcode::kReduce && Kind(user) == Opcode::kAdd && over;
        bool product = (OpcodeOf(user) == Opcode::kDot || OpcodeOf(user) == Opcode::kConvolution) && over;
        bool share = OpcodeOf(user) == Opcode::kDivide && Node(user).operands[0] == holder;
        if (adds && !Contains(carry_.sums, user)) carry_.sums.push_back(user);
        if (product) carry_.products.push_back(user);
        if (!adds && !product && !share) Refuse(maximum, user);
      }
    }
  }

  /// Weights over their sum, for contractions only: the division can wait.
  void Sum(int sum) {
    std::vector<int> holders = Holders(sum, true);
    for (int holder : holders) {
      for (int user : users_[holder]) {
        if (Contains(holders, user)) continue;
        bool share = OpcodeOf(user) == Opcode::kDivide && Node(user).operands[1] == holder && Contains(weights_, Node(user).operands[0]);
        if (share) {
          Share(sum, user);
        } else if (HasClass(user) || Reaches(user) >= 0) {
          Refuse(sum, user);
        }
      }
    }
  }

  void Share(int sum, int division) {
    carry_.divisions.push_back(division);
    std::vector<int> holders = Holders(division, false);
    for (int holder : holders) {
      for (int output = 0; output < static_cast<int>(graph_.outputs.size()); ++output) {
        if (graph_.outputs[output].node == holder) Refuse(sum, holder);
      }
      for (int user : users_[holder]) {
        if (Contains(holders, user)) continue;
        bool product = (OpcodeOf(user) == Opcode::kDot || OpcodeOf(user) == Opcode::kConvolution) &&
                       Contains(graph_.ReducedBy(user), class_);
        if (product) carry_.products.push_back(user);
        if (!product) Refuse(sum, user);
      }
    }
  }

  const StreamGraph& graph_;
  int class_;
  std::vector<std::vector<int>> users_;
  std::vector<int> weights_;
  Carry carry_;
};

}  // namespace

Carry CarryOver(const StreamGraph& graph, int dim_class) { return Analysis(graph, dim_class).Run(); }

}  // namespace spillway::plan
