// SPDX-License-Identifier: Apache-2.0
#include "sim/hlo/rebind_dims.h"

#include <fmt/format.h>

#include <algorithm>

namespace spillway::hlo {
namespace {

constexpr std::int64_t kMaxSize = std::int64_t{1} << 62;
constexpr std::size_t kMaxErrors = 5;
constexpr const char* kHint = "state which parameter dimensions bind, for example 'dimensions: {q: [0]}'";

std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Empty if it overflows.
std::optional<std::int64_t> Times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product) || product > kMaxSize) return std::nullopt;
  return product;
}

/// Length of the output of a window over `size` elements.
std::int64_t WindowCount(std::int64_t size, const WindowDimension& w) {
  const std::int64_t dilated = size == 0 ? 0 : (size - 1) * w.base_dilation + 1;
  const std::int64_t padded = dilated + w.padding_low + w.padding_high;
  const std::int64_t window = (w.size - 1) * w.window_dilation + 1;
  return padded < window ? 0 : (padded - window) / std::max<std::int64_t>(w.stride, 1) + 1;
}

}  // namespace

int DimSolver::New(std::int64_t old, const Instruction* origin) {
  const int v = count();
  old_.push_back(old);
  parent_.push_back(v);
  value_.emplace_back();
  origin_.push_back(origin);
  return v;
}

int DimSolver::Root(int v) {
  while (parent_[static_cast<std::size_t>(v)] != v) {
    int& up = parent_[static_cast<std::size_t>(v)];
    up = parent_[static_cast<std::size_t>(up)];
    v = up;
  }
  return v;
}

void DimSolver::Fail(const Instruction* where, std::string message, std::string hint) {
  if (errors_.size() >= kMaxErrors) return;
  Diagnostic error = where == nullptr ? Error(std::move(message), std::move(hint))
                                      : module_.ErrorAt(*where, std::move(message), std::move(hint));
  errors_.push_back(std::move(error));
}

void DimSolver::Set(int v, std::int64_t value, const Instruction* where) {
  std::optional<std::int64_t>& slot = value_[static_cast<std::size_t>(Root(v))];
  if (!slot) {
    slot = value;
  } else if (*slot != value) {
    Fail(where,
         fmt::format("a dimension of {} must become both {} and {} at '{}'", Old(v), *slot, value,
                     where == nullptr ? "" : where->name),
         kHint);
  }
}

void DimSolver::Equal(int a, int b, const Instruction* where) {
  if (Old(a) != Old(b)) return;
  a = Root(a);
  b = Root(b);
  if (a == b) return;
  const std::optional<std::int64_t> other = value_[static_cast<std::size_t>(b)];
  parent_[static_cast<std::size_t>(b)] = a;
  if (other) Set(a, *other, where);
}

void DimSolver::Product(std::vector<int> a, std::vector<int> b, const Instruction* where) {
  if (a.size() == 1 && b.size() == 1) return Equal(a[0], b[0], where);
  relations_.push_back({Kind::kProduct, std::move(a), std::move(b), 1, {}, where});
}

void DimSolver::Count(int count, int size, std::int64_t unit, const Instruction* where) {
  if (unit == 1) return Equal(count, size, where);
  relations_.push_back({Kind::kCount, {count}, {size}, unit, {}, where});
}

void DimSolver::Sum(int total, std::vector<int> parts, const Instruction* where) {
  relations_.push_back({Kind::kSum, {total}, std::move(parts), 1, {}, where});
}

void DimSolver::Window(int out, int in, const WindowDimension& window, const Instruction* where) {
  relations_.push_back({Kind::kWindow, {out}, {in}, 1, window, where});
}

void DimSolver::Partial(int out, int in, const Instruction* where) {
  relations_.push_back({Kind::kPartial, {out}, {in}, 1, {}, where});
}

bool DimSolver::ApplyProduct(const Relation& relation) {
  std::int64_t known[2] = {1, 1};
  int open = -1, open_side = 0, unknown = 0;
  for (int side = 0; side < 2; ++side) {
    for (const int v : side == 0 ? relation.a : relation.b) {
      if (const auto value = Value(v)) {
        const auto product = Times(known[side], *value);
        if (!product) {
          Fail(relation.where, "the new sizes overflow");
          return false;
        }
        known[side] = *product;
      } else {
        ++unknown;
        open = v;
        open_side = side;
      }
    }
  }
  const std::string what = fmt::format("'{}' regroups dimensions", relation.where->opcode_name);
  if (unknown == 0) {
    if (known[0] != known[1]) {
      Fail(relation.where, fmt::format("{}, but {} elements become {}", what, known[0], known[1]), kHint);
    }
    return false;
  }
  if (unknown > 1) return false;
  const std::int64_t total = known[1 - open_side], rest = known[open_side];
  if (rest == 0 || total % rest != 0) {
    Fail(relation.where, fmt::format("{}: {} cannot be divided by {}", what, total, rest),
         "choose a value that is a multiple of the block size");
    return false;
  }
  Set(open, total / rest, relation.where);
  return true;
}

bool DimSolver::ApplyCount(const Relation& relation) {
  const int count = relation.a[0], size = relation.b[0];
  if (Known(size)) {
    const bool news = !Known(count);
    Set(count, CeilDiv(*Value(size), relation.unit), relation.where);
    return news;
  }
  // Backwards only where nothing was rounded up.
  if (!Known(count) || Old(size) % relation.unit != 0) return false;
  const auto product = Times(*Value(count), relation.unit);
  if (!product) return false;
  Set(size, *product, relation.where);
  return true;
}

