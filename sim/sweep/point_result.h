// SPDX-License-Identifier: Apache-2.0
// What a sweep keeps of one point.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/units.h"

namespace spillway::sweep {

struct PointResult {
  std::string status = "ok";   ///< "ok", or why there is no result, in one line.
  Picos makespan_ps = 0;
  Cycles cycles = 0;
  Bytes hbm_read_bytes = 0, hbm_write_bytes = 0;
  Picos hbm_busy_ps = 0;
  Bytes hbm_allocated_bytes = 0;
  Bytes vmem_peak_bytes = 0;   ///< Buffers and scoped memory together.
  Bytes vmem_buffers_bytes = 0;
  std::int64_t dma_count = 0;
  Picos stall_ps = 0;          ///< The core waited for a DMA.
  double unmodelled_share = 0; ///< Share of the makespan in ops whose time is a guess.
  double measured_us = 0;      ///< What others measured of this very program; 0: nothing known.
  std::string timer;           ///< Of that measurement: "device", "wall", "unclear"; empty: none.

  bool ok() const { return status == "ok"; }
};

/// The integers by column name, in the order of the table.
struct IntegerColumn {
  const char* name;
  std::int64_t PointResult::*member;
};
const std::vector<IntegerColumn>& IntegerColumns();

/// All columns after those of the axes.
std::vector<std::string> ResultColumns();

/// The text of each of ResultColumns(); figures of a point without result are empty.
std::vector<std::string> ResultCells(const PointResult& result);

/// `text` in one line without control bytes, cut to a readable length.
std::string OneLine(const std::string& text);

}  // namespace spillway::sweep
