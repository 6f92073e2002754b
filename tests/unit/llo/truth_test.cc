// SPDX-License-Identifier: Apache-2.0
// Replays the compiler's own bundles of the shared corpus and compares with its table of truth.
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/base/file.h"
#include "tests/unit/llo/llo_test_util.h"

namespace spillway::llo {
namespace {

using Row = std::map<std::string, std::string>;

std::vector<std::vector<std::string>> ParseCsv(const std::string& text) {
  std::vector<std::vector<std::string>> rows(1, std::vector<std::string>(1));
  bool quoted = false;
  for (char c : text) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      rows.back().emplace_back();
    } else if (c == '\n' && !quoted) {
      rows.emplace_back(1);
    } else {
      rows.back().back() += c;
    }
  }
  return rows;
}

std::vector<Row> ReadTruth() {
  std::vector<Row> out;
  Result<std::string> text = ReadFile(SPILLWAY_SHARED_DIR "/corpus/truth.csv");
  if (!text.ok()) return out;
  std::vector<std::vector<std::string>> rows = ParseCsv(*text);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].size() != rows[0].size()) continue;
    Row row;
    for (std::size_t c = 0; c < rows[0].size(); ++c) row[rows[0][c]] = rows[i][c];
    out.push_back(std::move(row));
  }
  return out;
}

std::int64_t Number(const std::string& text) { return text.empty() ? 0 : std::stoll(text); }

TEST_CASE("executed bundles and DMAs equal the table of truth", "[llo][shared]") {
  std::vector<std::string> sets = Subdirectories(SPILLWAY_SHARED_DIR "/corpus/llo");
  std::vector<Row> truth = ReadTruth();
  if (sets.empty() || truth.empty()) {
    WARN("no shared corpus: skipped");
    return;
  }
  int compared = 0;
  for (const std::string& set : sets) {
    bool v5e = set.compare(0, 3, "v5e") == 0;
    std::string module = set.substr(4);
    std::string compiler = "new";
    if (module.compare(0, 7, "jax062-") == 0) {
      compiler = "old";
      module = module.substr(7);
    }
    Result<Dump> dump = Dump::Open(SPILLWAY_SHARED_DIR "/corpus/llo/" + set);
    REQUIRE(dump.ok());
    for (const Row& row : truth) {
      if (row.at("chip") != (v5e ? "v5e" : "v6e") || row.at("compiler") != compiler ||
          row.at("module") != module || row.at("bundles_executed").empty()) {
        continue;
      }
      INFO(set << " " << row.at("op"));
      Result<std::shared_ptr<const Kernel>> kernel = dump->Load(row.at("op"));
      REQUIRE(kernel.ok());
      CHECK((*kernel)->notes().empty());
      Machine machine(**kernel, ChipOptions(v5e));
      RunTotals run = RunAll(machine, **kernel);
      CHECK(run.message == "");
      CHECK(run.bundles == Number(row.at("bundles_executed")));
      if (!row.at("static_bundles").empty()) {
        CHECK((*kernel)->bundle_count() == Number(row.at("static_bundles")));
      }
      CHECK(run.dmas == Number(row.at("n_dmas")));
      CHECK(run.in == Number(row.at("dma_in_bytes")));
      CHECK(run.out == Number(row.at("dma_out_bytes")));
      CHECK(run.cycles >= run.bundles);
      if (!row.at("n_vmatmul").empty()) CHECK(run.multiplies == Number(row.at("n_vmatmul")));
      Result<Utilization> table = dump->LoadUtilization(row.at("op"), **kernel);
      REQUIRE(table.ok());
      for (const SlotUse& use : ExecutedUse(**kernel, machine.block_runs(), *table)) {
        // The older compiler's names: the table of truth keeps them under the new ones.
        std::string column = use.slot == "MXU" ? "MATMUL" : use.slot == "LOAD" ? "VLOAD" : use.slot;
        auto expected = row.find(column == "STORE" ? "VSTORE" : column);
        if (expected != row.end() && !expected->second.empty()) {
          CHECK(use.used == Number(expected->second));
        }
      }
      ++compared;
    }
  }
  CHECK(compared >= 12);
}

