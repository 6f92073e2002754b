// SPDX-License-Identifier: Apache-2.0
#include "sim/llo/describe.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace spillway::llo {
namespace {

constexpr Bytes kOperandSpacing = 2 * kGiB;   // As Machine makes addresses up.
constexpr std::size_t kMaxSites = 100'000;

struct FlagSet {
  std::set<std::int64_t> values;
  void Add(std::int64_t flag) {
    if (values.size() < 64) values.insert(flag);
  }
};

std::string FlagNames(const Kernel& kernel, const FlagSet& flags) {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> ranges;
  for (std::int64_t flag : flags.values) {
    std::string name = "?";
    for (const auto& [symbol, constant] : kernel.symbols()) {
      if (constant.space == Space::kFlag && constant.index + 1 == flag >> 12) name = "#" + symbol;
    }
    std::int64_t slot = flag & 4095;
    auto [it, added] = ranges.emplace(name, std::make_pair(slot, slot));
    if (!added) {
      it->second.first = std::min(it->second.first, slot);
      it->second.second = std::max(it->second.second, slot);
    }
  }
  std::string text;
  for (const auto& [name, range] : ranges) {
    if (!text.empty()) text += ", ";
    text += range.first == range.second ? fmt::format("{}+{}", name, range.first)
                                        : fmt::format("{}+{}..{}", name, range.first, range.second);
  }
  return text;
}

}  // namespace

std::vector<LoopDescription> FindLoops(const Kernel& kernel, const Machine& machine) {
  const std::vector<Block>& blocks = kernel.blocks();
  std::map<std::uint32_t, LoopDescription> by_header;
  std::map<std::uint32_t, std::int64_t> back_edges;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (!blocks[b].branches || blocks[b].taken < 0) continue;
    const Block& header = blocks[static_cast<std::size_t>(blocks[b].taken)];
    if (header.begin > blocks[b].begin) continue;
    LoopDescription& loop = by_header[header.begin];
    loop.begin = header.begin;
    loop.end = std::max(loop.end, blocks[b].end);
    loop.iterations = machine.block_runs()[static_cast<std::size_t>(blocks[b].taken)];
    back_edges[header.begin] += machine.taken_runs()[b];
  }
  std::vector<LoopDescription> loops;
  for (auto& [begin, loop] : by_header) {
    loop.entries = loop.iterations - back_edges[begin];
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (blocks[b].begin >= loop.begin && blocks[b].begin < loop.end) {
        loop.bundles += machine.block_runs()[b] * (blocks[b].end - blocks[b].begin);
      }
    }
    for (const LoopDescription& outer : loops) loop.depth += outer.end >= loop.end;
    loops.push_back(loop);
  }
  return loops;
}

namespace {

int InnermostLoop(const std::vector<LoopDescription>& loops, std::uint32_t bundle) {
  int found = -1;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    bool inside = bundle >= loops[i].begin && bundle < loops[i].end;
    if (inside && (found < 0 || loops[i].depth >= loops[static_cast<std::size_t>(found)].depth)) {
      found = static_cast<int>(i);
    }
  }
  return found;
}

std::string_view KindName(Dma::Kind kind) {
  switch (kind) {
    case Dma::Kind::kHbmToVmem: return "HBM -> VMEM";
    case Dma::Kind::kVmemToHbm: return "VMEM -> HBM";
    case Dma::Kind::kHbmToHbm: return "HBM -> HBM";
    case Dma::Kind::kVmemToVmem: return "VMEM -> VMEM";
    case Dma::Kind::kHbmToSmem: return "HBM -> SMEM";
    case Dma::Kind::kSmemToHbm: return "SMEM -> HBM";
    case Dma::Kind::kOther: break;
  }
  return "other";
}

struct Collector {
  const Kernel& kernel;
  std::map<std::uint32_t, std::pair<DmaDescription, FlagSet>> dmas;
  std::map<std::uint32_t, std::pair<WaitDescription, FlagSet>> waits;

  void Add(const Event& event) {
    if (event.kind == Event::Kind::kDma && dmas.size() < kMaxSites) {
      auto& [site, flags] = dmas[event.bundle];
      const Dma& dma = event.dma;
      if (site.count == 0) {
        site.bundle = event.bundle;
        site.line = kernel.dmas()[static_cast<std::size_t>(dma.site)].line;
        site.thread = dma.thread;
        site.kind = dma.kind;
        site.least = dma.bytes;
        site.chunk = dma.chunk_bytes == dma.bytes ? 0 : dma.chunk_bytes;
        site.stride = dma.stride;
        bool reads = dma.kind == Dma::Kind::kHbmToVmem || dma.kind == Dma::Kind::kHbmToHbm ||
                     dma.kind == Dma::Kind::kHbmToSmem;
        site.operand = static_cast<int>((reads ? dma.source : dma.destination) / kOperandSpacing);
        if (dma.kind == Dma::Kind::kOther || dma.kind == Dma::Kind::kVmemToVmem) site.operand = -1;
      }
      ++site.count;
      site.total += dma.bytes;
      site.least = std::min(site.least, dma.bytes);
      site.most = std::max(site.most, dma.bytes);
      flags.Add(dma.flag);
    }
    if (event.kind == Event::Kind::kWait && waits.size() < kMaxSites) {
      auto& [site, flags] = waits[event.bundle];
      site.bundle = event.bundle;
      site.line = kernel.line(event.bundle);
      ++site.count;
      site.bytes = std::max(site.bytes, event.granules * 32);
      flags.Add(event.flag);
    }
  }
};

