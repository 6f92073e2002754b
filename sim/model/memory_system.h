// SPDX-License-Identifier: Apache-2.0
// HBM as the engine sees it. Plain C++; simulated time is an argument, never kept by the caller's
// kernel. Two implementations of one rule set (design.md): run level and command level.
#pragma once

#include <memory>
#include <vector>

#include "sim/base/units.h"
#include "sim/config/chip_config.h"

namespace spillway::model {

/// One direction of a DMA in HBM: `chunks` runs of `chunk_bytes`, `stride` apart, repeated `outer`
/// times `outer_stride` apart.
struct Access {
  bool write = false;
  std::int64_t address = 0;
  Bytes chunk_bytes = 0;
  std::int64_t chunks = 1;
  Bytes stride = 0;
  std::int64_t outer = 1;
  Bytes outer_stride = 0;
  double max_bytes_per_second = 0;   ///< Limit of the DMA engine for this access; 0: none.
  Bytes bytes() const { return chunk_bytes * chunks * outer; }
};

struct Completion {
  int id = 0;
  Picos time = 0;          ///< Last burst has crossed the bus.
};

struct MemoryCounters {
  Bytes read_bytes = 0, write_bytes = 0;   ///< Useful bytes.
  Bytes partial_write_bytes = 0;           ///< Of them, in writes below one burst.
  Picos busy = 0;                          ///< Time with at least one access in progress.
  std::int64_t events = 0;                 ///< Decisions taken (cost of the model).
};

/// What a memory system has found out about its own times; another of the same configuration may begin with it.
class Experience {
 public:
  virtual ~Experience() = default;
};

class MemorySystem {
 public:
  virtual ~MemorySystem() = default;
  /// An access begins at `now`. REQUIRES: now >= every earlier time passed in. Accesses in progress
  /// share the bandwidth fairly.
  virtual int Start(Picos now, const Access& access) = 0;
  /// When the state next changes by itself (a completion or an internal decision); < 0 if idle.
  virtual Picos NextEvent() const = 0;
  /// Runs to `now` and appends what has finished, in time order, ties by id.
  virtual void Advance(Picos now, std::vector<Completion>& finished) = 0;
  /// Bytes of the bursts that were commanded by `now`, or taken in to be next; grows with `now`. REQUIRES: as Start.
  virtual Bytes Moved(Picos now) = 0;
  /// Current total rates in bytes per second, for the counters of the timeline.
  virtual double ReadRate() const = 0;
  virtual double WriteRate() const = 0;
  virtual const MemoryCounters& counters() const = 0;
  /// So far.
  virtual std::shared_ptr<const Experience> experience() const = 0;
};

/// By `config.hbm.fidelity`. `experience`: of a memory system of the same `config.hbm`, or null.
std::unique_ptr<MemorySystem> MakeMemorySystem(const config::ChipConfig& config, const Experience* experience = nullptr);

}  // namespace spillway::model
