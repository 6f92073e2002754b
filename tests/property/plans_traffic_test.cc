// SPDX-License-Identifier: Apache-2.0
// What holds between plans of one module, whatever the module: traffic of `unfused` against `as-compiled`, of `resident`
// and `streamed` against `as-compiled`. Bytes of what fusion removed are counted from the HLO, not by the planner.
#include "tests/property/plans_generated.h"
#include "tests/support/plan_modules.h"

#include "sim/hlo/attributes.h"
#include "sim/plan/plan_check.h"
#include "sim/plan/unfused.h"

namespace spillway::plan {
namespace {

using namespace testing;
using spillway::testing::Generate;
using spillway::testing::GeneratedModule;
using Kind = PlanChoice::Kind;

Bytes Traffic(const Program& program) { return CountHbm(program).total(); }

/// Bytes of the arrays that exist only inside fusions.
Bytes RemovedBytes(const GeneratedModule& module) {
  Bytes bytes = 0;
  for (int n = 0; n < static_cast<int>(module.nodes.size()); ++n) {
    if (module.nodes[static_cast<std::size_t>(n)].kernel >= 0 && !module.IsResult(n)) bytes += module.BytesOf(n);
  }
  return bytes;
}

/// Removed arrays: a write, and a read by each user. Operands and results of fusions: the reads beyond the first.
Bytes DifferenceOf(const GeneratedModule& module) {
  Bytes bytes = 0;
  for (int n = 0; n < static_cast<int>(module.nodes.size()); ++n) {
    const int home = module.nodes[static_cast<std::size_t>(n)].kernel;
    for (int kernel = 0; kernel < module.kernels; ++kernel) {
      const int reads = module.ReadsIn(n, kernel);
      if (kernel == home) bytes += module.BytesOf(n) * (reads + !module.IsResult(n));
      if (kernel != home && reads > 1) bytes += module.BytesOf(n) * (reads - 1);
    }
  }
  return bytes;
}

/// Windows of rows need not end where a tile of a vector (1024 numbers) does: the tile between two windows is moved for
/// both. At the most, each use of a vector moves all of its tiles twice.
Bytes VectorSlack(const GeneratedModule& module) {
  Bytes bytes = 0;
  if (module.rows <= 1024) return 0;
  for (int n = 0; n < static_cast<int>(module.nodes.size()); ++n) {
    if (module.nodes[static_cast<std::size_t>(n)].matrix) continue;
    int uses = 2;   // Written, by either plan.
    for (int kernel = 0; kernel < module.kernels; ++kernel) uses += 2 * module.ReadsIn(n, kernel);
    bytes += uses * module.BytesOf(n);
  }
  return bytes;
}

TEST_CASE("unfused moves twice what fusion removed more than as-compiled: chains") {
  Bytes removed = 0;
  int exact = 0;
  CHECK(rc::check("every value has one user", [&] {
    const GeneratedModule generated = Generate(true, 3);
    RC_LOG() << generated.Text();
    auto module = ParseModule(generated.Text());
    const config::ChipConfig& chip = ShippedChip(*rc::gen::element<std::string>("v5e", "v6e"));
    removed += RemovedBytes(generated);
    const Bytes more = Traffic(PlanBy(Kind::kUnfused, *module, chip)) - Traffic(PlanBy(Kind::kAsCompiled, *module, chip));
    RC_ASSERT(std::abs(more - 2 * RemovedBytes(generated)) <= VectorSlack(generated));
    exact += more == 2 * RemovedBytes(generated);
  }));
  CHECK(removed > 0);
  CHECK(exact > 50);
}

TEST_CASE("unfused against as-compiled, values with several users: graphs") {
  CHECK(rc::check("a write and a read by each user", [] {
    const GeneratedModule generated = Generate(false, 4);
    RC_LOG() << generated.Text();
    auto module = ParseModule(generated.Text());
    const config::ChipConfig& chip = ShippedChip(*rc::gen::element<std::string>("v5e", "v6e"));
    const Bytes more = Traffic(PlanBy(Kind::kUnfused, *module, chip)) - Traffic(PlanBy(Kind::kAsCompiled, *module, chip));
    RC_ASSERT(std::abs(more - DifferenceOf(generated)) <= VectorSlack(generated));
  }));
}

TEST_CASE("resident and streamed never move more than as-compiled: graphs") {
  int stayed = 0, too_big = 0, streamed = 0;
  CHECK(rc::check("any VMEM size", [&] {
    const GeneratedModule generated = Generate(*rc::gen::arbitrary<bool>(), 6);
    RC_LOG() << generated.Text();
    auto module = ParseModule(generated.Text());
    config::ChipConfig chip = ShippedChip("v6e");
    chip.vmem.usable = *rc::gen::inRange<Bytes>(512 * kKiB, 64 * kMiB);
    chip.vmem.scoped_limit = std::min(chip.vmem.scoped_limit, chip.vmem.usable / 2);
    const Program compiled = PlanBy(Kind::kAsCompiled, *module, chip);
    PlanReport report;
    const Program resident = PlanBy(Kind::kResident, *module, chip, &report);
    RC_ASSERT(Traffic(resident) <= Traffic(compiled));
    RC_ASSERT(PeakVmem(resident) <= std::max(chip.vmem.usable, PeakVmem(compiled)));
    Bytes saved = 0;
    for (const Residency& line : report.tensors) {
      RC_ASSERT(line.resident == line.why.empty());
      if (line.bytes > chip.vmem.usable) RC_ASSERT(!line.resident);
      stayed += line.resident;
      too_big += line.bytes > chip.vmem.usable;
      if (line.resident) saved += line.hbm_bytes;
    }
    // What a tensor was written and read is what its staying saves, and nothing else changes.
    RC_ASSERT(std::abs(Traffic(compiled) - Traffic(resident) - saved) <= VectorSlack(generated));
    const Program merged = PlanBy(Kind::kStreamed, *module, chip, &report);
    RC_ASSERT(Traffic(merged) <= Traffic(compiled));
    RC_ASSERT(PeakVmem(merged) <= std::max(chip.vmem.usable, PeakVmem(compiled)));
    for (const StreamedGroup& group : report.groups) {
      RC_ASSERT(group.streamed == group.why.empty());
      streamed += group.streamed;
    }
  }));
  CHECK(stayed > 0);
  CHECK(too_big > 0);
  CHECK(streamed > 0);
}

TEST_CASE("a tensor larger than VMEM is refused by name: chains") {
  CHECK(rc::check("'vN' of more bytes than usable", [] {
    const GeneratedModule generated = Generate(true, 4);
    RC_LOG() << generated.Text();
    auto module = ParseModule(generated.Text());
    config::ChipConfig chip = ShippedChip("v6e");
    for (int kernel = 0; kernel + 1 < generated.kernels; ++kernel) {
      for (int n : generated.ResultsOf(kernel)) {
        chip.vmem.usable = generated.BytesOf(n) - 1;
        chip.vmem.scoped_limit = chip.vmem.usable / 2;
        ResidentOptions options;
        options.tensors = {fmt::format("v{}", n)};
        Diagnostics warnings;
        RC_ASSERT(!PlanResident(InputsOf(*module, chip), options, warnings).ok());
      }
    }
  }));
}

Bytes InHbm(const hlo::Shape& shape) {
  const bool hbm = shape.IsArray() && shape.rank() > 0 && (!shape.has_layout || shape.layout.memory_space == 0);
  return hbm ? hlo::AllocatedBytes(shape) : 0;
}

/// Moves or multiplies windows of its own, or takes a part of an operand: its traffic is not that of whole arrays.
bool WholeArrays(const hlo::Instruction& instruction) {
  switch (instruction.opcode) {
    case hlo::Opcode::kDot:
    case hlo::Opcode::kConvolution:
    case hlo::Opcode::kCustomCall:
    case hlo::Opcode::kSlice:
    case hlo::Opcode::kDynamicSlice:
    case hlo::Opcode::kDynamicUpdateSlice:
    case hlo::Opcode::kPad:
    case hlo::Opcode::kGather:
    case hlo::Opcode::kConcatenate:
      return false;
    default:
      break;
  }
  for (const hlo::Computation* called : instruction.called) {
    for (const hlo::Instruction& inner : called->instructions) {
      if (!WholeArrays(inner)) return false;
    }
  }
  return true;
}

/// What the identity of the plan `unfused` says, counted from fused computations (nested ones inlined).
class FusedBytes {
 public:
  /// `executions`: by name, of the fusions of the schedule.
  FusedBytes(const hlo::Module& module, const std::map<std::string, std::int64_t>& executions) {
    for (const hlo::Computation& computation : module.computations) {
      for (const hlo::Instruction& instruction : computation.instructions) {
        const auto runs = executions.find(std::string(instruction.name));
        if (instruction.opcode != hlo::Opcode::kFusion || runs == executions.end()) continue;
        times_ = runs->second;
        Count(instruction);
      }
    }
  }
  Bytes removed = 0;      ///< Arrays that exist only inside fusions.
  Bytes difference = 0;   ///< See DifferenceOf.

