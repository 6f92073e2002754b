// SPDX-License-Identifier: Apache-2.0
// HBM traffic of kernels against the DMA instructions of the compiler's own bundles.
#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <cstdlib>
#include <fstream>
#include <functional>

#include "tests/unit/plan/truth_table.h"

namespace spillway::plan::testing {
namespace {

const std::string kCorpus = std::string(SPILLWAY_SHARED_DIR) + "/corpus";

std::vector<TruthRow> Rows(const std::function<bool(const TruthRow&)>& keep) {
  std::vector<TruthRow> rows;
  for (TruthRow& row : ReadTruth(kCorpus + "/truth.csv")) {
    if (row["status"] == "ok" && !row["dma_in_bytes"].empty() && keep(row)) rows.push_back(std::move(row));
  }
  return rows;
}
bool IsFusion(const TruthRow& row) { return row["opcode"] == "fusion"; }

std::int64_t Count(const std::vector<Comparison>& all, bool (Comparison::*agrees)() const) {
  std::int64_t count = 0;
  for (const Comparison& c : all) count += (c.*agrees)() ? 1 : 0;
  return count;
}

std::string Line(const Comparison& c) {
  std::string streams;
  for (const auto& [name, traffic] : c.by_operand) {
    streams += fmt::format("{}={}/{} ", name, traffic.bytes, traffic.slots);
  }
  return fmt::format("| {} {} {} | {} | {} / {} | {} / {} | {} / {} | {} / {} | {} | {}; {} |", c.row["chip"],
                     c.row["compiler"], c.row["module"], c.row["op"], c.ours.read_bytes, c.row["dma_in_bytes"],
                     c.ours.write_bytes, c.row["dma_out_bytes"], c.ours.dmas, c.row["n_dmas"], c.chunk_median,
                     c.row["chunk_median"], streams, c.row["dma_by_operand"], c.row["buffers_by_operand"]);
}

void Section(std::ostream& out, const std::string& title, const std::vector<Comparison>& all,
             bool (Comparison::*agrees)() const) {
  std::int64_t count = Count(all, agrees);
  out << fmt::format("\n## {}: {} of {} ({:.1f}%)\n\n", title, count, all.size(),
                     all.empty() ? 0.0 : 100.0 * static_cast<double>(count) / static_cast<double>(all.size()));
  if (count == static_cast<std::int64_t>(all.size())) return;
  out << "Rows that differ. Each figure: planner / compiler.\n\n"
         "| module | op | bytes in | bytes out | DMAs | median chunk | planner's streams (bytes/slots) | compiler's |\n"
         "|---|---|---|---|---|---|---|---|\n";
  for (const Comparison& c : all) {
    if (!(c.*agrees)()) out << Line(c) << "\n";
  }
}

}  // namespace

TEST_CASE("HBM bytes of fusions equal the compiler's DMAs", "[truth]") {
  std::vector<TruthRow> rows = Rows(IsFusion);
  if (rows.empty()) {
    WARN("corpus/truth.csv is absent: skipped");
    return;
  }
  std::vector<std::string> unreadable;
  std::vector<Comparison> all = CompareRows(kCorpus, rows, unreadable);
  for (const std::string& name : unreadable) UNSCOPED_INFO("not read: " << name);
  CHECK(unreadable.empty());
  for (const Comparison& c : all) {
    if (!c.BytesAgree()) UNSCOPED_INFO(Line(c));
  }
  CHECK(Count(all, &Comparison::BytesAgree) * 100 >= 99 * static_cast<std::int64_t>(rows.size()));
  CHECK(Count(all, &Comparison::OperandsAgree) * 100 >= 99 * static_cast<std::int64_t>(rows.size()));
}

TEST_CASE("HBM bytes of plain ops equal the compiler's DMAs", "[truth]") {
  std::vector<TruthRow> rows = Rows([](const TruthRow& row) { return !IsFusion(row) && row["opcode"] != "custom-call"; });
  if (rows.empty()) {
    WARN("corpus/truth.csv is absent: skipped");
    return;
  }
  std::vector<std::string> unreadable;
  std::vector<Comparison> all = CompareRows(kCorpus, rows, unreadable);
  for (const Comparison& c : all) {
    if (!c.BytesAgree()) UNSCOPED_INFO(Line(c));
  }
  CHECK(Count(all, &Comparison::BytesAgree) * 100 >= 99 * static_cast<std::int64_t>(rows.size()));
}

// Not run by default: reports/traffic.sh runs it and writes reports/traffic.md.
TEST_CASE("traffic report", "[.traffic-report]") {
  const char* path = std::getenv("SPILLWAY_TRAFFIC_REPORT");
  REQUIRE(path != nullptr);
  std::ofstream out(path);
  out << "# HBM traffic of the planner against the compiler's DMAs\n\n"
         "Made by `reports/traffic.sh`. Each op of the compiled corpus (`../shared/corpus/truth.csv`) is planned from its HLO\n"
         "alone; the truth is the DMA instructions of the compiler's final bundles.\n";
  struct Part {
    const char* name;
    std::function<bool(const TruthRow&)> keep;
  };
  const Part parts[] = {
      {"Fusions", IsFusion},
      {"Plain ops", [](const TruthRow& r) { return !IsFusion(r) && r["opcode"] != "custom-call"; }},
      {"Custom calls", [](const TruthRow& r) { return r["opcode"] == "custom-call"; }}};
  for (const Part& part : parts) {
    std::vector<std::string> unreadable;
    std::vector<Comparison> all = CompareRows(kCorpus, Rows(part.keep), unreadable);
    std::string name = part.name;
    Section(out, name + ", bytes in and out", all, &Comparison::BytesAgree);
    Section(out, name + ", bytes by operand", all, &Comparison::OperandsAgree);
    Section(out, name + ", number of DMAs", all, &Comparison::DmasAgree);
    Section(out, name + ", median contiguous run", all, &Comparison::ChunksAgree);
    Section(out, name + ", buffers by operand", all, &Comparison::SlotsAgree);
  }
  REQUIRE(out.good());
}

}  // namespace spillway::plan::testing
