// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/planner.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fmt/format.h>

#include "sim/base/file.h"
#include "sim/hlo/attributes.h"
#include "sim/plan/buffer_assignment.h"
#include "sim/plan/kernel.h"
#include "tests/support/plan_modules.h"
#include "tests/unit/plan/truth_table.h"

namespace spillway::plan {
namespace {

using testing::ShippedChip;

struct Planned {
  std::unique_ptr<hlo::Module> module;
  Program program;
  Diagnostics warnings;
};

Planned PlanText(const std::string& text, const config::ChipConfig& chip, const BufferAssignment* assignment = nullptr) {
  Planned planned;
  auto modules = hlo::ParseModules(text, "test.hlo");
  if (!modules.ok()) FAIL(Render(modules.errors()[0]));
  planned.module = std::move((*modules)[0]);
  PlanInputs inputs;
  inputs.module = planned.module.get();
  inputs.chip = &chip;
  inputs.assignment = assignment;
  auto program = PlanAsCompiled(inputs, planned.warnings);
  if (!program.ok()) FAIL(Render(program.errors()[0]));
  planned.program = std::move(*program);
  return planned;
}

const Op* FindOp(const Program& program, const std::string& name) {
  for (const Op& op : program.ops) {
    if (op.name == name) return &op;
  }
  return nullptr;
}

struct Moved {
  Bytes read = 0, write = 0;
};

void Add(const std::vector<Item>& items, std::int64_t times, Moved& moved) {
  for (const Item& item : items) {
    if (item.kind == Item::Kind::kLoop) Add(item.body, times * item.trips, moved);
    for (const Transfer& t : item.transfers) {
      (t.direction == Direction::kVmemToHbm ? moved.write : moved.read) += times * t.bytes();
    }
    if (item.kind != Item::Kind::kKernel) continue;
    Traffic traffic = CountTraffic(*item.source());
    moved.read += times * traffic.read_bytes;
    moved.write += times * traffic.write_bytes;
  }
}

const char kLoop[] = R"(HloModule loop, is_scheduled=true

%body (p: (s32[], f32[1024,128])) -> (s32[], f32[1024,128]) {
  %p = (s32[]{:T(128)S(6)}, f32[1024,128]{1,0:T(8,128)}) parameter(0)
  %i = s32[]{:T(128)S(6)} get-tuple-element(%p), index=0
  %x = f32[1024,128]{1,0:T(8,128)} get-tuple-element(%p), index=1
  %three = s32[]{:T(128)} constant(3)
  %next = s32[]{:T(128)S(6)} add(%i, %three)
  %y = f32[1024,128]{1,0:T(8,128)} negate(%x)
  ROOT %t = (s32[]{:T(128)S(6)}, f32[1024,128]{1,0:T(8,128)}) tuple(%next, %y)
}

%condition (q: (s32[], f32[1024,128])) -> pred[] {
  %q = (s32[]{:T(128)S(6)}, f32[1024,128]{1,0:T(8,128)}) parameter(0)
  %j = s32[]{:T(128)S(6)} get-tuple-element(%q), index=0
  %limit = s32[]{:T(128)} constant(20)
  ROOT %less = pred[]{:T(512)} compare(%j, %limit), direction=LT
}

ENTRY %main (a: f32[1024,128]) -> f32[1024,128] {
  %a = f32[1024,128]{1,0:T(8,128)} parameter(0)
  %zero = s32[]{:T(128)} constant(-1)
  %c = f32[1024,128]{1,0:T(8,128)} copy(%a)
  %init = (s32[]{:T(128)S(6)}, f32[1024,128]{1,0:T(8,128)}) tuple(%zero, %c)
  %w = (s32[]{:T(128)S(6)}, f32[1024,128]{1,0:T(8,128)}) while(%init), condition=%condition, body=%body
  ROOT %out = f32[1024,128]{1,0:T(8,128)} get-tuple-element(%w), index=1
}
)";

}  // namespace

