// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/streamed_dimensions.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sim/hlo/attributes.h"
#include "sim/plan/transform.h"

namespace spillway::plan {
namespace {

using hlo::Opcode;

/// Dimensions of a contraction that go together: result, left, right; -1 where one has none.
struct Triple {
  int out = -1, left = -1, right = -1;
};

/// Empty if the instruction is no plain (batched) matrix product.
std::vector<Triple> ContractionTriples(const hlo::Instruction& like, int left_rank, int right_rank) {
  std::vector<Triple> triples;
  if (like.opcode == Opcode::kDot) {
    hlo::DotDimensions numbers = hlo::DotOf(like);
    std::vector<char> left(left_rank, 0), right(right_rank, 0);
    int out = 0;
    auto in_range = [](std::int64_t d, int rank) { return d >= 0 && d < rank; };
    for (std::size_t i = 0; i < numbers.lhs_batch.size() && i < numbers.rhs_batch.size(); ++i) {
      if (!in_range(numbers.lhs_batch[i], left_rank) || !in_range(numbers.rhs_batch[i], right_rank)) return {};
      triples.push_back({out++, static_cast<int>(numbers.lhs_batch[i]), static_cast<int>(numbers.rhs_batch[i])});
      left[numbers.lhs_batch[i]] = right[numbers.rhs_batch[i]] = 1;
    }
    for (std::size_t i = 0; i < numbers.lhs_contracting.size() && i < numbers.rhs_contracting.size(); ++i) {
      if (!in_range(numbers.lhs_contracting[i], left_rank) || !in_range(numbers.rhs_contracting[i], right_rank)) return {};
      triples.push_back({-1, static_cast<int>(numbers.lhs_contracting[i]), static_cast<int>(numbers.rhs_contracting[i])});
      left[numbers.lhs_contracting[i]] = right[numbers.rhs_contracting[i]] = 1;
    }
    for (int d = 0; d < left_rank; ++d) {
      if (!left[d]) triples.push_back({out++, d, -1});
    }
    for (int d = 0; d < right_rank; ++d) {
      if (!right[d]) triples.push_back({out++, -1, d});
    }
    return out == like.shape.rank() ? triples : std::vector<Triple>();
  }
  auto labels = hlo::ConvolutionOf(like);
  if (!labels || hlo::IntAttr(like, "feature_group_count").value_or(1) != 1 ||
      hlo::IntAttr(like, "batch_group_count").value_or(1) != 1) {
    return {};
  }
  auto window = hlo::WindowOf(like).value_or(std::vector<hlo::WindowDimension>());
  for (std::size_t s = 0; s < labels->output_spatial.size(); ++s) {
    bool single = s < window.size() && IsBatchLike(window[s].size, window[s].stride, window[s].base_dilation);
    if (!single) return {};
    triples.push_back({static_cast<int>(labels->output_spatial[s]), static_cast<int>(labels->input_spatial[s]),
                       static_cast<int>(labels->kernel_spatial[s])});
  }
  triples.push_back({static_cast<int>(labels->output_batch), static_cast<int>(labels->input_batch), -1});
  triples.push_back({static_cast<int>(labels->output_feature), -1, static_cast<int>(labels->kernel_output_feature)});
  triples.push_back({-1, static_cast<int>(labels->input_feature), static_cast<int>(labels->kernel_input_feature)});
  return triples;
}

class Classes {
 public:
  explicit Classes(StreamGraph& graph) : graph_(graph) {
    int count = 0;
    for (const StreamNode& node : graph.nodes) {
      first_.push_back(count);
      count += node.shape.rank();
    }
    parent_.resize(count);
    std::iota(parent_.begin(), parent_.end(), 0);
    why_.resize(count);
  }

  void Run() {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (graph_.nodes[n].parameter < 0) Visit(static_cast<int>(n));
    }
    Number();
  }

