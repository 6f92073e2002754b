// SPDX-License-Identifier: Apache-2.0
// Allocated sizes against what the TPU compiler and runtime printed.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "sim/base/file.h"
#include "sim/hlo/shape.h"

namespace spillway::hlo {
namespace {

namespace fs = std::filesystem;
const fs::path kShared = SPILLWAY_SHARED_DIR;

// Fields of one CSV line; quotes protect commas.
std::vector<std::string> Fields(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

Bytes ToBytes(const std::string& text) { return std::strtoll(text.c_str(), nullptr, 10); }

TEST_CASE("every row of padding_truth.csv") {
  std::ifstream csv(kShared / "corpus/padding_truth.csv");
  if (!csv) {
    WARN("skipped: no corpus beside the project");
    return;
  }
  std::string line;
  std::getline(csv, line);
  int rows = 0;
  while (std::getline(csv, line)) {
    if (line.empty()) continue;
    const std::vector<std::string> row = Fields(line);
    REQUIRE(row.size() >= 4);
    CAPTURE(line);
    const auto shape = ParseShape(row[0]);
    REQUIRE(shape.ok());
    // The table's `padded_bytes` are whole bytes in both kinds of row: for `printed_rounded` ones
    // they were derived from the printed figure and its shape.
    CHECK(BufferBytes(*shape) == ToBytes(row[2]));
    if (!row[1].empty()) CHECK(LogicalBytes(*shape) == ToBytes(row[1]));
    const bool tiled = shape->IsArray() && shape->has_layout && !shape->layout.tiles.empty();
    if (tiled) CHECK(AllocatedBytes(*shape) == ToBytes(row[2]));
    ++rows;
  }
  CHECK(rows >= 60);
}

// ` value: <23 i.1 @0> (size=32768,offset=0): s32[8192]{0:T(1024)}`
bool ReadValueLine(const std::string& line, Bytes* size, std::string* shape) {
  constexpr char kSize[] = "(size=";
  const std::size_t at = line.find(kSize), colon = line.find("): ", at);
  if (line.find(" value: ") == std::string::npos || at == std::string::npos || colon == std::string::npos) return false;
  *size = ToBytes(line.substr(at + sizeof(kSize) - 1));
  *shape = line.substr(colon + 3);
  return true;
}

TEST_CASE("every value of the buffer assignments") {
  std::vector<fs::path> files;
  std::error_code error;
  for (const char* folder : {"validation", "corpus"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kShared / folder, error)) {
      const std::string name = entry.path().filename().string();
      if (name.find("buffer-assignment.txt") != std::string::npos) files.push_back(entry.path());
    }
  }
  if (files.empty()) {
    WARN("skipped: no buffer assignments beside the project");
    return;
  }
  std::map<std::string, std::set<Bytes>> exceptions;
  int checked = 0;
  for (const fs::path& path : files) {
    const auto text = ReadFile(path.string());
    REQUIRE(text.ok());
    std::istringstream lines(*text);
    std::string line, printed;
    Bytes size = 0;
    while (std::getline(lines, line)) {
      if (!ReadValueLine(line, &size, &printed)) continue;
      const auto shape = ParseShape(printed);
      CAPTURE(path.string(), line);
      REQUIRE(shape.ok());
      ++checked;
      const bool v5e = path.string().find("v5e") != std::string::npos;
      if (BufferBytes(*shape, v5e ? 512 : 32) != size) exceptions[printed].insert(size);
    }
  }
  for (const auto& [shape, sizes] : exceptions) {
    for (const Bytes size : sizes) UNSCOPED_INFO(shape << ": compiler " << size << ", BufferBytes "
                                                       << BufferBytes(*ParseShape(shape)));
  }
  CHECK(exceptions.empty());
  CHECK(checked > 100);
}

}  // namespace
}  // namespace spillway::hlo