TEST_CASE("a loop's trips follow from its condition, and its carry shares storage") {
  Planned planned = PlanText(kLoop, ShippedChip("v6e"));
  REQUIRE(planned.program.items.size() == 2);
  const Item& loop = planned.program.items[1];
  REQUIRE(loop.kind == Item::Kind::kLoop);
  CHECK(loop.trips == 7);  // -1, 2, … 17
  Moved moved;
  Add(planned.program.items, 1, moved);
  CHECK(moved.read == 8 * 1024 * 128 * 4);
  CHECK(moved.write == 8 * 1024 * 128 * 4);
  const std::vector<Buffer>& buffers = planned.program.buffers;
  auto named = [&](const std::string& name) {
    return std::find_if(buffers.begin(), buffers.end(), [&](const Buffer& b) { return b.name == name; });
  };
  REQUIRE(named("y") != buffers.end());
  REQUIRE(named("y")->alias_of >= 0);
  CHECK(buffers[named("y")->alias_of].name == "c");
  CHECK(named("y")->offset == named("c")->offset);
  CHECK(named("a")->offset != named("c")->offset);
  // The parameter and the loop's array; four more bytes of scalars at most.
  CHECK(planned.program.hbm_allocated_bytes >= 2 * 1024 * 128 * 4);
  CHECK(planned.program.hbm_allocated_bytes < 2 * 1024 * 128 * 4 + 8 * 1024);
}

TEST_CASE("a loop whose trips are data takes the default and says so") {
  std::string text = kLoop;
  text.replace(text.find("constant(20)"), 12, "custom-call(%j), custom_call_target=\"data\"");
  config::ChipConfig chip = ShippedChip("v6e");
  chip.run.default_trip_count = 5;
  Planned planned = PlanText(text, chip);
  CHECK(planned.program.items[1].trips == 5);
  REQUIRE(planned.warnings.size() == 1);
  CHECK(planned.warnings[0].severity == Severity::kWarning);
  CHECK(FindOp(planned.program, "y")->unmodelled);
}

TEST_CASE("asynchronous copies: direction, token, warm prefetch") {
  const std::string text = R"(HloModule m, is_scheduled=true

ENTRY %main (a: bf16[2048,128], b: bf16[2048,128]) -> bf16[2048,128] {
  %a = bf16[2048,128]{1,0:T(8,128)(2,1)} parameter(0)
  %b = bf16[2048,128]{1,0:T(8,128)(2,1)} parameter(1)
  %copy-start = (bf16[2048,128]{1,0:T(8,128)(2,1)S(1)}, bf16[2048,128]{1,0:T(8,128)(2,1)}, u32[]{:S(2)}) copy-start(%a), cross_program_prefetch_index=0
  %slice-start = ((bf16[2048,128]{1,0:T(8,128)(2,1)}), bf16[512,128]{1,0:T(8,128)(2,1)S(1)}, s32[]{:S(2)}) slice-start(%b), slice={[512:1024], [0:128]}
  %copy-done = bf16[2048,128]{1,0:T(8,128)(2,1)S(1)} copy-done(%copy-start)
  %slice-done = bf16[512,128]{1,0:T(8,128)(2,1)S(1)} slice-done(%slice-start)
  ROOT %r = bf16[2048,128]{1,0:T(8,128)(2,1)} negate(%copy-done)
}
)";
  config::ChipConfig chip = ShippedChip("v6e");
  Planned cold = PlanText(text, chip);
  REQUIRE(cold.program.items.size() == 5);
  const Item &start = cold.program.items[0], &slice = cold.program.items[1], &done = cold.program.items[2];
  REQUIRE(start.transfers.size() == 1);
  CHECK(start.transfers[0].direction == Direction::kHbmToVmem);
  CHECK(start.transfers[0].bytes() == 2048 * 128 * 2);
  CHECK(start.transfers[0].thread == 1);
  CHECK(done.kind == Item::Kind::kDone);
  CHECK(done.token == start.token);
  CHECK(cold.program.items[3].token == slice.token);
  REQUIRE(slice.transfers.size() == 1);
  CHECK(slice.transfers[0].bytes() == 512 * 128 * 2);
  CHECK(slice.transfers[0].address == cold.program.buffers[slice.transfers[0].buffer].offset + 512 * 128 * 2);
  chip.run.warm = true;
  Planned warm = PlanText(text, chip);
  CHECK(warm.program.items[0].transfers.empty());
  CHECK(warm.program.items[1].transfers.size() == 1);
}

