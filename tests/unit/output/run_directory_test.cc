// SPDX-License-Identifier: Apache-2.0
#include "sim/output/run_directory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "sample.h"
#include "sim/base/file.h"
#include "sim/output/export.h"

namespace spillway::output {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::Contains;

class TempDir {
 public:
  TempDir() : path_(fs::temp_directory_path() / ("spillway_output_" + std::to_string(getpid()))) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~TempDir() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::vector<std::string> List() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(path_)) {
      names.push_back(fs::relative(entry.path(), path_).string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  fs::path path_;
};

TEST_CASE("a run directory holds the contract's files and reads back to the same bytes") {
  TempDir temp;
  for (const RunData& run : {SmallRun(), HostileRun(), RunData{}}) {
    RunDirectoryOptions options;
    options.formats.clear();
    options.extra_files = {{"config.resolved.yaml", "schema: spillway.chip/1\n"}};
    const std::string dir = temp / "a/b/run/";
    REQUIRE(WriteRunDirectory(dir, run, options).ok());
    CHECK(temp.List() == std::vector<std::string>{"a", "a/b", "a/b/run", "a/b/run/config.resolved.yaml",
                                                  "a/b/run/counters.csv", "a/b/run/ops.csv",
                                                  "a/b/run/slices.csv", "a/b/run/summary.json",
                                                  "a/b/run/tracks.csv"});
    const auto back = ReadRunDirectory(dir);
    REQUIRE(back.ok());
    const auto before = RunDirectoryFiles(run, options), after = RunDirectoryFiles(*back, options);
    for (std::size_t i = 0; i < before->size(); ++i) CHECK((*before)[i].contents == (*after)[i].contents);
  }
}

TEST_CASE("an existing directory keeps foreign files and loses what another run left") {
  TempDir temp;
  const std::string dir = temp / "run";
  REQUIRE(WriteRunDirectory(dir, SmallRun()).ok());
  REQUIRE(fs::exists(dir + "/timeline.pftrace"));
  std::ofstream(dir + "/notes.txt") << "mine";
  RunDirectoryOptions options;
  options.formats.clear();
  REQUIRE(WriteRunDirectory(dir, RunData{}, options).ok());
  CHECK(ReadFile(dir + "/notes.txt").value() == "mine");
  CHECK_FALSE(fs::exists(dir + "/timeline.pftrace"));
  CHECK(ReadRunDirectory(dir)->summary.module.empty());
}

TEST_CASE("a failed write leaves nothing behind") {
  TempDir temp;
  std::ofstream(temp / "file") << "x";
  const auto status = WriteRunDirectory(temp / "file", SmallRun());
  REQUIRE_FALSE(status.ok());
  CHECK_THAT(status.errors()[0].message, Contains("is not a directory"));
  CHECK_FALSE(WriteRunDirectory(temp / "file/deeper/run", SmallRun()).ok());
  CHECK_FALSE(WriteRunDirectory("", SmallRun()).ok());

  // A folder where a file must go: the last file fails after the others are staged.
  const std::vector<OutputFile> clash = {{"one", "1"}, {"two", "2"}, {"one/three", "3"}};
  CHECK_FALSE(WriteFiles(temp / "new/run", clash).ok());
  CHECK(temp.List() == std::vector<std::string>{"file"});
  fs::create_directories(temp / "old/two");
  CHECK_FALSE(WriteFiles(temp / "old", {{"two", "2"}}).ok());
  CHECK(temp.List() == std::vector<std::string>{"file", "old", "old/two"});
  if (access("/proc/self", F_OK) == 0) {
    CHECK_FALSE(WriteFiles("/proc/self/spillway_run", {{"one", "1"}}).ok());
  }
}

TEST_CASE("a full disk leaves the directory as it was") {
  TempDir temp;
  const std::string dir = temp / "run";
  REQUIRE(WriteRunDirectory(dir, SmallRun()).ok());
  const std::vector<std::string> before = temp.List();
  const std::string summary = ReadFile(dir + "/summary.json").value();
  // A limit on the size of files stands for a full disk: write() fails in the middle of a file.
  struct rlimit old {};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &old) == 0);
  std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit tight = old;
  tight.rlim_cur = 700;
  REQUIRE(setrlimit(RLIMIT_FSIZE, &tight) == 0);
  RunData other = SmallRun();
  other.summary.module = "another";
  const Status again = WriteRunDirectory(dir, other);
  const Status fresh = WriteRunDirectory(temp / "fresh/run", other);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &old) == 0);
  std::signal(SIGXFSZ, SIG_DFL);
  REQUIRE_FALSE(again.ok());
  REQUIRE_FALSE(fresh.ok());
  CHECK_THAT(again.errors()[0].message, Contains("cannot write"));
  CHECK(temp.List() == before);
  CHECK(ReadFile(dir + "/summary.json").value() == summary);
}

TEST_CASE("not a run directory") {
  TempDir temp;
  CHECK_THAT(ReadRunDirectory(temp / "none").errors()[0].message, Contains("no such directory"));
  fs::create_directories(temp / "empty");
  CHECK_THAT(ReadRunDirectory(temp / "empty").errors()[0].message, Contains("no summary.json"));
  std::ofstream(temp / "empty/summary.json") << "{\"schema\":\"spillway.summary/1\"}";
  CHECK(ReadRunDirectory(temp / "empty").ok());
  std::ofstream(temp / "empty/slices.csv") << "start_ps\n";
  CHECK(ReadRunDirectory(temp / "empty").errors()[0].file == temp / "empty/slices.csv");
}

TEST_CASE("formats are known by name") {
  std::vector<std::string> names;
  for (const Format& format : Formats()) {
    names.push_back(format.name);
    CHECK_FALSE(format.description.empty());
    for (const RunData& run : {SmallRun(), HostileRun(), RunData{}}) {
      const auto files = RenderFormat(format.name, run);
      REQUIRE(files.ok());
      CHECK(files->size() == format.files.size());
      const auto again = RenderFormat(format.name, run);
      for (std::size_t i = 0; i < files->size(); ++i) CHECK((*files)[i].contents == (*again)[i].contents);
    }
  }
  CHECK(names ==
        std::vector<std::string>{"perfetto", "xplane", "chrome", "csv", "json", "vcd", "gnuplot", "html"});
  CHECK(RenderFormat("perfeto", {}).errors()[0].hint == "did you mean 'perfetto'?");
}

}  // namespace
}  // namespace spillway::output
