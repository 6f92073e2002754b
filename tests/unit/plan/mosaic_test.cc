// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/mosaic.h"

#include <array>
#include <filesystem>
#include <map>

#include <catch2/catch.hpp>

#include "sim/plan/kernel.h"
#include "tests/support/mosaic_samples.h"
#include "tests/support/plan_modules.h"
#include "tests/unit/plan/truth_table.h"

namespace spillway::plan {
namespace {

struct Moved {
  Kernel kernel;
  Traffic traffic;
};

Moved Move(const hlo::Instruction& instruction, const std::string& chip) {
  KernelInputs inputs;
  inputs.instruction = &instruction;
  inputs.chip = &testing::ShippedChip(chip);
  Moved moved;
  moved.kernel = BuildKernel(inputs);
  auto source = MakeKernelSource(std::make_shared<const Kernel>(moved.kernel));
  moved.traffic = CountTraffic(*source);
  return moved;
}

Moved MoveSample(const std::string& name) {
  auto sample = test::ReadMosaicSample(test::MosaicData(name + ".hlo.gz"));
  return Move(*sample.kernel, "v5e");
}

std::int64_t BlockAt(const MosaicWindow& window, Box step, int dim) { return window.map->At(step)[dim].lo / window.bounds[dim]; }

}  // namespace

// The figures of the next four cases are those of the DMA instructions in the bundles that libtpu 0.0.52
// makes of the samples.
TEST_CASE("a Pallas matmul moves what its bundles move") {
  Moved moved = MoveSample("matmul");
  CHECK(moved.traffic.steps == 16);
  CHECK(moved.traffic.read_bytes == 1572864);
  CHECK(moved.traffic.write_bytes == 524288);
  CHECK(moved.traffic.dmas == 40);
  for (const Stream& stream : moved.kernel.streams) CHECK(stream.slots == 2);
}

TEST_CASE("a Pallas kernel whose index maps compute") {
  auto sample = test::ReadMosaicSample(test::MosaicData("grouped.hlo.gz"));
  auto grid = MosaicGridOf(*sample.kernel);
  REQUIRE(grid.has_value());
  for (std::int64_t i = 0; i < 8; ++i) {
    CHECK(BlockAt(grid->windows[0], Box{{i, i + 1}}, 0) == std::min<std::int64_t>(i, 4));
    CHECK(BlockAt(grid->windows[1], Box{{i, i + 1}}, 0) == i / 2);
    CHECK(BlockAt(grid->windows[2], Box{{i, i + 1}}, 0) == i);
  }
  Moved moved = MoveSample("grouped");
  CHECK(moved.traffic.steps == 8);
  CHECK(moved.traffic.read_bytes == 344064);
  CHECK(moved.traffic.write_bytes == 524288);
  CHECK(moved.traffic.dmas == 17);
  CHECK(moved.kernel.streams[1].slots == 1);
}

TEST_CASE("a Pallas kernel without a grid") {
  Moved moved = MoveSample("whole");
  CHECK(moved.traffic.steps == 1);
  CHECK(moved.traffic.read_bytes == 32768);
  CHECK(moved.traffic.write_bytes == 32768);
  CHECK(moved.traffic.dmas == 2);
}

TEST_CASE("blocks that prefetched scalars choose are assumed, and said to be") {
  Moved moved = MoveSample("prefetch");
  CHECK(moved.kernel.unmodelled);
  CHECK(moved.kernel.why.find("prefetched scalars") != std::string::npos);
  CHECK(moved.traffic.read_bytes == 512 + 16 * 8 * 128 * 4);  // The 16 scalars take one granule of 512 B.
  CHECK(moved.traffic.write_bytes == 16 * 8 * 128 * 4);
  CHECK(moved.traffic.dmas == 33);
}

TEST_CASE("an operand that the kernel moves itself is unmodelled and streamed once") {
  Moved moved = MoveSample("manual");
  CHECK(moved.kernel.unmodelled);
  CHECK(moved.kernel.why.find("operand 0 is moved by the kernel's own DMAs") != std::string::npos);
  CHECK(moved.traffic.read_bytes == 1024 * 128 * 4);
  CHECK(moved.traffic.write_bytes == 64 * 128 * 4);
}

TEST_CASE("a grid known only at run time, or a wrong number of windows, gives no grid") {
  auto sample = test::ReadMosaicSample(test::MosaicData("matmul.hlo.gz"));
  auto other = test::ReadMosaicSample(test::MosaicData("whole.hlo.gz"));
  CHECK_FALSE(MosaicGridFrom(*hlo::MosaicBytesOf(*sample.kernel), *other.kernel).has_value());
  CHECK_FALSE(MosaicGridFrom("", *sample.kernel).has_value());
  CHECK_FALSE(MosaicGridFrom("module {}", *sample.kernel).has_value());
  const std::string text = "module {\n  func.func @main(%arg0: i32) attributes {iteration_bounds = array<i64: -1>} {\n  }\n}";
  CHECK_FALSE(MosaicGridFrom(text, *sample.kernel).has_value());
}

TEST_CASE("Pallas kernels of the validation set move what their bundles move", "[truth]") {
  namespace fs = std::filesystem;
  const fs::path root = fs::path(SPILLWAY_SHARED_DIR) / "validation";
  if (!fs::exists(root)) {
    WARN("no validation set: skipped");
    return;
  }
  // (bytes in, bytes out, DMAs) of the dumps' own bundles, replayed.
  const std::map<std::string, std::array<std::int64_t, 4>> expected = {
      {"v5e-pmm_8192_1024_1024_512", {1024, 2147483648, 134217728, 2112}},
      {"v5e-pmm_8192_256_1024_512", {4096, 5368709120, 134217728, 8448}},
      {"v5e-pmm_8192_256_256_256", {32768, 8589934592, 134217728, 66560}},
      {"v5e-pscale_1024_256", {256, 134217728, 134217728, 512}},
      {"v5e-pscale_128_128", {4096, 134217728, 134217728, 8192}},
      {"v5e-pscale_2048_512", {64, 134217728, 134217728, 128}}};
  int seen = 0;
  for (const auto& [name, figures] : expected) {
    fs::path file = root / name / "module.after_optimizations.txt";
    if (!fs::exists(file)) continue;
    INFO(name);
    auto sample = test::ReadMosaicSample(file.string());
    Moved moved = Move(*sample.kernel, name.substr(0, 3));
    CHECK(moved.traffic.steps == figures[0]);
    CHECK(moved.traffic.read_bytes == figures[1]);
    CHECK(moved.traffic.write_bytes == figures[2]);
    CHECK(moved.traffic.dmas == figures[3]);
    ++seen;
  }
  CHECK(seen > 0);
}

TEST_CASE("the corpus' Pallas kernels agree with truth.csv", "[truth]") {
  const std::string corpus = std::string(SPILLWAY_SHARED_DIR) + "/corpus";
  int seen = 0;
  std::vector<testing::TruthRow> rows;
  for (const testing::TruthRow& row : testing::ReadTruth(corpus + "/truth.csv")) {
    if (row["target"] == "tpu_custom_call" && row["family"].find("pallas") == 0) rows.push_back(row);
  }
  if (rows.empty()) {
    WARN("no corpus: skipped");
    return;
  }
  std::vector<std::string> unreadable;
  for (const testing::Comparison& one : testing::CompareRows(corpus, rows, unreadable)) {
    INFO(one.row["chip"] << " " << one.row["compiler"] << " " << one.row["module"]);
    CHECK(one.BytesAgree());
    CHECK(one.OperandsAgree());
    CHECK(one.DmasAgree());
    CHECK(one.ChunksAgree());
    CHECK(one.SlotsAgree());
    // Loop trips of the bundles: two slots in and two out.
    CHECK(one.ours.steps + 2 == one.row.Number("iterations"));
    ++seen;
  }
  CHECK(seen == static_cast<int>(rows.size()));
}

TEST_CASE("a bundled flash attention moves what its bundles move") {
  auto sample = test::ReadMosaicSample(std::string(SPILLWAY_SOURCE_DIR) + "/workloads/hlo/flash_attention.v6e.S8192.hlo.gz");
  Moved moved = Move(*sample.kernel, "v6e");
  CHECK(moved.traffic.steps == 256);
  CHECK(moved.traffic.read_bytes == 69206016);
  CHECK(moved.traffic.write_bytes == 2097152);
  CHECK(moved.traffic.dmas == 544);
}

}  // namespace spillway::plan