TEST_CASE("the top-level program calls the ops of the module in order and starts its copies", "[llo][shared]") {
  std::string path = SPILLWAY_SHARED_DIR "/corpus/llo/v6e-attn_naive__s8192_d128";
  Result<Dump> dump = Dump::Open(path);
  if (!dump.ok()) {
    WARN("no shared corpus: skipped");
    return;
  }
  Result<std::shared_ptr<const Kernel>> program = dump->LoadProgram();
  REQUIRE(program.ok());
  Machine cold(**program, ChipOptions(false));
  RunTotals run = RunAll(cold, **program);
  CHECK(run.callees == std::vector<std::string>{"<late-initialization>", "broadcast_multiply_fusion",
                                                "online-softmax", "<late-finalization>"});
  CHECK(run.in == 2 * 2097152);
  CHECK(run.dmas == 2);
  // One of the two is a cross-program prefetch: in a warm run it moves nothing.
  MachineOptions options = ChipOptions(false);
  options.warm = true;
  Machine warm(**program, options);
  CHECK(RunAll(warm, **program).in == 2097152);
}

// Padded bytes of a module's parameters and result, as plain elementwise ops must move them.
TEST_CASE("every kernel of the validation dumps runs to its end", "[llo][shared]") {
  std::string root = SPILLWAY_SHARED_DIR "/validation/";
  std::vector<std::string> cases = Subdirectories(root);
  if (cases.empty()) {
    WARN("no shared validation dumps: skipped");
    return;
  }
  std::map<std::string, std::pair<Bytes, Bytes>> plain = {
      {"v5e-scale_16384_16384", {536870912, 536870912}},
      {"v5e-rms_8192_8192", {2 * 134217728, 134217728}},
      {"v5e-pscale_128_128", {134217728, 134217728}},
      {"v5e-sumk_23_16384", {23 * 536870912LL, 536870912}},
      {"v6e-copy_16777216", {33554432, 33554432}},
  };
  std::string table = fmt::format("{:<32}{:>12}{:>12}{:>8}{:>13}{:>12}\n", "kernel", "bundles", "cycles",
                                  "DMAs", "bytes in", "bytes out");
  for (const std::string& name : cases) {
    INFO(name);
    bool v5e = name.compare(0, 3, "v5e") == 0;
    Result<Dump> dump = Dump::Open(root + name + "/llo");
    REQUIRE(dump.ok());
    Bytes in = 0, out = 0;
    for (const KernelFiles& files : dump->kernels()) {
      Result<std::shared_ptr<const Kernel>> kernel = dump->Load(files.op);
      REQUIRE(kernel.ok());
      Machine machine(**kernel, ChipOptions(v5e));
      RunTotals run = RunAll(machine, **kernel);
      INFO(files.op);
      CHECK(run.message == "");
      CHECK(run.end == Event::Kind::kEnd);
      CHECK(run.cycles >= run.bundles);
      if ((*kernel)->matrix_types() == std::vector<std::string>{"bf16"}) {
        // Never above the peak of the matrix units: 16 cycles on 4 of them, 8 on 2.
        CHECK(run.cycles >= run.multiplies * 4);
      }
      table += fmt::format("{:<32}{:>12}{:>12}{:>8}{:>13}{:>12}\n", name + " " + files.op, run.bundles,
                           run.cycles, run.dmas, run.in, run.out);
      in += run.in;
      out += run.out;
    }
    Result<std::shared_ptr<const Kernel>> program = dump->LoadProgram();
    REQUIRE(program.ok());
    Machine machine(**program, ChipOptions(v5e));
    RunTotals run = RunAll(machine, **program);
    CHECK(run.message == "");
    for (const std::string& callee : run.callees) {
      if (callee.front() == '<') continue;
      INFO(callee);
      // Ops without code (a custom call that only joins buffers) have no file.
      CHECK((!dump->Resolve(callee).empty() || name == "v5e-cumsum_268435456"));
    }
    auto expected = plain.find(name);
    if (expected != plain.end()) {
      CHECK(in == expected->second.first);
      CHECK(out == expected->second.second);
    }
  }
  INFO(table);
  if (std::getenv("SPILLWAY_PRINT_TABLE") != nullptr) WARN(table);
}

}  // namespace
}  // namespace spillway::llo
