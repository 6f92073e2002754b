// SPDX-License-Identifier: Apache-2.0
// Every bundled dump, rewritten for every other size and back: the same shapes, constants and attributes, or a refusal
// that says where.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <rapidcheck.h>
#include <set>

#include "sim/base/file.h"
#include "sim/hlo/rebind.h"
#include "sim/plan/kernel_windows.h"

using namespace spillway;

namespace {

namespace fs = std::filesystem;

/// Which dimensions bind, for the families that have others of equal size.
const std::map<std::string, std::map<std::string, std::vector<int>>> kDimensions = {
    {"softmax", {{"x", {0}}}},
    {"rmsnorm", {{"x", {0}}}},
    {"matmul", {{"x", {0, 1}}, {"w", {0, 1}}, {"a", {0, 1}}, {"b", {0, 1}}}},
};

struct Dump {
  std::string file, family;
  std::int64_t size = 0;
  std::unique_ptr<hlo::Module> module;
};

std::vector<Dump> BundledDumps() {
  std::set<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(SPILLWAY_SOURCE_DIR "/workloads/hlo")) paths.insert(entry.path());
  std::vector<Dump> dumps;
  for (const fs::path& path : paths) {
    Dump& dump = dumps.emplace_back();
    dump.file = path.filename().string();
    const std::size_t at = dump.file.find(".S");
    REQUIRE(at != std::string::npos);
    dump.family = dump.file.substr(0, dump.file.find('.'));
    dump.size = std::atoll(dump.file.c_str() + at + 2);
    auto text = ReadFile(path.string());
    REQUIRE(text.ok());
    auto modules = hlo::ParseModules(*text, dump.file);
    REQUIRE(modules.ok());
    dump.module = std::move(modules->front());
  }
  return dumps;
}

Result<hlo::Rebound> Change(const Dump& dump, const hlo::Module& module, std::int64_t from, std::int64_t to) {
  hlo::RebindRequest request;
  request.bindings = {{"S", from, to}};
  request.kernel_windows = plan::KernelWindowsOf;
  const auto stated = kDimensions.find(dump.family);
  if (stated != kDimensions.end()) {
    for (const auto& [name, dims] : stated->second) {
      for (const hlo::Instruction* p : module.entry->parameters) {
        if (p->OpName() == name) request.dimensions[name] = dims;
      }
    }
  }
  return hlo::Rebind(module, request);
}

/// What of an instruction depends on sizes, in one text. `backend_config` has figures that a rewrite removes.
std::string Text(const hlo::Instruction& instruction) {
  std::string text = fmt::format("{} {} {}", instruction.name, hlo::ToString(instruction.shape), instruction.literal);
  for (const hlo::Attribute& attribute : instruction.attributes) {
    if (attribute.name != "backend_config" && attribute.name != "calls") {
      text += fmt::format(" {}={}", attribute.name, attribute.value);
    }
  }
  return text;
}

/// The first difference; empty: none.
std::string Difference(const hlo::Module& a, const hlo::Module& b) {
  for (const hlo::Computation& computation : a.computations) {
    const hlo::Computation* other = b.Find(computation.name);
    if (other == nullptr) return fmt::format("no computation '{}'", computation.name);
    for (const hlo::Instruction& instruction : computation.instructions) {
      const hlo::Instruction* same = other->Find(instruction.name);
      if (same == nullptr) return fmt::format("no instruction '{}'", instruction.name);
      if (Text(instruction) != Text(*same)) return Text(instruction) + "  became  " + Text(*same);
    }
  }
  return "";
}

enum class Outcome { kSame, kRefused, kRefusedBack };

Outcome RoundTrip(const Dump& dump, std::int64_t size) {
  INFO(dump.file << " to " << size << " and back");
  const auto there = Change(dump, *dump.module, dump.size, size);
  if (!there.ok()) {
    CHECK(there.errors().front().line > 0);
    CHECK(!there.errors().front().hint.empty());
    return Outcome::kRefused;
  }
  const auto back = Change(dump, *there->module, size, dump.size);
  if (!back.ok()) {
    CHECK(back.errors().front().line > 0);
    return Outcome::kRefusedBack;
  }
  CHECK(Difference(*dump.module, *back->module) == "");
  return Outcome::kSame;
}

}  // namespace

TEST_CASE("rebind: every bundled dump to every bundled size and back", "[roundtrip]") {
  std::map<std::string, int> same, refused, refused_back;
  for (const Dump& dump : BundledDumps()) {
    for (const std::int64_t size : {512, 1024, 2048, 4096, 8192, 16384, 32768}) {
      if (size == dump.size) continue;
      switch (RoundTrip(dump, size)) {
        case Outcome::kSame: ++same[dump.family]; break;
        case Outcome::kRefused: ++refused[dump.family]; break;
        case Outcome::kRefusedBack: ++refused_back[dump.family]; break;
      }
    }
  }
  // As they are; a rule that is lost shows here. A program of one block (512 rows) does not say that there could be more.
  const std::map<std::string, int> kSame = {
      {"attention", 156}, {"attention_batched", 84}, {"attention_batched_causal", 84}, {"attention_f32_causal", 156},
      {"decode_attention", 96}, {"matmul", 108}, {"mlp", 96}, {"rmsnorm", 96}, {"softmax", 96}, {"transformer_layer", 81}};
  for (const auto& [family, count] : kSame) {
    INFO(family);
    CHECK(same[family] >= count);
  }
  // Mosaic bytecode; windows of 1,024 rows of attention for 512.
  CHECK(refused["flash_attention"] == 96);
  CHECK(refused["transformer_layer"] == 0);
}

TEST_CASE("rebind: a layer by whole blocks, there and back", "[roundtrip]") {
  static const std::vector<Dump> dumps = [] {
    std::vector<Dump> layers;
    for (Dump& dump : BundledDumps()) {
      if (dump.family == "transformer_layer" && dump.size >= 1024) layers.push_back(std::move(dump));
    }
    return layers;
  }();
  REQUIRE(!dumps.empty());
  CHECK(rc::check("any number of blocks from two on", [] {
    const auto i = *rc::gen::inRange<std::size_t>(0, dumps.size());
    const auto blocks = *rc::gen::inRange<std::int64_t>(2, 100);
    RC_CLASSIFY(RoundTrip(dumps[i], blocks * 512) == Outcome::kSame, "same");
  }));
}
