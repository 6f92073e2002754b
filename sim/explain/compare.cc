// SPDX-License-Identifier: Apache-2.0
#include "sim/explain/compare.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>

namespace spillway::explain {
namespace {

using timeline::OpSummary;
using timeline::Slice;

TimeParts PartsOf(const timeline::Summary& summary) {
  TimeParts parts;
  const double ps_per_cycle = summary.cycles > 0 ? static_cast<double>(summary.makespan_ps) / static_cast<double>(summary.cycles) : 0;
  for (const OpSummary& op : summary.ops) {
    parts.compute += static_cast<Picos>(static_cast<double>(op.compute_cycles) * ps_per_cycle);
    parts.read += op.stall_ps.dma_read;
    parts.write += op.stall_ps.dma_write;
    parts.fill += op.stall_ps.fill;
    parts.drain += op.stall_ps.drain;
    Picos& bound = op.bound == "memory" ? parts.memory_bound : op.bound == "compute" ? parts.compute_bound : parts.latency_bound;
    bound += op.busy_ps;
  }
  parts.other = std::max<Picos>(summary.makespan_ps - parts.compute - parts.read - parts.write - parts.fill - parts.drain, 0);
  return parts;
}

/// Shapes of what each op makes, sorted and joined.
std::map<std::string, std::string> ResultShapes(const timeline::Summary& summary) {
  std::map<std::string, std::vector<std::string>> shapes;
  for (const timeline::BufferSummary& buffer : summary.buffers) {
    // Where it lies and how is what may differ; the array is what is compared.
    shapes[buffer.first_op].push_back(buffer.shape.substr(0, buffer.shape.find('{')));
  }
  std::map<std::string, std::string> joined;
  for (auto& [op, list] : shapes) {
    std::sort(list.begin(), list.end());
    for (const std::string& shape : list) joined[op] += shape + " ";
  }
  return joined;
}

class OpPairing {
 public:
  OpPairing(const timeline::Summary& a, const timeline::Summary& b) : a_(a), b_(b) {
    to_b_.resize(a.ops.size(), -1);
    to_a_.resize(b.ops.size(), -1);
    how_.resize(a.ops.size());
  }
  std::vector<OpPair> Run() {
    Pass("name", [](const timeline::Summary&, const OpSummary& op) { return op.name + " " + op.opcode + " " + op.op_class; });
    Pass("op_name", [](const timeline::Summary&, const OpSummary& op) { return op.op_name.empty() ? "" : op.op_name + " " + op.op_class; });
    const auto shapes_a = ResultShapes(a_), shapes_b = ResultShapes(b_);
    Pass("shape", [&](const timeline::Summary& of, const OpSummary& op) {
      const auto& shapes = &of == &a_ ? shapes_a : shapes_b;
      auto at = shapes.find(op.name);
      return at == shapes.end() || op.op_class == "async" ? "" : op.op_class + " " + at->second;
    });
    std::vector<OpPair> pairs;
    for (std::size_t i = 0; i < to_b_.size(); ++i) pairs.push_back({static_cast<int>(i), to_b_[i], how_[i]});
    for (std::size_t i = 0; i < to_a_.size(); ++i) {
      if (to_a_[i] < 0) pairs.push_back({-1, static_cast<int>(i), ""});
    }
    return pairs;
  }

 private:
  /// Pairs what has the same key and no partner yet, in schedule order.
  void Pass(const char* how, const std::function<std::string(const timeline::Summary&, const OpSummary&)>& key) {
    std::map<std::string, std::vector<int>> waiting;
    for (std::size_t i = b_.ops.size(); i-- > 0;) {
      if (to_a_[i] < 0) waiting[key(b_, b_.ops[i])].push_back(static_cast<int>(i));
    }
    for (std::size_t i = 0; i < a_.ops.size(); ++i) {
      if (to_b_[i] >= 0) continue;
      const std::string name = key(a_, a_.ops[i]);
      auto at = waiting.find(name);
      if (name.empty() || at == waiting.end() || at->second.empty()) continue;
      to_b_[i] = at->second.back();
      to_a_[static_cast<std::size_t>(to_b_[i])] = static_cast<int>(i);
      how_[i] = how;
      at->second.pop_back();
    }
  }

