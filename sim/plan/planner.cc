// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "sim/hlo/attributes.h"
#include "sim/hlo/flops.h"
#include "sim/plan/aliasing.h"
#include "sim/plan/async.h"
#include "sim/plan/kernel.h"
#include "sim/plan/order.h"
#include "sim/plan/trip_count.h"
#include "sim/plan/value_table.h"

namespace spillway::plan {
namespace {

using hlo::Instruction;
using hlo::Opcode;

constexpr int kMaxDepth = 64;
constexpr std::size_t kMaxOps = 2'000'000;

bool IsScalarWork(const Instruction& instruction) {
  if (!instruction.shape.IsArray() || instruction.shape.rank() != 0) return false;
  if (!hlo::IsElementwise(instruction.opcode) && instruction.opcode != Opcode::kConvert &&
      instruction.opcode != Opcode::kCopy) {
    return false;
  }
  for (const Instruction* operand : instruction.operands) {
    if (operand->shape.rank() != 0) return false;
  }
  return true;
}

class Planner {
 public:
  Planner(const PlanInputs& inputs, Diagnostics& warnings)
      : inputs_(inputs), warnings_(warnings), values_(*inputs.chip, inputs.assignment) {}

  Result<Program> Run() {
    const hlo::Module& module = *inputs_.module;
    program_.module = std::string(module.name);
    if (module.entry == nullptr) {
      return Error(fmt::format("{}: no ENTRY computation", module.file));
    }
    if (!module.is_scheduled) {
      Warn("the module is not scheduled (no is_scheduled=true): its ops run in the order they are printed, operands first");
    }
    for (const Instruction* parameter : module.entry->parameters) {
      if (parameter == nullptr) continue;
      Leaves leaves = values_.Define(*parameter, 0);
      for (int leaf : leaves) {
        if (leaf >= 0) values_.KeepAlways(leaf);
      }
      values_.Set(*parameter, std::move(leaves));
    }
    PlanComputation(*module.entry, program_.items, 0);
    if (failed_) return *failed_;
    if (module.entry->root != nullptr) {
      for (int leaf : values_.Of(*module.entry->root)) {
        if (leaf >= 0) values_.KeepToEnd(leaf);
      }
    }
    program_.hbm_allocated_bytes = values_.Finish(static_cast<int>(program_.ops.size()));
    program_.buffers = std::move(values_.buffers());
    ResolveAddresses();
    ResolveItems(program_.items);
    return std::move(program_);
  }

 private:
  void Warn(const std::string& message, const Instruction* at = nullptr) {
    if (at != nullptr) {
      Diagnostic diagnostic = inputs_.module->ErrorAt(*at, message);
      diagnostic.severity = Severity::kWarning;
      warnings_.push_back(std::move(diagnostic));
    } else {
      warnings_.push_back(Warning(message));
      warnings_.back().file = inputs_.module->file;
    }
    Note(message);
  }

  void Note(const std::string& note) {
    if (noted_.insert(note).second) program_.notes.push_back(note);
  }

  void PlanComputation(const hlo::Computation& computation, std::vector<Item>& items, int depth) {
    if (depth > kMaxDepth) {
      failed_ = Error(fmt::format("{}: computations nest deeper than {}", inputs_.module->file, kMaxDepth));
    }
    for (const Instruction* instruction : ExecutionOrder(computation)) {
      if (failed_) return;
      if (program_.ops.size() > kMaxOps) {
        failed_ = Error(fmt::format("{}: more than {} ops", inputs_.module->file, kMaxOps));
        return;
      }
      PlanInstruction(*instruction, items, depth);
    }
  }

