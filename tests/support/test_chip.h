// SPDX-License-Identifier: Apache-2.0
// A small chip with round numbers, for tests that need no real one.
#pragma once

#include "sim/config/chip_config.h"

namespace spillway::test {

/// 1 GHz core, 4 pseudo-channels of 32 B a nanosecond (128 GB/s), no refresh, 100 ns read and 50 ns
/// write latency of the DMA, 1 MiB of VMEM.
inline config::ChipConfig SmallChip() {
  config::ChipConfig chip;
  chip.name = "small";
  config::HbmConfig& hbm = chip.hbm;
  hbm.capacity = hbm.usable = 64 * kMiB;
  hbm.channels = 4;
  hbm.bank_groups = 4;
  hbm.banks_per_group = 4;
  hbm.timing.tck = 500;
  hbm.timing.burst = 1000;
  hbm.timing.cl = hbm.timing.cwl = 5000;
  hbm.timing.trcd_rd = hbm.timing.trcd_wr = hbm.timing.trp = 10000;
  hbm.timing.tras = 20000;
  hbm.timing.trc = 30000;
  hbm.timing.tccd_s = hbm.timing.tccd_l = hbm.timing.tccd_r = 1000;
  hbm.timing.trrd_s = hbm.timing.trrd_l = 2000;
  hbm.timing.tfaw = 8000;
  hbm.timing.twtr_s = hbm.timing.twtr_l = hbm.timing.trtw = 5000;
  hbm.timing.twr = 10000;
  hbm.timing.trtp = 5000;
  hbm.timing.trefi = 3900000;
  hbm.refresh_mode = config::RefreshMode::kNone;
  hbm.read_queue = hbm.write_queue = 32;
  hbm.write_high_watermark = 24;
  hbm.write_low_watermark = 8;
  hbm.address_map = {{"offset", 5}, {"channel", 2}, {"bank_group", 2}, {"column", 5}, {"bank", 2}, {"row", 10}};
  chip.dma.read_latency = 100 * kPicosPerNano;
  chip.dma.write_latency = 50 * kPicosPerNano;
  chip.vmem.capacity = chip.vmem.usable = kMiB;
  chip.vmem.scoped_limit = kMiB / 2;
  chip.vmem.load_slots = 2;
  chip.vmem.store_slots = 1;
  chip.core.clock_hz = 1e9;
  chip.core.mxus = 1;
  chip.core.mxu_rows = chip.core.mxu_columns = 128;
  chip.core.valu_slots = 4;
  chip.core.eup_slots = chip.core.xlu_slots = 1;
  chip.memory_spaces = {{0, config::MemoryKind::kHbm}, {1, config::MemoryKind::kVmem}};
  return chip;
}

}  // namespace spillway::test
