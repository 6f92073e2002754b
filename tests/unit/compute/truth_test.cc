// SPDX-License-Identifier: Apache-2.0
// Bundles that the shipped tables predict against bundles executed by the kernels of the corpus. Families left out of the
// fit do a little worse: reports/compute.md has the cross-validation.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

#include "sim/base/file.h"
#include "sim/compute/tile_cost.h"
#include "sim/config/config_loader.h"
#include "sim/hlo/module.h"

namespace spillway::compute {
namespace {

const std::string kCorpus = std::string(SPILLWAY_SHARED_DIR) + "/corpus/";

std::vector<std::string> SplitCsv(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (char c : line) {
    if (c == '"') quoted = !quoted;
    else if (c == ',' && !quoted) cells.emplace_back();
    else cells.back() += c;
  }
  return cells;
}

std::vector<std::map<std::string, std::string>> ReadRows(const std::string& path) {
  std::vector<std::map<std::string, std::string>> rows;
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return rows;
  std::vector<std::string> names = SplitCsv(line);
  while (std::getline(file, line)) {
    std::vector<std::string> cells = SplitCsv(line);
    std::map<std::string, std::string> row;
    for (std::size_t i = 0; i < names.size() && i < cells.size(); ++i) row[names[i]] = cells[i];
    rows.push_back(std::move(row));
  }
  return rows;
}

struct Errors {
  std::vector<double> values;
  double Quantile(double q) {
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
  }
};

const hlo::Instruction* Find(const hlo::Module& module, const std::string& op) {
  if (const hlo::Instruction* found = module.entry->Find(op)) return found;
  for (const hlo::Computation& computation : module.computations) {
    if (const hlo::Instruction* found = computation.Find(op)) return found;
  }
  return nullptr;
}

std::unique_ptr<hlo::Module> LoadModule(const std::string& path) {
  auto text = ReadFile(path + ".hlo");
  if (!text.ok()) text = ReadFile(path + ".hlo.gz");
  if (!text.ok()) return nullptr;
  auto modules = hlo::ParseModules(std::move(text).value(), path);
  return modules.ok() ? std::move(modules.value().front()) : nullptr;
}

TEST_CASE("predicted bundles against the corpus' executed bundles") {
  auto rows = ReadRows(kCorpus + "truth.csv");
  if (rows.empty()) {
    WARN("no " << kCorpus << "truth.csv: skipped");
    return;
  }
  for (const char* name : {"v5e", "v6e"}) {
    config::ChipRequest request;
    request.chip = std::string(SPILLWAY_SOURCE_DIR) + "/configs/chips/" + name + ".yaml";
    auto chip = config::LoadChip(request);
    REQUIRE(chip.ok());
    std::map<std::string, std::unique_ptr<hlo::Module>> modules;
    Errors errors;
    for (auto& row : rows) {
      if (row["chip"] != name || std::atof(row["bundles_executed"].c_str()) <= 1000) continue;
      std::string path = kCorpus + name + (row["compiler"] == "old" ? "-jax062/" : "/") + row["module"];
      if (modules.count(path) == 0) modules[path] = LoadModule(path);
      const hlo::Instruction* op = modules[path] ? Find(*modules[path], row["op"]) : nullptr;
      if (op == nullptr) continue;
      KernelCost cost = CostOf(*op, chip->config, 1);
      if (cost.error_class == "custom") continue;   // Mosaic kernels have no HLO computation.
      CHECK(cost.error_band > 0);
      errors.values.push_back(std::abs(static_cast<double>(cost.bundles) / std::atof(row["bundles_executed"].c_str()) - 1));
    }
    REQUIRE(errors.values.size() > 150);
    double median = errors.Quantile(0.5), p90 = errors.Quantile(0.9);
    INFO(name << ": " << errors.values.size() << " kernels, median " << median << ", 90th percentile " << p90);
    CHECK(median <= 0.08);
    CHECK(p90 <= 0.25);
  }
}

}  // namespace
}  // namespace spillway::compute