  void PlanInstruction(const Instruction& instruction, std::vector<Item>& items, int depth) {
    switch (instruction.opcode) {
      case Opcode::kWhile:
        return PlanWhile(instruction, items, depth);
      case Opcode::kCall:
        return PlanCall(instruction, instruction.called.empty() ? nullptr : instruction.called.front(), 0, items, depth);
      case Opcode::kConditional:
        return PlanConditional(instruction, items, depth);
      case Opcode::kCopyStart:
      case Opcode::kAsyncStart:
        return PlanStart(instruction, items);
      case Opcode::kCopyDone:
      case Opcode::kAsyncDone:
        return PlanDone(instruction, items);
      case Opcode::kAsyncUpdate:
        return PlanUpdate(instruction);
      default:
        break;
    }
    if (FreeValue(instruction)) return;
    if (IsOffChip(instruction.opcode)) return PlanOffChip(instruction, items);
    PlanKernel(instruction, items);
  }

  /// Ops without work: their value is another one's, or appears without cost.
  bool FreeValue(const Instruction& instruction) {
    int position = static_cast<int>(program_.ops.size());
    if (instruction.opcode == Opcode::kParameter) {
      if (values_.Of(instruction).empty()) values_.Set(instruction, values_.Define(instruction, position));
      return true;
    }
    if (auto leaves = ForwardedLeaves(instruction, values_)) {
      values_.Set(instruction, std::move(*leaves));
      return true;
    }
    if (IsJoin(instruction)) {
      Leaves whole = values_.Define(instruction, position);
      for (const Instruction* part : instruction.operands) {
        for (int leaf : values_.Of(*part)) {
          if (!whole.empty()) values_.Alias(leaf, whole[0]);
        }
      }
      values_.Set(instruction, std::move(whole));
      return true;
    }
    if (hlo::IsFree(instruction.opcode) || IsScalarWork(instruction) || IsAllocation(instruction)) {
      values_.Set(instruction, values_.Define(instruction, position));
      if (instruction.opcode == Opcode::kConstant) {
        for (int leaf : values_.Of(instruction)) {
          if (leaf >= 0) values_.KeepAlways(leaf);
        }
      }
      return true;
    }
    return false;
  }

  int AddOp(const Instruction& instruction, const std::string& op_class) {
    Op op;
    op.name = std::string(instruction.name);
    op.opcode = std::string(instruction.opcode_name);
    op.kind = std::string(instruction.FusionKind());
    op.op_class = op_class;
    op.op_name = instruction.OpName();
    op.computation = instruction.parent != nullptr ? std::string(instruction.parent->name) : "";
    program_.ops.push_back(std::move(op));
    return static_cast<int>(program_.ops.size()) - 1;
  }

  void Touch(int op, const Leaves& leaves, bool write) {
    Op& entry = program_.ops[op];
    for (int leaf : leaves) {
      entry.arguments.push_back(leaf);
      if (leaf < 0) continue;
      values_.Use(leaf, op);
      Space space = values_.buffers()[leaf].space;
      if (space == Space::kHbm) (write ? entry.hbm_writes : entry.hbm_reads).push_back(leaf);
      if (space == Space::kVmem) (write ? entry.vmem_writes : entry.vmem_reads).push_back(leaf);
    }
  }

  void Unmodelled(int op, const std::string& why) {
    program_.ops[op].unmodelled = true;
    if (program_.ops[op].why.empty()) program_.ops[op].why = why;
  }

