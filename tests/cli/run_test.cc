// SPDX-License-Identifier: Apache-2.0
// The main job, from the outside.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "tests/cli/process.h"

namespace spillway::test {
namespace {

using Catch::Matchers::Contains;
using nlohmann::json;

TEST_CASE("run prints a summary on standard output and nothing else") {
  const ProcessResult result = Run({"run", "attention", "--chip", "v6e"});
  CAPTURE(result.err);
  REQUIRE(result.code == 0);
  CHECK(result.err.empty());
  CHECK_THAT(result.out, Contains("jit_attention") && Contains("v6e") && Contains("128"));
  CHECK(result.out.find('\x1b') == std::string::npos);
}

TEST_CASE("run --json prints one object of the agreed schema") {
  const ProcessResult result = Run({"--json", "run", "attention", "--chip=v6e"});
  REQUIRE(result.code == 0);
  const json summary = json::parse(result.out);
  CHECK(summary.at("schema") == "spillway.summary/1");
  CHECK(summary.at("input") == "attention");
  CHECK(summary.at("chip") == "v6e");
  CHECK(summary.at("plan") == "as-compiled");
  CHECK(summary.at("complete") == true);
  CHECK(summary.at("makespan_ps").get<std::int64_t>() > 0);
  REQUIRE(summary.at("ops").size() >= 3);
  // The three fusions carry the scores, 128 MiB, through HBM: written once, read twice.
  const std::int64_t scores = std::int64_t{128} << 20;
  CHECK(summary.at("hbm").at("write_bytes").get<std::int64_t>() >= scores);
  CHECK(summary.at("hbm").at("read_bytes").get<std::int64_t>() >= 2 * scores);
}

TEST_CASE("a run directory is complete, and the same input gives the same bytes") {
  TemporaryDirectory directory;
  const std::string a = directory.File("a"), b = directory.File("b");
  REQUIRE(Run({"run", "attention", "--chip", "v6e", "-o", a}).code == 0);
  REQUIRE(Run({"run", "attention", "--chip", "v6e", "-o", b, "--json"}).code == 0);
  for (const char* name : {"summary.json", "ops.csv", "slices.csv", "counters.csv", "config.resolved.yaml",
                           "timeline.pftrace"}) {
    CAPTURE(name);
    const std::string contents = Slurp(a + "/" + name);
    CHECK_FALSE(contents.empty());
    CHECK(contents == Slurp(b + "/" + name));
  }
  // Nothing temporary is left beside them.
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    const std::string name = entry.path().filename().string();
    CHECK((name == "a" || name == "b"));
  }
  SECTION("the resolved configuration gives the identical run") {
    const ProcessResult again = Run({"run", "attention", "--variant", "old", "--json", "--chip", "v6e",
                                     "--config", a + "/config.resolved.yaml"});
    CHECK(again.code == 0);
    CHECK(again.out == Run({"run", "attention", "--chip", "v6e", "--json"}).out);
    CHECK(Run({"run", "attention", "--json", "--chip", a + "/config.resolved.yaml"}).out == again.out);
    CHECK(Run({"check", a + "/config.resolved.yaml"}).code == 0);
  }
  SECTION("export and report read it") {
    const ProcessResult exported =
        Run({"export", a, "--format", "perfetto,chrome", "-o", directory.File("x")});
    CHECK(exported.code == 0);
    CHECK(Slurp(directory.File("x/timeline.pftrace")) == Slurp(a + "/timeline.pftrace"));
    CHECK(json::accept(Slurp(directory.File("x/timeline.chrome.json"))));
    CHECK_THAT(exported.out, Contains(directory.File("x/timeline.pftrace") + "\n"));
    const ProcessResult single = Run({"export", a, "--format", "json", "-o", "-"});
    CHECK(single.code == 0);
    CHECK(single.out == Slurp(a + "/summary.json"));
    CHECK(Run({"export", a, "--format", "csv", "-o", "-"}).code == 2);
    const ProcessResult report = Run({"report", a, b, "-o", directory.File("r.html")});
    CHECK(report.code == 0);
    CHECK_THAT(Slurp(directory.File("r.html")), Contains("<html"));
  }
  SECTION("formats replace the default timeline") {
    REQUIRE(Run({"run", "attention", "--chip", "v6e", "-o", a, "--format", "chrome"}).code == 0);
    CHECK(std::filesystem::exists(a + "/timeline.chrome.json"));
    CHECK_FALSE(std::filesystem::exists(a + "/timeline.pftrace"));
  }
}

TEST_CASE("input comes from a file, a dump directory, standard input or a workload file alike") {
  const std::string dump = SPILLWAY_SOURCE_DIR "/workloads/dumps/attention.v6e.S8192.jax062";
  const std::string text = Slurp(dump + "/module.after_optimizations.txt");
  const auto makespan = [](const std::vector<std::string>& words, const ProcessOptions& options = {}) {
    const ProcessResult result = Run(words, options);
    CAPTURE(words, result.err);
    REQUIRE(result.code == 0);
    return json::parse(result.out).at("makespan_ps").get<std::int64_t>();
  };
  const std::int64_t bundled = makespan({"run", "attention", "--chip", "v6e", "--json"});
  CHECK(makespan({"run", dump, "--chip", "v6e", "--json"}) == bundled);
  CHECK(makespan({"run", SPILLWAY_SOURCE_DIR "/workloads/attention.yaml", "--json"}) == bundled);
  const std::int64_t modelled = makespan({"run", dump, "--chip", "v6e", "--json", "--llo", "none"});
  CHECK(makespan({"run", dump + "/module.after_optimizations.txt", "--chip", "v6e", "--json"}) == modelled);
  TemporaryDirectory directory;
  const std::string file = directory.Write("attention.hlo", text);  // no buffer assignment beside it
  ProcessOptions options;
  options.input = text;
  CHECK(makespan({"run", "-", "--chip", "v6e", "--json"}, options) ==
        makespan({"run", file, "--chip", "v6e", "--json"}));
}

TEST_CASE("inspect shows each view as text and as JSON") {
  for (const std::string what : {"ops", "buffers", "program", "vmem", "bundles"}) {
    CAPTURE(what);
    const ProcessResult text = Run({"inspect", "attention", "--what", what});
    CHECK(text.code == 0);
    CHECK_FALSE(text.out.empty());
    const ProcessResult machine = Run({"inspect", "attention", "--what", what, "--json"});
    CHECK(machine.code == 0);
    CHECK(json::accept(machine.out));
  }
  const json buffers = json::parse(Run({"inspect", "attention", "--what", "buffers", "--json"}).out);
  REQUIRE_FALSE(buffers.empty());
  for (const char* key : {"name", "shape", "memory_space", "logical_bytes", "allocated_bytes", "first_op",
                          "last_op", "offset"}) {
    CHECK(buffers.at(0).contains(key));
  }
}

TEST_CASE("inspect and run agree on bytes") {
  const json ops = json::parse(Run({"inspect", "attention", "--json"}).out);
  const json summary = json::parse(Run({"run", "attention", "--json"}).out);
  std::int64_t read = 0, written = 0;
  for (const json& op : ops) {
    read += op.at("hbm_read_bytes").get<std::int64_t>() * op.at("executions").get<std::int64_t>();
    written += op.at("hbm_write_bytes").get<std::int64_t>() * op.at("executions").get<std::int64_t>();
  }
  CHECK(summary.at("hbm").at("read_bytes") == read);
  CHECK(summary.at("hbm").at("write_bytes") == written);
}

TEST_CASE("list prints names first") {
  CHECK_THAT(Run({"list", "chips"}).out, Catch::Matchers::StartsWith("v5e ") && Contains("\nv6e "));
  CHECK_THAT(Run({"list", "workloads"}).out, Contains("attention "));
  CHECK_THAT(Run({"list", "formats"}).out, Contains("perfetto "));
  CHECK_THAT(Run({"list", "keys"}).out, Contains("hbm.channels "));
  for (const char* what : {"chips", "workloads", "formats", "keys"}) {
    const ProcessResult result = Run({"list", what, "--json"});
    CHECK(result.code == 0);
    CHECK(json::parse(result.out).is_array());
  }
}

TEST_CASE("check says what a good file is") {
  const ProcessResult result = Run({"check", SPILLWAY_SOURCE_DIR "/configs/chips/v6e.yaml",
                                    SPILLWAY_SOURCE_DIR "/workloads/attention.yaml",
                                    SPILLWAY_SOURCE_DIR "/workloads/hlo/attention.v6e.S8192.hlo.gz"});
  CAPTURE(result.err);
  CHECK(result.code == 0);
  CHECK(result.err.empty());
  CHECK_THAT(result.out, Contains("v6e.yaml: ok (chip") && Contains("attention.yaml: ok (workload") &&
                             Contains("hlo.gz: ok (HLO: module jit_attention"));
}

TEST_CASE("the share directory and the search path can be elsewhere") {
  TemporaryDirectory directory;
  directory.Write("chips/mine.yaml", "schema: spillway.chip/1\nextends: v6e\nname: mine\n");
  ProcessOptions options;
  options.env = {{"SPILLWAY_CONFIG_PATH", directory.path()}};
  CHECK_THAT(Run({"list", "chips"}, options).out, Contains("mine "));
  CHECK_THAT(Run({"list", "chips", "--config-path", directory.path()}).out, Contains("mine "));
  options.env = {{"SPILLWAY_SHARE", directory.path()}};
  CHECK(Run({"list", "workloads"}, options).out.empty());
}

TEST_CASE("inspect --what bundles needs bundles") {
  const ProcessResult result = Run({"inspect", "attention", "--what", "bundles", "--llo", "none"});
  CHECK(result.code == 3);
  CHECK_THAT(result.err, Contains("no bundles") && Contains("--llo DIR"));
}

TEST_CASE("option -v says which files were taken") {
  const ProcessResult result = Run({"run", "attention", "--chip", "v6e", "-v"});
  CHECK(result.code == 0);
  CHECK_THAT(result.err, Contains("module.after_optimizations.txt") && Contains("bundles: "));
}

TEST_CASE("a protocol buffer runs like its text, from a file and from standard input") {
  const std::string stem = SPILLWAY_SOURCE_DIR "/tests/data/hlo/v6e_softmax";
  const auto run = [](const std::string& input, const ProcessOptions& options = {}) {
    const ProcessResult result = Run({"run", input, "--chip", "v6e", "--json"}, options);
    CAPTURE(input, result.err);
    REQUIRE(result.code == 0);
    json summary = json::parse(result.out);
    summary.erase("input");
    return summary;
  };
  const json proto = run(stem + ".hlo.pb.gz");
  CHECK(proto == run(stem + ".hlo.gz"));
  ProcessOptions options;
  options.input = Slurp(stem + ".hlo.pb.gz");
  CHECK(run("-", options) == proto);
}

TEST_CASE("bash completes commands, options and values") {
  // The words after the script are the line so far; the last one is completed.
  const std::string script = Run({"completion", "bash"}).out;
  const auto complete = [&](const std::string& words) {
    TemporaryDirectory directory;
    const std::string file = directory.Write("t.sh", script + "COMP_WORDS=(" + words +
                                                         "); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); "
                                                         "_spillway; echo \"${COMPREPLY[*]}\" > " +
                                                         directory.File("out") + "\n");
    REQUIRE(std::system(("bash " + file).c_str()) == 0);
    return Slurp(directory.File("out"));
  };
  CHECK(complete("spillway re") == "report\n");
  CHECK(complete("spillway -v list ''") == "chips workloads formats keys\n");
  CHECK(complete("spillway run x --plan ''") == "as-compiled unfused resident streamed\n");
  CHECK(complete("spillway --color n") == "never\n");
  CHECK_THAT(complete("spillway run x --c"),
             Contains("--chip") && Contains("--config") && Contains("--color"));
}

/// Whether the shell is there and reads the file without complaint; nothing if it is not there.
std::optional<bool> Parses(const std::string& shell, const std::string& file) {
  if (std::system(("command -v " + shell + " > /dev/null 2>&1").c_str()) != 0) return std::nullopt;
  return std::system((shell + " -n " + file).c_str()) == 0;
}

TEST_CASE("every shell completes every command and option") {
  TemporaryDirectory directory;
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const std::string script = Run({"completion", shell}).out;
    INFO(shell);
    for (const std::string command : {"run", "inspect", "explain", "compare", "sweep", "merge", "check", "export", "report", "list", "help", "completion"}) {
      CHECK_THAT(script, Contains(command));
    }
    for (const std::string option : {"chip", "plan", "set", "fail-above", "no-replay", "shard", "color", "log-file"}) {
      CHECK_THAT(script, Contains((shell == "fish" ? "-l " : "--") + option));
    }
    const std::optional<bool> parses = Parses(shell, directory.Write("script", script));
    if (!parses) WARN(shell << " is not installed: its script is not parsed");
    CHECK(parses.value_or(true));
  }
}

