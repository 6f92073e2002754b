// SPDX-License-Identifier: Apache-2.0
// Sweeps, from the outside.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <sstream>
#include <thread>

#include "tests/cli/process.h"

namespace spillway::test {
namespace {

using Catch::Matchers::Contains;
using Strings = std::vector<std::string>;

const Strings kFiles = {"sweep.csv", "sweep.svg", "sweep.gp", "sweep.dat", "config.resolved.yaml"};

/// A sweep of 24 quick points, some of which fail.
Strings Sweep(const Strings& more) {
  Strings words = {"sweep",  "attention",  "--variant", "new", "--axis", "S=512:4096:x2",
                   "--axis", "chip=v5e,v6e", "--axis",  "run.max_events=0,1,10000000"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::vector<std::map<std::string, std::string>> Rows(const std::string& csv) {
  std::vector<std::map<std::string, std::string>> rows;
  Strings header;
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    Strings cells(1);
    bool quoted = false;
    for (const char c : line) {
      if (c == '"') {
        quoted = !quoted;
      } else if (c == ',' && !quoted) {
        cells.emplace_back();
      } else {
        cells.back() += c;
      }
    }
    if (header.empty()) {
      header = cells;
      continue;
    }
    REQUIRE(cells.size() == header.size());
    rows.emplace_back();
    for (std::size_t i = 0; i < cells.size(); ++i) rows.back()[header[i]] = cells[i];
  }
  return rows;
}

void CheckSame(const std::string& a, const std::string& b) {
  for (const std::string& name : kFiles) {
    CAPTURE(name);
    CHECK_FALSE(Slurp(a + "/" + name).empty());
    CHECK(Slurp(a + "/" + name) == Slurp(b + "/" + name));
  }
}

std::size_t Lines(const std::string& path) {
  const std::string text = Slurp(path);
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

/// Starts the program and does not wait.
pid_t Start(const Strings& arguments) {
  Strings words = {SPILLWAY_BINARY};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t pid = -1;
  REQUIRE(posix_spawn(&pid, SPILLWAY_BINARY, &files, &attributes, argv.data(), environ) == 0);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return pid;
}

/// Waits until the journal has `lines` lines or the process is gone.
void WaitForLines(pid_t pid, const std::string& journal, std::size_t lines) {
  for (int i = 0; i < 6000; ++i) {
    if (Lines(journal) >= lines) return;
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

TEST_CASE("a sweep writes one row a point, in the order of the axes, and a curve") {
  TemporaryDirectory directory;
  const std::string out = directory.File("out");
  const ProcessResult result = Run({"sweep", "attention", "--axis", "S=512:2048:x2", "--axis", "chip=v5e,v6e", "-o", out});
  CAPTURE(result.err);
  REQUIRE(result.code == 0);
  CHECK(result.err.empty());
  CHECK_THAT(result.out, Contains("S") && Contains("2048") && Contains("v6e"));
  CHECK(result.out.find('\x1b') == std::string::npos);
  const auto rows = Rows(Slurp(out + "/sweep.csv"));
  REQUIRE(rows.size() == 6);
  CHECK(rows[0].at("S") == "512");
  CHECK(rows[1].at("chip") == "v6e");
  CHECK(rows[5].at("S") == "2048");
  for (const auto& row : rows) {
    CHECK(row.at("status") == "ok");
    CHECK(std::stoll(row.at("makespan_ps")) > 0);
    CHECK(std::stoll(row.at("hbm_read_bytes")) > 0);
  }
  CHECK_THAT(Slurp(out + "/sweep.svg"), Catch::Matchers::StartsWith("<svg") && Contains("</svg>"));
  CHECK(Lines(out + "/journal.jsonl") == 7);
}

TEST_CASE("a point of a sweep has the figures of the same run") {
  TemporaryDirectory directory;
  const std::string out = directory.File("out");
  REQUIRE(Run({"sweep", "attention", "--axis", "S=8192", "--axis", "hbm.channels=32", "--chip", "v6e", "-o", out}).code == 0);
  const auto rows = Rows(Slurp(out + "/sweep.csv"));
  REQUIRE(rows.size() == 1);
  const ProcessResult run = Run({"run", "attention", "--chip", "v6e", "--bind", "S=8192", "--set", "hbm.channels=32", "--json"});
  CHECK_THAT(run.out, Contains("\"makespan_ps\": " + rows[0].at("makespan_ps") + ","));
  CHECK_THAT(run.out, Contains("\"read_bytes\": " + rows[0].at("hbm_read_bytes") + ","));
  CHECK_THAT(run.out, Contains("\"peak_bytes\": " + rows[0].at("vmem_peak_bytes") + ","));
}

TEST_CASE("the VMEM cliff of f32 causal attention on v5e lies between 4096 and 8192") {
  TemporaryDirectory directory;
  const std::string out = directory.File("out");
  REQUIRE(Run({"sweep", SPILLWAY_SOURCE_DIR "/workloads/attention_f32_causal.yaml", "--axis", "plan=as-compiled,streamed", "--chip",
               "v5e", "--axis", "S=2048:8192:x2", "-o", out}).code == 0);
  const auto rows = Rows(Slurp(out + "/sweep.csv"));
  REQUIRE(rows.size() == 6);
  // Scores of 4 S^2 bytes: in VMEM at 4096, written and read again at 8192.
  CHECK(std::stoll(rows[1].at("vmem_buffers_bytes")) >= std::int64_t{64} << 20);
  CHECK(std::stoll(rows[1].at("hbm_write_bytes")) < std::int64_t{8} << 20);
  CHECK(std::stoll(rows[2].at("hbm_write_bytes")) >= std::int64_t{256} << 20);
  CHECK(std::stoll(rows[2].at("hbm_read_bytes")) >= std::int64_t{256} << 20);
  CHECK(std::stoll(rows[2].at("makespan_ps")) > 5 * std::stoll(rows[1].at("makespan_ps")));
  CHECK(rows[1].at("measured_us") == "72");
  CHECK(rows[2].at("timer") == "wall");
  // Streamed, the scores never leave VMEM: q, k, v in, the result out. No such program was measured.
  CHECK(rows[5].at("plan") == "streamed");
  CHECK(std::stoll(rows[5].at("hbm_write_bytes")) == std::int64_t{8192} * 64 * 4);
  CHECK(std::stoll(rows[5].at("hbm_read_bytes")) < std::int64_t{16} << 20);
  CHECK(rows[5].at("measured_us").empty());
}

TEST_CASE("points that fail are listed and the others go on") {
  TemporaryDirectory directory;
  const std::string out = directory.File("out");
  const ProcessResult result = Run(Sweep({"-o", out}));
  CHECK(result.code == 1);
  CHECK_THAT(result.err, Contains("8 of 24 points have no result") && Contains("run.max_events=1: "));
  int failed = 0;
  for (const auto& row : Rows(Slurp(out + "/sweep.csv"))) {
    const bool bad = row.at("run.max_events") == "1";
    failed += bad ? 1 : 0;
    CHECK((row.at("status") == "ok") == !bad);
    CHECK(row.at("makespan_ps").empty() == bad);
  }
  CHECK(failed == 8);
}

TEST_CASE("the number of workers does not show in the results") {
  TemporaryDirectory directory;
  REQUIRE(Run(Sweep({"-o", directory.File("a"), "-j", "1"})).code == 1);
  REQUIRE(Run(Sweep({"-o", directory.File("b"), "-j", "5"})).code == 1);
  CheckSame(directory.File("a"), directory.File("b"));
}

TEST_CASE("each distinct input is read once") {
  TemporaryDirectory directory;
  const ProcessResult result = Run(Sweep({"-o", directory.File("a"), "-v"}));
  CHECK_THAT(result.err, Contains("24 points of 8 inputs"));
}

TEST_CASE("kill -9 in mid-sweep, then --resume: the same files, and only the rest is run") {
  TemporaryDirectory directory;
  const std::string whole = directory.File("whole"), killed = directory.File("killed");
  REQUIRE(Run(Sweep({"-o", whole})).code == 1);
  const pid_t pid = Start(Sweep({"-o", killed, "-j", "1"}));
  WaitForLines(pid, killed + "/journal.jsonl", 5);
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  const std::size_t done = Lines(killed + "/journal.jsonl");
  REQUIRE(done >= 5);
  const bool finished = std::filesystem::exists(killed + "/sweep.csv");
  if (!finished) {
    const ProcessResult again = Run(Sweep({"-o", killed}));  // must not throw away what is there
    CHECK(again.code == 3);
    CHECK_THAT(again.err, Contains("--resume"));
  }
  const ProcessResult resumed = Run(Sweep({"-o", killed, "--resume", "-v"}));
  CHECK(resumed.code == 1);
  CHECK(resumed.err.find(", 0 of them done before") == std::string::npos);
  CheckSame(whole, killed);
}

TEST_CASE("a torn last line and lines of another sweep do no harm") {
  TemporaryDirectory directory;
  const std::string out = directory.File("out"), whole = directory.File("whole");
  REQUIRE(Run(Sweep({"-o", whole})).code == 1);
  REQUIRE(Run({"sweep", "attention", "--variant", "new", "--axis", "S=512,1024", "--chip", "v6e", "-o", out}).code == 0);
  std::string journal = Slurp(out + "/journal.jsonl");
  directory.Write("out/journal.jsonl", journal + journal.substr(journal.size() / 2, 100));
  const ProcessResult resumed = Run(Sweep({"-o", out, "--resume"}));
  CHECK(resumed.code == 1);
  CheckSame(whole, out);
}

TEST_CASE("option --resume believes no result of other input, chip or options") {
  TemporaryDirectory directory;
  const std::string out = directory.File("out");
  const std::string hlo = directory.File("a.hlo.gz"), chip = directory.File("mine.yaml");
  const std::string from = SPILLWAY_SOURCE_DIR "/workloads/hlo/attention.v6e.S";
  std::filesystem::copy_file(from + "512.hlo.gz", hlo);
  directory.Write("mine.yaml", "schema: spillway.chip/1\nextends: v6e\nname: mine\n");
  const auto sweep = [&](const Strings& more) {
    Strings words = {"sweep", hlo, "--axis", "dma.read_latency=200ns,300ns", "-o", out, "-v"};
    words.insert(words.end(), more.begin(), more.end());
    const ProcessResult result = Run(words);
    CAPTURE(result.err);
    CHECK(result.code == 0);
    return result.err;
  };
  sweep({"--chip", chip});
  CHECK_THAT(sweep({"--chip", chip, "--resume"}), Contains("2 of them done before"));
  CHECK_THAT(sweep({"--chip", chip, "--resume", "--set", "hbm.channels=32"}), Contains("0 of them done before"));
  sweep({"--chip", chip});
  directory.Write("mine.yaml", "schema: spillway.chip/1\nextends: v6e\nname: mine\ndma: {write_latency: 1us}\n");
  CHECK_THAT(sweep({"--chip", chip, "--resume"}), Contains("0 of them done before"));
  CHECK_THAT(sweep({"--chip", chip, "--resume"}), Contains("2 of them done before"));
  std::filesystem::copy_file(from + "1024.hlo.gz", hlo, std::filesystem::copy_options::overwrite_existing);
  CHECK_THAT(sweep({"--chip", chip, "--resume"}), Contains("0 of them done before"));
  // More values of an axis: the old ones stay.
  Strings longer = {"sweep", hlo, "--axis", "dma.read_latency=100ns:400ns:+100ns", "--chip", chip, "-o", out, "--resume", "-v"};
  CHECK_THAT(Run(longer).err, Contains("4 points of 1 inputs, 2 of them done before"));
}

TEST_CASE("three shards merged are the sweep in one piece") {
  TemporaryDirectory directory;
  const std::string whole = directory.File("whole"), merged = directory.File("merged");
  const ProcessResult all = Run(Sweep({"-o", whole}));
  REQUIRE(all.code == 1);
  for (const std::string i : {"1", "2", "3"}) {
    const ProcessResult shard = Run(Sweep({"-o", directory.File("s" + i), "--shard", i + "/3"}));
    CHECK((shard.code == 0 || shard.code == 1));  // 1: failed points are among its own
  }
  const ProcessResult result = Run({"merge", directory.File("s3"), directory.File("s1"), directory.File("s2"), "-o", merged});
  CHECK(result.code == 1);
  CHECK(result.out == all.out);
  CHECK(result.err == all.err);
  CheckSame(whole, merged);
  SECTION("missing points are listed") {
    const ProcessResult part = Run({"merge", directory.File("s3"), directory.File("s1"), "-o", directory.File("part")});
    CHECK(part.code == 1);
    CHECK_THAT(part.err, Contains("of 24 points are missing: "));
  }
  SECTION("a shard twice, and a directory without shards") {
    CHECK(Run({"merge", directory.File("s1"), directory.File("s1"), "-o", directory.File("part")}).code == 1);
    CHECK(Run({"merge", directory.path() + "/none", "-o", directory.File("part")}).code == 3);
    CHECK(Run({"merge", directory.File("s1"), "-o", directory.File("s1")}).code == 2);
    CHECK_FALSE(std::filesystem::exists(directory.File("part")));
  }
  SECTION("shards of different sweeps") {
    REQUIRE(Run({"sweep", "attention", "--axis", "S=512", "-o", directory.File("other")}).code == 0);
    CHECK(Run({"merge", directory.File("s1"), directory.File("other"), "-o", directory.File("part")}).code == 1);
  }
}

TEST_CASE("tasks of an array job take their part by themselves") {
  TemporaryDirectory directory;
  const std::string whole = directory.File("whole"), out = directory.File("out");
  REQUIRE(Run(Sweep({"-o", whole})).code == 1);
  for (const std::string task : {"0", "1"}) {
    ProcessOptions options;
    options.env = {{"SLURM_ARRAY_TASK_ID", task}, {"SLURM_ARRAY_TASK_COUNT", "2"}, {"SLURM_ARRAY_TASK_MIN", "0"},
                   {"SLURM_ARRAY_TASK_MAX", "1"}};
    const ProcessResult shard = Run(Sweep({"-o", out}), options);
    CHECK_THAT(shard.err, Contains(out + "/shard-"));
  }
  CHECK(Run({"merge", out, "-o", directory.File("merged")}).code == 1);
  CheckSame(whole, directory.File("merged"));
  ProcessOptions pbs;
  pbs.env = {{"PBS_ARRAY_INDEX", "1"}};
  const ProcessResult refused = Run(Sweep({"-o", out}), pbs);
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, Contains("--shard"));
  CHECK(Run(Sweep({"-n", "--shard", "1/1"}), pbs).code == 0);
}

TEST_CASE("a sweep file, and the resolved one it leaves, give the same points") {
  TemporaryDirectory directory;
  directory.Write("specs/slow.yaml", "schema: spillway.chip/1\ndma: {read_latency: 2us}\n");
  const std::string spec = directory.Write("specs/s.yaml",
                                           "schema: spillway.sweep/1\n"
                                           "base: {workload: attention, variant: new}\n"
                                           "config: [slow.yaml]\n"
                                           "axes: {S: 512:2048:x2}\n"
                                           "zip:\n  - {chip: [v5e, v6e], tag: [old chip, new chip]}\n"
                                           "exclude:\n  - {S: 512, chip: v5e}\n");
  CHECK_THAT(Run({"check", spec}).out, Contains("ok (sweep: 5 points)"));
  const std::string a = directory.File("a"), b = directory.File("b");
  REQUIRE(Run({"sweep", spec, "-o", a}).code == 0);
  CHECK(Rows(Slurp(a + "/sweep.csv")).size() == 5);
  CHECK(Rows(Slurp(a + "/sweep.csv"))[0].at("tag") == "new chip");
  REQUIRE(Run({"sweep", a + "/config.resolved.yaml", "-o", b}).code == 0);
  CHECK(Slurp(a + "/sweep.csv") == Slurp(b + "/sweep.csv"));
  CHECK(Run({"check", a + "/config.resolved.yaml"}).code == 0);
  const ProcessResult fewer = Run({"sweep", spec, "--axis", "S=1024", "-n"});
  CHECK(fewer.code == 0);
  CHECK_THAT(fewer.out, Contains("2 points"));
}

TEST_CASE("chips may be files, also beside the sweep file") {
  TemporaryDirectory directory;
  directory.Write("specs/wide.yaml", "schema: spillway.chip/1\nextends: v6e\nhbm: {channels: 128}\n");
  const std::string spec = directory.Write("specs/s.yaml",
                                           "schema: spillway.sweep/1\n"
                                           "base: {workload: attention, variant: new, S: 8192}\n"
                                           "axes: {chip: [v6e, wide.yaml]}\n");
  const ProcessResult result = Run({"sweep", spec, "-o", directory.File("a"), "-v"});
  CAPTURE(result.err);
  REQUIRE(result.code == 0);
  CHECK_THAT(result.err, Contains("2 points of 1 inputs"));
  const auto rows = Rows(Slurp(directory.File("a/sweep.csv")));
  REQUIRE(rows.size() == 2);
  CHECK(std::stoll(rows[0].at("makespan_ps")) > std::stoll(rows[1].at("makespan_ps")));
}

TEST_CASE("option --dry-run prints the points and leaves no file") {
  TemporaryDirectory directory;
  ProcessOptions options;
  options.directory = directory.path();
  const ProcessResult result = Run(Sweep({"--dry-run"}), options);
  CHECK(result.code == 0);
  CHECK_THAT(result.out, Contains("     0  S=512 chip=v5e run.max_events=0\n") && Contains("24 points of 8 inputs\n"));
  CHECK(directory.Files().empty());
}

TEST_CASE("misuse of sweep is refused before anything runs") {
  struct Misuse {
    Strings words;
    std::string message, hint;
  };
  const auto misuse = GENERATE(values<Misuse>({
      {{"attention"}, "no axis", "--axis S="},
      {{"attention", "--axis", "S"}, "KEY=VALUES", "--axis S="},
      {{"attention", "--axis", "S=8:4:x2"}, "above TO", ""},
      {{"attention", "--axis", "S=512", "--axis", "S=1024"}, "given twice", ""},
      {{"attention", "--axis", "T=1,2"}, "no key 'T'", "the workload has S"},
      {{"attention", "--axis", "hbm.chanels=1,2"}, "no key 'hbm.chanels'", "did you mean 'hbm.channels'"},
      {{"attention", "--axis", "chip=v5e,v6e", "--chip", "v6e"}, "'chip' is an axis", ""},
      {{"attention", "--axis", "S=512", "--shard", "3/2"}, "no shard 3 of 2", "1 to 2"},
      {{"attention", "--axis", "S=512", "-j", "0"}, "-j 0", ""},
      {{"attention", "--axis", "S=512", "--set", "hbm.channels"}, "KEY=VALUE", ""},
      {{"attention", "--axis", "S=512", "--plan", "streemed"}, "streemed", "did you mean 'streamed'?"},
      {{"attention", "--axis", "S=512", "--axis", "plan=as-compiled,nonsense"}, "plan=nonsense: ", "as-compiled"},
      {{"attention", "--axis", "S=512,777"}, "S=777: ", "512"},
      {{"attention", "--axis", "S=512", "--axis", "chip=v6e,v9"}, "chip=v9: ", "v6e"},
      {{"attention", "--axis", "S=512", "--axis", "dma.read_latency=100ns,-1ns"}, "dma.read_latency=-1ns: ", ""},
      {{"attention", "--axis", "S=512", "--axis", "variant=new,newer"}, "variant=newer: ", "did you mean 'new'?"},
      {{"attention", "--axis", "S=512", "--axis", "llo=none,nowhere"}, "llo=nowhere: ", "none"},
      {{"nowhere", "--axis", "chip=v5e,v6e"}, "nowhere", ""},
  }));
  TemporaryDirectory directory;
  ProcessOptions options;
  options.directory = directory.path();
  Strings words = {"sweep"};
  words.insert(words.end(), misuse.words.begin(), misuse.words.end());
  const ProcessResult result = Run(words, options);
  CAPTURE(result.err);
  CHECK(result.code == 2);
  CHECK(result.out.empty());
  CHECK_THAT(result.err, Contains(misuse.message) && Contains(misuse.hint));
  CHECK(directory.Files().empty());
}

TEST_CASE("a value that some points can use is no misuse") {
  // Only 8192 was captured by both compilers.
  TemporaryDirectory directory;
  const ProcessResult result = Run({"sweep", "softmax", "--chip", "v6e", "--axis", "S=4096,8192", "--axis", "variant=old,new",
                                    "-o", directory.File("a")});
  CHECK(result.code == 1);
  CHECK_THAT(result.err, Contains("1 of 4 points have no result"));
}

TEST_CASE("a sweep over sizes that are rewritten says so for each of them") {
  TemporaryDirectory directory;
  const std::string workload = directory.Write(
      "w.yaml", "schema: spillway.workload/1\nname: w\ndescription: softmax of rows\nsymbols:\n  S: {description: rows, values: [8192], "
      "default: 8192}\nchips: [v6e]\nhlo: " SPILLWAY_SOURCE_DIR "/workloads/hlo/softmax.v6e.S8192.hlo.gz\nbind: {S: 8192}\n"
      "dimensions: {x: [0]}\n");
  const std::string out = directory.File("out");
  const ProcessResult result =
      Run({"sweep", workload, "--chip", "v6e", "--axis", "S=1024,2048", "--axis", "dma.read_latency=400ns,500ns", "-o", out});
  CAPTURE(result.err);
  CHECK(result.code == 0);
  CHECK_THAT(result.err, Contains("from S=8192 to 1024") && Contains("from S=8192 to 2048"));
  const auto rows = Rows(Slurp(out + "/sweep.csv"));
  REQUIRE(rows.size() == 4);
  CHECK(std::stoll(rows[2].at("hbm_read_bytes")) == 2 * std::stoll(rows[0].at("hbm_read_bytes")));
  // A kernel in bytecode has no other size: refused before anything runs, with what to do.
  const std::string flash = directory.Write(
      "f.yaml", "schema: spillway.workload/1\nname: f\ndescription: flash\nsymbols:\n  S: {description: rows, values: [8192], "
      "default: 8192}\nchips: [v6e]\nhlo: " SPILLWAY_SOURCE_DIR "/workloads/hlo/flash_attention.v6e.S8192.hlo.gz\nbind: {S: 8192}\n");
  const ProcessResult refused = Run({"sweep", flash, "--chip", "v6e", "--axis", "S=4096,8192", "-o", directory.File("refused")});
  CAPTURE(refused.err);
  CHECK(refused.code == 3);
  CHECK_THAT(refused.err, Contains("S8192.hlo.gz:") && Contains("S=4096: the custom kernel") && Contains("'spillway-capture'"));
  CHECK_FALSE(std::filesystem::exists(directory.File("refused")));
}

TEST_CASE("a bad sweep file is bad input, with its lines") {
  TemporaryDirectory directory;
  const std::string spec = directory.Write("s.yaml",
                                           "schema: spillway.sweep/1\nbase: {workload: attention}\naxes: {S: 8:4:x2}\n");
  const ProcessResult result = Run({"sweep", spec});
  CHECK(result.code == 3);
  CHECK_THAT(result.err, Contains("s.yaml:3:") && Contains("above TO"));
  const std::string unknown = directory.Write("t.yaml",
                                              "schema: spillway.sweep/1\nbase: {workload: attention}\naxes: {hbm.chanels: [8]}\n");
  const ProcessResult key = Run({"sweep", unknown});
  CHECK(key.code == 3);
  CHECK_THAT(key.err, Contains("t.yaml:3:") && Contains("did you mean 'hbm.channels'"));
  CHECK(Run({"check", unknown}).code == 1);
  const std::string value = directory.Write(
      "v.yaml", "schema: spillway.sweep/1\nbase: {workload: attention, chip: v6e}\naxes: {S: [512], plan: [as-compiled, nonsense]}\n");
  const ProcessResult plan = Run({"sweep", value, "-n"});
  CHECK(plan.code == 3);
  CHECK_THAT(plan.err, Contains("v.yaml:3:") && Contains("plan=nonsense: unknown plan 'nonsense'") && Contains("as-compiled"));
}

TEST_CASE("report makes a page of a sweep, also of one that is not complete") {
  TemporaryDirectory directory;
  const std::string out = directory.File("out"), page = out + "/report.html";
  REQUIRE(Run({"sweep", "attention_f32_causal", "--axis", "S=512:2048:x2", "--axis", "chip=v5e,v6e", "--axis", "tag=a</script>b",
               "-o", out}).code == 0);
  const ProcessResult result = Run({"report", out});
  CHECK(result.code == 0);
  CHECK(result.out == page + "\n");
  const std::string html = Slurp(page);
  CHECK_THAT(html, Contains("\"makespan_ps\":[") && Contains("\"status\":[\"ok\",\"ok\",\"ok\",\"ok\",\"ok\",\"ok\"]") && Contains("a\\u003c/script>b") && !Contains("src="));
  CHECK_THAT(html, Contains("{\"text\":\"2048\",\"x\":2048.0}") && Contains("\"numeric\":true,\"log\":true"));
  REQUIRE(Run({"report", out, "-o", "-"}).out == html);
  // A torn journal is a sweep of fewer points.
  std::string journal = Slurp(out + "/journal.jsonl");
  directory.Write("torn/journal.jsonl", journal.substr(0, journal.size() - 5));
  REQUIRE(Run({"report", directory.File("torn")}).code == 0);
  CHECK_THAT(Slurp(directory.File("torn/report.html")), Contains("\"points\":6,"));
  const ProcessResult two = Run({"report", out, directory.File("torn")});
  CHECK(two.code == 3);
  CHECK_THAT(two.err, Contains("'spillway merge'"));
}

TEST_CASE("Ctrl-C keeps the journal and exits with 130") {
  TemporaryDirectory directory;
  const std::string out = directory.File("out");
  // Far more work than the time before the signal allows.
  const Strings words = {"sweep",  "attention", "--chip", "v6e", "--variant", "new", "--axis", "S=8192", "--axis",
                         "dma.read_latency=1ns:600ns:+1ns", "-o", out, "-j", "2"};
  const pid_t pid = Start(words);
  WaitForLines(pid, out + "/journal.jsonl", 2);
  kill(pid, SIGINT);
  int status = 0;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 130);
  CHECK(Lines(out + "/journal.jsonl") >= 2);
  CHECK_FALSE(std::filesystem::exists(out + "/sweep.csv"));
}

TEST_CASE("on a terminal the progress is one line that goes away") {
  TemporaryDirectory directory;
  ProcessOptions options;
  options.terminal = true;
  const ProcessResult result = Run(Sweep({"-o", directory.File("out")}), options);
  CHECK(result.code == 1);
  CHECK_THAT(result.err, Contains("/24]"));
  const ProcessResult quiet = Run(Sweep({"-o", directory.File("out2"), "--progress", "never"}), options);
  CHECK(quiet.err.find("/24]") == std::string::npos);
}

}  // namespace
}  // namespace spillway::test