  const timeline::Summary& a_;
  const timeline::Summary& b_;
  std::vector<int> to_b_, to_a_;
  std::vector<std::string> how_;
};

struct Moved {
  std::string shape;
  Bytes read = 0, write = 0;
};
std::map<std::string, Moved> TrafficOf(const Run& run) {
  std::map<std::string, Moved> moved;
  for (const Slice& slice : run.timeline.slices) {
    const bool read = slice.kind == "dma_read", write = slice.kind == "dma_write";
    if ((!read && !write) || slice.buffer < 0 || static_cast<std::size_t>(slice.buffer) >= run.timeline.buffers.size()) continue;
    Moved& tensor = moved[run.timeline.buffers[static_cast<std::size_t>(slice.buffer)]];
    (read ? tensor.read : tensor.write) += slice.bytes;
  }
  for (const timeline::BufferSummary& buffer : run.summary.buffers) {
    auto at = moved.find(buffer.name);
    if (at != moved.end()) at->second.shape = buffer.shape;
  }
  return moved;
}

std::string ArrayOf(const std::string& shape) { return shape.substr(0, shape.find('{')); }

std::vector<TensorTraffic> PairTensors(const Run& a, const Run& b) {
  std::map<std::string, Moved> in_a = TrafficOf(a), in_b = TrafficOf(b);
  std::vector<TensorTraffic> tensors;
  const auto take = [&](const std::string& name_a, const Moved& moved_a, const std::string& name_b, const Moved& moved_b, const char* how) {
    tensors.push_back({name_a, name_b, moved_a.shape.empty() ? moved_b.shape : moved_a.shape, moved_a.read, moved_a.write, moved_b.read, moved_b.write, how});
  };
  for (auto at = in_a.begin(); at != in_a.end();) {
    auto same = in_b.find(at->first);
    if (same == in_b.end() || ArrayOf(same->second.shape) != ArrayOf(at->second.shape)) {
      ++at;
      continue;
    }
    take(at->first, at->second, same->first, same->second, "name");
    in_b.erase(same);
    at = in_a.erase(at);
  }
  for (auto& [name, moved] : in_a) {
    // Argument with argument, intermediate with intermediate: both are written or neither.
    auto same = std::find_if(in_b.begin(), in_b.end(), [&, &moved = moved](const auto& entry) {
      return ArrayOf(entry.second.shape) == ArrayOf(moved.shape) && !moved.shape.empty() && (entry.second.write > 0) == (moved.write > 0) &&
             (entry.second.read > 0) == (moved.read > 0);
    });
    if (same != in_b.end()) {
      take(name, moved, same->first, same->second, "shape");
      in_b.erase(same);
    } else {
      take(name, moved, "", {}, "");
    }
  }
  for (auto& [name, moved] : in_b) take("", {}, name, moved, "");
  std::stable_sort(tensors.begin(), tensors.end(), [](const TensorTraffic& x, const TensorTraffic& y) {
    const auto change = [](const TensorTraffic& t) { return std::llabs(t.read_a + t.write_a - t.read_b - t.write_b); };
    return std::make_pair(change(x), x.read_a + x.write_a) > std::make_pair(change(y), y.read_a + y.write_a);
  });
  return tensors;
}

}  // namespace

Comparison Compare(const Run& a, const Run& b) {
  Comparison comparison;
  comparison.parts_a = PartsOf(a.summary);
  comparison.parts_b = PartsOf(b.summary);
  comparison.ops = OpPairing(a.summary, b.summary).Run();
  comparison.tensors = PairTensors(a, b);
  for (std::size_t i = 0; i < comparison.tensors.size(); ++i) {
    const TensorTraffic& tensor = comparison.tensors[i];
    const bool spilled_a = tensor.read_a > 0 && tensor.write_a > 0, spilled_b = tensor.read_b > 0 && tensor.write_b > 0;
    if (spilled_a && !spilled_b) comparison.vanished.push_back(i);
    if (spilled_b && !spilled_a) comparison.appeared.push_back(i);
  }
  if (a.summary.makespan_ps > 0) {
    comparison.slowdown = static_cast<double>(b.summary.makespan_ps - a.summary.makespan_ps) / static_cast<double>(a.summary.makespan_ps);
  }
  return comparison;
}

}  // namespace spillway::explain
