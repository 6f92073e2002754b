// SPDX-License-Identifier: Apache-2.0
#include "sim/config/workload_config.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sim/base/file.h"
#include "sim/config/map_reader.h"

namespace spillway::config {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;

/// A workload file that lives as long as the object.
class File {
 public:
  explicit File(const std::string& text) {
    char name[] = "/tmp/spillway-workload-XXXXXX";
    const int fd = mkstemp(name);
    REQUIRE(fd >= 0);
    close(fd);
    path_ = name;
    std::ofstream(path_) << text;
  }
  ~File() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

constexpr const char* kGood = R"(schema: spillway.workload/1
name: demo
description: two symbols
symbols:
  S: {description: rows, values: [1, 2], default: 2}
  D: {values: [64, 128], default: 64}
chips: [v5e, v6e]
variants:
  new: {compiler: jax, hlo: 'hlo/x.{chip}.S{S}.D{D}.gz'}
  old: {hlo: 'hlo/old.{chip}.{S}-{D}', symbols: {S: [2]}}
default: {chip: v6e, variant: new}
dumps:
  - {variant: new, chip: v6e, symbols: {S: 1, D: 64}, path: dumps/x}
expect:
  - {chip: v5e, symbols: {S: 1, D: 64}, variant: old, measured_us: 12.5, timer: wall, source: somewhere}
)";

std::string Replaced(const std::string& from, const std::string& to) {
  std::string text = kGood;
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST_CASE("a workload file is read whole") {
  const File file(kGood);
  const Result<WorkloadConfig> workload = LoadWorkload(file.path());
  REQUIRE(workload.ok());
  CHECK(workload->name == "demo");
  CHECK(workload->default_chip == "v6e");
  REQUIRE(workload->variants.size() == 2);
  CHECK(workload->variants[1].symbols.at("S") == std::vector<std::int64_t>{2});
  REQUIRE(workload->expect.size() == 1);
  CHECK(workload->expect[0].measured_us == 12.5);
  CHECK(workload->expect[0].variant == "old");
  CHECK(AllPoints(*workload).size() == (4 + 2) * 2);
}

TEST_CASE("a point is selected by chip, variant and symbol values") {
  const File file(kGood);
  const Result<WorkloadConfig> workload = LoadWorkload(file.path());
  REQUIRE(workload.ok());
  const Result<WorkloadPoint> plain = SelectPoint(*workload, "", "", {});
  REQUIRE(plain.ok());
  CHECK_THAT(plain->hlo, StartsWith("/tmp/") && EndsWith("/hlo/x.v6e.S2.D64.gz"));
  CHECK(plain->dump.empty());
  const Result<WorkloadPoint> dumped = SelectPoint(*workload, "v6e", "", {"S=2", "S=1"});
  REQUIRE(dumped.ok());
  CHECK(dumped->dump == "/tmp/dumps/x");
  const Result<WorkloadPoint> old = SelectPoint(*workload, "v5e", "old", {"D=128"});
  REQUIRE(old.ok());
  CHECK_THAT(old->hlo, EndsWith("/hlo/old.v5e.2-128"));
}

TEST_CASE("what was not compiled is refused, and the message says what there is") {
  const File file(kGood);
  const Result<WorkloadConfig> workload = LoadWorkload(file.path());
  REQUIRE(workload.ok());
  struct Case {
    std::string chip, variant, bind, message, hint;
  };
  const auto c = GENERATE(values<Case>({
      {"v4", "", "", "not compiled for chip 'v4'", "v5e, v6e"},
      {"", "odl", "", "no variant 'odl'", "did you mean 'old'?"},
      {"", "", "S=3", "not compiled for S=3", "S = 1, 2"},
      {"", "old", "S=1", "'old', is not compiled for S=1", "S = 2"},
      {"", "", "Q=3", "no symbol 'Q'", "did you mean"},
      {"", "", "S", "'S' is not of the form SYMBOL=INTEGER", "S=8192"},
      {"", "", "S=", "SYMBOL=INTEGER", ""},
      {"", "", "S=2x", "SYMBOL=INTEGER", ""},
      {"", "", "S=99999999999999999999", "SYMBOL=INTEGER", ""},
  }));
  CAPTURE(c.message);
  const std::vector<std::string> binds =
      c.bind.empty() ? std::vector<std::string>{} : std::vector<std::string>{c.bind};
  const Result<WorkloadPoint> point = SelectPoint(*workload, c.chip, c.variant, binds);
  REQUIRE_FALSE(point.ok());
  CHECK_THAT(point.errors().front().message, Contains(c.message));
  if (c.hint != "did you mean") CHECK_THAT(point.errors().front().hint, Contains(c.hint));
}

TEST_CASE("one dump pattern at top level makes one variant") {
  const File file("schema: spillway.workload/1\nname: one\ndescription: d\nchips: [v5e]\nhlo: x.hlo\n");
  const Result<WorkloadConfig> workload = LoadWorkload(file.path());
  REQUIRE(workload.ok());
  const Result<WorkloadPoint> point = SelectPoint(*workload, "", "", {});
  REQUIRE(point.ok());
  CHECK(point->chip == "v5e");
  CHECK_THAT(point->hlo, EndsWith("/x.hlo"));
}

TEST_CASE("mistakes are errors with their place") {
  struct Case {
    std::string from, to, message;
    int line;
  };
  const auto c = GENERATE(values<Case>({
      {"workload/1", "workload/9", "'schema' must be spillway.workload/1", 1},
      {"name: demo", "name: de mo", "letters, digits", 2},
      {"name: demo", "nmae: demo", "has no 'name'", 1},
      {"description: two", "descripton: two", "unknown key 'descripton'", 3},
      {"default: 2", "default: 7", "is none of its values", 5},
      {"values: [1, 2]", "values: [1, 010]", "must be an integer", 5},
      {"values: [1, 2]", "values: 1", "must be a list", 5},
      {"{chip}.S{S}", "{chip}.S{T}", "'{T}' names no symbol", 9},
      {"symbols: {S: [2]}", "symbols: {S: [3]}", "3 is no value of symbol 'S'", 10},
      {"chip: v6e, variant: new}\ndumps", "chip: v7, variant: new}\ndumps", "unknown chip 'v7'", 11},
      {"- {variant: new", "- {variant: nwe", "unknown variant 'nwe'", 13},
      {"measured_us: 12.5", "measured_us: fast", "must be a number", 15},
      {"timer: wall", "timer: watch", "unknown timer 'watch'", 15},
      {"chips: [v5e, v6e]", "chips: [v5e, v6e", "", 0},      // not YAML
      {"name: demo", "name: demo\nname: again", "name", 3},  // duplicate
  }));
  CAPTURE(c.to);
  const File file(Replaced(c.from, c.to));
  const Result<WorkloadConfig> workload = LoadWorkload(file.path());
  REQUIRE_FALSE(workload.ok());
  bool found = false;
  for (const Diagnostic& error : workload.errors()) {
    CHECK(error.file == file.path());
    found = found ||
            (error.message.find(c.message) != std::string::npos && (c.line == 0 || error.line == c.line));
  }
  CAPTURE(Render(workload.errors().front()));
  CHECK(found);
}

TEST_CASE("empty and foreign files are refused") {
  for (const std::string text : {"", "# only a comment\n", "- a\n- b\n", "just text\n"}) {
    const File file(text);
    CHECK_FALSE(LoadWorkload(file.path()).ok());
    CHECK_FALSE(LooksLikeWorkload(text));
  }
  CHECK(LooksLikeWorkload(kGood));
  CHECK_FALSE(LoadWorkload("/no/such/file.yaml").ok());
}

TEST_CASE("the schema of a text is found whatever stands around it") {
  const std::string rest = "\nname: x\n";
  const std::vector<std::string> texts = {
      "schema: a/1" + rest,   "\n# about\nschema: a/1  # why" + rest, "name: x\nschema: a/1\n",
      "schema: a/1\nbroken: [1,\n", "schema: a/1",                   "{schema: a/1, name: x}\n"};
  for (const std::string& text : texts) {
    CAPTURE(text);
    CHECK(SchemaOf(text) == "a/1");
  }
  CHECK(SchemaOf("schema: a\n  b" + rest) == "a b");
  CHECK(SchemaOf("schema:\n- a" + rest).empty());
  CHECK(SchemaOf("schema:\n  a: b" + rest).empty());
  CHECK(SchemaOf("").empty());
}

TEST_CASE("every bundled workload is valid and its default point exists") {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SPILLWAY_SOURCE_DIR "/workloads")) {
    if (entry.path().extension() != ".yaml") continue;
    const Result<std::string> text = ReadFile(entry.path().string());
    REQUIRE(text.ok());
    if (!LooksLikeWorkload(*text)) continue;
    const Result<WorkloadConfig> workload = LoadWorkload(entry.path().string());
    CAPTURE(entry.path().string(), workload.ok() ? "" : Render(workload.errors().front()));
    REQUIRE(workload.ok());
    CHECK(workload->name == entry.path().stem().string());
    const Result<WorkloadPoint> point = SelectPoint(*workload, "", "", {});
    REQUIRE(point.ok());
    CHECK(std::filesystem::exists(point->hlo));
    ++count;
  }
  CHECK(count >= 5);
}

}  // namespace
}  // namespace spillway::config
