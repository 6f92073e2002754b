// SPDX-License-Identifier: Apache-2.0
#include "sim/explain/excerpt.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <unordered_map>
#include <utility>

#include "sim/base/hash.h"

namespace spillway::explain {
namespace {

using plan::Action;
using plan::Item;

// Steps in which the pipeline settles, and after them those that stand for others, at least.
constexpr std::size_t kSettling = 8, kWindow = 32;
constexpr std::size_t kLongestPeriod = 128;
// Compute of a step is a rounded share of that of the kernel.
constexpr double kAlikeCompute = 0.01;
constexpr Cycles kRounding = 2;

struct StepSketch {
  std::uint64_t before = 0;      ///< Hash of what the flags are due when it begins.
  std::uint64_t transfers = 0;   ///< Hash of what it transfers and waits for.
  Cycles cycles = 0;
};

bool Alike(const StepSketch& a, const StepSketch& b) {
  const auto allowed = std::max(kRounding, static_cast<Cycles>(kAlikeCompute * static_cast<double>(a.cycles)));
  return a.transfers == b.transfers && a.before == b.before && std::abs(a.cycles - b.cycles) <= allowed;
}

/// What tells an action from others of its kind, but for addresses, flags and cycles.
std::array<std::int64_t, 7> What(const Action& action) {
  const plan::Transfer& t = action.transfer;
  switch (action.kind) {
    case Action::Kind::kIssue:
      return {static_cast<std::int64_t>(t.direction), t.chunk_bytes, t.chunks, t.stride, t.outer, t.outer_stride, t.thread};
    case Action::Kind::kCompute: return {action.loads, action.stores};
    case Action::Kind::kStep: return {};
    default: return {action.bytes};
  }
}

class Sketcher {
 public:
  explicit Sketcher(plan::ActionSource& source) {
    Action action;
    while (source.Next(action)) {
      if (action.kind == Action::Kind::kStep) {
        steps_.emplace_back();
        steps_.back().before = due_hash_;
      }
      Add(action);
    }
  }
  const std::vector<StepSketch>& steps() const { return steps_; }

 private:
  void Add(const Action& action) {
    Bytes due = 0;
    if (action.kind == Action::Kind::kIssue) due = action.transfer.bytes();
    if (action.kind == Action::Kind::kFlag) due = action.bytes;
    if (action.kind == Action::Kind::kWait) due = -action.bytes;
    if (due != 0) Due(action.flag, due);
    if (steps_.empty()) return;
    StepSketch& step = steps_.back();
    if (action.kind == Action::Kind::kCompute) {
      step.cycles += action.cycles;
      return;
    }
    step.transfers = Mix(step.transfers, static_cast<std::int64_t>(action.kind));
    for (const std::int64_t value : What(action)) step.transfers = Mix(step.transfers, value);
  }
  void Due(int flag, Bytes change) {
    Bytes& due = due_[flag];
    if (due != 0) due_hash_ -= Mix(Mix(1, flag), due);
    due += change;
    if (due != 0) due_hash_ += Mix(Mix(1, flag), due);
  }