TEST_CASE("a conditional replays its heaviest branch, a call its callee") {
  Planned planned = PlanText(R"(HloModule m, is_scheduled=true

%light (p: f32[8,128]) -> f32[8,128] {
  ROOT %p = f32[8,128]{1,0:T(8,128)} parameter(0)
}
%heavy (q: f32[8,128]) -> f32[8,128] {
  %q = f32[8,128]{1,0:T(8,128)} parameter(0)
  ROOT %n = f32[8,128]{1,0:T(8,128)} negate(%q)
}
ENTRY %main (c: pred[], a: f32[8,128]) -> f32[8,128] {
  %c = pred[]{:T(512)} parameter(0)
  %a = f32[8,128]{1,0:T(8,128)} parameter(1)
  %k = f32[8,128]{1,0:T(8,128)} call(%a), to_apply=%heavy
  ROOT %r = f32[8,128]{1,0:T(8,128)} conditional(%c, %k, %k), true_computation=%light, false_computation=%heavy
}
)", ShippedChip("v5e"));
  CHECK(planned.program.ops.size() == 2);
  CHECK(planned.warnings.size() == 1);
  Moved moved;
  Add(planned.program.items, 1, moved);
  CHECK(moved.read == 2 * 4096);
}

TEST_CASE("an unscheduled module is planned with a warning; unknown and off-chip ops are named") {
  Planned planned = PlanText(R"(HloModule m

add { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT z = f32[] add(x, y)
}
ENTRY main {
  a = f32[1024,1024] parameter(0)
  r = f32[1024,1024] all-reduce(a), to_apply=add
  ROOT s = f32[1024,1024] custom-call(r), custom_call_target="mystery"
}
)", ShippedChip("v5e"));
  CHECK(planned.warnings.size() == 1);
  REQUIRE(FindOp(planned.program, "r") != nullptr);
  CHECK(FindOp(planned.program, "r")->unmodelled);
  CHECK(FindOp(planned.program, "s")->unmodelled);
  Moved moved;
  Add(planned.program.items, 1, moved);
  CHECK(moved.read == 4 * 1024 * 1024);
  CHECK(moved.write == 4 * 1024 * 1024);
}

TEST_CASE("every module of the corpus plans; steps are bounded and waits match issues", "[corpus]") {
  namespace fs = std::filesystem;
  const fs::path corpus = fs::path(SPILLWAY_SHARED_DIR) / "corpus";
  if (!fs::exists(corpus)) {
    WARN("corpus is absent: skipped");
    return;
  }
  int planned = 0;
  for (const char* folder : {"v5e", "v6e", "v5e-jax062", "v6e-jax062", "cases"}) {
    if (!fs::exists(corpus / folder)) continue;
    for (const auto& entry : fs::directory_iterator(corpus / folder)) {
      std::string name = entry.path().filename().string();
      if (name.find(".hlo") == std::string::npos) continue;
      auto text = ReadFile(entry.path().string());
      REQUIRE(text.ok());
      auto modules = hlo::ParseModules(std::move(*text), name);
      if (!modules.ok()) continue;  // The reader's tests say which of them must parse.
      Diagnostics warnings;
      PlanInputs inputs;
      inputs.module = modules->front().get();
      const config::ChipConfig& chip = ShippedChip(std::string(folder).substr(0, 3) == "v6e" ? "v6e" : "v5e");
      inputs.chip = &chip;
      INFO(folder << "/" << name);
      auto program = PlanAsCompiled(inputs, warnings);
      REQUIRE(program.ok());
      ++planned;
      for (const Buffer& buffer : program->buffers) {
        CHECK(buffer.first_op >= 0);
        CHECK(buffer.first_op <= buffer.last_op);
      }
    }
  }
  CHECK(planned > 200);
}

