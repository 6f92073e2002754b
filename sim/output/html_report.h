// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "sim/output/run_data.h"

namespace spillway::output {

struct HtmlOptions {
  /// Above so many slices of a run, neighbours too short to see at full zoom-out are drawn as one (the page
  /// says so).
  std::size_t max_slices = 150'000;
  /// Above so many points of a counter, only first, lowest, highest and last of each bin are kept.
  std::size_t max_points = 20'000;
};

/// One self-contained page: figures, sortable table of ops, timeline with pan, zoom and search, counters,
/// notes; with several runs also a table that compares them. Works offline from file://. Deterministic bytes.
/// REQUIRES: at least one run.
std::string HtmlReport(const std::vector<RunData>& runs, const HtmlOptions& options = {});

/// The page around other data: `json` is an object that assets/report.js knows, {"sweep": …}.
std::string HtmlPage(const std::string& title, const std::string& json);

}  // namespace spillway::output