 private:
  int Root(int i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void Fix(int node, int dim, const std::string& why) {
    int root = Root(first_[node] + dim);
    if (why_[root].empty()) why_[root] = why;
  }
  void Join(int a, int a_dim, int b, int b_dim) {
    if (a_dim < 0 || b_dim < 0 || a_dim >= graph_.nodes[a].shape.rank() || b_dim >= graph_.nodes[b].shape.rank()) return;
    int x = Root(first_[a] + a_dim), y = Root(first_[b] + b_dim);
    if (x == y) return;
    parent_[y] = x;
    if (why_[x].empty()) why_[x] = why_[y];
    if (graph_.nodes[a].shape.dimensions[a_dim] != graph_.nodes[b].shape.dimensions[b_dim]) {
      Fix(a, a_dim, fmt::format("'{}' walks dimensions of different length together", graph_.nodes[b].like->name));
    }
  }
  void FixAll(int n) {
    std::string why = fmt::format("'{}' ({}) does not work tile by tile", graph_.nodes[n].like->name, graph_.nodes[n].like->opcode_name);
    for (int d = 0; d < graph_.nodes[n].shape.rank(); ++d) Fix(n, d, why);
    for (int operand : graph_.nodes[n].operands) {
      for (int d = 0; d < graph_.nodes[operand].shape.rank(); ++d) Fix(operand, d, why);
    }
  }

  void Visit(int n) {
    const StreamNode& node = graph_.nodes[n];
    const hlo::Instruction& like = *node.like;
    switch (like.opcode) {
      case Opcode::kConstant:
      case Opcode::kIota:
        return;
      case Opcode::kBroadcast:
        return Broadcast(n);
      case Opcode::kReduce:
        return Reduce(n);
      case Opcode::kDot:
      case Opcode::kConvolution:
        return Contraction(n);
      case Opcode::kTranspose:
        return Transpose(n);
      case Opcode::kBitcast:
      case Opcode::kReshape:
        return Reshape(n);
      default:
        break;
    }
    bool elementwise = hlo::IsElementwise(like.opcode) || like.opcode == Opcode::kConvert || like.opcode == Opcode::kCopy;
    if (!elementwise || like.opcode == Opcode::kBitcastConvert) return FixAll(n);
    for (int operand : node.operands) {
      if (graph_.nodes[operand].shape.rank() != node.shape.rank()) continue;
      for (int d = 0; d < node.shape.rank(); ++d) Join(n, d, operand, d);
    }
  }

  void Broadcast(int n) {
    hlo::Dims dims = hlo::DimensionsOf(*graph_.nodes[n].like);
    if (graph_.nodes[n].operands.empty()) return;
    for (std::size_t d = 0; d < dims.size(); ++d) Join(n, static_cast<int>(dims[d]), graph_.nodes[n].operands[0], static_cast<int>(d));
  }

  void Reduce(int n) {
    if (graph_.nodes[n].operands.size() != 2) return FixAll(n);
    hlo::Dims dims = hlo::DimensionsOf(*graph_.nodes[n].like);
    int operand = graph_.nodes[n].operands[0], out = 0;
    for (int d = 0; d < graph_.nodes[operand].shape.rank(); ++d) {
      if (std::find(dims.begin(), dims.end(), d) == dims.end()) Join(n, out++, operand, d);
    }
  }

  void Contraction(int n) {
    const StreamNode& node = graph_.nodes[n];
    if (node.operands.size() < 2) return FixAll(n);
    int left = node.operands[0], right = node.operands[1];
    auto triples = ContractionTriples(*node.like, graph_.nodes[left].shape.rank(), graph_.nodes[right].shape.rank());
    if (triples.empty()) return FixAll(n);
    for (const Triple& t : triples) {
      if (t.out >= 0 && t.left >= 0) Join(n, t.out, left, t.left);
      if (t.out >= 0 && t.right >= 0) Join(n, t.out, right, t.right);
      if (t.left >= 0 && t.right >= 0) Join(left, t.left, right, t.right);
    }
  }

  void Transpose(int n) {
    hlo::Dims dims = hlo::DimensionsOf(*graph_.nodes[n].like);
    if (graph_.nodes[n].operands.empty()) return;
    for (std::size_t d = 0; d < dims.size(); ++d) Join(n, static_cast<int>(d), graph_.nodes[n].operands[0], static_cast<int>(dims[d]));
  }

  /// Dimensions longer than 1, in the order that the instruction keeps: memory order for a bitcast.
  static std::vector<int> LongDims(const hlo::Shape& shape, bool memory_order) {
    std::vector<int> dims;
    for (int i = 0; i < shape.rank(); ++i) {
      int d = memory_order ? static_cast<int>(shape.MinorDimension(shape.rank() - 1 - i)) : i;
      if (shape.dimensions[d] != 1) dims.push_back(d);
    }
    return dims;
  }

  void Reshape(int n) {
    const StreamNode& node = graph_.nodes[n];
    if (node.operands.empty()) return;
    int operand = node.operands[0];
    bool memory = node.like->opcode == Opcode::kBitcast;
    std::vector<int> to = LongDims(node.shape, memory), from = LongDims(graph_.nodes[operand].shape, memory);
    bool same = to.size() == from.size() && node.shape.type == graph_.nodes[operand].shape.type;
    for (std::size_t i = 0; same && i < to.size(); ++i) {
      same = node.shape.dimensions[to[i]] == graph_.nodes[operand].shape.dimensions[from[i]];
    }
    if (!same) return FixAll(n);
    for (std::size_t i = 0; i < to.size(); ++i) Join(n, to[i], operand, from[i]);
  }

  void Number() {
    std::vector<int> number(parent_.size(), -1);
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      StreamNode& node = graph_.nodes[n];
      for (int d = 0; d < node.shape.rank(); ++d) {
        int root = Root(first_[n] + d);
        if (number[root] < 0) {
          number[root] = static_cast<int>(graph_.class_size.size());
          graph_.class_size.push_back(node.shape.dimensions[d]);
          graph_.class_fixed.push_back(why_[root]);
        }
        node.classes.push_back(number[root]);
      }
    }
    // One array that has a class twice (x times its transpose) cannot be cut along it.
    for (const StreamNode& node : graph_.nodes) {
      for (std::size_t d = 0; d < node.classes.size(); ++d) {
        if (std::count(node.classes.begin(), node.classes.end(), node.classes[d]) > 1) {
          graph_.class_fixed[node.classes[d]] = fmt::format("two dimensions of '{}' are one loop", node.like->name);
        }
      }
    }
  }

  StreamGraph& graph_;
  std::vector<int> first_, parent_;
  std::vector<std::string> why_;
};

}  // namespace

void SetClasses(StreamGraph& graph) { Classes(graph).Run(); }

std::vector<int> StreamGraph::ReducedBy(int n) const {
  const StreamNode& node = nodes[n];
  std::vector<int> reduced;
  bool sums = node.like->opcode == Opcode::kReduce || node.like->opcode == Opcode::kDot || node.like->opcode == Opcode::kConvolution;
  if (node.parameter >= 0 || !sums || node.operands.empty()) return reduced;
  for (int dim_class : nodes[node.operands[0]].classes) {
    if (!Carries(n, dim_class)) reduced.push_back(dim_class);
  }
  return reduced;
}

}  // namespace spillway::plan
