// SPDX-License-Identifier: Apache-2.0
// Resolved chip configuration: plain values, ready to use. The YAML key of each field is its path
// (`hbm.timing.trp`), see sim/config/chip_keys.cc for units, ranges and documentation.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/base/units.h"

namespace spillway::config {

/// DRAM timing in picoseconds (JEDEC names). Bank-group variants: `_s` other group, `_l` same group,
/// `_r` other stack id (rank).
struct DramTiming {
  Picos tck = 0;          ///< Command clock.
  Picos burst = 0;        ///< Data bus time of one access (nBL x tCK).
  Picos cl = 0, cwl = 0;
  Picos trcd_rd = 0, trcd_wr = 0, trp = 0, tras = 0, trc = 0;
  Picos tccd_s = 0, tccd_l = 0, tccd_r = 0;
  Picos trrd_s = 0, trrd_l = 0, tfaw = 0;
  Picos twtr_s = 0, twtr_l = 0, trtw = 0;
  Picos twr = 0, trtp = 0;
  Picos trfc = 0, trfc_pb = 0, trrefd = 0, trefi = 0;
};

enum class RefreshMode { kNone, kAllBank, kPerBank };
enum class RefreshPhase { kAligned, kStaggered };
enum class HbmFidelity { kRun, kCommand };

/// One slice of the address map, low to high: `bits` bits that select `field`.
/// Fields: "offset" (inside a burst), "column", "channel", "bank_group", "bank", "stack", "row".
struct AddressSlice {
  std::string field;
  int bits = 0;
};
/// Bit `bit` of field `field` is XORed with the parity of the address bits in `mask`.
struct AddressHash {
  std::string field;
  int bit = 0;
  std::uint64_t mask = 0;
};

struct HbmConfig {
  Bytes capacity = 0;             ///< Installed.
  Bytes usable = 0;               ///< What XLA may allocate.
  int channels = 0;               ///< Independent pseudo-channels of the chip.
  int bank_groups = 0, banks_per_group = 0, stack_ids = 1;
  Bytes burst_bytes = 32;         ///< One column access of a pseudo-channel.
  Bytes row_bytes = 1024;         ///< Page of a pseudo-channel.
  DramTiming timing;
  RefreshMode refresh_mode = RefreshMode::kAllBank;
  RefreshPhase refresh_phase = RefreshPhase::kAligned;
  int refresh_postpone = 0;       ///< Refreshes that may be owed while there is work.
  int read_queue = 0, write_queue = 0;           ///< Entries of a channel controller.
  int write_high_watermark = 0, write_low_watermark = 0;
  HbmFidelity fidelity = HbmFidelity::kRun;
  std::vector<AddressSlice> address_map;
  std::vector<AddressHash> address_hash;

  /// Peak of the pins: channels x burst_bytes / timing.burst, in bytes per second.
  double PeakBytesPerSecond() const;
};

struct DmaConfig {
  Picos read_latency = 0;         ///< HBM to VMEM: issue to completion of an empty transfer.
  Picos write_latency = 0;        ///< VMEM to HBM.
  Cycles issue_cycles = 1;        ///< Scalar core time to start one descriptor.
  int threads = 2;                ///< Hardware queues; LLO names them `[thread:$n]`.
  int queue_depth = 0;            ///< Descriptors a thread holds before issue blocks; 0: no limit.
  int outstanding = 0;            ///< Descriptors of a thread in flight at once; 0: no limit.
  Bytes granule = 32;             ///< Unit of sync-flag counts and sizes.
  Bytes hbm_address_unit = 32;    ///< Unit of HBM pointers in bundles.
  Picos chunk_overhead = 0;       ///< Extra engine time for each contiguous run of a strided transfer.
  double vmem_bytes_per_second = 0;  ///< On-chip limit of one direction; 0: no limit.
};

struct VmemConfig {
  Bytes capacity = 0;
  Bytes usable = 0;               ///< Most that one program may take.
  Bytes scoped_limit = 0;         ///< Default `xla_tpu_scoped_vmem_limit_kib`.
  Bytes load_bytes = 4096;        ///< One vector load or store.
  int load_slots = 0, store_slots = 0;
  /// Cycles that each `load_bytes` of DMA traffic takes from a core that loads or stores in every
  /// bundle (one VMEM access of a DMA blocks the core's for that cycle); 0: no contention.
  double dma_contention = 0;
};

/// Rates of the functional units, by element type where it matters ("bf16", "f32", "s8", …).
struct CoreConfig {
  double clock_hz = 0;
  int mxus = 0, mxu_rows = 0, mxu_columns = 0;
  std::map<std::string, double> matmul_cycles;   ///< Cycles between vmatmul of 8 x 32/bits rows on one MXU.
  std::map<std::string, double> latch_cycles;    ///< Cycles to push one register of weight rows.
  std::map<std::string, double> matmul_latency;  ///< First result, cycles.
  int valu_slots = 0, eup_slots = 0, xlu_slots = 0;
  double eup_cycles = 1;                         ///< Cycles of one transcendental per register.
  std::map<std::string, double> transpose_cycles;
  int branch_delay_slots = 4;
  int pop_slots = 2;                             ///< Results taken from the matrix, cross-lane and EUP queues.
  /// opcode[.type|.part…] -> unit -> slots per register; docs/compute-model.md lists the keys.
  std::map<std::string, std::map<std::string, double>> op_slots;
  std::map<std::string, double> packing;         ///< Unit -> share of its slots that a steady loop fills.
  double sharpness = 4;                          ///< How far units overlap: norm over their loads; large: the busiest rules.
  std::map<std::string, double> error_band;      ///< Class of computation -> relative error of cross-validation.
  Cycles kernel_overhead = 0;                    ///< Prologue and epilogue of a kernel.
  Cycles step_overhead = 0;                      ///< Scalar work of one grid step.
  Cycles stream_overhead = 0;                    ///< Of each operand or result that a step moves.
};

/// Which memory `S(n)` of a layout names.
enum class MemoryKind { kHbm, kVmem, kSmem, kSyncFlag, kHost, kOther };

struct RunOptions {
  bool warm = false;        ///< A cross-program prefetch was done by the previous execution.
  std::int64_t default_trip_count = 1;  ///< For a while loop whose trip count is unknown.
  bool recall_kernels = true; ///< Kernels take the time of kernels like them, once known.
  std::int64_t max_events = 0;          ///< 0: no limit. Exceeding it is exit code 5.
};

struct ChipConfig {
  std::string name;         ///< "v6e".
  std::string description;
  HbmConfig hbm;
  DmaConfig dma;
  VmemConfig vmem;
  Bytes smem_capacity = 0;
  CoreConfig core;
  std::map<std::int64_t, MemoryKind> memory_spaces;
  RunOptions run;

  MemoryKind SpaceKind(std::int64_t memory_space) const;
  /// `cycles` of the core clock in picoseconds, rounded to nearest.
  Picos CyclesToPicos(Cycles cycles) const;
};

}  // namespace spillway::config