std::string Times(std::int64_t count) { return count == 1 ? "once" : fmt::format("{} times", count); }

}  // namespace

KernelDescription Describe(const Kernel& kernel, MachineOptions options, const Utilization* utilization) {
  options.operand_addresses.clear();
  options.parameter_addresses.clear();
  KernelDescription out;
  out.entry = kernel.entry();
  out.file = kernel.file();
  out.static_bundles = kernel.bundle_count();
  Machine machine(kernel, options);
  Collector collector{kernel, {}, {}};
  for (bool running = true; running;) {
    Event event = machine.Next();
    out.loads += event.loads;
    out.stores += event.stores;
    collector.Add(event);
    if (event.kind == Event::Kind::kCall && out.calls.size() < kMaxSites) out.calls.push_back(event.callee);
    if (event.kind == Event::Kind::kError) out.notes.push_back(event.message);
    running = event.kind != Event::Kind::kEnd && event.kind != Event::Kind::kError;
  }
  out.bundles = machine.bundles();
  out.cycles = machine.cycles();
  out.loops = FindLoops(kernel, machine);
  for (auto& [bundle, site] : collector.dmas) {
    site.first.loop = InnermostLoop(out.loops, bundle);
    site.first.flags = FlagNames(kernel, site.second);
    out.dmas.push_back(std::move(site.first));
  }
  for (auto& [bundle, site] : collector.waits) {
    site.first.loop = InnermostLoop(out.loops, bundle);
    site.first.flags = FlagNames(kernel, site.second);
    out.waits.push_back(std::move(site.first));
  }
  if (utilization != nullptr) out.slots = ExecutedUse(kernel, machine.block_runs(), *utilization);
  for (const std::string& note : machine.notes()) out.notes.push_back(note);
  return out;
}

std::vector<std::string> DescriptionLines(const KernelDescription& d) {
  // Address, then loops before what they hold.
  std::multimap<std::pair<std::uint32_t, int>, std::string> body;
  auto indent = [&](int loop) {
    int depth = loop < 0 ? 0 : d.loops[static_cast<std::size_t>(loop)].depth + 1;
    return std::string(static_cast<std::size_t>(2 * (depth + 1)), ' ');
  };
  for (const LoopDescription& loop : d.loops) {
    double turns = static_cast<double>(std::max<std::int64_t>(1, loop.iterations));
    double each = static_cast<double>(loop.bundles) / turns;
    std::string entered = loop.entries == 1 ? "" : fmt::format(", entered {}", Times(loop.entries));
    body.emplace(std::make_pair(loop.begin, loop.depth - 1000),
                 fmt::format("{}loop {:#x}..{:#x}: {} iterations{}, {:.1f} bundles each",
                             std::string(static_cast<std::size_t>(2 * (loop.depth + 1)), ' '), loop.begin,
                             loop.end - 1, loop.iterations, entered, each));
  }
  for (const DmaDescription& dma : d.dmas) {
    std::string size = FormatBytes(dma.most), shape = "contiguous";
    if (dma.least != dma.most) size = fmt::format("{} to {}", FormatBytes(dma.least), size);
    if (dma.chunk != 0) {
      shape = fmt::format("{} runs {} apart", FormatBytes(dma.chunk), FormatBytes(dma.stride));
    }
    std::string operand = dma.operand < 0 ? "" : fmt::format(" operand {}", dma.operand);
    body.emplace(std::make_pair(dma.bundle, 0),
                 fmt::format("{}dma  {:#x}: {}{}, {} x {}, {}, thread {}, flag {} (line {})",
                             indent(dma.loop), dma.bundle, KindName(dma.kind), operand, dma.count, size,
                             shape, dma.thread,
                             dma.flags, dma.line));
  }
  for (const WaitDescription& wait : d.waits) {
    body.emplace(std::make_pair(wait.bundle, 1),
                 fmt::format("{}wait {:#x}: {} for {} on flag {} (line {})", indent(wait.loop), wait.bundle,
                             Times(wait.count), FormatBytes(wait.bytes), wait.flags, wait.line));
  }
  std::vector<std::string> lines;
  lines.push_back(d.entry.empty() ? d.file : d.entry);
  lines.push_back(fmt::format("  {} bundles, {} executed in {} cycles, {} vector loads, {} stores",
                              d.static_bundles, d.bundles, d.cycles, d.loads, d.stores));
  if (!d.slots.empty()) {
    std::string slots = "  slots:";
    for (const SlotUse& use : d.slots) slots += fmt::format(" {} {:.1f}%", use.slot, 100 * use.share);
    lines.push_back(std::move(slots));
  }
  for (auto& [key, line] : body) lines.push_back(line);
  if (!d.calls.empty()) lines.push_back(fmt::format("  calls: {}", fmt::join(d.calls, ", ")));
  for (const std::string& note : d.notes) lines.push_back("  note: " + note);
  return lines;
}

}  // namespace spillway::llo