 private:
  /// A value inside a fusion: what it is, and what reads it.
  struct Inner {
    const hlo::Instruction* instruction = nullptr;
    int parameter = -1;
    std::vector<int> operands;
    bool uniform = false;
  };
  using Values = std::vector<int>;

  bool IsUniform(const Inner& inner) const {
    const hlo::Instruction& i = *inner.instruction;
    if (i.opcode == hlo::Opcode::kConstant) return i.shape.rank() == 0;
    const bool keeps = hlo::IsElementwise(i.opcode) || i.opcode == hlo::Opcode::kBroadcast || i.opcode == hlo::Opcode::kConvert ||
                       i.opcode == hlo::Opcode::kBitcast;
    return keeps && !inner.operands.empty() && std::all_of(inner.operands.begin(), inner.operands.end(), [&](int operand) {
      const Inner& from = list_[static_cast<std::size_t>(operand)];
      return from.uniform || from.instruction->shape.rank() == 0;
    });
  }

  Values Walk(const hlo::Computation& computation, const std::vector<Values>& arguments) {
    std::map<const hlo::Instruction*, Values> made;
    for (const hlo::Instruction& i : computation.instructions) {
      if (i.opcode == hlo::Opcode::kParameter) {
        made[&i] = arguments[static_cast<std::size_t>(i.parameter_number)];
        continue;
      }
      std::vector<Values> operands;
      Values flat;
      for (const hlo::Instruction* operand : i.operands) {
        operands.push_back(made[operand]);
        flat.insert(flat.end(), made[operand].begin(), made[operand].end());
      }
      if (i.opcode == hlo::Opcode::kTuple) {
        made[&i] = flat;
      } else if (i.opcode == hlo::Opcode::kGetTupleElement) {
        made[&i] = {flat[static_cast<std::size_t>(*hlo::IntAttr(i, "index"))]};
      } else if (i.opcode == hlo::Opcode::kFusion) {
        made[&i] = Walk(*i.called.front(), operands);
      } else {
        Inner inner = {&i, -1, flat, false};
        inner.uniform = IsUniform(inner);
        list_.push_back(inner);
        made[&i] = {static_cast<int>(list_.size()) - 1};
      }
    }
    return made[computation.root];
  }

