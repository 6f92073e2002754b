// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>

#include "sim/plan/kernel.h"

namespace spillway::plan {
namespace {

/// Fetches and write-backs of one stream while the kernel runs.
struct StreamState {
  int flag = 0;                   ///< First of `slots` flags.
  std::int64_t issued = 0;        ///< Windows issued.
  std::int64_t last_step = -1;    ///< Last step looked at.
  Box last_tiles;                 ///< Its window.
  std::vector<Bytes> pending;     ///< By slot: bytes issued and not yet waited for.
  /// Inputs: (step that needs it, slot) of windows not yet waited for.
  std::deque<std::pair<std::int64_t, int>> awaited;
};

class KernelSource : public ActionSource {
 public:
  explicit KernelSource(std::shared_ptr<const Kernel> kernel) : kernel_(std::move(kernel)) {
    int flag = 0;
    for (const Stream& stream : kernel_->streams) {
      StreamState state;
      state.flag = flag;
      state.pending.resize(stream.slots, 0);
      flag += stream.slots;
      states_.push_back(std::move(state));
      (stream.output ? out_depth_ : in_depth_) = std::max(stream.output ? out_depth_ : in_depth_, stream.slots);
    }
    for (std::int64_t size : kernel_->grid.sizes) volume_ *= static_cast<double>(size);
  }

  bool Next(Action& action) override {
    while (queue_.empty()) {
      if (iteration_ >= kernel_->grid.steps + in_depth_ - 1) return Drain(action);
      Iterate(iteration_++);
    }
    action = std::move(queue_.front());
    queue_.pop_front();
    return true;
  }
  bool IsFixed() const override { return true; }

 private:
  const Grid& grid() const { return kernel_->grid; }

  void Push(Action::Kind kind, int flag = 0, Bytes bytes = 0) {
    Action action;
    action.kind = kind;
    action.flag = flag;
    action.bytes = bytes;
    queue_.push_back(std::move(action));
  }

  void Wait(StreamState& state, int slot) {
    if (state.pending[slot] > 0) Push(Action::Kind::kWait, state.flag + slot, state.pending[slot]);
    state.pending[slot] = 0;
  }

  void Issue(const Stream& stream, StreamState& state, const Box& tiles, std::int64_t step) {
    int slot = static_cast<int>(state.issued++ % stream.slots);
    Wait(state, slot);  // The slot must be free: its previous use has ended.
    for (Transfer& transfer : stream.Transfers(tiles, step)) {
      Push(Action::Kind::kIssue, state.flag + slot);
      state.pending[slot] += transfer.bytes();
      queue_.back().transfer = transfer;
    }
    if (!stream.output) state.awaited.emplace_back(step, slot);
  }

  void Iterate(std::int64_t iteration) {
    std::int64_t step = iteration - (in_depth_ - 1);
    for (std::size_t s = 0; s < states_.size(); ++s) {
      const Stream& stream = kernel_->streams[s];
      if (!stream.output) Prefetch(stream, states_[s], step + stream.slots - 1);
    }
    if (step < 0) return;
    for (StreamState& state : states_) {
      while (!state.awaited.empty() && state.awaited.front().first <= step) {
        Wait(state, state.awaited.front().second);
        state.awaited.pop_front();
      }
    }
    Push(Action::Kind::kStep);
    Compute(step);
    for (std::size_t s = 0; s < states_.size(); ++s) {
      if (kernel_->streams[s].output) WriteBack(kernel_->streams[s], states_[s], step);
    }
  }

  /// Looks at the window of `step` and fetches it if it moved.
  void Prefetch(const Stream& stream, StreamState& state, std::int64_t step) {
    if (step < 0 || step >= grid().steps || step <= state.last_step) return;
    state.last_step = step;
    if (stream.rows_per_step > 0) return Issue(stream, state, Box(), step);
    if (!stream.moves && state.issued > 0) return;
    Box tiles = stream.TilesAt(grid().BoxAt(step));
    if (IsEmpty(tiles) || tiles == state.last_tiles) return;
    state.last_tiles = tiles;
    Issue(stream, state, tiles, step);
  }