TEST_CASE("whatever parses is planned: no crash, no descriptor outside its buffer", "[corpus]") {
  namespace fs = std::filesystem;
  const fs::path corpus = fs::path(SPILLWAY_SHARED_DIR) / "corpus/public";
  if (!fs::exists(corpus)) {
    WARN("corpus is absent: skipped");
    return;
  }
  int planned = 0, kernels = 0;
  for (const auto& entry : fs::recursive_directory_iterator(corpus)) {
    if (!entry.is_regular_file() || entry.path().extension() != ".hlo") continue;
    auto text = ReadFile(entry.path().string());
    if (!text.ok()) continue;
    auto modules = hlo::ParseModules(std::move(*text), entry.path().filename().string());
    if (!modules.ok()) continue;
    INFO(entry.path().string());
    for (const auto& module : *modules) {
      Diagnostics warnings;
      PlanInputs inputs;
      inputs.module = module.get();
      inputs.chip = &ShippedChip("v5e");
      auto program = PlanAsCompiled(inputs, warnings);
      if (!program.ok()) continue;
      ++planned;
      for (const Item& item : program->items) {
        if (item.kind != Item::Kind::kKernel) continue;
        std::unique_ptr<ActionSource> source = item.source();
        Action action;
        for (int i = 0; i < 200 && source->Next(action); ++i) {
          if (action.kind != Action::Kind::kIssue || action.transfer.buffer < 0) continue;
          const Transfer& t = action.transfer;
          const Buffer& buffer = program->buffers[t.buffer];
          std::int64_t last = t.address + (t.outer - 1) * t.outer_stride + (t.chunks - 1) * t.stride + t.chunk_bytes;
          ++kernels;
          REQUIRE(t.address >= buffer.offset);
          REQUIRE(last <= buffer.offset + buffer.allocated_bytes);
        }
      }
    }
  }
  CHECK(planned > 100);
  CHECK(kernels > 1000);
}

TEST_CASE("VMEM buffers take what the compiler's memory report says", "[validation]") {
  namespace fs = std::filesystem;
  const fs::path root = fs::path(SPILLWAY_SHARED_DIR) / "validation";
  if (!fs::exists(root)) {
    WARN("validation dumps are absent: skipped");
    return;
  }
  int with_vmem = 0, own_equal = 0;
  for (const auto& entry : fs::directory_iterator(root)) {
    if (!entry.is_directory()) continue;
    std::string assignment_text, module_text;
    for (const auto& file : fs::directory_iterator(entry.path())) {
      std::string name = file.path().filename().string();
      if (name.find("buffer-assignment") != std::string::npos) assignment_text = *ReadFile(file.path().string());
      if (name.find("module.after_optimizations.txt") == 0) module_text = *ReadFile(file.path().string());
    }
    if (assignment_text.empty() || module_text.empty()) continue;
    INFO(entry.path().filename().string());
    auto assignment = BufferAssignment::Parse(assignment_text, "buffer-assignment.txt");
    REQUIRE(assignment.ok());
    const config::ChipConfig& chip = ShippedChip(entry.path().filename().string().substr(0, 3));
    Planned exact = PlanText(module_text, chip, &*assignment);
    Bytes extent = 0;
    for (const Buffer& buffer : exact.program.buffers) {
      if (buffer.space == Space::kVmem) extent = std::max(extent, buffer.offset + buffer.allocated_bytes);
    }
    CHECK(extent == assignment->AllocatedBytes(1));
    Bytes own = 0;
    Planned blind = PlanText(module_text, chip);
    for (const Buffer& buffer : blind.program.buffers) {
      if (buffer.space == Space::kVmem) own = std::max(own, buffer.offset + buffer.allocated_bytes);
    }
    if (assignment->AllocatedBytes(1) == 0) continue;
    ++with_vmem;
    if (own == assignment->AllocatedBytes(1)) {
      ++own_equal;
    } else {
      UNSCOPED_INFO(fmt::format("{}: own {} compiler {}", entry.path().filename().string(), own,
                                assignment->AllocatedBytes(1)));
    }
  }
  CHECK(with_vmem > 5);
  CHECK(own_equal * 10 >= with_vmem * 9);
}

}  // namespace spillway::plan