  /// A bitcast is what it casts.
  int Source(int n) const {
    while (list_[static_cast<std::size_t>(n)].parameter < 0 &&
           list_[static_cast<std::size_t>(n)].instruction->opcode == hlo::Opcode::kBitcast) {
      n = list_[static_cast<std::size_t>(n)].operands[0];
    }
    return n;
  }

  void Count(const hlo::Instruction& fusion) {
    list_.clear();
    std::vector<Values> arguments;
    for (std::size_t i = 0; i < fusion.operands.size(); ++i) {
      list_.push_back({fusion.operands[i], static_cast<int>(i), {}, false});
      arguments.push_back({static_cast<int>(i)});
    }
    Values roots = Walk(*fusion.called.front(), arguments);
    std::map<int, std::size_t> results;
    for (std::size_t r = 0; r < roots.size(); ++r) results[Source(roots[r])] = r;
    std::vector<int> reads(list_.size(), 0);
    for (std::size_t n = fusion.operands.size(); n < list_.size(); ++n) {
      const Inner& inner = list_[n];
      if (hlo::IsFree(inner.instruction->opcode) || (inner.uniform && results.count(static_cast<int>(n)) == 0)) continue;
      std::set<int> distinct;
      for (int operand : inner.operands) distinct.insert(Source(operand));
      for (int operand : distinct) ++reads[static_cast<std::size_t>(operand)];
    }
    std::map<const hlo::Instruction*, int> reads_of_operand;
    for (std::size_t n = 0; n < list_.size(); ++n) {
      const Inner& inner = list_[n];
      const auto result = results.find(static_cast<int>(n));
      if (inner.parameter >= 0) {
        reads_of_operand[inner.instruction] += reads[n];
      } else if (result != results.end()) {
        const hlo::Shape& shape = fusion.shape.IsTuple() ? fusion.shape.elements[result->second] : fusion.shape;
        difference += times_ * InHbm(shape) * reads[n];
      } else if (!hlo::IsFree(inner.instruction->opcode) && !inner.uniform) {
        removed += times_ * InHbm(inner.instruction->shape);
        difference += times_ * InHbm(inner.instruction->shape) * (1 + reads[n]);
      }
    }
    for (const auto& [operand, count] : reads_of_operand) difference += times_ * InHbm(operand->shape) * (count - 1);
  }