  /// Writes the window of `step` if the next step leaves it.
  void WriteBack(const Stream& stream, StreamState& state, std::int64_t step) {
    bool end = step + 1 >= grid().steps;
    if (!stream.moves && !end) return;
    Box tiles = stream.rows_per_step > 0 ? Box() : stream.TilesAt(grid().BoxAt(step));
    bool leaves = end || stream.rows_per_step > 0 || !(stream.TilesAt(grid().BoxAt(step + 1)) == tiles);
    if (!leaves || (stream.rows_per_step == 0 && IsEmpty(tiles))) return;
    Issue(stream, state, tiles, step);
    // The slot that the next window goes to must have been written back.
    if (stream.slots > 1) Wait(state, static_cast<int>(state.issued % stream.slots));
  }

  void Compute(std::int64_t step) {
    const compute::KernelCost& cost = kernel_->cost;
    Cycles steady = std::max<Cycles>(cost.total_cycles - cost.prologue_cycles, 0);
    done_ += volume_ > 0 ? static_cast<double>(Volume(grid().BoxAt(step))) / volume_ : 1.0;
    bool end = step + 1 >= grid().steps;
    double share = end ? 1.0 : std::min(done_, 1.0);
    Action action;
    action.kind = Action::Kind::kCompute;
    auto take = [share](double total, std::int64_t& given) {
      auto until = static_cast<std::int64_t>(total * share + 0.5);
      std::int64_t part = std::max<std::int64_t>(until - given, 0);
      given += part;
      return part;
    };
    action.cycles = take(static_cast<double>(steady), cycles_given_);
    if (step == 0) action.cycles += cost.prologue_cycles;
    action.loads = take(cost.use.vload, loads_given_);
    action.stores = take(cost.use.vstore, stores_given_);
    queue_.push_back(std::move(action));
  }

  bool Drain(Action& action) {
    if (!drained_) {
      drained_ = true;
      for (std::size_t s = 0; s < states_.size(); ++s) {
        // Oldest write first.
        for (std::size_t i = 0; i < states_[s].pending.size(); ++i) {
          Wait(states_[s], static_cast<int>((states_[s].issued + static_cast<std::int64_t>(i)) %
                                            static_cast<std::int64_t>(states_[s].pending.size())));
        }
      }
    }
    if (queue_.empty()) return false;
    action = std::move(queue_.front());
    queue_.pop_front();
    return true;
  }

  std::shared_ptr<const Kernel> kernel_;
  std::vector<StreamState> states_;
  std::deque<Action> queue_;
  int in_depth_ = 1, out_depth_ = 1;
  std::int64_t iteration_ = 0;
  double volume_ = 1, done_ = 0;
  std::int64_t cycles_given_ = 0, loads_given_ = 0, stores_given_ = 0;
  bool drained_ = false;
};

}  // namespace

std::unique_ptr<ActionSource> MakeKernelSource(std::shared_ptr<const Kernel> kernel) {
  return std::make_unique<KernelSource>(std::move(kernel));
}

Traffic CountTraffic(ActionSource& source) {
  Traffic traffic;
  Action action;
  while (source.Next(action)) {
    if (action.kind == Action::Kind::kStep) ++traffic.steps;
    if (action.kind == Action::Kind::kCompute) traffic.cycles += action.cycles;
    if (action.kind != Action::Kind::kIssue) continue;
    const Transfer& t = action.transfer;
    if (t.direction == Direction::kHbmToVmem || t.direction == Direction::kHbmToHbm) traffic.read_bytes += t.bytes();
    if (t.direction == Direction::kVmemToHbm || t.direction == Direction::kHbmToHbm) traffic.write_bytes += t.bytes();
    ++traffic.dmas;
    traffic.chunk_sizes.push_back(t.chunk_bytes);
  }
  return traffic;
}

}  // namespace spillway::plan
