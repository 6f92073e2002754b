// SPDX-License-Identifier: Apache-2.0
#include "sim/output/export.h"

#include <fmt/format.h>

#include "sim/base/file.h"
#include "sim/output/chrome_json.h"
#include "sim/output/csv.h"
#include "sim/output/files.h"
#include "sim/output/gnuplot.h"
#include "sim/output/html_report.h"
#include "sim/output/perfetto.h"
#include "sim/output/summary_json.h"
#include "sim/output/vcd.h"
#include "sim/output/xplane.h"

namespace spillway::output {
namespace {

using Contents = std::vector<std::string>;  // parallel to Format::files

struct Entry {
  Format format;
  Contents (*render)(const RunData& run);
};

Contents Csv(const RunData& run) {
  return {OpsCsv(run.summary), SlicesCsv(run), CountersCsv(run.timeline), TracksCsv(run.timeline)};
}
Contents Perfetto(const RunData& run) { return {PerfettoTrace(run)}; }
Contents XPlane(const RunData& run) { return {XPlaneProfile(run)}; }
Contents Chrome(const RunData& run) { return {ChromeJson(run)}; }
Contents ValueChanges(const RunData& run) { return {Vcd(run)}; }
Contents Plot(const RunData& run) {
  GnuplotFiles files = Gnuplot(run);
  return {std::move(files.data), std::move(files.script)};
}
Contents Html(const RunData& run) { return {HtmlReport({run})}; }
Contents Json(const RunData& run) { return {SummaryJson(run.summary)}; }

const std::vector<Entry>& Entries() {
  static const auto* const kEntries = new std::vector<Entry>{
      {{"perfetto", "Perfetto trace, for ui.perfetto.dev", {"timeline.pftrace"}}, Perfetto},
      {{"xplane", "XPlane profile, for XProf: `xprof --logdir DIR`", {kXPlanePath}}, XPlane},
      {{"chrome", "Chrome trace events (JSON)", {"timeline.chrome.json"}}, Chrome},
      {{"csv",
        "tables for pandas, DuckDB, a spreadsheet",
        {"ops.csv", "slices.csv", "counters.csv", "tracks.csv"}},
       Csv},
      {{"json", "the summary, schema spillway.summary/1", {"summary.json"}}, Json},
      {{"vcd", "value change dump of busy signals, for gtkwave", {"timeline.vcd"}}, ValueChanges},
      {{"gnuplot",
        "data and script; `gnuplot timeline.gp` draws timeline.svg",
        {"timeline.dat", "timeline.gp"}},
       Plot},
      {{"html", "one page that opens offline", {"report.html"}}, Html},
  };
  return *kEntries;
}

}  // namespace

const std::vector<Format>& Formats() {
  static const auto* const kFormats = [] {
    auto* formats = new std::vector<Format>;
    for (const Entry& entry : Entries()) formats->push_back(entry.format);
    return formats;
  }();
  return *kFormats;
}

Result<std::vector<OutputFile>> RenderFormat(const std::string& format, const RunData& run) {
  for (const Entry& entry : Entries()) {
    if (entry.format.name != format) continue;
    Contents contents = entry.render(run);
    SPILLWAY_CHECK(contents.size() == entry.format.files.size());
    std::vector<OutputFile> files;
    for (std::size_t i = 0; i < contents.size(); ++i) {
      files.push_back({entry.format.files[i], std::move(contents[i])});
    }
    return files;
  }
  std::vector<std::string> names;
  for (const Format& known : Formats()) names.push_back(known.name);
  const std::string nearest = Nearest(format, names);
  return Error(fmt::format("unknown format '{}'", format), nearest.empty()
                                                               ? "`spillway list formats` shows them"
                                                               : fmt::format("did you mean '{}'?", nearest));
}

Status Export(const std::string& format, const RunData& run, const std::string& out_dir) {
  const Result<std::vector<OutputFile>> files = RenderFormat(format, run);
  if (!files.ok()) return files.errors();
  return WriteFiles(out_dir, *files);
}

}  // namespace spillway::output
