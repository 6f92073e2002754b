// SPDX-License-Identifier: Apache-2.0
// The chip files of the project.
#include "tests/unit/config/chip_files.h"

namespace spillway::config {
namespace {

TEST_CASE("the chip files load and reach the published peaks") {
  struct Row {
    const char* chip;
    double peak;
    Bytes capacity;
    double clock;
    double flops;
  };
  const Row row = GENERATE(Row{"v5e", 8.192e11, 16 * kGiB, 1.5e9, 196.6e12}, Row{"v6e", 1.6384e12, 32 * kGiB, 1.75e9, 917.5e12});
  const ChipConfig chip = MustLoad(kConfigs + "/chips/" + row.chip + ".yaml").config;
  CHECK(chip.name == row.chip);
  CHECK(chip.hbm.PeakBytesPerSecond() == Approx(row.peak).epsilon(1e-12));
  CHECK(chip.hbm.capacity == row.capacity);
  CHECK(chip.core.clock_hz == row.clock);
  // bf16: 16 rows a vmatmul on every unit.
  const CoreConfig& core = chip.core;
  const double flops = 16.0 * core.mxu_rows * core.mxu_columns * 2 / core.matmul_cycles.at("bf16") * core.mxus * core.clock_hz;
  CHECK(flops == Approx(row.flops).epsilon(1e-3));
  CHECK(chip.SpaceKind(0) == MemoryKind::kHbm);
  CHECK(chip.SpaceKind(1) == MemoryKind::kVmem);
  CHECK(chip.SpaceKind(5) == MemoryKind::kHost);
  CHECK(chip.SpaceKind(99) == MemoryKind::kOther);
}

}  // namespace
}  // namespace spillway::config