TEST_CASE("man pages name every option, and groff has nothing to complain of") {
  const bool groff = std::system("command -v groff > /dev/null 2>&1") == 0;
  if (!groff) WARN("groff is not installed: man pages are not formatted");
  TemporaryDirectory directory;
  const std::string main = Run({"help", "--format", "man"}).out;
  CHECK_THAT(main, Contains(".SH EXIT STATUS") && Contains("\\-\\-log\\-file"));
  for (const std::string command : {"", "run", "sweep", "explain", "completion"}) {
    INFO(command);
    const std::string page = command.empty() ? main : Run({"help", command, "--format", "man"}).out;
    CHECK_THAT(page, Contains(".TH \"") && Contains(".SH NAME"));
    CHECK_THAT(main, Contains("spillway\\-" + command));
    if (!groff) continue;
    const std::string file = directory.Write("page.1", page);
    CHECK(std::system(("groff -man -Tutf8 -ww -z " + file + " > " + directory.File("said") + " 2>&1").c_str()) == 0);
    CHECK(Slurp(directory.File("said")).empty());
  }
  CHECK_THAT(Run({"help", "explain", "--format", "man"}).out, Contains("\\-\\-no\\-replay"));
}

TEST_CASE("Ctrl-C before the replay ends the process at once") {
  ProcessOptions options;
  options.interrupt_after_ms = 300;
  options.keep_input_open = true;  // standard input of which nothing ever comes
  const ProcessResult result = Run({"run", "-", "--chip", "v6e"}, options);
  CHECK(result.code == 130);
  CHECK(result.out.empty());
}