  void PlanKernel(const Instruction& instruction, std::vector<Item>& items) {
    int op = AddOp(instruction, "");
    KernelInputs inputs;
    inputs.instruction = &instruction;
    inputs.chip = inputs_.chip;
    for (const Instruction* operand : instruction.operands) {
      const Leaves& leaves = values_.Of(*operand);
      inputs.operands.push_back({leaves.empty() ? -1 : leaves[0], 0});
      Touch(op, leaves, false);
    }
    Leaves results = DefineResults(instruction, values_, op);
    Touch(op, results, true);
    if (instruction.shape.IsTuple()) {
      for (std::size_t i = 0; i < instruction.shape.elements.size(); ++i) {
        inputs.results.push_back({results[LeafOffset(instruction.shape, i)], 0});
      }
    } else {
      inputs.results.push_back({results.empty() ? -1 : results[0], 0});
    }
    values_.Set(instruction, std::move(results));
    auto kernel = std::make_shared<Kernel>(inputs_.build_kernel ? inputs_.build_kernel(inputs) : BuildKernel(inputs));
    kernels_.push_back(kernel);
    Op& entry = program_.ops[op];
    entry.op_class = kernel->cost.op_class;
    entry.compute_source = kernel->cost.total_cycles > 0 ? ComputeSource::kModel : ComputeSource::kNone;
    entry.scoped_vmem = kernel->scoped_vmem;
    entry.error_band = kernel->cost.error_band;
    entry.flops = hlo::Flops(instruction);
    if (auto config = hlo::BackendConfigOf(instruction); config && config->window) {
      entry.estimated_cycles = config->window->estimated_cycles;
    }
    if (kernel->unmodelled) Unmodelled(op, kernel->why);
    Item item;
    item.op = op;
    item.source = [kernel] { return MakeKernelSource(kernel); };
    items.push_back(std::move(item));
  }

  /// Collectives, infeed, send …: what other chips and the host do is not in the dump.
  void PlanOffChip(const Instruction& instruction, std::vector<Item>& items) {
    int op = AddOp(instruction, "communication");
    for (const Instruction* operand : instruction.operands) Touch(op, values_.Of(*operand), false);
    Leaves results = values_.Define(instruction, op);
    Touch(op, results, true);
    values_.Set(instruction, std::move(results));
    Unmodelled(op, fmt::format("{} needs other chips or the host: it takes no time here", instruction.opcode_name));
    Item item;
    item.op = op;
    auto kernel = std::make_shared<Kernel>();
    item.source = [kernel] { return MakeKernelSource(kernel); };
    items.push_back(std::move(item));
  }

  Location LeafPlace(const Instruction& instruction, std::size_t leaf) const {
    const Leaves& leaves = values_.Of(instruction);
    return {leaf < leaves.size() ? leaves[leaf] : -1, 0};
  }

  void PlanStart(const Instruction& instruction, std::vector<Item>& items) {
    int op = AddOp(instruction, "async");
    for (const Instruction* operand : instruction.operands) Touch(op, values_.Of(*operand), false);
    Leaves leaves = StartLeaves(instruction, values_, op);
    std::size_t result = ResultLeafOfStart(instruction);
    Location destination = {result < leaves.size() ? leaves[result] : -1, 0};
    if (destination.buffer >= 0) Touch(op, {destination.buffer}, true);
    AsyncMove move = MoveOf(instruction, *inputs_.chip,
                            instruction.operands.empty() ? Location() : LeafPlace(*instruction.operands[0], 0),
                            instruction.operands.size() > 1 ? LeafPlace(*instruction.operands[1], 0) : Location(),
                            destination);
    if (move.unmodelled) Unmodelled(op, move.why);
    if (inputs_.chip->run.warm && instruction.Attr("cross_program_prefetch_index")) {
      move.transfers.clear();
      Note(fmt::format("{}: fetched by the previous execution (run.warm)", instruction.name));
    }
    Item item;
    item.kind = Item::Kind::kStart;
    item.op = op;
    item.token = static_cast<int>(token_parent_.size());
    token_parent_.push_back(item.token);
    item.transfers = std::move(move.transfers);
    destinations_.resize(program_.ops.size(), -1);
    destinations_[op] = destination.buffer;
    if (!leaves.empty() && leaves.back() >= 0) token_of_[leaves.back()] = item.token;
    values_.Set(instruction, std::move(leaves));
    items.push_back(std::move(item));
  }

