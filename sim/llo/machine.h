// SPDX-License-Identifier: Apache-2.0
// Executes the scalar program of a kernel's final VLIW bundles. Knows nothing of time or memory
// systems: it runs to the next thing that touches the outside and says how many cycles that took.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/base/result.h"
#include "sim/base/units.h"
#include "sim/llo/kernel.h"
#include "sim/llo/matrix_units.h"
#include "sim/llo/scalar_memory.h"

namespace spillway::llo {

/// A DMA as the bundle states it. Sizes in bytes, HBM addresses in bytes.
struct Dma {
  enum class Kind : std::uint8_t { kHbmToVmem, kVmemToHbm, kHbmToHbm, kVmemToVmem, kHbmToSmem, kSmemToHbm, kOther };
  Kind kind = Kind::kHbmToVmem;
  int thread = 0;
  std::int64_t source = 0, destination = 0;
  Bytes bytes = 0;
  Bytes chunk_bytes = 0;            ///< Contiguous run in HBM; = bytes if not strided.
  Bytes stride = 0;                 ///< Distance of runs in HBM.
  std::int64_t outer = 1;           ///< dma.general: repetitions of that pattern, outer_stride apart.
  Bytes outer_stride = 0;
  std::int64_t flag = 0;            ///< Sync flag that rises by bytes/granule on completion.
  int site = -1;                    ///< Which of Kernel::dmas() it is.
};

/// What the machine stopped at.
struct Event {
  enum class Kind : std::uint8_t {
    kDma,        ///< `dma` was started.
    kWait,       ///< Blocks until `flag` >= `granules` (dma.done.wait does not lower it).
    kFlag,       ///< `flag` was set to (`set`) or changed by `granules`.
    kCall,       ///< Top-level program only: runs kernel `callee`.
    kEnd,
    kError,      ///< Cannot go on: `message` with file and line. The caller falls back to the model.
  };
  Kind kind = Kind::kEnd;
  std::uint32_t bundle = 0;         ///< Address of the bundle that holds it.
  Cycles bundles = 0;               ///< Bundles executed since the last event.
  Cycles cycles = 0;                ///< Cycles since the last event: bundles + hazards (MXU, delays).
  std::int64_t loads = 0, stores = 0;  ///< Vector loads and stores since the last event.
  Dma dma;
  std::int64_t flag = 0, granules = 0;
  bool set = false;
  std::string callee, message;
  std::vector<std::uint32_t> arguments;  ///< kCall: raw register values of its operands.
};

struct MachineOptions {
  /// HBM pointers in registers count units of this size (v5e 512, v6e 32); a DMA operand always counts 32 B.
  Bytes hbm_unit_bytes = 32;
  MatrixConfig matrix;
  /// HBM byte address of each operand of the kernel (`inlined_call_operand.hbm`), and of each parameter of
  /// the program (`scalar_parameter_address`). Missing or negative: a made-up address, 2 GiB apart.
  std::vector<std::int64_t> operand_addresses, parameter_addresses;
  /// Words of SMEM objects by symbol ("allocation12"), for what a host or another kernel left there.
  std::map<std::string, std::uint32_t> smem;
  /// The previous execution did the cross-program prefetches already: they move no bytes.
  bool warm = false;
  /// More bundles than this are taken for an endless loop: kError. A loop that comes back to the very
  /// same state without an event is found long before.
  std::int64_t bundle_limit = 4'000'000'000;
};

/// Executes one run of a kernel. All reads of a bundle happen before its writes; a taken branch acts after
/// its delay slots; a wait is reported and taken to have returned; a bounds check never halts.
class Machine {
 public:
  /// `kernel` must outlive the machine.
  Machine(const Kernel& kernel, const MachineOptions& options);

  /// Runs to the next event. After kEnd or kError every further call returns the same.
  Event Next();
  /// The core stood still for `cycles` since the last event: the matrix units worked on meanwhile.
  void Stalled(Cycles cycles) { clock_ += cycles; }

  std::int64_t bundles() const { return bundles_; }
  /// Without the stalls that the caller reported.
  Cycles cycles() const { return cycles_; }
  /// How often each block of the kernel ran to its end.
  const std::vector<std::int64_t>& block_runs() const { return block_runs_; }
  /// How often each taken block edge followed: `taken_runs()[b]` of the runs of b jumped.
  const std::vector<std::int64_t>& taken_runs() const { return taken_runs_; }
  /// Assumptions made so far, one sentence each: values that the dump does not hold.
  std::vector<std::string> notes() const;

 private:
  void AccountTo(std::uint32_t bundle);
  bool FinishBlock(Event& event);
  void EnterBlock(std::int32_t block);
  bool Execute(const MicroInstruction& instruction, Event& event);
  void StartDma(const DmaSite& site, Event& event);
  void ApplyDescriptor(const DmaSite& site, bool from_hbm, Dma& dma) const;
  void Fail(std::string message, Event& event);
  bool StandsStill(std::int32_t next);
  std::uint32_t Initial(const Constant& constant) const;
  std::int64_t HbmAddress(std::uint32_t granules) const { return std::int64_t{granules} * 32; }

  const Kernel& kernel_;
  const MachineOptions options_;
  std::vector<std::uint32_t> registers_;
  ScalarMemory memory_;
  MatrixUnits matrix_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> divisions_;  ///< Quotient and remainder, oldest first.
  std::int32_t block_ = 0;
  std::uint32_t pc_ = 0;             ///< Next instruction of the block.
  std::uint32_t mark_ = 0;           ///< Bundles of the block before this one are accounted for.
  std::uint32_t matrix_mark_ = 0;
  std::int64_t bundles_ = 0, event_bundles_ = 0;
  Cycles cycles_ = 0, clock_ = 0, event_cycles_ = 0;
  std::int64_t event_loads_ = 0, event_stores_ = 0;
  bool finished_ = false;
  Event last_;
  // State some jumps ago, to find a loop in which nothing changes.
  std::int64_t jumps_ = 0, stores_done_ = 0, snapshot_stores_ = 0;
  std::int32_t snapshot_block_ = Block::kEnd;
  std::vector<std::uint32_t> snapshot_;
  std::vector<std::int64_t> block_runs_, taken_runs_;
  std::int64_t assumed_values_ = 0, failed_checks_ = 0;
  std::map<std::uint32_t, std::int64_t> unwritten_loads_;
};

}  // namespace spillway::llo
