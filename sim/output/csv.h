// SPDX-License-Identifier: Apache-2.0
// The tables of a run directory as CSV (RFC 4180 quoting, LF line ends) and back. docs/timeline-format.md
// describes every column.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/base/result.h"
#include "sim/output/run_data.h"

namespace spillway::output {

/// Appends `field`, quoted if it holds a comma, a quote or a line break.
void AppendCsvField(std::string& out, std::string_view field);

struct CsvTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  std::vector<int> lines;  ///< Line in the file where row i starts.
};

/// RFC 4180: quoted fields, "" inside them, CRLF or LF. An empty text is an error (no header).
/// Errors: an open quote, text after a closing quote, a row with another number of fields than the header.
Result<CsvTable> ParseCsv(std::string_view text, const std::string& file);

/// One row an op of the summary.
std::string OpsCsv(const timeline::Summary& summary);
/// start_ps,end_ps,track,kind,op,buffer,bytes,address,stall,flow,op_index. An absent buffer or address is
/// empty.
std::string SlicesCsv(const RunData& run);
/// time_ps,counter,value: by time, values in shortest form that reads back exactly.
std::string CountersCsv(const timeline::Timeline& timeline);
/// type,name,detail: the tracks (detail: core|steps|dma|other), counters (detail: unit) and buffers in order,
/// so that a timeline reads back with the ones that are empty too.
std::string TracksCsv(const timeline::Timeline& timeline);

/// The texts of the four tables of a run directory; `tracks` may be empty (files by hand): then tracks,
/// counters and buffers are those that the rows name, in order of appearance.
struct TimelineTables {
  std::string slices, counters, tracks;
};
/// `ops` resolves op names. Errors: a missing column, a bad number, an unknown op, with file and line.
Result<timeline::Timeline> ReadTimelineTables(const TimelineTables& tables,
                                              const std::vector<timeline::OpSummary>& ops);

}  // namespace spillway::output
