// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/streamed.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "sim/base/file.h"
#include "sim/hlo/attributes.h"
#include "sim/plan/aliasing.h"
#include "sim/plan/order.h"
#include "sim/plan/plan_check.h"
#include "sim/plan/rewriter.h"
#include "sim/plan/streamed_kernel.h"

namespace spillway::plan {
namespace {

using hlo::Instruction;
using hlo::Opcode;

constexpr int kPatience = 5;                 ///< A chain grows until so many kernels more have brought nothing.
constexpr Bytes kWorthwhile = 1 * kMiB;      ///< Less between two kernels is not worth a search.

bool Forwards(const Instruction& instruction) {
  return instruction.opcode == Opcode::kGetTupleElement || instruction.opcode == Opcode::kBitcast;
}

/// The instruction that makes what `value` hands on.
const Instruction* Maker(const Instruction* value) {
  while (Forwards(*value) && !value->operands.empty()) value = value->operands[0];
  return value;
}

struct Chain {
  std::vector<const Instruction*> kernels;
  std::size_t first = 0;                       ///< Of the kernels of their computation; they stand next to each other.
  std::shared_ptr<StreamGraph> graph;
  Tiling tiling;
  StreamedGroup line;
  double gain_ps = 0;
};

/// The dump's own schedule, by instruction.
struct Compiled {
  Program program;
  HbmTraffic traffic;
  std::unordered_map<std::string, int> op;    ///< Name -> index.
};

/// Computations of the schedule, entry first.
void Collect(const hlo::Computation& computation, std::vector<const hlo::Computation*>& found) {
  if (std::find(found.begin(), found.end(), &computation) != found.end()) return;
  found.push_back(&computation);
  for (const Instruction& instruction : computation.instructions) {
    if (!CallsScheduled(instruction.opcode)) continue;
    for (const hlo::Computation* called : instruction.called) Collect(*called, found);
  }
}

class Finder {
 public:
  Finder(const PlanInputs& inputs, const Compiled& compiled) : inputs_(inputs), compiled_(compiled) {
    if (inputs.module->entry != nullptr) Collect(*inputs.module->entry, computations_);
    for (const hlo::Computation* computation : computations_) {
      int position = 0;
      for (const Instruction* instruction : ExecutionOrder(*computation)) position_[instruction] = position++;
    }
  }

  /// Chains that win, without overlap: those that gain most together.
  std::vector<Chain> FindAll(std::vector<StreamedGroup>& report) {
    std::vector<Chain> chosen;
    for (const hlo::Computation* computation : computations_) {
      std::vector<Chain> found;
      std::vector<const Instruction*> kernels;
      for (const Instruction* instruction : ExecutionOrder(*computation)) {
        if (RunsOnCore(*instruction)) kernels.push_back(instruction);
      }
      for (std::size_t first = 0; first < kernels.size(); ++first) FindFrom(kernels, first, found, report);
      ChooseBest(kernels.size(), found, chosen);
    }
    return chosen;
  }

  Result<Chain> Requested(const StreamedRequest& request) {
    Chain chain;
    for (const std::string& name : request.ops) {
      const Instruction* kernel = Find(name);
      if (kernel == nullptr) return Unknown(name, true);
      if (!RunsOnCore(*kernel)) return Error(fmt::format("'{}' ({}) is no kernel: it cannot be streamed", name, kernel->opcode_name));
      chain.kernels.push_back(kernel);
    }
    if (chain.kernels.empty()) return Error("a group without ops cannot be streamed");
    std::sort(chain.kernels.begin(), chain.kernels.end(),
              [&](const Instruction* a, const Instruction* b) { return position_.at(a) < position_.at(b); });
    chain.line.name = request.name;
    std::optional<Diagnostic> error;
    if (!Merge(chain)) return Refused(chain);
    WantedTiles wanted;
    for (const StreamedRequest::Tile& tile : request.tiles) {
      int dim_class = ClassOf(*chain.graph, tile, error);
      if (error) return *error;
      wanted.emplace_back(dim_class, tile.length);
    }
    if (!Cut(chain, wanted)) return Refused(chain);
    return chain;
  }