  std::vector<Inner> list_;
  std::int64_t times_ = 1;
};

void CountExecutions(const std::vector<Item>& items, const Program& program, std::int64_t times, std::map<std::string, std::int64_t>& executions) {
  for (const Item& item : items) {
    if (item.kind == Item::Kind::kLoop) CountExecutions(item.body, program, times * item.trips, executions);
    if (item.kind == Item::Kind::kKernel) executions[program.ops[static_cast<std::size_t>(item.op)].name] += times;
  }
}

std::map<std::string, std::int64_t> ExecutionsOf(const Program& program) {
  std::map<std::string, std::int64_t> executions;
  CountExecutions(program.items, program, 1, executions);
  return executions;
}

const hlo::Instruction* FindIn(const hlo::Module& module, const std::string& name) {
  for (const hlo::Computation& computation : module.computations) {
    if (const hlo::Instruction* found = computation.Find(name)) return found;
  }
  return nullptr;
}

/// HBM bytes that ops of `program` move beyond their operands and results as wholes: windows that come again.
Bytes Again(const Program& program, const hlo::Module& module, int& ops) {
  const HbmTraffic traffic = CountHbm(program);
  const std::map<std::string, std::int64_t> executions = ExecutionsOf(program);
  Bytes again = 0;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    const hlo::Instruction* instruction = FindIn(module, op.name);
    if (instruction == nullptr || op.op_class == "async") continue;
    Bytes whole = 0;
    std::set<const hlo::Instruction*> operands;
    for (const hlo::Instruction* operand : instruction->operands) {
      while (operand->opcode == hlo::Opcode::kBitcast) operand = operand->operands[0];
      operands.insert(operand);
    }
    for (const hlo::Instruction* operand : operands) whole += InHbm(operand->shape);
    whole += InHbm(instruction->shape);
    for (const hlo::Shape& element : instruction->shape.elements) whole += InHbm(element);
    const Bytes more = traffic.by_op[i] - executions.at(op.name) * whole;
    if (WholeArrays(*instruction)) {
      INFO(op.name << " moves " << traffic.by_op[i] << ", its arrays have " << executions.at(op.name) * whole);
      // A scalar reaches the kernel through SMEM, here one that a bitcast makes of an array.
      CHECK((more == 0 || op.name.rfind("iota_add_fusion", 0) == 0));
    } else {
      again += more;
      ++ops;
    }
  }
  return again;
}

TEST_CASE("unfused against as-compiled: bundled") {
  Bytes removed = 0;
  int exact = 0;
  for (const char* size : {".S512.", ".S2048.", ".S8192."}) {
    for (const std::string& name : BundledNames(size)) {
      INFO(name);
      auto module = BundledModule(name);
      const config::ChipConfig& chip = ChipOf(name);
      const Program compiled = PlanBy(Kind::kAsCompiled, *module, chip), unfused = PlanBy(Kind::kUnfused, *module, chip);
      const auto instructions = UnfuseModule(*module);
      const FusedBytes fused(*module, ExecutionsOf(compiled));
      removed += fused.removed;
      int partial = 0;
      const Bytes again = Again(unfused, *instructions, partial) - Again(compiled, *module, partial);
      exact += partial == 0;
      CHECK(Traffic(unfused) - Traffic(compiled) == fused.difference + again);
      CHECK(fused.difference >= 2 * fused.removed);
    }
  }
  CHECK(removed > 0);
  CHECK(exact >= 10);
}

TEST_CASE("resident and streamed never move more than as-compiled: bundled") {
  for (const char* size : {".S512.", ".S1024.", ".S2048.", ".S16384.", ".S32768."}) {
    for (const std::string& name : BundledNames(size)) {
      INFO(name);
      auto module = BundledModule(name);
      const config::ChipConfig& chip = ChipOf(name);
      const Program compiled = PlanBy(Kind::kAsCompiled, *module, chip);
      PlanReport report;
      const Program resident = PlanBy(Kind::kResident, *module, chip, &report);
      CHECK(Traffic(resident) <= Traffic(compiled));
      CHECK(PeakVmem(resident) <= std::max(chip.vmem.usable, PeakVmem(compiled)));
      for (const Residency& line : report.tensors) {
        CHECK(line.resident == line.why.empty());
        if (line.bytes > chip.vmem.usable) CHECK(!line.resident);
      }
      const Program streamed = PlanBy(Kind::kStreamed, *module, chip);
      CHECK(Traffic(streamed) <= Traffic(compiled));
      CHECK(PeakVmem(streamed) <= std::max(chip.vmem.usable, PeakVmem(compiled)));
    }
  }
}

}  // namespace
}  // namespace spillway::plan
