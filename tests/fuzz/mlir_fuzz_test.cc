// SPDX-License-Identifier: Apache-2.0
// Mutated MLIR bytecode: a module or an error, never a crash, a hang or memory beyond the input's size.
#include <cstdint>
#include <string>

#include <catch2/catch.hpp>

#include "sim/hlo/mlir_bytecode.h"
#include "sim/hlo/mosaic_body.h"
#include "sim/plan/mosaic.h"
#include "tests/support/mosaic_samples.h"

namespace spillway::hlo {
namespace {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 2654435769U + 88172645463325252U) {}
  std::size_t Below(std::size_t n) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return n == 0 ? 0 : static_cast<std::size_t>(state_ % n);
  }

 private:
  std::uint64_t state_;
};

std::string Mutate(std::string bytes, Random& random) {
  std::size_t edits = 1 + random.Below(5);
  for (std::size_t i = 0; i < edits && !bytes.empty(); ++i) {
    std::size_t at = random.Below(bytes.size());
    switch (random.Below(6)) {
      case 0: bytes.erase(at, 1 + random.Below(4)); break;
      case 1: bytes.insert(at, 1, static_cast<char>(random.Below(256))); break;
      case 2: bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.Below(8))); break;
      case 3: bytes[at] = 0; break;  // The longest number.
      case 4: bytes.insert(at, bytes.substr(random.Below(bytes.size()), random.Below(40))); break;
      default: bytes[at] = static_cast<char>(random.Below(256));
    }
  }
  return bytes;
}

/// True if every number in the tables and operations refers to something or is -1.
bool Consistent(const MlirModule& module, const std::vector<MlirOperation>& operations) {
  auto values = static_cast<int>(module.value_types.size());
  for (const MlirOperation& op : operations) {
    for (int operand : op.operands) {
      if (operand < 0 || operand >= values) return false;
    }
    for (int result : op.results) {
      if (module.TypeOf(result) == nullptr) return false;
    }
    for (const MlirRegion& region : op.regions) {
      for (const MlirBlock& block : region) {
        if (!Consistent(module, block.operations)) return false;
      }
    }
  }
  return true;
}

}  // namespace

TEST_CASE("mutated MLIR bytecode never crashes", "[fuzz][hlo]") {
  std::vector<std::string> seeds;
  for (const char* name : {"v0.mlirbc", "v4.mlirbc", "v6.mlirbc"}) seeds.push_back(*ReadFile(test::MosaicData(name)));
  int read = 0;
  for (std::uint64_t seed = 1; seed <= 9000; ++seed) {
    Random random(seed);
    auto module = ReadMlirBytecode(Mutate(seeds[seed % seeds.size()], random));
    if (!module.ok()) {
      REQUIRE_FALSE(module.errors().empty());
      continue;
    }
    ++read;
    INFO("seed " << seed);
    REQUIRE(Consistent(*module, module->operations));
  }
  CHECK(read > 100);
}

TEST_CASE("mutated bodies of Mosaic kernels never crash the planner", "[fuzz][hlo]") {
  int grids = 0;
  for (const char* name : {"matmul", "grouped", "prefetch", "manual", "whole"}) {
    auto sample = test::ReadMosaicSample(test::MosaicData(std::string(name) + ".hlo.gz"));
    std::string bytes = *MosaicBytesOf(*sample.kernel);
    for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
      Random random(seed);
      auto grid = plan::MosaicGridFrom(Mutate(bytes, random), *sample.kernel);
      if (!grid) continue;
      ++grids;
      plan::Grid loops = plan::GridOfMosaic(*grid);
      for (std::int64_t step : {std::int64_t{0}, loops.steps / 2, loops.steps - 1}) {
        for (const plan::MosaicWindow& window : grid->windows) {
          if (window.map == nullptr) continue;
          for (const plan::Interval& side : window.map->At(loops.BoxAt(step))) REQUIRE((side.lo >= 0 && side.lo <= side.hi));
        }
      }
    }
  }
  CHECK(grids > 200);
}

}  // namespace spillway::hlo
