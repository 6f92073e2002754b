// SPDX-License-Identifier: Apache-2.0
#include "sim/compute/mosaic_schedule.h"

#include <algorithm>
#include <map>

#include "sim/hlo/mlir_scalar.h"

namespace spillway::compute {
namespace {

using hlo::MlirBlock;
using hlo::MlirOperation;
using hlo::MlirRegion;
using Value = hlo::ScalarProgram::Value;

constexpr std::int64_t kMaxSamples = 1 << 14;
constexpr int kMaxDepth = 64;

bool StartsWith(const std::string& text, const char* prefix) { return text.rfind(prefix, 0) == 0; }

/// Work that must stay although nothing uses a result.
bool HasEffect(const MlirOperation& op) {
  return op.results.empty() || !op.regions.empty() || StartsWith(op.name, "tpu.enqueue") || StartsWith(op.name, "tpu.wait") ||
         StartsWith(op.name, "tpu.sem");
}

class Scheduler {
 public:
  explicit Scheduler(const hlo::MosaicBody& body) : body_(body), program_(body.module) {}

  MosaicSchedule Run() {
    for (int index : body_.indices) program_.AddInput(index);
    const MlirOperation& main = *body_.Main();
    for (const MlirRegion& region : main.regions) Collect(region, 0);
    Sample();
    for (const MlirRegion& region : main.regions) FindLive(region);
    std::vector<double> once(samples_.size(), 1.0);
    for (const MlirRegion& region : main.regions) Walk(region, once, 0);
    return std::move(schedule_);
  }

 private:
  /// Scalars of the whole body, and the ones that control flow looks at.
  void Collect(const MlirRegion& region, int depth) {
    if (depth > kMaxDepth) return;
    for (const MlirBlock& block : region) {
      for (const MlirOperation& op : block.operations) {
        if (op.name == "scf.if" || op.name == "scf.for") {
          for (int operand : op.operands) watched_[operand] = 0;
        }
        for (const MlirRegion& inner : op.regions) Collect(inner, depth + 1);
        // Results of loops stay unknown; an scf.if was entered above and only selects here.
        if (op.name != "scf.for" && op.name != "scf.while") program_.Add(op);
      }
    }
  }

  void Sample() {
    double steps = 1;
    for (std::int64_t bound : body_.iteration_bounds) steps *= static_cast<double>(bound);
    schedule_.steps = steps;
    bool all = steps <= static_cast<double>(kMaxSamples);
    auto count = all ? static_cast<std::int64_t>(steps) : kMaxSamples;
    share_ = steps / static_cast<double>(count);
    std::size_t slot = 0;
    for (auto& [value, number] : watched_) number = slot++;
    std::uint64_t random = 0x9e3779b97f4a7c15ULL;
    for (std::int64_t i = 0; i < count; ++i) {
      std::vector<std::int64_t> indices(body_.iteration_bounds.size(), 0);
      std::int64_t rest = i;
      for (std::size_t a = indices.size(); a-- > 0;) {
        std::int64_t bound = body_.iteration_bounds[a];
        if (!all) {
          random ^= random << 13, random ^= random >> 7, random ^= random << 17;
          rest = static_cast<std::int64_t>(random >> 2);
        }
        indices[a] = rest % bound;
        rest /= bound;
      }
      hlo::ScalarProgram::Values values = program_.Evaluate(indices);
      std::vector<Value> kept;
      for (const auto& [value, number] : watched_) kept.push_back(program_.Get(values, value));
      samples_.push_back(std::move(kept));
    }
  }

  void FindLive(const MlirRegion& region) {
    for (auto block = region.rbegin(); block != region.rend(); ++block) {
      for (auto op = block->operations.rbegin(); op != block->operations.rend(); ++op) {
        for (const MlirRegion& inner : op->regions) FindLive(inner);
        if (HasEffect(*op) || IsLive(*op)) live_.insert(op->operands.begin(), op->operands.end());
      }
    }
  }

  bool IsLive(const MlirOperation& op) const {
    return std::any_of(op.results.begin(), op.results.end(), [&](int r) { return live_.count(r) != 0; });
  }

  void Blame(const char* why) {
    if (schedule_.why.empty()) schedule_.why = why;
  }

  void Walk(const MlirRegion& region, const std::vector<double>& weights, int depth) {
    if (depth > kMaxDepth) return Blame("control flow that is nested too deeply");
    if (region.size() > 1) Blame("a kernel with branches between blocks");
    double total = 0;
    for (double weight : weights) total += weight;
    for (const MlirBlock& block : region) {
      for (const MlirOperation& op : block.operations) {
        if (op.name == "scf.if" && op.operands.size() == 1) {
          If(op, weights, depth);
        } else if (op.name == "scf.for" && op.operands.size() >= 3) {
          For(op, weights, depth);
        } else if (!op.regions.empty()) {
          if (op.name != "tpu.region" && op.name != "tpu.trace") Blame("a loop whose length depends on data");
          for (const MlirRegion& inner : op.regions) Walk(inner, weights, depth + 1);
        } else if (HasEffect(op) || IsLive(op)) {
          schedule_.operations.push_back({&op, total * share_});
        }
      }
    }
  }

  const Value& Watched(std::size_t sample, int value) const { return samples_[sample][watched_.at(value)]; }

  void If(const MlirOperation& op, const std::vector<double>& weights, int depth) {
    std::vector<double> taken = weights, other(weights.size(), 0.0);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const Value& condition = Watched(i, op.operands[0]);
      if (!condition.known || condition.assumed) {
        Blame("a branch that depends on data");
      } else if (condition.value == 0) {
        std::swap(taken[i], other[i]);
      }
    }
    for (std::size_t r = 0; r < op.regions.size(); ++r) Walk(op.regions[r], r == 0 ? taken : other, depth + 1);
  }

  void For(const MlirOperation& op, const std::vector<double>& weights, int depth) {
    std::vector<double> inner = weights;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const Value &lower = Watched(i, op.operands[0]), &upper = Watched(i, op.operands[1]), &step = Watched(i, op.operands[2]);
      bool known = lower.known && upper.known && step.known && !lower.assumed && !upper.assumed && step.value > 0;
      if (!known) {
        Blame("a loop whose length depends on data");
        continue;
      }
      double length = static_cast<double>(upper.value) - static_cast<double>(lower.value);
      double trips = length <= 0 ? 0 : (length + static_cast<double>(step.value) - 1) / static_cast<double>(step.value);
      inner[i] *= static_cast<double>(static_cast<std::int64_t>(std::min(trips, 1e12)));
    }
    for (const MlirRegion& region : op.regions) Walk(region, inner, depth + 1);
  }

  const hlo::MosaicBody& body_;
  hlo::ScalarProgram program_;
  std::map<int, std::size_t> watched_;
  std::vector<std::vector<Value>> samples_;
  std::set<int> live_;
  double share_ = 1;           ///< Steps that a sample stands for.
  MosaicSchedule schedule_;
};

}  // namespace

MosaicSchedule ScheduleOf(const hlo::MosaicBody& body) {
  if (body.Main() == nullptr) return {};
  return Scheduler(body).Run();
}

}  // namespace spillway::compute