// A replay of about a minute: long enough to be interrupted on any machine.
const std::vector<std::string> kLongRun = {"run",   "attention", "--chip",  "v6e",   "--variant",
                                           "old",   "--bind",    "S=32768", "--set", "hbm.fidelity=command",
                                           "--json"};

TEST_CASE("Ctrl-C during the replay gives the result so far, marked as incomplete") {
  TemporaryDirectory directory;
  ProcessOptions options;
  options.interrupt_after_ms = 3000;
  std::vector<std::string> words = kLongRun;
  words.insert(words.end(), {"-o", directory.File("out")});
  const ProcessResult result = Run(words, options);
  CHECK(result.code == 130);
  CHECK(json::parse(result.out).at("complete") == false);
  CHECK_THAT(result.err, Contains("warning: interrupted at "));
  CHECK(result.err.find('\x1b') == std::string::npos);  // and no progress, for want of a terminal
  CHECK(json::parse(Slurp(directory.File("out/summary.json"))).at("complete") == false);
}

TEST_CASE("a long run shows its progress on a terminal and wipes it off") {
  ProcessOptions options;
  options.interrupt_after_ms = 3000;
  options.terminal = true;
  const ProcessResult result = Run(kLongRun, options);
  CHECK(result.code == 130);
  CHECK_THAT(result.err, Contains("\r\x1b[K") && Contains(" ops  simulated "));
  const std::size_t last = result.err.rfind("\r\x1b[K");
  CHECK(result.err.find("simulated ", last) > result.err.find("interrupted", last));
  for (const char* word : {"-q", "--progress=never"}) {
    std::vector<std::string> words = kLongRun;
    words.push_back(word);
    CHECK(Run(words, options).err.find(" ops  simulated ") == std::string::npos);
  }
}

}  // namespace
}  // namespace spillway::test
