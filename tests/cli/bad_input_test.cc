// SPDX-License-Identifier: Apache-2.0
// What is wrong with an input is said, with the right exit code, and nothing is left behind.
#include <catch2/catch.hpp>

#include "tests/cli/process.h"

namespace spillway::test {
namespace {

using Catch::Matchers::Contains;

/// A scheduled module of one elementwise pass.
std::string Module(const std::string& schedule = ", is_scheduled=true") {
  return "HloModule tiny" + schedule +
         "\n\nENTRY main {\n"
         "  p = f32[1024,1024]{1,0:T(8,128)} parameter(0)\n"
         "  e = f32[1024,1024]{1,0:T(8,128)} exponential(p)\n"
         "  ROOT n = f32[1024,1024]{1,0:T(8,128)} negate(e)\n}\n";
}

struct Bad {
  std::string name, contents;
  std::vector<std::string> messages;
};

TEST_CASE("bad HLO: exit 3, the place and the reason, no result, no files") {
  const std::string good = Module();
  const auto bad = GENERATE_COPY(values<Bad>({
      {"empty.hlo", "", {"empty.hlo", "empty"}},
      {"blank.hlo", "\n \n", {"blank.hlo"}},
      {"binary.hlo",
       std::string("\x7f"
                   "ELF\x02\x01\x01\0\0\0",
                   10),
       {"binary.hlo", "HLO"}},
      {"image.pb", std::string("\x89PNG\r\n\x1a\n\0\0", 10), {"image.pb"}},
      {"prose.txt", "Dear compiler,\nhow are you?\n", {"prose.txt:1:1", "HloModule"}},
      {"truncated.hlo", good.substr(0, good.size() - 30), {"truncated.hlo:"}},
      {"cut.hlo", good.substr(0, good.find("  ROOT")), {"cut.hlo:", "main"}},
      {"zip.hlo.gz", "\x1f\x8b\x08 not really", {"zip.hlo.gz", "gzip"}},
      {"overflow.hlo",
       "HloModule big, is_scheduled=true\n\nENTRY main {\n  p = f32[4294967296,4294967296]{1,0} "
       "parameter(0)\n"
       "  ROOT n = f32[4294967296,4294967296]{1,0} negate(p)\n}\n",
       {"overflow.hlo:4:"}},
      {"cycle.hlo",
       "HloModule loop, is_scheduled=true\n\nENTRY main {\n  p = f32[8,128]{1,0} parameter(0)\n"
       "  a = f32[8,128]{1,0} add(p, b)\n  ROOT b = f32[8,128]{1,0} negate(a)\n}\n",
       {"cycle.hlo:5:", "cycle"}},
      {"unknown.hlo",
       "HloModule u, is_scheduled=true\n\nENTRY main {\n  ROOT n = f32[8]{0} negate(nobody)\n}\n",
       {"unknown.hlo:4:", "nobody"}},
  }));
  TemporaryDirectory directory;
  const std::string file = directory.Write(bad.name, bad.contents);
  const ProcessResult result = Run({"run", file, "--chip", "v6e", "-o", directory.File("out")});
  CAPTURE(bad.name, result.err);
  CHECK(result.code == 3);
  CHECK(result.out.empty());
  CHECK_THAT(result.err, Contains("error: "));
  for (const std::string& message : bad.messages) CHECK_THAT(result.err, Contains(message));
  CHECK(directory.Files() == std::vector<std::string>{bad.name});
  CHECK(Run({"inspect", file}).code == 3);
  const int unreadable = 3, wrong = 1;
  CHECK(Run({"check", file}).code == (bad.name == "zip.hlo.gz" ? unreadable : wrong));
}

TEST_CASE("the same text on standard input is refused the same way") {
  ProcessOptions options;
  options.input = Module().substr(0, 60);
  const ProcessResult result = Run({"run", "-", "--chip", "v6e"}, options);
  CHECK(result.code == 3);
  CHECK_THAT(result.err, Contains("<stdin>:"));
}

TEST_CASE("wrong words are answered with the nearest known one") {
  struct Wrong {
    std::vector<std::string> words;
    int code;
    std::string message, hint;
  };
  // Run in a directory that holds m.hlo and nothing else.
  const auto wrong = GENERATE(values<Wrong>({
      {{"run", "m.hlo"}, 2, "no chip is given", "v5e, v6e"},
      {{"run"}, 2, "'run' needs INPUT", "spillway help run"},
      {{"run", "m.hlo", "extra", "--chip", "v6e"}, 2, "takes no argument 'extra'", ""},
      {{"run", "m.hlo", "--chip", "v6"}, 3, "unknown chip 'v6'", "did you mean 'v6e'?"},
      {{"run", "m.hlo", "--chip", "h100"}, 3, "unknown chip 'h100'", "v5e, v6e"},
      {{"run", "m.hlo", "--chip", "v6e", "--set", "hbm.chanels=8"},
       3,
       "unknown key 'hbm.chanels'",
       "'hbm.channels'"},
      {{"run", "m.hlo", "--chip", "v6e", "--set", "hbm.channels=many"}, 3, "hbm.channels", ""},
      {{"run", "m.hlo", "--chip", "v6e", "--set", "hbm.channels"}, 3, "hbm.channels", ""},
      {{"run", "m.hlo", "--chip", "v6e", "--config", "/no/such.yaml"}, 3, "/no/such.yaml", ""},
      {{"run", "m.hlo", "--chip", "v6e", "--plan", "unfusd"}, 2, "'unfusd'", "as-compiled"},
      {{"run", "m.hlo", "--chip", "v6e", "--format", "csv"}, 2, "--format needs -o", ""},
      {{"run", "m.hlo", "--chip", "v6e", "-o", "x", "--format", "cvs"},
       2,
       "unknown format 'cvs'",
       "did you mean 'csv'?"},
      {{"run", "m.hlo", "--chip", "v6e", "--bind", "S=1"}, 3, "--bind is for workloads", ""},
      {{"run", "m.hlo", "--chip", "v6e", "--module", "tinny"},
       3,
       "unknown module 'tinny'",
       "did you mean 'tiny'?"},
      {{"run", "m.hlo", "--chip", "v6e", "--llo", "/no/such"}, 3, "/no/such", ""},
      {{"run", "/no/such.hlo", "--chip", "v6e"},
       3,
       "no file, directory or workload '/no/such.hlo'",
       "list workloads"},
      {{"run", "atention", "--chip", "v6e"}, 3, "'atention'", "did you mean 'attention'?"},
      {{"run", "attention", "--chip", "v6e", "--bind", "S=8191"}, 3, "not compiled for S=8191", "8192"},
      {{"run", "attention", "--chip", "v6e", "--bind", "T=1"}, 3, "no symbol 'T'", ""},
      {{"run", "attention", "--chip", "v6e", "--variant", "nwe"},
       3,
       "no variant 'nwe'",
       "did you mean 'new'?"},
      {{"inspect", "m.hlo", "--what", "opps"}, 2, "'opps'", "did you mean 'ops'?"},
      {{"export", ".", "--format", "csv"}, 3, "not a run directory", ""},
      {{"export", "."}, 2, "needs --format", ""},
      {{"report", "none"}, 3, "none", ""},
      {{"check", "none"}, 3, "none", ""},
      {{"list", "chip"}, 2, "unknown WHAT 'chip'", "did you mean 'chips'?"},
  }));
  TemporaryDirectory directory;
  directory.Write("m.hlo", Module());
  ProcessOptions options;
  options.directory = directory.path();
  const ProcessResult result = Run(wrong.words, options);
  CAPTURE(wrong.words, result.err);
  CHECK(result.code == wrong.code);
  CHECK(result.out.empty());
  CHECK_THAT(result.err, Contains("error: ") && Contains(wrong.message) && Contains(wrong.hint));
  CHECK(directory.Files() == std::vector<std::string>{"m.hlo"});
}

TEST_CASE("mistakes in the input and in the configuration are shown together") {
  const ProcessResult result = Run({"run", "/no/such.hlo", "--chip", "v6", "--set", "nonsense=1"});
  CHECK(result.code == 3);
  CHECK_THAT(result.err, Contains("/no/such.hlo") && Contains("unknown chip 'v6'") && Contains("nonsense"));
}

TEST_CASE("an unscheduled module runs with a warning, which --quiet holds back") {
  ProcessOptions options;
  options.input = Module("");
  const ProcessResult result = Run({"run", "-", "--chip", "v6e"}, options);
  CHECK(result.code == 0);
  CHECK_THAT(result.err, Contains("warning: ") && Contains("schedule"));
  CHECK(Run({"run", "-", "--chip", "v6e", "-q"}, options).err.empty());
}

TEST_CASE("a directory that cannot be written: exit 3, nothing left") {
  TemporaryDirectory directory;
  const std::string file = directory.Write("m.hlo", Module());
  for (const std::string target : {"/proc/spillway/out", "/dev/null/out", "/dev/full"}) {
    const ProcessResult result = Run({"run", file, "--chip", "v6e", "-o", target});
    CAPTURE(target, result.err);
    CHECK(result.code == 3);
    CHECK(result.out.empty());
    CHECK_THAT(result.err, Contains(target.substr(0, 5)));
  }
  CHECK(Run({"run", file, "--chip", "v6e", "-o", file}).code == 3);
  CHECK(directory.Files() == std::vector<std::string>{"m.hlo"});
  CHECK(Slurp(file) == Module());
}

TEST_CASE("a summary that cannot be printed is an error") {
  ProcessOptions options;
  options.input = Module();
  options.stdout_file = "/dev/full";
  CHECK(Run({"run", "-", "--chip", "v6e"}, options).code == 3);
  CHECK(Run({"run", "-", "--chip", "v6e", "--json"}, options).code == 3);
}

TEST_CASE("a limit gives exit 5 and an incomplete result") {
  ProcessOptions options;
  options.input = Module();
  const ProcessResult result =
      Run({"run", "-", "--chip", "v6e", "--json", "--set", "run.max_events=3"}, options);
  CHECK(result.code == 5);
  CHECK_THAT(result.out, Contains("\"complete\": false"));
  CHECK_THAT(result.err, Contains("run.max_events"));
}

}  // namespace
}  // namespace spillway::test
