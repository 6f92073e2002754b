// SPDX-License-Identifier: Apache-2.0
// Rows of the compiled corpus' truth.csv beside what the planner says of the same ops.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/config/chip_config.h"
#include "sim/hlo/module.h"
#include "sim/plan/kernel.h"

namespace spillway::plan::testing {

struct StreamTraffic {
  Bytes bytes = 0;
  std::int64_t slots = 0;
};

struct TruthRow {
  std::map<std::string, std::string> fields;
  const std::string& operator[](const std::string& name) const;
  std::int64_t Number(const std::string& name) const;
};

/// Empty if the file is absent.
std::vector<TruthRow> ReadTruth(const std::string& path);

/// One compared op.
struct Comparison {
  TruthRow row;
  Traffic ours;
  std::map<std::string, StreamTraffic> by_operand;   ///< "op3:out" -> bytes, slots.
  Bytes chunk_median = 0;
  bool from_dump = false;
  bool BytesAgree() const;
  bool OperandsAgree() const;
  bool DmasAgree() const;
  bool ChunksAgree() const;
  bool SlotsAgree() const;
};

/// Compares every row that `keep` accepts and whose module can be read; rows of unreadable modules
/// are returned in `unreadable`.
std::vector<Comparison> CompareRows(const std::string& corpus, const std::vector<TruthRow>& rows,
                                    std::vector<std::string>& unreadable);


}  // namespace spillway::plan::testing
