// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <systemc>

#include <memory>
#include <unordered_map>
#include <vector>

#include "sim/engine/recorder.h"
#include "sim/engine/time.h"
#include "sim/model/memory_system.h"

namespace spillway::engine {

/// Who starts accesses and hears of their end.
class HbmClient {
 public:
  virtual ~HbmClient() = default;
  virtual void OnHbmDone(int tag) = 0;
};

/// What a DMA engine sees of HBM.
class HbmInterface : public virtual sc_core::sc_interface {
 public:
  /// Starts an access now; `client` hears of its end with `tag`.
  virtual void Start(const model::Access& access, HbmClient& client, int tag) = 0;
  /// Bytes that have crossed the buses or are about to, accesses in progress included.
  virtual double MovedBytes() = 0;
  /// Current total rate of both directions, bytes per second.
  virtual double Rate() const = 0;
};

/// The HBM stacks: lets simulated time pass for a model::MemorySystem, one event for what may be a completion.
class Hbm : public sc_core::sc_module, public HbmInterface {
 public:
  SC_HAS_PROCESS(Hbm);
  /// `experience`: what HBM of such a chip has learnt, or null.
  Hbm(sc_core::sc_module_name name, const config::ChipConfig& chip, Recorder& recorder, const model::Experience* experience);

  void Start(const model::Access& access, HbmClient& client, int tag) override;
  double MovedBytes() override { return static_cast<double>(model_->Moved(Now())); }
  double Rate() const override { return model_->ReadRate() + model_->WriteRate(); }
  const model::MemoryCounters& counters() const { return model_->counters(); }
  std::shared_ptr<const model::Experience> experience() const { return model_->experience(); }

 private:
  struct Pending {
    HbmClient* client;
    int tag;
  };
  void Wake();
  void Catchup();
  void Reschedule();

  std::unique_ptr<model::MemorySystem> model_;
  Recorder& recorder_;
  std::unordered_map<int, Pending> pending_;
  std::vector<model::Completion> finished_;
  sc_core::sc_event event_;
};

}  // namespace spillway::engine