bool DimSolver::ApplySum(const Relation& relation) {
  std::int64_t sum = 0;
  int open = -1;
  std::int64_t unknown = 0;
  for (const int v : relation.b) {
    if (const auto value = Value(v)) {
      sum += *value;
    } else {
      if (open >= 0 && !Same(open, v)) return false;
      ++unknown;
      open = v;
    }
  }
  if (unknown == 0) {
    const bool news = !Known(relation.a[0]);
    Set(relation.a[0], sum, relation.where);
    return news;
  }
  if (!Known(relation.a[0])) return false;
  const std::int64_t rest = *Value(relation.a[0]) - sum;
  if (rest < 0 || rest % unknown != 0) {
    Fail(relation.where, fmt::format("a dimension of {} cannot be cut into its {} parts", *Value(relation.a[0]),
                                     relation.b.size()), kHint);
    return false;
  }
  Set(open, rest / unknown, relation.where);
  return true;
}

bool DimSolver::ApplyWindow(const Relation& relation) {
  const int out = relation.a[0], in = relation.b[0];
  if (!Known(in)) return false;
  const bool news = !Known(out);
  if (!Changed(in)) {
    Set(out, Old(out), relation.where);
    return news;
  }
  if (relation.window.size == Old(in) && relation.window.size > 1) {
    Fail(relation.where, fmt::format("a window of {} covers a dimension that becomes {}", relation.window.size,
                                     *Value(in)));
    return false;
  }
  Set(out, WindowCount(*Value(in), relation.window), relation.where);
  return news;
}

bool DimSolver::Apply(const Relation& relation) {
  switch (relation.kind) {
    case Kind::kProduct: return ApplyProduct(relation);
    case Kind::kCount: return ApplyCount(relation);
    case Kind::kSum: return ApplySum(relation);
    case Kind::kWindow: return ApplyWindow(relation);
    case Kind::kPartial: break;
  }
  const int out = relation.a[0], in = relation.b[0];
  if (Known(out) || !Known(in) || Changed(in)) return false;
  Set(out, Old(out), relation.where);
  return true;
}

void DimSolver::Propagate() {
  for (bool news = true; news && errors_.empty();) {
    news = false;
    for (const Relation& relation : relations_) {
      news = Apply(relation) || news;
      if (!errors_.empty()) return;
    }
  }
}

bool DimSolver::SplitOne(std::vector<std::string>& assumptions) {
  for (const Relation& relation : relations_) {
    if (relation.kind != Kind::kProduct) continue;
    for (const bool swap : {false, true}) {
      const std::vector<int>& whole = swap ? relation.b : relation.a;
      const std::vector<int>& parts = swap ? relation.a : relation.b;
      if (!std::all_of(whole.begin(), whole.end(), [&](int v) { return Known(v); })) continue;
      const auto open = std::find_if(parts.begin(), parts.end(), [&](int v) { return !Known(v); });
      if (open == parts.end()) continue;
      const bool changed = std::any_of(whole.begin(), whole.end(), [&](int v) { return Changed(v); });
      for (auto part = open + 1; part != parts.end(); ++part) {
        if (Known(*part) || Same(*part, *open)) continue;
        if (changed && Old(*part) > 1) {
          assumptions.push_back(fmt::format("'{}': {} blocks of {}: their size is kept, their number changes",
                                            relation.where->name, Old(*open), Old(*part)));
        }
        Fix(*part, relation.where);
      }
      if (!changed) Fix(*open, relation.where);
      const bool done = ApplyProduct(relation);
      if (!errors_.empty()) return false;
      if (done || !changed) return true;
    }
  }
  return false;
}

void DimSolver::Solve(std::vector<std::string>& assumptions) {
  Propagate();
  while (errors_.empty() && SplitOne(assumptions)) Propagate();
}

void DimSolver::RequireComplete() {
  for (const Relation& relation : relations_) {
    if (relation.kind != Kind::kPartial || Known(relation.a[0]) || !Changed(relation.b[0])) continue;
    Fail(relation.where,
         fmt::format("'{}' takes {} of a dimension that becomes {} from {}: whether the part keeps its size or its "
                     "share does not follow",
                     relation.where->opcode_name, Old(relation.a[0]), *Value(relation.b[0]), Old(relation.b[0])));
  }
}

std::vector<int> DimSolver::Hanging() {
  std::vector<bool> hangs(old_.size(), false);
  const auto moves = [&](int v) { return Changed(v) || hangs[static_cast<std::size_t>(Root(v))]; };
  for (bool news = true; news;) {
    news = false;
    for (const Relation& relation : relations_) {
      bool any = false;
      for (const auto* side : {&relation.a, &relation.b}) any = any || std::any_of(side->begin(), side->end(), moves);
      if (!any) continue;
      for (const auto* side : {&relation.a, &relation.b}) {
        for (const int v : *side) {
          if (Known(v) || hangs[static_cast<std::size_t>(Root(v))]) continue;
          hangs[static_cast<std::size_t>(Root(v))] = news = true;
        }
      }
    }
  }
  std::vector<int> found;
  for (int v = 0; v < count(); ++v) {
    if (Root(v) == v && hangs[static_cast<std::size_t>(v)]) found.push_back(v);
  }
  return found;
}

}  // namespace spillway::hlo
