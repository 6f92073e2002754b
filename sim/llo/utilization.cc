// SPDX-License-Identifier: Apache-2.0
#include "sim/llo/utilization.h"

#include <algorithm>
#include <cstdlib>

#include "sim/llo/bundle_text.h"

namespace spillway::llo {
namespace {

constexpr std::size_t kMaxSlots = 64;

std::vector<std::int64_t> Numbers(std::string_view line, bool* ok) {
  std::vector<std::int64_t> values;
  std::string copy(line);
  const char* at = copy.c_str();
  while (true) {
    while (*at == ' ' || *at == '\t' || *at == '\r') ++at;
    if (*at == '\0') break;
    char* end = nullptr;
    values.push_back(std::strtoll(at, &end, 10));
    if (end == at) {
      *ok = false;
      break;
    }
    at = end;
  }
  return values;
}

}  // namespace

Result<Utilization> Utilization::Parse(std::string_view text, const std::string& file) {
  Utilization table;
  enum class Part { kStart, kNames, kCapacity, kUse } part = Part::kStart;
  int line_number = 0;
  for (std::size_t at = 0; at <= text.size();) {
    std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = Trim(text.substr(at, end - at));
    at = end + 1;
    ++line_number;
    auto fail = [&](const std::string& message) {
      Diagnostic error = Error(message);
      error.file = file;
      error.line = line_number;
      return error;
    };
    if (line.empty()) continue;
    if (line.substr(0, 2) == "==") {
      // The compiler spells the first heading "CAPACTIY".
      part = line.find("UTILIZATION") != std::string_view::npos ? Part::kUse : Part::kNames;
      continue;
    }
    if (part == Part::kNames) {
      for (std::size_t i = 0; i <= line.size();) {
        // Commas, or bars in tables of older compilers.
        std::size_t comma = std::min(line.find_first_of(",|", i), line.size());
        table.slots.emplace_back(Trim(line.substr(i, comma - i)));
        i = comma + 1;
      }
      if (table.slots.size() > kMaxSlots) return fail("too many slots");
      part = Part::kCapacity;
      continue;
    }
    if (part == Part::kStart) return fail("expected a line `== CAPACITY:`");
    bool ok = true;
    std::vector<std::int64_t> values = Numbers(line, &ok);
    if (!ok || values.size() != table.slots.size()) return fail("expected one number for each slot");
    if (part == Part::kCapacity) {
      table.capacity = values;
    } else {
      std::vector<std::int32_t> row;
      for (std::int64_t value : values) {
        row.push_back(static_cast<std::int32_t>(std::clamp<std::int64_t>(value, 0, 1'000'000)));
      }
      table.use.push_back(std::move(row));
    }
  }
  if (table.capacity.empty() || table.use.empty()) {
    Diagnostic error = Error("no utilisation table");
    error.file = file;
    return error;
  }
  return table;
}

std::vector<SlotUse> ExecutedUse(const Kernel& kernel, const std::vector<std::int64_t>& block_runs,
                                 const Utilization& utilization) {
  std::vector<SlotUse> total(utilization.slots.size());
  std::int64_t bundles = 0;
  for (std::size_t b = 0; b < kernel.blocks().size() && b < block_runs.size(); ++b) {
    const Block& block = kernel.blocks()[b];
    bundles += block_runs[b] * (block.end - block.begin);
    if (block_runs[b] == 0) continue;
    for (std::uint32_t i = block.begin; i < block.end && i < utilization.use.size(); ++i) {
      for (std::size_t s = 0; s < total.size(); ++s) total[s].used += block_runs[b] * utilization.use[i][s];
    }
  }
  for (std::size_t s = 0; s < total.size(); ++s) {
    total[s].slot = utilization.slots[s];
    total[s].capacity = utilization.capacity[s];
    double room = static_cast<double>(bundles) * static_cast<double>(total[s].capacity);
    total[s].share = room > 0 ? static_cast<double>(total[s].used) / room : 0;
  }
  return total;
}

}  // namespace spillway::llo
