// SPDX-License-Identifier: Apache-2.0
// What the engine replays. A program is complete: the engine looks at nothing else but the chip.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/base/units.h"

namespace spillway::plan {

enum class Direction : std::uint8_t { kHbmToVmem, kVmemToHbm, kHbmToHbm, kVmemToVmem };

/// One DMA descriptor: `chunks` contiguous runs of `chunk_bytes`, `stride` bytes apart in HBM, and
/// that pattern repeated `outer` times, `outer_stride` apart. Total = chunk_bytes x chunks x outer.
struct Transfer {
  Direction direction = Direction::kHbmToVmem;
  std::int64_t address = 0;        ///< First HBM byte (source for kHbmToHbm).
  std::int64_t destination = 0;    ///< kHbmToHbm only: first HBM byte written, contiguous.
  Bytes chunk_bytes = 0;
  std::int64_t chunks = 1;
  Bytes stride = 0;
  std::int64_t outer = 1;
  Bytes outer_stride = 0;
  int thread = 0;                  ///< DMA queue.
  int buffer = -1;                 ///< Index into Program::buffers; -1 unknown.
  Bytes bytes() const { return chunk_bytes * chunks * outer; }
};

/// What the core does next. `flag` numbers are local to one ActionSource (kernels do not share
/// flags; asynchronous copies use Item flags, which are global).
struct Action {
  enum class Kind : std::uint8_t {
    kCompute,   ///< Busy for `cycles`; `loads`/`stores` vector accesses to VMEM happen meanwhile.
    kIssue,     ///< Start `transfer`; on completion `flag` rises by transfer.bytes().
    kWait,      ///< Block until `flag` holds at least `bytes`; if `consume`, then lower it by `bytes`.
    kFlag,      ///< Set `flag` to `bytes` (if `set`) or change it by `bytes`, at no cost.
    kStep,      ///< A new grid step begins (for the timeline and the step count only).
  };
  Kind kind = Kind::kCompute;
  Cycles cycles = 0;
  Cycles bundles = 0;              ///< Executed bundles inside `cycles`, 0 if not from bundles.
  std::int64_t loads = 0, stores = 0;
  Transfer transfer;
  int flag = 0;
  Bytes bytes = 0;
  bool consume = true;             ///< kWait: bundles lower the flag themselves and pass false.
  bool set = false;                ///< kFlag.
};

/// Produces the actions of one execution of a kernel, in program order.
class ActionSource {
 public:
  virtual ~ActionSource() = default;
  /// Writes the next action; false at the end. REQUIRES: `action` is default-constructed or was
  /// filled by an earlier call (every field that the kind uses is written).
  virtual bool Next(Action& action) = 0;
  /// Why the source had to stop before its end (a bundle it cannot execute); empty if it did not.
  virtual std::string Failure() const { return {}; }
  /// Its actions are the same whatever time passes between them.
  virtual bool IsFixed() const { return false; }
  /// The core stood still for `cycles` between two actions (queued matrix work goes on meanwhile).
  virtual void OnStall(Cycles cycles) { (void)cycles; }
};

enum class Space : std::uint8_t { kHbm, kVmem, kSmem, kOther };

/// A tensor (or piece of scratch) that lives in memory.
struct Buffer {
  std::string name;                ///< HLO value: "fusion.2", "copy-start.1{0}".
  std::string shape;               ///< As printed.
  Space space = Space::kHbm;
  std::int64_t offset = 0;         ///< Address in its space.
  Bytes logical_bytes = 0;
  Bytes allocated_bytes = 0;
  int first_op = -1, last_op = -1; ///< Schedule positions (indices into Program::ops), inclusive.
  bool exact_offset = false;       ///< From the compiler's buffer assignment.
  int alias_of = -1;               ///< Same storage as that buffer (in-place update, while carry).
};

/// What an action source knows at its end beyond its actions.
struct KernelReport {
  std::int64_t iterations = 0;                 ///< Of the outermost loop in which it spends most bundles.
  std::map<std::string, double> slot_use;      ///< Share of the slots of each unit in use, 0..1 ("VALU").
};

/// How sure the compute cycles of an op are.
enum class ComputeSource : std::uint8_t { kNone, kBundles, kModel, kHint };

/// One op that takes time. In a loop it appears once and is executed many times.
struct Op {
  std::string name;
  std::string opcode;
  std::string kind;                ///< Fusion kind of the dump, or empty.
  std::string op_class;            ///< loop|input|output|copy|custom|async|…: what it really is.
  std::string op_name;             ///< metadata, for people.
  std::string computation;
  ComputeSource compute_source = ComputeSource::kNone;
  bool as_compiled = true;         ///< False: another plan's kernel, to which the compiler's bundles do not apply.
  bool unmodelled = false;         ///< Its compute or traffic is a guess, `why` says why.
  std::string why;
  Cycles estimated_cycles = 0;     ///< The compiler's own figure, for display only.
  Bytes scoped_vmem = 0;           ///< VMEM that its windows and scratch take while it runs.
  std::vector<int> hbm_reads, hbm_writes, vmem_reads, vmem_writes;  ///< Buffers.
  std::vector<int> arguments;      ///< Buffers of its operands, then of its results, as the compiled
                                   ///< kernel takes them (tuples flattened); -1: no memory of its own.
  std::shared_ptr<KernelReport> report;  ///< Filled by its source when a run ends it; may be null.
  double error_band = 0;           ///< Relative error of compute cycles by cross-validation; 0 unknown.
  double flops = 0;                ///< Arithmetic operations of one execution (hlo::Flops); 0: none, or unknown.
};

/// Schedule entries. A program is a list of these, nested in loops.
struct Item {
  enum class Kind : std::uint8_t {
    kKernel,     ///< Run `op` on the core: actions from `source`.
    kStart,      ///< Begin the asynchronous `transfers` of `op` (copy-start, slice-start).
    kDone,       ///< Wait for `token` (copy-done).
    kLoop,       ///< `trips` executions of `body`.
  };
  Kind kind = Kind::kKernel;
  int op = -1;
  int token = -1;                              ///< Links kStart and kDone.
  std::vector<Transfer> transfers;
  std::function<std::unique_ptr<ActionSource>()> source;
  std::int64_t trips = 1;
  std::vector<Item> body;
};

struct Program {
  std::string module;
  std::string plan = "as-compiled";
  std::vector<Op> ops;             ///< Schedule order.
  std::vector<Buffer> buffers;
  std::vector<Item> items;
  Bytes hbm_allocated_bytes = 0;
  std::vector<std::string> notes;  ///< Assumptions made, one sentence each, for the summary.
};

}  // namespace spillway::plan
