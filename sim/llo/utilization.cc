// SPDX-License-Identifier: Apache-2.0
#include "sim/llo/utilization.h"

#include <algorithm>
#include <charconv>

#include "sim/llo/bundle_text.h"

namespace spillway::llo {
namespace {

constexpr std::size_t kMaxSlots = 64;

bool IsBlank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// The numbers of a line, saturated; false at what is none.
bool ReadNumbers(std::string_view line, std::vector<std::int64_t>* values) {
  values->clear();
  const char* at = line.data();
  const char* const end = at + line.size();
  for (;;) {
    while (at < end && IsBlank(*at)) ++at;
    if (at == end) return true;
    std::int64_t value = *at - '0';
    if (value >= 0 && value <= 9 && (at + 1 == end || IsBlank(at[1]))) {  // most are
      values->push_back(value);
      ++at;
      continue;
    }
    if (*at == '+') ++at;
    const auto [rest, error] = std::from_chars(at, end, value);
    if (error == std::errc::invalid_argument) return false;
    if (error == std::errc::result_out_of_range) value = *at == '-' ? INT64_MIN : INT64_MAX;
    values->push_back(value);
    at = rest;
  }
}

}  // namespace

Result<Utilization> Utilization::Parse(std::string_view text, const std::string& file) {
  Utilization table;
  enum class Part { kStart, kNames, kCapacity, kUse } part = Part::kStart;
  int line_number = 0;
  std::vector<std::int64_t> values;
  for (std::size_t at = 0; at <= text.size();) {
    std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = Trim(text.substr(at, end - at));
    at = end + 1;
    ++line_number;
    const auto fail = [&](const char* message) {
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
      if (!table.slots.empty()) return fail("a second list of slots");
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
    if (!ReadNumbers(line, &values) || values.size() != table.slots.size()) return fail("expected one number for each slot");
    if (part == Part::kCapacity) {
      table.capacity = values;
    } else {
      for (std::int64_t value : values) {
        table.use.push_back(static_cast<std::int32_t>(std::clamp<std::int64_t>(value, 0, 1'000'000)));
      }
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
  const std::size_t rows = utilization.bundles();
  std::int64_t bundles = 0;
  for (std::size_t b = 0; b < kernel.blocks().size() && b < block_runs.size(); ++b) {
    const Block& block = kernel.blocks()[b];
    bundles += block_runs[b] * (block.end - block.begin);
    if (block_runs[b] == 0) continue;
    for (std::size_t i = block.begin; i < block.end && i < rows; ++i) {
      const std::int32_t* const row = &utilization.use[i * total.size()];
      for (std::size_t s = 0; s < total.size(); ++s) total[s].used += block_runs[b] * row[s];
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
