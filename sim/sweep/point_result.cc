// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/point_result.h"

#include <fmt/format.h>

namespace spillway::sweep {

const std::vector<IntegerColumn>& IntegerColumns() {
  static const std::vector<IntegerColumn> columns = {
      {"makespan_ps", &PointResult::makespan_ps},
      {"cycles", &PointResult::cycles},
      {"hbm_read_bytes", &PointResult::hbm_read_bytes},
      {"hbm_write_bytes", &PointResult::hbm_write_bytes},
      {"hbm_busy_ps", &PointResult::hbm_busy_ps},
      {"hbm_allocated_bytes", &PointResult::hbm_allocated_bytes},
      {"vmem_peak_bytes", &PointResult::vmem_peak_bytes},
      {"vmem_buffers_bytes", &PointResult::vmem_buffers_bytes},
      {"dma_count", &PointResult::dma_count},
      {"stall_ps", &PointResult::stall_ps},
  };
  return columns;
}

std::vector<std::string> ResultColumns() {
  std::vector<std::string> names = {"status"};
  for (const IntegerColumn& column : IntegerColumns()) names.emplace_back(column.name);
  names.insert(names.end(), {"unmodelled_share", "measured_us", "timer"});
  return names;
}

std::vector<std::string> ResultCells(const PointResult& result) {
  std::vector<std::string> cells = {result.status};
  for (const IntegerColumn& column : IntegerColumns()) {
    cells.push_back(result.ok() ? std::to_string(result.*column.member) : "");
  }
  cells.push_back(result.ok() ? fmt::format("{}", result.unmodelled_share) : "");
  cells.push_back(result.measured_us > 0 ? fmt::format("{}", result.measured_us) : "");
  cells.push_back(result.timer);
  return cells;
}

std::string OneLine(const std::string& text) {
  constexpr std::size_t kMost = 300;
  std::string line;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    line += byte < 0x20 || byte == 0x7f ? ' ' : c;
  }
  if (line.size() > kMost) {
    std::size_t end = kMost;
    while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xc0) == 0x80) --end;  // not inside a code point
    line = line.substr(0, end) + "...";
  }
  return line;
}

}  // namespace spillway::sweep