  void PlanDone(const Instruction& instruction, std::vector<Item>& items) {
    Leaves started = instruction.operands.empty() ? Leaves() : values_.Of(*instruction.operands[0]);
    int op = AddOp(instruction, "async");
    Leaves leaves = DoneLeaves(instruction, started, values_, op);
    for (int leaf : leaves) values_.Use(leaf, op);
    for (int leaf : started) values_.Use(leaf, op);
    auto token = started.empty() ? token_of_.end() : token_of_.find(started.back());
    values_.Set(instruction, std::move(leaves));
    if (token == token_of_.end()) {
      Unmodelled(op, "the start that it waits for was not found");
      return;
    }
    Item item;
    item.kind = Item::Kind::kDone;
    item.op = op;
    item.token = token->second;
    items.push_back(std::move(item));
  }

  void PlanUpdate(const Instruction& instruction) {
    Leaves leaves(LeafCount(instruction.shape), -1);
    if (!instruction.operands.empty() && values_.Of(*instruction.operands[0]).size() == leaves.size()) {
      leaves = values_.Of(*instruction.operands[0]);
    } else {
      int token = -1;
      if (!instruction.operands.empty() && !values_.Of(*instruction.operands[0]).empty()) {
        auto it = token_of_.find(values_.Of(*instruction.operands[0]).back());
        if (it != token_of_.end()) token = it->second;
      }
      leaves = values_.Define(instruction, static_cast<int>(program_.ops.size()));
      if (token >= 0 && !leaves.empty() && leaves.back() >= 0) token_of_[leaves.back()] = token;
    }
    values_.Set(instruction, std::move(leaves));
  }

  void PlanCall(const Instruction& instruction, const hlo::Computation* callee, std::size_t first_argument,
                std::vector<Item>& items, int depth) {
    if (callee == nullptr) {
      values_.Set(instruction, values_.Define(instruction, static_cast<int>(program_.ops.size())));
      return;
    }
    for (std::size_t i = 0; i < callee->parameters.size(); ++i) {
      if (callee->parameters[i] == nullptr || first_argument + i >= instruction.operands.size()) continue;
      values_.Set(*callee->parameters[i], values_.Of(*instruction.operands[first_argument + i]));
    }
    PlanComputation(*callee, items, depth + 1);
    Leaves leaves = callee->root != nullptr ? values_.Of(*callee->root) : Leaves();
    if (leaves.size() != LeafCount(instruction.shape)) {
      leaves = values_.Define(instruction, static_cast<int>(program_.ops.size()));
    }
    values_.Set(instruction, std::move(leaves));
  }

  void PlanConditional(const Instruction& instruction, std::vector<Item>& items, int depth) {
    std::size_t chosen = 0;
    double most = -1;
    for (std::size_t b = 0; b < instruction.called.size(); ++b) {
      double weight = WeightOf(*instruction.called[b], 0);
      if (weight > most) {
        most = weight;
        chosen = b;
      }
    }
    if (instruction.called.empty()) return PlanCall(instruction, nullptr, 0, items, depth);
    Warn(fmt::format("{}: which branch runs is data; the one that moves most, {}, is replayed", instruction.name,
                     instruction.called[chosen]->name), &instruction);
    // Operand 0 picks the branch; branch b takes operand b + 1.
    PlanCall(instruction, instruction.called[chosen], chosen + 1, items, depth);
  }