 private:
  /// Chains are intervals of kernels: the best choice among the first n kernels follows from those among fewer.
  static void ChooseBest(std::size_t kernels, std::vector<Chain>& found, std::vector<Chain>& chosen) {
    std::vector<double> gain(kernels + 1, 0);
    std::vector<Chain*> last(kernels + 1, nullptr);
    for (std::size_t n = 1; n <= kernels; ++n) {
      gain[n] = gain[n - 1];
      for (Chain& chain : found) {
        if (chain.first + chain.kernels.size() != n || gain[chain.first] + chain.gain_ps <= gain[n]) continue;
        gain[n] = gain[chain.first] + chain.gain_ps;
        last[n] = &chain;
      }
    }
    const std::size_t begin = chosen.size();
    for (std::size_t n = kernels; n > 0;) {
      Chain* chain = last[n];
      n = chain == nullptr ? n - 1 : chain->first;
      if (chain != nullptr) chosen.push_back(std::move(*chain));
    }
    std::reverse(chosen.begin() + static_cast<std::ptrdiff_t>(begin), chosen.end());
  }

  static Diagnostic Refused(const Chain& chain) {
    return Error(fmt::format("{} cannot run tile by tile as one kernel: {}", fmt::join(chain.line.ops, ", "), chain.line.why));
  }

  const Instruction* Find(const std::string& name) const {
    for (const hlo::Computation* computation : computations_) {
      if (const Instruction* found = computation->Find(name)) return found;
    }
    return nullptr;
  }

  Diagnostic Unknown(const std::string& name, bool kernels) const {
    std::vector<std::string> known;
    for (const hlo::Computation* computation : computations_) {
      for (const Instruction& instruction : computation->instructions) {
        if (!kernels || RunsOnCore(instruction)) known.emplace_back(instruction.name);
      }
    }
    std::string near = Nearest(name, known);
    return Error(fmt::format("no op '{}' in the module", name), near.empty() ? "" : fmt::format("did you mean '{}'?", near));
  }

  int ClassOf(const StreamGraph& graph, const StreamedRequest::Tile& tile, std::optional<Diagnostic>& error) const {
    auto named = graph.named.find(tile.value);
    if (named != graph.named.end()) return ClassAt(graph.nodes[named->second], tile, error);
    std::vector<std::string> known;
    for (const auto& [name, node] : graph.named) known.push_back(name);
    std::string near = Nearest(tile.value, known);
    error = Error(fmt::format("no value '{}' in the group to count tiles of", tile.value),
                  near.empty() ? "" : fmt::format("did you mean '{}'?", near));
    return -1;
  }
  static int ClassAt(const StreamNode& node, const StreamedRequest::Tile& tile, std::optional<Diagnostic>& error) {
    if (tile.dimension >= 0 && tile.dimension < node.shape.rank() && tile.length > 0) return node.classes[tile.dimension];
    error = Error(fmt::format("'{}' has no dimension {}", tile.value, tile.dimension));
    return -1;
  }

  void FindFrom(const std::vector<const Instruction*>& kernels, std::size_t first, std::vector<Chain>& found,
                std::vector<StreamedGroup>& report) {
    std::vector<const Instruction*> group = {kernels[first]};
    double most = 0;
    int in_vain = 0;
    for (std::size_t next = first + 1; next < kernels.size() && in_vain < kPatience; ++next) {
      if (Passed(group, *kernels[next]) <= 0) return;
      group.push_back(kernels[next]);
      Chain chain;
      chain.kernels = group;
      chain.first = first;
      ++in_vain;
      if (Between(group) < kWorthwhile) continue;
      const bool merged = Merge(chain), wins = merged && Cut(chain, {}) && Wins(chain);
      report.push_back(chain.line);
      if (!merged) return;   // What cannot be merged cannot be part of anything longer.
      if (wins && chain.gain_ps > most) {
        most = chain.gain_ps;
        in_vain = 0;
      }
      if (wins) found.push_back(std::move(chain));
    }
  }

  /// Bytes that `kernel` reads of what the group makes, in whatever memory.
  static Bytes Passed(const std::vector<const Instruction*>& group, const Instruction& kernel) {
    Bytes bytes = 0;
    for (const Instruction* operand : kernel.operands) {
      if (std::find(group.begin(), group.end(), Maker(operand)) != group.end()) bytes += hlo::AllocatedBytes(operand->shape);
    }
    return bytes;
  }
  /// What one kernel instead of several could save: what passes between them, and operands that several read.
  static Bytes Between(const std::vector<const Instruction*>& group) {
    Bytes bytes = 0;
    std::set<const Instruction*> read;
    for (const Instruction* kernel : group) {
      bytes += Passed(group, *kernel);
      for (const Instruction* operand : kernel->operands) {
        if (!read.insert(operand).second) bytes += hlo::AllocatedBytes(operand->shape);
      }
    }
    return bytes;
  }

