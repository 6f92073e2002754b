// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <systemc>

#include <deque>
#include <queue>
#include <vector>

#include "sim/engine/hbm.h"
#include "sim/plan/program.h"

namespace spillway::engine {

/// Who issues transfers and hears of their end.
class DmaClient {
 public:
  virtual ~DmaClient() = default;
  /// The transfer issued with `cookie` is complete: its sync flag may rise.
  virtual void OnDmaDone(int cookie) = 0;
  /// A full queue has room again.
  virtual void OnDmaRoom() = 0;
};

/// What the core sees of the DMA engines.
class DmaInterface : public virtual sc_core::sc_interface {
 public:
  /// False while the queue of that thread is full (`dma.queue_depth`).
  virtual bool HasRoom(int thread) const = 0;
  /// Queues `transfer` of op `op` now. Returns the flow number of its slice on the timeline.
  virtual int Issue(const plan::Transfer& transfer, int op, DmaClient& client, int cookie) = 0;
  /// A flow number for a transfer that is booked without being run.
  virtual int TakeFlow() = 0;
  /// Accesses that DMA has made to VMEM so far, in bytes.
  virtual double VmemBytes() = 0;
  /// Rate of these accesses now, bytes per second.
  virtual double VmemRate() const = 0;
};

/// The DMA engines: one queue a hardware thread. A descriptor waits in its queue until fewer than
/// `dma.outstanding` are in flight, then takes the latency of its direction to reach HBM, then its
/// share of the bandwidth. Transfers of all threads compete in HBM.
class Dma : public sc_core::sc_module, public DmaInterface, public HbmClient {
 public:
  SC_HAS_PROCESS(Dma);
  sc_core::sc_port<HbmInterface> hbm;

  Dma(sc_core::sc_module_name name, const config::ChipConfig& chip, Recorder& recorder);

  bool HasRoom(int thread) const override;
  int Issue(const plan::Transfer& transfer, int op, DmaClient& client, int cookie) override;
  int TakeFlow() override { return next_flow_++; }
  double VmemBytes() override { return hbm->MovedBytes(); }
  double VmemRate() const override { return hbm->Rate(); }
  void OnHbmDone(int tag) override;

 private:
  struct Job {
    plan::Transfer transfer;
    int op = -1;
    DmaClient* client = nullptr;
    int cookie = 0;
    Picos issued = 0;
    int flow = 0;
    int parts = 0;      ///< HBM accesses still running: 2 for HBM to HBM.
  };
  struct Thread {
    std::deque<int> waiting;
    int in_flight = 0;
    bool was_full = false;
  };
  struct Timed {
    Picos time;
    int job;
    bool launch;        ///< Reaches HBM; else: completes without HBM.
    bool operator>(const Timed& other) const {
      return time != other.time ? time > other.time : job > other.job;
    }
  };
  void Wake();
  void Dispatch(Thread& thread);
  void Launch(int id);
  void Complete(int id);
  void Reschedule();
  Thread& ThreadOf(const Job& job);
  double RateLimit(const plan::Transfer& transfer) const;

  const config::DmaConfig& config_;
  Recorder& recorder_;
  std::vector<Thread> threads_;
  std::vector<Job> jobs_;        ///< Slots, reused.
  std::vector<int> free_jobs_;
  std::priority_queue<Timed, std::vector<Timed>, std::greater<>> timed_;
  sc_core::sc_event event_;
  int next_flow_ = 1;
};

}  // namespace spillway::engine