  std::vector<StepSketch> steps_;
  std::unordered_map<int, Bytes> due_;
  std::uint64_t due_hash_ = 0;   ///< Sum over the flags.
};

std::size_t RoundUp(std::size_t value, std::size_t period) { return (value + period - 1) / period * period; }

/// The shortest period at which steps from `from` on repeat for long enough to leave some out.
std::optional<Omission> OmissionFrom(const std::vector<StepSketch>& steps, std::size_t from) {
  for (std::size_t period = 1; period <= kLongestPeriod; ++period) {
    const std::size_t window = from + RoundUp(kSettling, period), begin = window + RoundUp(kWindow, period);
    if (begin + period > steps.size()) return std::nullopt;
    std::size_t end = from;   // Of the stretch, a period later.
    while (end + period < steps.size() && Alike(steps[end], steps[end + period])) ++end;
    if (end < begin) continue;
    const std::size_t periods = (end + period - begin) / period;
    return Omission{static_cast<std::int64_t>(window), static_cast<std::int64_t>(begin),
                    static_cast<std::int64_t>(begin + periods * period)};
  }
  return std::nullopt;
}

class OmittingSource final : public plan::ActionSource {
 public:
  OmittingSource(std::unique_ptr<plan::ActionSource> source, std::vector<Omission> omissions)
      : source_(std::move(source)), omissions_(std::move(omissions)) {}
  bool Next(Action& action) override {
    while (source_->Next(action)) {
      if (action.kind == Action::Kind::kStep) ++step_;
      while (next_ < omissions_.size() && step_ >= omissions_[next_].end) ++next_;
      if (next_ == omissions_.size() || step_ < omissions_[next_].begin) return true;
    }
    return false;
  }
  std::string Failure() const override { return source_->Failure(); }
  bool IsFixed() const override { return source_->IsFixed(); }

 private:
  std::unique_ptr<plan::ActionSource> source_;
  std::vector<Omission> omissions_;
  std::size_t next_ = 0;
  std::int64_t step_ = -1;
};

}  // namespace

std::vector<Omission> FindOmissions(plan::ActionSource& source) {
  if (!source.IsFixed()) return {};
  const Sketcher sketcher(source);
  std::vector<Omission> omissions;
  for (std::size_t from = 0; from < sketcher.steps().size();) {
    const std::optional<Omission> omission = OmissionFrom(sketcher.steps(), from);
    if (omission) omissions.push_back(*omission);
    from = omission ? static_cast<std::size_t>(omission->end) : from + 1;
  }
  return omissions;
}

SourceMaker Omit(SourceMaker source, const std::vector<Omission>& omissions) {
  if (omissions.empty()) return source;
  return [inner = std::move(source), omissions]() -> std::unique_ptr<plan::ActionSource> {
    return std::make_unique<OmittingSource>(inner(), omissions);
  };
}

plan::Program Excerpt(const plan::Op& op, SourceMaker source) {
  plan::Program excerpt;
  excerpt.ops = {op};
  plan::Item kernel;
  kernel.op = 0;
  kernel.source = std::move(source);
  excerpt.items.push_back(std::move(kernel));
  return excerpt;
}

std::uint64_t ContentOf(plan::ActionSource& source) {
  if (!source.IsFixed()) return 0;
  std::uint64_t hash = 1;
  Action action;
  while (source.Next(action)) {
    hash = Mix(Mix(hash, static_cast<std::int64_t>(action.kind)), action.flag);
    if (action.kind == Action::Kind::kCompute) hash = Mix(hash, action.cycles);
    for (const std::int64_t value : What(action)) hash = Mix(hash, value);
  }
  return hash;
}

Picos WholeTime(const std::vector<Omission>& omissions, Picos busy, const timeline::Timeline& timeline) {
  std::vector<Picos> starts;
  for (const timeline::Slice& slice : timeline.slices) {   // By time.
    if (timeline.tracks[static_cast<std::size_t>(slice.track)].kind == timeline::TrackKind::kSteps) starts.push_back(slice.start);
  }
  Picos time = busy;
  std::int64_t before = 0;   // Left out so far.
  for (const Omission& omission : omissions) {
    const auto begin = static_cast<std::size_t>(omission.begin - before), window = static_cast<std::size_t>(omission.window - before);
    if (begin > starts.size()) break;   // Not as it was found: no step of the window is missing.
    const Picos took = (begin < starts.size() ? starts[begin] : busy) - starts[window];
    const std::int64_t omitted = omission.end - omission.begin, stand = omission.begin - omission.window;
    time += static_cast<Picos>(static_cast<double>(took) * static_cast<double>(omitted) / static_cast<double>(stand));
    before += omitted;
  }
  return time;
}

}  // namespace spillway::explain
