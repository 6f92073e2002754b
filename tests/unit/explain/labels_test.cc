// SPDX-License-Identifier: Apache-2.0
// labels.csv was written from the dumps by hand, before the code ran: verdicts are held against it.
#include <map>
#include <sstream>

#include "tests/unit/explain/dumps.h"

namespace spillway::explain {
namespace {

struct Label {
  std::string tensor, verdict;
};

TEST_CASE("verdicts agree with the labelled set") {
  const auto text = ReadFile(std::string(SPILLWAY_SOURCE_DIR) + "/tests/unit/explain/labels.csv");
  REQUIRE(text.ok());
  std::map<std::pair<std::string, std::string>, std::vector<Label>> labels;
  std::istringstream lines(*text);
  std::string line;
  std::getline(lines, line);
  REQUIRE(line == "dump,chip,tensor,verdict,reason");
  int total = 0;
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::string dump, chip, tensor, verdict;
    std::getline(fields, dump, ',');
    std::getline(fields, chip, ',');
    std::getline(fields, tensor, ',');
    std::getline(fields, verdict, ',');
    labels[{dump, chip}].push_back({tensor, verdict});
    ++total;
  }
  int right = 0;
  std::string wrong;
  for (const auto& [where, expected] : labels) {
    const auto planned = testing::PlanDump(where.first, where.second);
    const Dataflow flow(*planned->module, planned->program);
    std::map<std::string, std::string> verdicts;
    for (const Boundary& boundary : testing::Boundaries(*planned, flow)) {
      verdicts[planned->program.buffers[boundary.buffer].name] = VerdictName(boundary.verdict);
    }
    for (const Label& label : expected) {
      const auto at = verdicts.find(label.tensor);
      const std::string verdict = at == verdicts.end() ? "no boundary" : at->second;
      if (verdict == label.verdict) {
        ++right;
      } else {
        wrong += where.first + " " + label.tensor + ": " + verdict + ", labelled " + label.verdict + "\n";
      }
    }
  }
  INFO(right << " of " << total << " right; wrong:\n" << wrong);
  CHECK(total >= 40);
  CHECK(100 * right >= 95 * total);
}

}  // namespace
}  // namespace spillway::explain
