// SPDX-License-Identifier: Apache-2.0
// Two replays side by side.
#pragma once

#include <string>
#include <vector>

#include "sim/timeline/summary.h"
#include "sim/timeline/timeline.h"

namespace spillway::explain {

struct Run {
  std::string label;             ///< As the user named it.
  timeline::Summary summary;
  timeline::Timeline timeline;   ///< May be empty: then there is no traffic by tensor.
};

/// Where the makespan went. The parts add up to it.
struct TimeParts {
  Picos compute = 0;             ///< The core computes.
  Picos read = 0, write = 0;     ///< It waits for transfers of the running kernel (in the middle of it).
  Picos fill = 0, drain = 0;     ///< Before its first and after its last step.
  Picos other = 0;               ///< Queues, contention, and between kernels.
  Picos memory_bound = 0, compute_bound = 0, latency_bound = 0;   ///< Time of kernels by what bounds them.
};

/// An op of A and what it has become in B; -1: it has no counterpart.
struct OpPair {
  int a = -1, b = -1;
  std::string how;               ///< "name", "op_name", "shape"; empty for unpaired ops.
};

struct TensorTraffic {
  std::string name_a, name_b;    ///< Empty: not there.
  std::string shape;
  Bytes read_a = 0, write_a = 0, read_b = 0, write_b = 0;
  std::string how;               ///< "name" or "shape".
};

struct Comparison {
  TimeParts parts_a, parts_b;
  std::vector<OpPair> ops;               ///< Order of A, then what only B has.
  std::vector<TensorTraffic> tensors;    ///< Largest change first; tensors without traffic are left out.
  std::vector<std::size_t> vanished;     ///< Indices of tensors that A writes to and reads back from HBM and B does not.
  std::vector<std::size_t> appeared;     ///< The other way round.
  double slowdown = 0;                   ///< (B - A) / A of the makespans; 0 if A took no time.
};

/// Ops are paired by name, then by the op_name of their metadata, then by class and shapes of the results; each at most once.
Comparison Compare(const Run& a, const Run& b);

}  // namespace spillway::explain
