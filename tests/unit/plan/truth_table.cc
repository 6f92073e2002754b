// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/plan/truth_table.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "sim/base/file.h"
#include "tests/support/plan_modules.h"

namespace spillway::plan::testing {
namespace {

std::vector<std::string> SplitCsv(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  return cells;
}

std::string Folder(const TruthRow& row) { return row["chip"] + (row["compiler"] == "old" ? "-jax062" : ""); }

const hlo::Module* Load(const std::string& path) {
  static std::map<std::string, std::vector<std::unique_ptr<hlo::Module>>> cache;
  auto it = cache.find(path);
  if (it == cache.end()) {
    it = cache.emplace(path, std::vector<std::unique_ptr<hlo::Module>>()).first;
    for (const std::string& name : {path, path + ".gz"}) {
      auto text = ReadFile(name);
      if (!text.ok()) continue;
      auto modules = hlo::ParseModules(std::move(*text), name);
      if (modules.ok()) it->second = std::move(*modules);
    }
  }
  return it->second.empty() ? nullptr : it->second.front().get();
}

const hlo::Instruction* FindOp(const hlo::Module& module, const TruthRow& row) {
  if (row["computation"] == "ENTRY") return module.entry != nullptr ? module.entry->Find(row["op"]) : nullptr;
  const hlo::Computation* computation = module.Find(row["computation"]);
  return computation != nullptr ? computation->Find(row["op"]) : nullptr;
}

Comparison Compare(const TruthRow& row, const hlo::Instruction& instruction) {
  Comparison result;
  result.row = row;
  KernelInputs inputs;
  inputs.instruction = &instruction;
  inputs.chip = &ShippedChip(row["chip"]);
  auto kernel = std::make_shared<const Kernel>(BuildKernel(inputs));
  result.from_dump = kernel->grid.from_dump;
  result.ours = CountTraffic(*MakeKernelSource(kernel));
  for (std::size_t s = 0; s < kernel->streams.size(); ++s) {
    // One stream at a time gives its share.
    auto alone = std::make_shared<Kernel>(*kernel);
    alone->streams.assign(1, kernel->streams[s]);
    Traffic traffic = CountTraffic(*MakeKernelSource(alone));
    const Stream& stream = kernel->streams[s];
    std::int64_t number = stream.index;
    if (stream.output) number += static_cast<std::int64_t>(instruction.operands.size());
    StreamTraffic& share = result.by_operand["op" + std::to_string(number) + (stream.output ? ":out" : ":in")];
    share.bytes += traffic.read_bytes + traffic.write_bytes;
    share.slots += stream.slots;
  }
  std::vector<Bytes> chunks = result.ours.chunk_sizes;
  std::sort(chunks.begin(), chunks.end());
  if (!chunks.empty()) result.chunk_median = chunks[chunks.size() / 2];
  return result;
}

}  // namespace

const std::string& TruthRow::operator[](const std::string& name) const {
  static const std::string kNone;
  auto it = fields.find(name);
  return it != fields.end() ? it->second : kNone;
}
std::int64_t TruthRow::Number(const std::string& name) const {
  return std::strtoll((*this)[name].c_str(), nullptr, 10);
}

std::vector<TruthRow> ReadTruth(const std::string& path) {
  std::vector<TruthRow> rows;
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return rows;
  std::vector<std::string> names = SplitCsv(line);
  while (std::getline(file, line)) {
    std::vector<std::string> cells = SplitCsv(line);
    TruthRow row;
    for (std::size_t i = 0; i < names.size() && i < cells.size(); ++i) row.fields[names[i]] = cells[i];
    rows.push_back(std::move(row));
  }
  return rows;
}

bool Comparison::BytesAgree() const {
  return ours.read_bytes == row.Number("dma_in_bytes") && ours.write_bytes == row.Number("dma_out_bytes");
}
bool Comparison::DmasAgree() const { return ours.dmas == row.Number("n_dmas"); }
bool Comparison::ChunksAgree() const { return chunk_median == row.Number("chunk_median"); }
bool Comparison::OperandsAgree() const {
  std::string text;
  std::set<std::string> theirs, mine;
  std::stringstream stream(row["dma_by_operand"]);
  while (std::getline(stream, text, ';')) theirs.insert(text);
  for (const auto& [name, traffic] : by_operand) {
    if (traffic.bytes > 0) mine.insert(name + "=" + std::to_string(traffic.bytes));
  }
  return theirs == mine;
}
bool Comparison::SlotsAgree() const {
  std::string text;
  std::set<std::string> theirs, mine;
  std::stringstream stream(row["buffers_by_operand"]);
  while (std::getline(stream, text, ';')) theirs.insert(text);
  for (const auto& [name, traffic] : by_operand) {
    if (traffic.bytes > 0) mine.insert(name.substr(0, name.find(':')) + "=" + std::to_string(traffic.slots));
  }
  return theirs == mine;
}

std::vector<Comparison> CompareRows(const std::string& corpus, const std::vector<TruthRow>& rows,
                                    std::vector<std::string>& unreadable) {
  std::vector<Comparison> result;
  for (const TruthRow& row : rows) {
    const hlo::Module* module = Load(corpus + "/" + Folder(row) + "/" + row["module"] + ".hlo");
    const hlo::Instruction* instruction = module != nullptr ? FindOp(*module, row) : nullptr;
    if (instruction == nullptr) {
      unreadable.push_back(Folder(row) + "/" + row["module"] + "/" + row["op"]);
      continue;
    }
    result.push_back(Compare(row, *instruction));
  }
  return result;
}

}  // namespace spillway::plan::testing
