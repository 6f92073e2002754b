// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <systemc>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/engine/dma.h"
#include "sim/engine/kernel_recall.h"
#include "sim/engine/vmem.h"
#include "sim/plan/program.h"

namespace spillway::engine {

/// The TensorCore's sequencer: walks the program's items in order, lets compute take its cycles,
/// starts DMAs and blocks on sync flags. Compute runs ahead of simulated time and is synchronised
/// only where it meets the outside (a DMA start, a wait): one event each.
class Core : public sc_core::sc_module, public DmaClient {
 public:
  SC_HAS_PROCESS(Core);
  sc_core::sc_port<DmaInterface> dma;

  Core(sc_core::sc_module_name name, const plan::Program& program, const config::ChipConfig& chip,
       const VmemOccupancy& vmem, Recorder& recorder);

  /// Asks for a stop at the next event; `finished` stays false.
  void set_interrupted(const std::atomic<bool>* flag) { interrupted_ = flag; }
  void set_progress(std::function<void(std::int64_t, std::int64_t, Picos)> callback);

  bool finished() const { return finished_; }
  bool limit_reached() const { return limit_reached_; }
  /// What the core waits for, for the deadlock message.
  std::string Blocked() const;
  /// Closes an open op when the run is cut short.
  void Abandon();
  /// The first action source that could not go on, or empty.
  const std::string& failure() const { return failure_; }

  void OnDmaDone(int cookie) override;
  void OnDmaRoom() override;

 private:
  struct Frame {
    const std::vector<plan::Item>* items;
    std::size_t index;
    std::int64_t trips_left;
  };
  struct Flag {
    Bytes level = 0;
    plan::Direction direction = plan::Direction::kHbmToVmem;
    int flow = 0;
  };
  struct Cookie {
    bool token;            ///< Raises a token, not a flag of the running kernel.
    std::uint64_t epoch;
    int flag;
    Bytes bytes;
    plan::Direction direction;
    int flow;
    std::size_t action;    ///< Of KernelRecall.
    Picos issued;
  };
  // Result of one step of the state machine.
  enum class Next { kContinue, kYield };

  void Run();
  bool ShouldStop();
  Next FetchItem();
  void BeginItem(const plan::Item& item);
  Next RunAction();
  std::uint64_t UnderWay() const;
  Next Issue();
  Next Wait();
  Next Synchronise();
  Picos ContentionLoss();
  void EndOp();
  Flag& CurrentFlag() { return (tokens_in_use_ ? tokens_ : flags_)[action_.flag]; }

  const plan::Program& program_;
  const config::ChipConfig& chip_;
  const VmemOccupancy& vmem_;
  Recorder& recorder_;
  const std::atomic<bool>* interrupted_ = nullptr;
  std::function<void(std::int64_t, std::int64_t, Picos)> progress_;

  std::vector<Frame> frames_;
  std::unique_ptr<plan::ActionSource> source_;
  int op_ = -1;
  bool tokens_in_use_ = false;     ///< The current source uses tokens, not kernel-local flags.
  std::uint64_t epoch_ = 0;        ///< Items begun so far; a flag outlives its kernel in no case.
  plan::Action action_;
  bool have_action_ = false;

  PendingCompute pending_;
  Picos segment_start_ = 0;        ///< When the pending compute began.
  double vmem_mark_ = 0;           ///< DMA bytes at that moment.
  bool synchronising_ = false;
  Picos contention_paid_ = 0;

  std::unordered_map<int, Flag> flags_;    ///< Of the running kernel.
  std::unordered_map<int, Flag> tokens_;   ///< Of asynchronous copies.
  std::unordered_map<int, Bytes> token_bytes_;
  const bool recall_kernels_;
  KernelRecall recall_;
  std::vector<Cookie> cookies_;
  std::vector<int> free_cookies_;
  bool waiting_ = false;
  bool waiting_for_room_ = false;
  Picos wait_start_ = 0;
  sc_core::sc_event wake_;
  bool finished_ = false, limit_reached_ = false, stopped_ = false;
  std::int64_t ops_done_ = 0, ops_total_ = 0;
  std::string failure_;
};

}  // namespace spillway::engine
