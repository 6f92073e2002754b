// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/input.h"

#include <catch2/catch.hpp>

#include "tests/support/temporary.h"

namespace spillway::cli {
namespace {

using test::TemporaryDirectory;

constexpr const char* kSmall =
    "HloModule small, is_scheduled=true\n\nENTRY main {\n"
    "  p = f32[8,128]{1,0:T(8,128)} parameter(0)\n"
    "  ROOT n = f32[8,128]{1,0:T(8,128)} negate(p)\n}\n";
constexpr const char* kLarge =
    "HloModule large, is_scheduled=true\n\nENTRY main {\n"
    "  p = f32[8,128]{1,0:T(8,128)} parameter(0)\n"
    "  e = f32[8,128]{1,0:T(8,128)} exponential(p)\n"
    "  ROOT n = f32[8,128]{1,0:T(8,128)} negate(e)\n}\n";

InputRequest Request(const std::string& name, const std::string& module = "") {
  InputRequest request;
  request.name = name;
  request.module = module;
  return request;
}

TEST_CASE("a dump directory gives its largest module with buffer assignment and bundles") {
  TemporaryDirectory dump;
  dump.Write("module_0001.jit_small.before_optimizations.txt", kLarge);
  dump.Write("module_0001.jit_small.after_optimizations.txt", kSmall);
  dump.Write("module_0002.jit_large.after_optimizations.txt", kLarge);
  dump.Write("module_0002.jit_large.after_optimizations-buffer-assignment.txt", "");
  dump.Write("llo/1-fusion-02-final_bundles.txt", "");
  Diagnostics notes;
  const Result<Input> input = LoadInput(Request(dump.path()), notes);
  REQUIRE(input.ok());
  CHECK(input->module->name == "large");
  CHECK(input->file == dump.File("module_0002.jit_large.after_optimizations.txt"));
  CHECK(input->assignment_file ==
        dump.File("module_0002.jit_large.after_optimizations-buffer-assignment.txt"));
  CHECK(input->llo_directory == dump.File("llo"));
  REQUIRE(notes.size() == 1);
  CHECK_THAT(notes[0].message,
             Catch::Matchers::Contains("2 modules") && Catch::Matchers::Contains("jit_large"));
}

TEST_CASE("option --module picks from a dump by any part of the file's name") {
  TemporaryDirectory dump;
  dump.Write("module_0001.jit_f.after_optimizations.txt", kSmall);
  dump.Write("module_0002.jit_f.after_optimizations.txt", kLarge);
  Diagnostics notes;
  const Result<Input> first = LoadInput(Request(dump.path(), "module_0001"), notes);
  REQUIRE(first.ok());
  CHECK(first->module->name == "small");
  CHECK(notes.empty());
  const Result<Input> both = LoadInput(Request(dump.path(), "jit_f"), notes);
  REQUIRE_FALSE(both.ok());
  CHECK_THAT(both.errors()[0].hint, Catch::Matchers::Contains("module_0001.jit_f, module_0002.jit_f"));
  CHECK_FALSE(LoadInput(Request(dump.path(), "jit_g"), notes).ok());
}

TEST_CASE("text wins over proto, and the plain name of a capture is understood") {
  TemporaryDirectory dump;
  dump.Write("module.after_optimizations.txt", kSmall);
  dump.Write("module.after_optimizations.hlo.pb", "not read");
  const std::vector<DumpModule> modules = FindDumpModules(dump.path());
  REQUIRE(modules.size() == 1);
  CHECK(modules[0].file == dump.File("module.after_optimizations.txt"));
}

TEST_CASE("a directory that is no dump says what is missing") {
  TemporaryDirectory dump;
  Diagnostics notes;
  const Result<Input> empty = LoadInput(Request(dump.path()), notes);
  REQUIRE_FALSE(empty.ok());
  CHECK_THAT(empty.errors()[0].message, Catch::Matchers::Contains("after_optimizations.txt"));
  dump.Write("summary.json", "{}");
  const Result<Input> run = LoadInput(Request(dump.path()), notes);
  REQUIRE_FALSE(run.ok());
  CHECK_THAT(run.errors()[0].message, Catch::Matchers::Contains("result of a run"));
}

TEST_CASE("of several modules in a text the largest is taken, or the named one") {
  TemporaryDirectory directory;
  const std::string file = directory.Write("two.txt", std::string(kSmall) + "\n" + kLarge);
  Diagnostics notes;
  Result<Input> input = LoadInput(Request(file), notes);
  REQUIRE(input.ok());
  CHECK(input->module->name == "large");
  CHECK(notes.size() == 1);
  input = LoadInput(Request(file, "small"), notes);
  REQUIRE(input.ok());
  CHECK(input->module->name == "small");
  input = LoadInput(Request(file, "smal"), notes);
  REQUIRE_FALSE(input.ok());
  CHECK(input.errors()[0].hint == "did you mean 'small'?");
}

TEST_CASE("a workload's name leads to its dump for the chip") {
  Diagnostics notes;
  InputRequest request = Request("attention");
  request.chip = "v5e";
  request.variant = "new";
  request.bind = {"S=1024"};
  const Result<Input> input = LoadInput(request, notes);
  REQUIRE(input.ok());
  CHECK_THAT(input->file, Catch::Matchers::EndsWith("workloads/hlo/attention.v5e.S1024.hlo.gz"));
  const Result<Input> plain = LoadInput(Request("attention"), notes);
  REQUIRE(plain.ok());
  CHECK(plain->chip == "v6e");
  CHECK_FALSE(plain->llo_directory.empty());  // the default point has a complete dump
}

TEST_CASE("what is not there is named, with the nearest workload") {
  Diagnostics notes;
  const Result<Input> input = LoadInput(Request("atention"), notes);
  REQUIRE_FALSE(input.ok());
  CHECK(input.errors()[0].hint == "did you mean 'attention'?");
  InputRequest request = Request("/dev/null");
  request.bind = {"S=1"};
  request.variant = "old";
  const Result<Input> bound = LoadInput(request, notes);
  REQUIRE_FALSE(bound.ok());
  CHECK(bound.errors().size() == 2);
}

}  // namespace
}  // namespace spillway::cli