  bool Refuse(Chain& chain, const std::string& why) const {
    chain.line.why = why;
    return false;
  }

  /// One graph; false, with the reason in the line, if the kernels cannot be one.
  bool Merge(Chain& chain) const {
    StreamedGroup& line = chain.line;
    line.ops.clear();
    for (const Instruction* kernel : chain.kernels) line.ops.emplace_back(kernel->name);
    if (line.name.empty()) line.name = fmt::format("streamed.{}", line.ops.back());
    for (const Instruction* kernel : chain.kernels) {
      auto op = compiled_.op.find(std::string(kernel->name));
      if (op != compiled_.op.end()) line.hbm_bytes_before += compiled_.traffic.once_by_op[op->second];
      if (kernel->parent != chain.kernels.front()->parent) return Refuse(chain, "they are not of one computation");
    }
    if (std::string late = UsedTooEarly(chain.kernels); !late.empty()) return Refuse(chain, late);
    Result<StreamGraph> graph = MergeKernels(chain.kernels);
    if (!graph.ok()) return Refuse(chain, graph.errors()[0].message);
    chain.graph = std::make_shared<StreamGraph>(std::move(*graph));
    if (chain.graph->outputs.empty()) return Refuse(chain, "nothing uses what they make");
    return true;
  }

  /// The merged kernel stands where the last one stood: what uses an earlier one must come after.
  std::string UsedTooEarly(const std::vector<const Instruction*>& kernels) const {
    int last = position_.at(kernels.back());
    for (const Instruction& user : kernels.front()->parent->instructions) {
      if (Forwards(user) || position_.at(&user) > last || std::find(kernels.begin(), kernels.end(), &user) != kernels.end()) continue;
      for (const Instruction* operand : user.operands) {
        if (std::find(kernels.begin(), kernels.end(), Maker(operand)) == kernels.end()) continue;
        return fmt::format("'{}' stands between them and needs '{}'", user.name, Maker(operand)->name);
      }
    }
    return "";
  }

  /// VMEM that lives while the merged kernel runs: whatever lived at any op from `first` to `last`, without what only
  /// these kernels pass to each other.
  Bytes LiveBeside(const Chain& chain, int first, int last) const {
    const Program& program = compiled_.program;
    std::set<int> made;
    for (const Instruction* kernel : chain.kernels) {
      auto op = compiled_.op.find(std::string(kernel->name));
      if (op == compiled_.op.end()) continue;
      const std::vector<int>& writes = program.ops[op->second].vmem_writes;
      made.insert(writes.begin(), writes.end());
    }
    Bytes live = 0;
    for (std::size_t b = 0; b < program.buffers.size(); ++b) {
      const Buffer& buffer = program.buffers[b];
      if (buffer.space != Space::kVmem || buffer.alias_of >= 0 || buffer.first_op > last || buffer.last_op < first) continue;
      bool inside = buffer.first_op >= first && buffer.last_op <= last && made.count(static_cast<int>(b)) != 0;
      // The last kernel's results outlive the chain even if nothing uses them.
      if (!inside || buffer.first_op == last) live += buffer.allocated_bytes;
    }
    return live;
  }

  bool Cut(Chain& chain, const WantedTiles& wanted) const {
    int first = -1, last = -1;
    for (const Instruction* kernel : chain.kernels) {
      auto op = compiled_.op.find(std::string(kernel->name));
      if (op == compiled_.op.end()) continue;
      first = first < 0 ? op->second : std::min(first, op->second);
      last = std::max(last, op->second);
    }
    Bytes vmem = std::min(inputs_.chip->vmem.scoped_limit, inputs_.chip->vmem.usable - LiveBeside(chain, first, last));
    std::string why;
    auto tiling = SearchTiling(*chain.graph, *inputs_.chip, vmem, wanted, chain.line.name, why);
    if (!tiling) return Refuse(chain, why);
    chain.tiling = std::move(*tiling);
    chain.line.hbm_bytes = chain.tiling.hbm_bytes;
    chain.line.reread_bytes = chain.tiling.again_bytes;
    chain.line.tiling = DescribeTiling(*chain.graph, chain.tiling);
    chain.line.streamed = true;
    return true;
  }

