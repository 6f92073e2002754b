// SPDX-License-Identifier: Apache-2.0
#include "sample.h"

namespace spillway::output {
namespace {

using timeline::OpSummary;
using timeline::Slice;
using timeline::Stall;
using timeline::Summary;
using timeline::TrackKind;

OpSummary Op(const char* name, const char* kind, const char* op_class, Picos start, Picos end, Bytes in,
             Bytes out, Cycles compute, const char* bound) {
  OpSummary op;
  op.name = name;
  op.opcode = "fusion";
  op.kind = kind;
  op.op_class = op_class;
  op.start_ps = start;
  op.end_ps = end;
  op.busy_ps = end - start;
  op.steps = 64;
  op.hbm_read_bytes = in;
  op.hbm_write_bytes = out;
  op.dma_count = 128;
  op.compute_cycles = compute;
  op.compute_source = "model";
  op.bound = bound;
  return op;
}

Slice Make(Picos start, Picos end, int track, const char* kind, int op) {
  Slice slice;
  slice.start = start;
  slice.end = end;
  slice.track = track;
  slice.kind = kind;
  slice.op = op;
  return slice;
}

}  // namespace

Summary NaiveAttentionSummary() {
  Summary s;
  s.version = "0.1.0";
  s.input = "workloads/attention_naive/v6e.hlo.gz";
  s.module = "jit_attn";
  s.chip = "v6e";
  s.plan = "as-compiled";
  s.makespan_ps = 409'143'000;
  s.cycles = 716'000;
  s.hbm_read_bytes = (256 + 6) * kMiB;
  s.hbm_write_bytes = (256 + 2) * kMiB;
  s.hbm_busy_ps = 398'000'000;
  s.hbm_bytes_per_second = 1.3326e12;
  s.hbm_peak_bytes_per_second = 1.6384e12;
  s.hbm_allocated_bytes = 264 * kMiB;
  s.vmem_capacity_bytes = 128 * kMiB;
  s.vmem_peak_bytes = 18 * kMiB + 4096;
  s.vmem_peak_at = "fusion.1";
  s.ops.push_back(
      Op("fusion.2", "kOutput", "output", 0, 101'300'000, 4 * kMiB, 128 * kMiB, 131'072, "memory"));
  s.ops.push_back(
      Op("fusion.1", "kLoop", "input", 101'300'000, 298'000'000, 128 * kMiB, 128 * kMiB, 286'720, "memory"));
  s.ops.push_back(
      Op("fusion", "kOutput", "output", 298'000'000, 409'143'000, 130 * kMiB, 2 * kMiB, 139'264, "memory"));
  s.ops[0].stall_ps = {900'000, 23'000'000, 1'480'000, 1'020'000, 0};
  s.ops[1].stall_ps = {12'000'000, 18'000'000, 1'700'000, 1'150'000, 10'000};
  s.ops[2].stall_ps = {28'400'000, 0, 2'100'000, 700'000, 0};
  s.ops[0].op_name = "jit(attn)/dot_general";
  s.ops[1].op_name = "jit(attn)/softmax/exp";
  s.ops[2].op_name = "jit(attn)/dot_general";
  s.ops[1].error_band = 0.18;
  return s;
}

RunData SmallRun() {
  RunData run;
  Summary& s = run.summary;
  s.version = "0.1.0";
  s.input = "small.hlo";
  s.module = "jit_small";
  s.chip = "v6e";
  s.plan = "as-compiled";
  s.makespan_ps = 10'000'123;
  s.cycles = 17'500;
  s.hbm_read_bytes = 3 * kMiB;
  s.hbm_write_bytes = kMiB;
  s.hbm_busy_ps = 7'000'000;
  s.hbm_bytes_per_second = 4.19e11;
  s.hbm_peak_bytes_per_second = 1.6384e12;
  s.hbm_allocated_bytes = 4 * kMiB;
  s.vmem_capacity_bytes = 128 * kMiB;
  s.vmem_peak_bytes = 2 * kMiB;
  s.vmem_peak_at = "fusion.1";
  s.vmem_buffers_bytes = kMiB;
  s.unmodelled_ops = {"custom-call.2"};
  s.unmodelled_share_of_time = 0.4;
  s.recalled_share_of_time = 0.125;
  s.notes = {"loop of 3 trips"};
  s.ops.push_back(Op("fusion.1", "kLoop", "loop", 0, 6'000'001, 2 * kMiB, 0, 7'000, "memory"));
  s.ops.push_back(Op("custom-call.2", "", "custom", 6'000'001, 10'000'123, kMiB, kMiB, 0, "latency"));
  s.ops[1].opcode = "custom-call";
  s.ops[1].compute_source = "none";
  s.ops[1].unmodelled = true;
  s.ops[1].why = "windows not readable";
  s.ops[1].executions = 3;
  s.ops[1].estimated_cycles = 99;
  s.ops[0].stall_ps = {1'000'000, 0, 999'999, 0, 0};
  s.ops[0].bundles = 6'500;
  s.ops[0].error_band = 0.125;
  s.ops[0].scoped_vmem_bytes = kMiB;
  s.ops[0].op_name = "jit(small)/add";
  s.buffers.push_back(
      {"fusion.1", "f32[512,512]{1,0:T(8,128)}", "hbm", kMiB, kMiB, 4096, "fusion.1", "custom-call.2", true});

  timeline::Timeline& t = run.timeline;
  t.tracks = {{"core", TrackKind::kCore},
              {"core steps", TrackKind::kSteps},
              {"dma 0", TrackKind::kDmaQueue},
              {"dma 1", TrackKind::kDmaQueue}};
  t.buffers = {"p0", "fusion.1", "unused"};
  t.slices.push_back(Make(0, 6'000'001, 0, "op", 0));
  t.slices.push_back(Make(0, 1'000'000, 0, "wait", 0));
  t.slices.back().stall = Stall::kFill;
  t.slices.back().flow = 1;
  t.slices.push_back(Make(1'000'000, 6'000'001, 0, "compute", 0));
  t.slices.push_back(Make(0, 3'000'000, 1, "step", 0));
  t.slices.push_back(Make(3'000'000, 6'000'001, 1, "step", 0));
  t.slices.push_back(Make(0, 1'000'000, 2, "dma_read", 0));
  t.slices.back().buffer = 0;
  t.slices.back().bytes = kMiB;
  t.slices.back().address = 65536;
  t.slices.back().flow = 1;
  t.slices.push_back(Make(500'000, 2'000'007, 2, "dma_read", 0));  // overlaps the one before
  t.slices.back().buffer = 0;
  t.slices.back().bytes = kMiB;
  t.slices.back().address = 65536 + kMiB;
  t.slices.push_back(Make(6'000'001, 10'000'123, 0, "op", 1));
  t.slices.push_back(Make(7'000'000, 10'000'123, 3, "dma_write", 1));
  t.slices.back().buffer = 1;
  t.slices.back().bytes = kMiB;
  SortSlices(t);
  t.counters.push_back({"hbm read", "B/s", {{0, 1.25e12}, {1'000'000, 0.1}, {2'000'007, 0}}});
  t.counters.push_back({"vmem bytes", "B", {{0, 2097152}, {10'000'123, 0}}});
  t.counters.push_back({"empty", "count", {}});
  return run;
}

RunData HostileRun() {
  RunData run = SmallRun();
  const std::string evil = "a\"b,c\nd\r\te</script><script>alert(1)</script>\\ 'é☃\x01";
  run.summary.module = evil;
  run.summary.ops[0].name = evil;
  run.summary.ops[0].op_name = evil;
  run.summary.ops[1].name = "";
  run.summary.ops[1].why = evil;
  run.summary.unmodelled_ops = {evil};
  run.summary.notes = {evil};
  run.summary.buffers[0].name = evil;
  run.summary.makespan_ps = INT64_MAX;
  run.summary.hbm_read_bytes = INT64_MAX;
  run.timeline.buffers[0] = evil;
  run.timeline.tracks[3].name = "dma \"1\", <b>";
  run.timeline.counters[0].name = evil;
  run.timeline.slices.back().end = INT64_MAX;
  return run;
}

}  // namespace spillway::output
