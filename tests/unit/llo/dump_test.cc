// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <unistd.h>

#include "sim/llo/dump.h"

namespace spillway::llo {
namespace {

namespace fs = std::filesystem;

// A directory of one-bundle files, removed at the end.
class TemporaryDump {
 public:
  TemporaryDump() : path_(fs::temp_directory_path() / ("spillway_llo_" + std::to_string(getpid()))) {
    fs::remove_all(path_);
    fs::create_directory(path_);
  }
  ~TemporaryDump() { fs::remove_all(path_); }
  void Write(const std::string& name, const std::string& text = "     0   :  { %s1_s0 = smov 1 }\n") const {
    std::ofstream(path_ / name) << text;
  }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

TEST_CASE("kernels are found by op name, shared and cloned code included", "[llo]") {
  TemporaryDump files;
  files.Write("1795977240665001423-TLP-03-final_bundles.txt");
  files.Write("1795977240665001423-TLP-00-deduplication-map.txt",
              "key:<top-inlining-caller>\nordinal:0\nequivalent_hlos[size=0]:\nkey:fusion.2\nordinal:1\n"
              "equivalent_hlos[size=2]:\n  fusion.2\n  fusion.7\n");
  files.Write("1795977240765001423-fusion.2-03-final_bundles.txt");
  files.Write("1795977240765001423-fusion.2-02-schedule-analysis_final_bundles.txt", "no bundles\n");
  files.Write("1795977240765001423-fusion.2-01-final_hlo-static-per-bundle-utilization.txt",
              "== CAPACTIY:\nA\n1\n== UTILIZATION:\n1\n1\n");
  files.Write("1795977240865001423-reduce.3.clone-65-final_bundles.txt");
  files.Write("1795977240865001423-<late-finalization>-03-final_bundles.txt");
  Result<Dump> dump = Dump::Open(files.path());
  REQUIRE(dump.ok());
  CHECK(dump->has_program());
  CHECK(dump->module_count() == 1);
  REQUIRE(dump->kernels().size() == 2);
  CHECK(dump->kernels()[0].op == "fusion.2");
  CHECK(dump->Resolve("fusion.2") == "fusion.2");
  CHECK(dump->Resolve("fusion.7") == "fusion.2");
  CHECK(dump->Resolve("fusion.2.clone") == "fusion.2");
  CHECK(dump->Resolve("fusion.2.clone.1") == "fusion.2");
  CHECK(dump->Resolve("reduce.3") == "reduce.3.clone");
  CHECK(dump->Resolve("fusion").empty());
  CHECK(dump->Resolve("TLP").empty());
  CHECK(dump->Missing({"fusion.2", "add", "fusion.7"}) == std::vector<std::string>{"add"});
  Result<std::shared_ptr<const Kernel>> kernel = dump->Load("fusion.7");
  REQUIRE(kernel.ok());
  CHECK((*kernel)->bundle_count() == 1);
  CHECK(dump->Load("fusion.2")->get() == kernel->get());
  CHECK(!dump->Load("add").ok());
  // Two rows for one bundle.
  Result<Utilization> table = dump->LoadUtilization("fusion.2", **kernel);
  REQUIRE(!table.ok());
  CHECK(table.errors()[0].message == "2 rows for 1 bundles");
}

TEST_CASE("preloaded kernels are those that loading gives; a broken one still says why", "[llo]") {
  TemporaryDump files;
  std::vector<std::string> ops;
  for (int i = 0; i < 20; ++i) {
    std::string text;
    for (int b = 0; b <= i; ++b) text += "     " + std::to_string(b) + "   :  { %s1_s0 = smov 1 }\n";
    ops.push_back("fusion." + std::to_string(i));
    files.Write(ops.back() + "-03-final_bundles.txt", i == 7 ? "no bundles\n" : text);
  }
  Result<Dump> dump = Dump::Open(files.path());
  REQUIRE(dump.ok());
  ops.push_back("fusion.3.clone");
  ops.push_back("nowhere");
  dump->Preload(ops);
  for (const std::string& op : ops) fs::remove(files.path() + "/" + op + "-03-final_bundles.txt");
  files.Write("fusion.7-03-final_bundles.txt", "no bundles\n");
  for (int i = 0; i < 20; ++i) {
    Result<std::shared_ptr<const Kernel>> kernel = dump->Load(ops[static_cast<std::size_t>(i)]);
    CHECK(kernel.ok() == (i != 7));
    if (kernel.ok()) CHECK((*kernel)->bundle_count() == i + 1);
    else CHECK(kernel.errors()[0].message == "no bundles in this file");
  }
  CHECK(dump->Load("fusion.3.clone")->get() == dump->Load("fusion.3")->get());
}

TEST_CASE("of several modules in one directory the one that holds the ops is taken", "[llo]") {
  TemporaryDump files;
  files.Write("1795977240000000001-TLP-03-final_bundles.txt");
  files.Write("1795977240000000002-fusion-03-final_bundles.txt");
  files.Write("1795977240000000003-copy.1-03-final_bundles.txt");
  files.Write("1795977250000000001-TLP-03-final_bundles.txt");
  files.Write("1795977250000000002-fusion-03-final_bundles.txt", "     0   :  {}\n   0x1   :  {}\n");
  Result<Dump> first = Dump::Open(files.path(), {"fusion", "copy.1"});
  REQUIRE(first.ok());
  CHECK(first->module_count() == 2);
  CHECK((*first->Load("fusion"))->bundle_count() == 1);
  // The same score: the newest.
  Result<Dump> second = Dump::Open(files.path(), {"fusion"});
  REQUIRE(second.ok());
  CHECK((*second->Load("fusion"))->bundle_count() == 2);
}

TEST_CASE("a directory without bundles is an error", "[llo]") {
  TemporaryDump files;
  CHECK(!Dump::Open(files.path()).ok());
  CHECK(!Dump::Open(files.path() + "/none").ok());
  files.Write("fusion-03-final_bundles.txt", "garbage\n");
  Result<Dump> dump = Dump::Open(files.path());
  REQUIRE(dump.ok());
  CHECK(!dump->has_program());
  CHECK(!dump->LoadProgram().ok());
  Result<std::shared_ptr<const Kernel>> kernel = dump->Load("fusion");
  REQUIRE(!kernel.ok());
  CHECK(kernel.errors()[0].message == "no bundles in this file");
}

}  // namespace
}  // namespace spillway::llo
