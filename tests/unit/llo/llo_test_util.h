// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/llo/dump.h"
#include "sim/llo/machine.h"

namespace spillway::llo {

inline MachineOptions ChipOptions(bool v5e, bool hazards = true) {
  MachineOptions options;
  options.hbm_unit_bytes = v5e ? 512 : 32;
  options.matrix.units = !hazards ? 0 : v5e ? 4 : 2;
  options.matrix.columns = v5e ? 128 : 256;
  options.matrix.cycles = v5e ? std::map<std::string, Cycles>{{"bf16", 16}, {"f32", 8}, {"s8", 16}}
                              : std::map<std::string, Cycles>{{"bf16", 8}, {"f32", 4}, {"s8", 8}};
  return options;
}

struct RunTotals {
  Event::Kind end = Event::Kind::kEnd;
  std::string message;
  std::int64_t bundles = 0, dmas = 0, waits = 0, calls = 0, loads = 0, stores = 0, multiplies = 0;
  Cycles cycles = 0;
  Bytes in = 0, out = 0, other = 0;
  std::vector<std::string> callees;
  std::vector<Event> events;       ///< All but kEnd and kError.
};

inline RunTotals RunAll(Machine& machine, const Kernel& kernel, bool keep_events = false) {
  RunTotals totals;
  while (true) {
    Event event = machine.Next();
    totals.bundles += event.bundles;
    totals.cycles += event.cycles;
    totals.loads += event.loads;
    totals.stores += event.stores;
    if (event.kind == Event::Kind::kEnd || event.kind == Event::Kind::kError) {
      totals.end = event.kind;
      totals.message = event.message;
      break;
    }
    if (event.kind == Event::Kind::kDma) {
      ++totals.dmas;
      Bytes& sum = event.dma.kind == Dma::Kind::kHbmToVmem   ? totals.in
                   : event.dma.kind == Dma::Kind::kVmemToHbm ? totals.out
                                                             : totals.other;
      sum += event.dma.bytes;
    }
    totals.waits += event.kind == Event::Kind::kWait;
    if (event.kind == Event::Kind::kCall) totals.callees.push_back(event.callee);
    if (keep_events) totals.events.push_back(event);
  }
  for (std::size_t b = 0; b < kernel.blocks().size(); ++b) {
    const Block& block = kernel.blocks()[b];
    totals.multiplies += machine.block_runs()[b] *
                         (kernel.multiplies_before(block.end) - kernel.multiplies_before(block.begin));
  }
  return totals;
}

inline std::vector<std::string> Subdirectories(const std::string& path) {
  std::vector<std::string> names;
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(path, code)) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace spillway::llo