  void PlanWhile(const Instruction& instruction, std::vector<Item>& items, int depth) {
    const hlo::Computation* body = instruction.Called("body");
    const hlo::Computation* condition = instruction.Called("condition");
    if (body == nullptr || instruction.operands.empty()) return PlanCall(instruction, nullptr, 0, items, depth);
    Leaves carried = values_.Of(*instruction.operands[0]);
    int begin = static_cast<int>(program_.ops.size());
    Item loop;
    loop.kind = Item::Kind::kLoop;
    auto trips = TripCountOf(instruction);
    loop.trips = trips.value_or(std::max<std::int64_t>(inputs_.chip->run.default_trip_count, 0));
    for (const hlo::Computation* part : {condition, body}) {
      if (part == nullptr) continue;
      for (const Instruction* parameter : part->parameters) {
        if (parameter != nullptr) values_.Set(*parameter, carried);
      }
      PlanComputation(*part, loop.body, depth + 1);
    }
    int end = static_cast<int>(program_.ops.size()) - 1;
    Leaves next = body->root != nullptr ? values_.Of(*body->root) : Leaves();
    for (std::size_t i = 0; i < carried.size() && i < next.size(); ++i) Carry(carried[i], next[i]);
    values_.Set(instruction, carried);
    if (end >= begin) {
      values_.ExtendOver(begin, end);
      for (int leaf : carried) values_.Use(leaf, end);
      for (int leaf : carried) values_.Use(leaf, begin);
    }
    if (!trips) {
      std::string why = fmt::format("trips of {} unknown: {} assumed (run.default_trip_count)", instruction.name, loop.trips);
      Warn(why, &instruction);
      for (int op = begin; op <= end; ++op) Unmodelled(op, why);
    }
    if (!loop.body.empty()) items.push_back(std::move(loop));
  }

  /// `next` is what the body hands to the following trip in place of `carried`.
  void Carry(int carried, int next) {
    if (carried < 0 || next < 0 || carried == next) return;
    auto a = token_of_.find(carried), b = token_of_.find(next);
    if (a != token_of_.end() && b != token_of_.end()) token_parent_[TokenRoot(b->second)] = TokenRoot(a->second);
    values_.Alias(next, carried);
  }

  int TokenRoot(int token) const {
    while (token_parent_[token] != token) token = token_parent_[token];
    return token;
  }

  static double WeightOf(const hlo::Computation& computation, int depth) {
    double weight = 0;
    for (const Instruction& instruction : computation.instructions) {
      if (!hlo::IsFree(instruction.opcode)) weight += static_cast<double>(hlo::AllocatedBytes(instruction.shape));
      bool nests = instruction.opcode == Opcode::kCall || instruction.opcode == Opcode::kWhile ||
                   instruction.opcode == Opcode::kConditional;
      if (!nests || depth > 8) continue;
      for (const hlo::Computation* inner : instruction.called) weight += WeightOf(*inner, depth + 1);
    }
    return weight;
  }

  void ResolveAddresses() {
    for (const std::shared_ptr<Kernel>& kernel : kernels_) {
      for (Stream& stream : kernel->streams) {
        if (stream.buffer >= 0) stream.address = program_.buffers[stream.buffer].offset;
      }
    }
  }

  void ResolveItems(std::vector<Item>& items) {
    for (Item& item : items) {
      ResolveItems(item.body);
      if (item.token >= 0) item.token = TokenRoot(item.token);
      for (Transfer& transfer : item.transfers) {
        if (transfer.buffer >= 0) transfer.address += program_.buffers[transfer.buffer].offset;
        int destination = item.op < static_cast<int>(destinations_.size()) ? destinations_[item.op] : -1;
        if (destination >= 0) transfer.destination += program_.buffers[destination].offset;
      }
    }
  }

  const PlanInputs& inputs_;
  Diagnostics& warnings_;
  ValueTable values_;
  Program program_;
  std::vector<std::shared_ptr<Kernel>> kernels_;
  std::vector<int> destinations_;                 ///< By op: buffer that a start writes.
  std::vector<int> token_parent_;                 ///< Union-find of tokens.
  std::unordered_map<int, int> token_of_;         ///< Context buffer of a start -> token.
  std::unordered_set<std::string> noted_;
  std::optional<Diagnostic> failed_;
};

}  // namespace

Result<Program> PlanAsCompiled(const PlanInputs& inputs, Diagnostics& warnings) {
  SPILLWAY_CHECK(inputs.module != nullptr && inputs.chip != nullptr);
  return Planner(inputs, warnings).Run();
}

}  // namespace spillway::plan
