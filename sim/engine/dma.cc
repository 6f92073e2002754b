// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/dma.h"

#include <algorithm>

#include "sim/base/result.h"
#include "sim/engine/time.h"

namespace spillway::engine {

using plan::Direction;

Dma::Dma(sc_core::sc_module_name name, const config::ChipConfig& chip, Recorder& recorder)
    : sc_module(name), config_(chip.dma), recorder_(recorder),
      threads_(static_cast<std::size_t>(std::max(1, chip.dma.threads))) {
  SC_METHOD(Wake);
  sensitive << event_;
  dont_initialize();
}

Dma::Thread& Dma::ThreadOf(const Job& job) {
  return threads_[static_cast<std::size_t>(job.transfer.thread) % threads_.size()];
}

bool Dma::HasRoom(int thread) const {
  const Thread& queue = threads_[static_cast<std::size_t>(thread) % threads_.size()];
  return config_.queue_depth <= 0 || static_cast<int>(queue.waiting.size()) < config_.queue_depth;
}

int Dma::Issue(const plan::Transfer& transfer, int op, DmaClient& client, int cookie) {
  int id = static_cast<int>(jobs_.size());
  if (free_jobs_.empty()) {
    jobs_.emplace_back();
  } else {
    id = free_jobs_.back();
    free_jobs_.pop_back();
  }
  Job& job = jobs_[static_cast<std::size_t>(id)];
  job = Job{transfer, op, &client, cookie, Now(), next_flow_++, 0};
  Thread& thread = ThreadOf(job);
  thread.waiting.push_back(id);
  const int flow = job.flow;
  Dispatch(thread);
  thread.was_full = !HasRoom(transfer.thread);
  return flow;
}

void Dma::Dispatch(Thread& thread) {
  while (!thread.waiting.empty() &&
         (config_.outstanding <= 0 || thread.in_flight < config_.outstanding)) {
    const int id = thread.waiting.front();
    thread.waiting.pop_front();
    ++thread.in_flight;
    const plan::Transfer& transfer = jobs_[static_cast<std::size_t>(id)].transfer;
    Picos latency = config_.read_latency;
    if (transfer.direction == Direction::kVmemToHbm) latency = config_.write_latency;
    const bool local = transfer.direction == Direction::kVmemToVmem;
    if (local && config_.vmem_bytes_per_second > 0) {
      latency += static_cast<Picos>(static_cast<double>(transfer.bytes()) * 1e12 /
                                    config_.vmem_bytes_per_second);
    }
    timed_.push({Now() + latency, id, !local && transfer.bytes() > 0});
  }
  Reschedule();
}

double Dma::RateLimit(const plan::Transfer& transfer) const {
  double limit = config_.vmem_bytes_per_second;
  if (config_.chunk_overhead > 0 && transfer.chunks * transfer.outer > 1) {
    const double by_chunk =
        static_cast<double>(transfer.chunk_bytes) * 1e12 / static_cast<double>(config_.chunk_overhead);
    limit = limit > 0 ? std::min(limit, by_chunk) : by_chunk;
  }
  return limit;
}

void Dma::Launch(int id) {
  const plan::Transfer transfer = jobs_[static_cast<std::size_t>(id)].transfer;
  model::Access access;
  access.write = transfer.direction == Direction::kVmemToHbm;
  access.address = transfer.address;
  access.chunk_bytes = transfer.chunk_bytes;
  access.chunks = transfer.chunks;
  access.stride = transfer.stride;
  access.outer = transfer.outer;
  access.outer_stride = transfer.outer_stride;
  access.max_bytes_per_second = RateLimit(transfer);
  const bool both = transfer.direction == Direction::kHbmToHbm;
  jobs_[static_cast<std::size_t>(id)].parts = both ? 2 : 1;
  hbm->Start(access, *this, id);
  if (both) {
    access.write = true;
    access.address = transfer.destination;
    access.chunk_bytes = transfer.bytes();
    access.chunks = access.outer = 1;
    hbm->Start(access, *this, id);
  }
}

void Dma::OnHbmDone(int tag) {
  if (--jobs_[static_cast<std::size_t>(tag)].parts == 0) Complete(tag);
}

void Dma::Complete(int id) {
  const Job job = jobs_[static_cast<std::size_t>(id)];
  free_jobs_.push_back(id);
  Thread& thread = ThreadOf(job);
  --thread.in_flight;
  recorder_.DmaDone(job.transfer, job.op, job.flow, job.issued, Now());
  job.client->OnDmaDone(job.cookie);
  Dispatch(thread);
  if (thread.was_full && HasRoom(job.transfer.thread)) {
    thread.was_full = false;
    job.client->OnDmaRoom();
  }
}

void Dma::Wake() {
  recorder_.CountEvent();
  const Picos now = Now();
  while (!timed_.empty() && timed_.top().time <= now) {
    const Timed next = timed_.top();
    timed_.pop();
    if (next.launch) {
      Launch(next.job);
    } else {
      Complete(next.job);
    }
  }
  Reschedule();
}

void Dma::Reschedule() {
  if (timed_.empty()) return;
  event_.cancel();
  event_.notify(ToScTime(std::max<Picos>(timed_.top().time - Now(), 0)));
}

}  // namespace spillway::engine
