// SPDX-License-Identifier: Apache-2.0
// The command line itself: help, misuse, streams.
#include <catch2/catch.hpp>

#include "tests/cli/process.h"

namespace spillway::test {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

struct Misuse {
  std::vector<std::string> words;
  std::string message, hint;
};

TEST_CASE("without arguments: a short help with two examples on standard error, exit 2") {
  const ProcessResult result = Run({});
  CHECK(result.code == 2);
  CHECK(result.out.empty());
  CHECK_THAT(result.err, Contains("spillway list workloads") && Contains("spillway run "));
}

TEST_CASE("what the short help suggests works") {
  CHECK(Run({"list", "workloads"}).code == 0);
  CHECK(Run({"run", "attention", "--chip", "v6e"}).code == 0);
}

TEST_CASE("the help texts are the approved ones") {
  // Accept a change with: spillway help COMMAND > tests/cli/help/COMMAND.txt
  for (const std::string command :
       {"run", "inspect", "explain", "compare", "sweep", "merge", "check", "export", "report", "list", "help", "completion"}) {
    CAPTURE(command);
    CHECK(Run({"help", command}).out == Slurp(SPILLWAY_SOURCE_DIR "/tests/cli/help/" + command + ".txt"));
  }
}

TEST_CASE("help comes by three ways, on standard output") {
  const ProcessResult help = Run({"help", "completion"});
  CHECK(help.code == 0);
  CHECK(help.err.empty());
  CHECK_THAT(help.out, StartsWith("spillway completion: "));
  for (const auto& words : std::vector<std::vector<std::string>>{{"completion", "--help"},
                                                                 {"completion", "-h"},
                                                                 {"--help", "completion"},
                                                                 {"-h", "completion", "bash"}}) {
    const ProcessResult other = Run(words);
    CHECK(other.code == 0);
    CHECK(other.out == help.out);
  }
  CHECK(Run({"--help"}).out == Run({"help"}).out);
}

TEST_CASE("option --version prints name and number") {
  const ProcessResult result = Run({"--version"});
  CHECK(result.code == 0);
  CHECK_THAT(result.out, Catch::Matchers::Matches("spillway [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST_CASE("misuse exits with 2, says what is wrong on standard error and prints no result") {
  const auto misuse = GENERATE(values<Misuse>({
      {{"hlep"}, "unknown command 'hlep'", "did you mean 'help'?"},
      {{"comp", "bash"}, "unknown command 'comp'", "known: "},  // no abbreviations
      {{"help", "complection"}, "unknown command 'complection'", "did you mean 'completion'?"},
      {{"help", "--vers"}, "unknown option '--vers'", ""},
      {{"help", "--versoin"}, "unknown option '--versoin'", "did you mean '--version'?"},
      {{"help", "-x"}, "unknown option '-x'", ""},
      {{"-v"}, "no command is given", "spillway help"},
      {{"completion"}, "'completion' needs SHELL", "bash"},
      {{"completion", "bsh"}, "unknown SHELL 'bsh'", "did you mean 'bash'?"},
      {{"completion", "bash", "extra"}, "takes no argument 'extra'", "spillway help completion"},
      {{"help", "--color"}, "option '--color' needs a value", "WHEN"},
      {{"help", "--color="}, "option '--color' needs a value", ""},
      {{"help", "--color", "nevre"}, "'nevre'", "did you mean 'never'?"},
      {{"help", "--color", "never", "--color", "auto"}, "given 2 times", ""},
      {{"help", "--quiet=1"}, "'--quiet' takes no value", ""},
      {{"help", "--", "--quiet"}, "unknown command '--quiet'", ""},  // after -- nothing is an option
      {{""}, "unknown command ''", ""},
  }));
  const ProcessResult result = Run(misuse.words);
  CAPTURE(misuse.words, result.err);
  CHECK(result.code == 2);
  CHECK(result.out.empty());
  CHECK_THAT(result.err, StartsWith("error: ") && Contains(misuse.message) && Contains(misuse.hint));
}

TEST_CASE("shared options may stand before or after the command, clustered and repeated") {
  const std::string help = Run({"help"}).out;
  for (const auto& words : std::vector<std::vector<std::string>>{{"-qvv", "help"},
                                                                 {"help", "-v", "-v", "--verbose"},
                                                                 {"--color", "never", "help"},
                                                                 {"--color=never", "help", "--"},
                                                                 {"help", "-q"}}) {
    CAPTURE(words);
    const ProcessResult result = Run(words);
    CHECK(result.code == 0);
    CHECK(result.out == help);
  }
}

TEST_CASE("a result that cannot be written is an error, never a silent success") {
  ProcessOptions options;
  SECTION("full disk") { options.stdout_file = "/dev/full"; }
  SECTION("closed standard output") { options.close_stdout = true; }
  SECTION("reader gone") { options.break_stdout = true; }
  const ProcessResult result = Run({"help"}, options);
  CHECK(result.code == 3);
  CHECK_THAT(result.err, Contains("cannot write to standard output"));
}

TEST_CASE("colour only on a terminal that wants it") {
  ProcessOptions options;
  SECTION("no terminal") {
    CHECK(Run({"hlep"}, options).err.find('\x1b') == std::string::npos);
    CHECK(Run({"--color", "always", "help", "nothing"}, options).err.find('\x1b') != std::string::npos);
  }
  SECTION("terminal") {
    options.terminal = true;
    CHECK_THAT(Run({"help", "nothing"}, options).err, StartsWith("\x1b[1;31merror:\x1b[0m "));
    CHECK(Run({"--no-color", "help", "nothing"}, options).err.find('\x1b') == std::string::npos);
    CHECK(Run({"--no-color", "hlep"}, options).err.find('\x1b') == std::string::npos);
    options.env = {{"NO_COLOR", "1"}};
    CHECK(Run({"hlep"}, options).err.find('\x1b') == std::string::npos);
    options.env = {{"NO_COLOR", ""}, {"TERM", "dumb"}};
    CHECK(Run({"hlep"}, options).err.find('\x1b') == std::string::npos);
  }
}

TEST_CASE("the log file holds what went to standard error") {
  TemporaryDirectory directory;
  const std::string log = directory.File("log.txt");
  const ProcessResult result = Run({"help", "nothing", "--log-file", log});
  CHECK(result.code == 2);
  CHECK(Slurp(log) == result.err);
  CHECK(Run({"help", "--log-file", directory.File("no/such/log")}).code == 3);
}

}  // namespace
}  // namespace spillway::test
