// SPDX-License-Identifier: Apache-2.0
// A kernel's loops, DMAs and waits in a form that a kernel author can read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/llo/kernel.h"
#include "sim/llo/machine.h"
#include "sim/llo/utilization.h"

namespace spillway::llo {

/// Bundles [begin, end) that a backward branch repeats.
struct LoopDescription {
  std::uint32_t begin = 0, end = 0;
  int depth = 0;                         ///< Enclosing loops.
  std::int64_t entries = 0, iterations = 0;
  std::int64_t bundles = 0;              ///< Executed inside, nested loops included.
};

/// All executions of one DMA operation.
struct DmaDescription {
  std::uint32_t bundle = 0;
  int line = 0, loop = -1, thread = 0;   ///< `loop`: innermost, index into loops; -1 none.
  Dma::Kind kind = Dma::Kind::kOther;
  int operand = -1;                      ///< Operand (or program parameter) on the HBM side; -1 unknown.
  std::int64_t count = 0;
  Bytes total = 0, least = 0, most = 0;  ///< Bytes of one DMA.
  Bytes chunk = 0, stride = 0;           ///< Of the first one; chunk 0: contiguous.
  std::string flags;                     ///< "#allocation1+0..5".
};

struct WaitDescription {
  std::uint32_t bundle = 0;
  int line = 0, loop = -1;
  std::int64_t count = 0;
  Bytes bytes = 0;                       ///< That one wait asks for (the most of all).
  std::string flags;
};

struct KernelDescription {
  std::string entry, file;
  std::int64_t static_bundles = 0, bundles = 0;
  Cycles cycles = 0;
  std::int64_t loads = 0, stores = 0;
  std::vector<LoopDescription> loops;    ///< By address.
  std::vector<DmaDescription> dmas;      ///< By address.
  std::vector<WaitDescription> waits;    ///< By address.
  std::vector<SlotUse> slots;            ///< Empty without a utilisation table.
  std::vector<std::string> calls;        ///< Callees of a program, in order.
  std::vector<std::string> notes;        ///< Assumptions and the reason of an early stop.
};

/// The loops that `machine` has run through so far.
std::vector<LoopDescription> FindLoops(const Kernel& kernel, const Machine& machine);

/// Runs the kernel once. Addresses in `options` are ignored: operands get made-up ones, so that each DMA
/// can be traced to its operand.
KernelDescription Describe(const Kernel& kernel, MachineOptions options,
                           const Utilization* utilization = nullptr);

/// The description as indented text, loops in the order of addresses.
std::vector<std::string> DescriptionLines(const KernelDescription& description);

}  // namespace spillway::llo
