// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/sweep_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sim/cli/paths.h"
#include "sim/output/files.h"
#include "sim/sweep/curve.h"
#include "sim/sweep/tables.h"

namespace spillway::cli {
namespace {

void Complain(Session& session, const sweep::JournalHeader& header, const std::vector<sweep::JournalEntry>& failed,
              std::size_t all) {
  constexpr std::size_t kMostShown = 10;
  std::string hint;
  for (std::size_t i = 0; i < std::min(failed.size(), kMostShown); ++i) {
    std::string name;
    for (std::size_t k = 0; k < header.axes.size(); ++k) {
      name += fmt::format("{}{}={}", k == 0 ? "" : " ", header.axes[k], failed[i].values[k]);
    }
    hint += fmt::format("{}{}: {}", i == 0 ? "" : "\n      ", name, failed[i].result.status);
  }
  if (failed.size() > kMostShown) hint += fmt::format("\n      and {} more, see column 'status'", failed.size() - kMostShown);
  session.console.Print(Error(fmt::format("{} of {} points have no result", failed.size(), all), hint));
}

}  // namespace

Status MakeDirectory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (IsDirectory(path)) return Done{};
  return Error(fmt::format("cannot make directory '{}': {}", path, error ? error.message() : "there is a file of that name"));
}

ExitCode FinishSweep(Session& session, const std::string& directory, const sweep::JournalHeader& header,
                     const std::vector<sweep::JournalEntry>& entries, const std::string& resolved) {
  const sweep::Curve curve = sweep::MakeCurve(header, entries);
  sweep::CurveGnuplot gnuplot = sweep::MakeGnuplot(curve);
  const Status written = output::WriteFiles(directory, {{"sweep.csv", sweep::SweepCsv(header, entries)},
                                                        {"config.resolved.yaml", resolved},
                                                        {"sweep.svg", sweep::CurveSvg(curve)},
                                                        {"sweep.dat", std::move(gnuplot.data)},
                                                        {"sweep.gp", std::move(gnuplot.script)}});
  if (!written.ok()) return session.Fail(written.errors());
  sweep::TableOptions options;
  options.width = TerminalWidth();
  options.unicode = LocaleIsUtf8();
  session.out.Write(sweep::SweepTable(header, entries, options));
  session.console.Say(1, fmt::format("results are in {}: sweep.csv, sweep.svg", directory));
  std::vector<sweep::JournalEntry> failed;
  for (const sweep::JournalEntry& entry : entries) {
    if (!entry.result.ok()) failed.push_back(entry);
  }
  if (failed.empty()) return kExitDone;
  Complain(session, header, failed, entries.size());
  return kExitCheckFailed;
}

}  // namespace spillway::cli