  /// Time of the dump's own kernels by the same kind of estimate.
  double Before(const Chain& chain) const {
    const config::ChipConfig& chip = *inputs_.chip;
    double rate = std::max(chip.hbm.PeakBytesPerSecond() * 0.9 / 1e12, 1e-9), total = 0;
    for (const Instruction* kernel : chain.kernels) {
      auto op = compiled_.op.find(std::string(kernel->name));
      if (op == compiled_.op.end()) continue;
      double compute = static_cast<double>(chip.CyclesToPicos(compiled_.traffic.cycles_by_op[op->second]));
      total += std::max(compute, static_cast<double>(compiled_.traffic.once_by_op[op->second]) / rate) +
               static_cast<double>(chip.dma.read_latency + chip.dma.write_latency);
    }
    return total;
  }

  bool Wins(Chain& chain) const {
    chain.line.streamed = false;
    if (chain.line.hbm_bytes >= chain.line.hbm_bytes_before) {
      return Refuse(chain, fmt::format("it would move {} instead of {}", FormatBytes(chain.line.hbm_bytes), FormatBytes(chain.line.hbm_bytes_before)));
    }
    chain.gain_ps = Before(chain) - chain.tiling.estimate_ps;
    if (chain.gain_ps <= 0) {
      return Refuse(chain, fmt::format("it would take about {} instead of {}", FormatDuration(static_cast<Picos>(chain.tiling.estimate_ps)),
                                       FormatDuration(static_cast<Picos>(Before(chain)))));
    }
    chain.line.streamed = true;
    return true;
  }

  const PlanInputs& inputs_;
  const Compiled& compiled_;
  std::vector<const hlo::Computation*> computations_;
  std::unordered_map<const Instruction*, int> position_;
};

/// Puts merged fusions in the place of chains.
class Splicer : public Rewriter {
 public:
  Splicer(const hlo::Module& source, const std::vector<Chain>& chains) : Rewriter(source) {
    for (const Chain& chain : chains) {
      for (const Instruction* kernel : chain.kernels) chain_[kernel] = &chain;
    }
  }
  const Chain* ChainOf(const Instruction* now) const {
    auto it = made_.find(now);
    return it != made_.end() ? it->second : nullptr;
  }

 private:
  void Rewrite(const Instruction& instruction, hlo::Computation& to) override {
    auto chain = chain_.find(&instruction);
    if (chain != chain_.end()) {
      if (&instruction == chain->second->kernels.back()) Splice(*chain->second, to);
      return;
    }
    auto maker = chain_.find(Maker(&instruction));
    if (maker == chain_.end() || !Forwards(instruction)) {
      Copy(instruction, to);
      return;
    }
    if (done_.count(maker->second) != 0) {
      Forward(instruction, to);
    } else {
      waiting_[maker->second].push_back(&instruction);
    }
  }

  void Splice(const Chain& chain, hlo::Computation& to) {
    Operands operands;
    for (const Instruction* parameter : chain.graph->parameters) operands.push_back(Now(*parameter));
    Instruction* made = Add(chain.tiling.fusion->fusion, chain.line.name, operands, to);
    if (auto metadata = chain.kernels.back()->Attr("metadata")) made->attributes.push_back({"metadata", *metadata});
    made_[made] = &chain;
    const auto& outputs = chain.graph->outputs;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Instruction* value = made;
      if (outputs.size() > 1) {
        Instruction* element = AddNew(Opcode::kGetTupleElement, made->shape.elements[i], fmt::format("{}.{}", chain.line.name, i), {made}, to);
        SetAttribute(*element, "index", std::to_string(i));
        value = element;
      }
      elements_[{outputs[i].maker, outputs[i].element}] = value;
      if (outputs[i].element < 0) Become(*outputs[i].maker, value);
    }
    // A tuple that is the result of the computation is put together again.
    for (const Instruction* kernel : chain.kernels) {
      if (!kernel->is_root || !kernel->shape.IsTuple()) continue;
      Operands members;
      for (std::size_t i = 0; i < kernel->shape.elements.size(); ++i) members.push_back(elements_.at({kernel, static_cast<int>(i)}));
      Become(*kernel, AddNew(Opcode::kTuple, kernel->shape, std::string(kernel->name), members, to));
    }
    done_.insert(&chain);
    for (const Instruction* forwarder : waiting_[&chain]) Forward(*forwarder, to);
  }

