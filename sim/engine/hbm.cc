// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/hbm.h"

#include <algorithm>

#include "sim/base/result.h"

namespace spillway::engine {

Hbm::Hbm(sc_core::sc_module_name name, const config::ChipConfig& chip, Recorder& recorder, const model::Experience* experience)
    : sc_module(name), model_(model::MakeMemorySystem(chip, experience)), recorder_(recorder) {
  SC_METHOD(Wake);
  sensitive << event_;
  dont_initialize();
}

void Hbm::Start(const model::Access& access, HbmClient& client, int tag) {
  // Completions of this very moment come first, whatever order the kernel runs processes in.
  Catchup();
  const int id = model_->Start(Now(), access);
  pending_.emplace(id, Pending{&client, tag});
  Reschedule();
}

void Hbm::Wake() {
  recorder_.CountEvent();
  Catchup();
  Reschedule();
}

void Hbm::Catchup() {
  finished_.clear();
  model_->Advance(Now(), finished_);
  // A client may start a new access from its callback, which comes back here.
  const std::vector<model::Completion> done = std::move(finished_);
  for (const model::Completion& completion : done) {
    const auto it = pending_.find(completion.id);
    SPILLWAY_CHECK(it != pending_.end());
    const Pending pending = it->second;
    pending_.erase(it);
    pending.client->OnHbmDone(pending.tag);
  }
}

void Hbm::Reschedule() {
  recorder_.HbmRates(Now(), model_->ReadRate(), model_->WriteRate());
  recorder_.HbmBusy(Now(), !pending_.empty());
  event_.cancel();
  const Picos next = model_->NextEvent();
  if (next >= 0) event_.notify(ToScTime(std::max<Picos>(next - Now(), 0)));
}

}  // namespace spillway::engine