  /// A get-tuple-element or bitcast of a value that the chain made; those of tiles are gone.
  void Forward(const Instruction& instruction, hlo::Computation& to) {
    if (instruction.opcode == Opcode::kGetTupleElement && chain_.count(instruction.operands[0]) != 0) {
      auto element = elements_.find({instruction.operands[0], static_cast<int>(hlo::IntAttr(instruction, "index").value_or(0))});
      if (element == elements_.end()) return;
      Become(instruction, element->second);
      kept_.insert(&instruction);
      return;
    }
    bool kept = kept_.count(instruction.operands[0]) != 0 || elements_.count({instruction.operands[0], -1}) != 0;
    if (!kept) return;
    Copy(instruction, to);
    kept_.insert(&instruction);
  }

  std::unordered_map<const Instruction*, const Chain*> chain_;
  std::unordered_map<const Instruction*, const Chain*> made_;
  std::unordered_map<const Chain*, std::vector<const Instruction*>> waiting_;
  std::map<std::pair<const Instruction*, int>, const Instruction*> elements_;
  std::unordered_set<const Chain*> done_;
  std::unordered_set<const Instruction*> kept_;
};

Result<Program> PlanChains(const PlanInputs& inputs, const std::vector<Chain>& chains, Diagnostics& warnings) {
  Splicer splicer(*inputs.module, chains);
  const std::unique_ptr<hlo::Module> module = splicer.Run();
  PlanInputs streamed = inputs;
  streamed.module = module.get();
  // The compiler's addresses are of a program that still has what the chains removed.
  if (!chains.empty()) streamed.assignment = nullptr;
  streamed.build_kernel = [&](const KernelInputs& kernel_inputs) {
    const Chain* chain = splicer.ChainOf(kernel_inputs.instruction);
    return chain != nullptr ? BuildStreamedKernel(*chain->graph, chain->tiling, kernel_inputs) : inputs.build_kernel ? inputs.build_kernel(kernel_inputs) : BuildKernel(kernel_inputs);
  };
  Result<Program> program = PlanAsCompiled(streamed, warnings);
  if (!program.ok()) return program;
  program->plan = "streamed";
  for (const Chain& chain : chains) {
    for (Op& op : program->ops) {
      if (op.name == chain.line.name) op.as_compiled = false;
    }
    program->notes.push_back(fmt::format("{} run as one kernel, {}: {} of HBM traffic instead of {}", fmt::join(chain.line.ops, ", "),
                                         chain.line.tiling, FormatBytes(chain.line.hbm_bytes), FormatBytes(chain.line.hbm_bytes_before)));
  }
  if (chains.empty()) program->notes.push_back("no chain of kernels gains from running tile by tile: this is the dump's own schedule");
  return program;
}

}  // namespace

Result<Program> PlanStreamed(const PlanInputs& inputs, const std::vector<StreamedRequest>& requests, Diagnostics& warnings,
                             std::vector<StreamedGroup>* report) {
  SPILLWAY_CHECK(inputs.module != nullptr && inputs.chip != nullptr);
  Diagnostics repeated;
  Result<Program> as_compiled = PlanAsCompiled(inputs, repeated);
  if (!as_compiled.ok()) return as_compiled;
  Compiled compiled;
  compiled.program = std::move(*as_compiled);
  compiled.traffic = CountHbm(compiled.program);
  for (std::size_t i = 0; i < compiled.program.ops.size(); ++i) compiled.op.emplace(compiled.program.ops[i].name, static_cast<int>(i));

  Finder finder(inputs, compiled);
  std::vector<StreamedGroup> lines;
  std::vector<Chain> chains;
  if (requests.empty()) {
    chains = finder.FindAll(lines);
    for (StreamedGroup& line : lines) {
      bool used = std::any_of(chains.begin(), chains.end(), [&](const Chain& chain) { return chain.line.ops == line.ops; });
      if (line.streamed && !used) line.why = "chains of other kernels around these gain more";
      line.streamed = used;
    }
  } else {
    Diagnostics errors;
    for (const StreamedRequest& request : requests) {
      Result<Chain> chain = finder.Requested(request);
      if (chain.ok()) {
        lines.push_back(chain->line);
        chains.push_back(std::move(*chain));
      } else {
        errors.insert(errors.end(), chain.errors().begin(), chain.errors().end());
      }
    }
    if (!errors.empty()) return errors;
  }
  Result<Program> program = PlanChains(inputs, chains, warnings);
  if (report != nullptr) *report = std::move(lines);
  return program;
}

}  // namespace spillway::plan
