// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/resident.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "sim/base/file.h"
#include "sim/hlo/attributes.h"
#include "sim/plan/aliasing.h"
#include "sim/plan/plan_check.h"
#include "sim/plan/rewriter.h"

namespace spillway::plan {
namespace {

using hlo::Instruction;
using hlo::Opcode;

/// A value as one instruction holds it: whole, or one element of its tuple.
struct Holder {
  const Instruction* instruction = nullptr;
  int element = -1;
  bool operator<(const Holder& other) const {
    return std::tie(instruction, element) < std::tie(other.instruction, other.element);
  }
};

struct Candidate {
  Residency line;
  int buffer = -1;
  std::vector<Holder> holders;              ///< All of which change their memory space.
  std::unordered_map<int, Bytes> windows;   ///< By op: VMEM of its windows, free if it is resident.
};

Bytes WindowBytes(const Kernel& kernel) {
  Bytes total = 0;
  Box first = kernel.grid.BoxAt(0);
  for (const Stream& stream : kernel.streams) total += stream.slots * stream.WindowBytes(first);
  return total;
}

class Users {
 public:
  explicit Users(const hlo::Module& module) {
    for (const hlo::Computation& computation : module.computations) {
      for (const Instruction& instruction : computation.instructions) {
        by_name_.emplace(instruction.name, &instruction);
        for (const Instruction* operand : instruction.operands) users_[operand].push_back(&instruction);
      }
    }
  }
  const std::vector<const Instruction*>& Of(const Instruction* instruction) const {
    static const std::vector<const Instruction*> kNone;
    auto it = users_.find(instruction);
    return it != users_.end() ? it->second : kNone;
  }
  const Instruction* Find(std::string_view name) const {
    auto it = by_name_.find(name);
    return it != by_name_.end() ? it->second : nullptr;
  }

 private:
  std::unordered_map<const Instruction*, std::vector<const Instruction*>> users_;
  std::unordered_map<std::string_view, const Instruction*> by_name_;
};

/// The schedule as the dump has it, with what a choice needs to know.
class Survey {
 public:
  explicit Survey(const PlanInputs& inputs) : inputs_(inputs), users_(*inputs.module) {}

  Status Run(Diagnostics& warnings) {
    PlanInputs plain = inputs_;
    std::unordered_map<std::string, std::vector<std::pair<int, Bytes>>> windows;   // By op name: (buffer, bytes).
    plain.build_kernel = [&](const KernelInputs& kernel_inputs) {
      Kernel kernel = BuildKernel(kernel_inputs);
      Box first = kernel.grid.BoxAt(0);
      for (const Stream& stream : kernel.streams) {
        windows[std::string(kernel_inputs.instruction->name)].emplace_back(stream.buffer,
                                                                           stream.slots * stream.WindowBytes(first));
      }
      return kernel;
    };
    Result<Program> program = PlanAsCompiled(plain, warnings);
    if (!program.ok()) return program.errors();
    program_ = std::move(*program);
    live_ = LiveVmem(program_);
    traffic_ = CountHbm(program_);
    std::vector<char> shared(program_.buffers.size(), 0);
    for (const Buffer& buffer : program_.buffers) {
      if (buffer.alias_of >= 0) shared[buffer.alias_of] = 1;
    }
    for (std::size_t b = 0; b < program_.buffers.size(); ++b) {
      const Buffer& buffer = program_.buffers[b];
      if (buffer.space == Space::kHbm) Add(static_cast<int>(b), buffer, buffer.alias_of >= 0 || shared[b] != 0);
    }
    for (std::size_t op = 0; op < program_.ops.size(); ++op) {
      for (const auto& [buffer, bytes] : windows[program_.ops[op].name]) {
        auto at = by_buffer_.find(buffer);
        if (at != by_buffer_.end()) candidates_[at->second].windows[static_cast<int>(op)] += bytes;
      }
    }
    return Done{};
  }

  std::vector<Candidate>& candidates() { return candidates_; }
  const Users& users() const { return users_; }
  const HbmTraffic& traffic() const { return traffic_; }

  /// Whether `candidate` fits beside what lives; fills the line if it does not.
  bool Fits(Candidate& candidate) const {
    const Buffer& buffer = program_.buffers[candidate.buffer];
    Bytes worst = 0;
    for (int op = std::max(buffer.first_op, 0); op <= buffer.last_op && op < static_cast<int>(live_.size()); ++op) {
      auto window = candidate.windows.find(op);
      Bytes freed = window != candidate.windows.end() ? window->second : 0;
      Bytes scoped = std::max<Bytes>(program_.ops[op].scoped_vmem - freed, 0);
      Bytes excess = live_[op] + scoped + buffer.allocated_bytes - inputs_.chip->vmem.usable;
      if (excess <= worst) continue;
      worst = excess;
      candidate.line.at_op = program_.ops[op].name;
    }
    candidate.line.excess_bytes = worst;
    if (worst > 0) {
      candidate.line.why = fmt::format("capacity: {} too many at '{}' ({} usable)", FormatBytes(worst), candidate.line.at_op,
                                       FormatBytes(inputs_.chip->vmem.usable));
    }
    return worst == 0;
  }

  void Take(Candidate& candidate) {
    const Buffer& buffer = program_.buffers[candidate.buffer];
    for (int op = std::max(buffer.first_op, 0); op <= buffer.last_op && op < static_cast<int>(live_.size()); ++op) {
      live_[op] += buffer.allocated_bytes;
      auto window = candidate.windows.find(op);
      if (window == candidate.windows.end()) continue;
      program_.ops[op].scoped_vmem = std::max<Bytes>(program_.ops[op].scoped_vmem - window->second, 0);
    }
    candidate.line.resident = true;
  }

 private:
  void Add(int index, const Buffer& buffer, bool shared) {
    Candidate candidate;
    candidate.buffer = index;
    candidate.line.tensor = buffer.name;
    candidate.line.shape = buffer.shape;
    candidate.line.bytes = buffer.allocated_bytes;
    candidate.line.hbm_bytes = traffic_.read_by_buffer[index] + traffic_.written_by_buffer[index];
    std::size_t brace = buffer.name.find('{');
    const Instruction* maker = users_.Find(std::string_view(buffer.name).substr(0, brace));
    if (maker == nullptr || hlo::IsFree(maker->opcode)) return;
    Holder holder = {maker, -1};
    if (brace != std::string::npos) {
      if (buffer.name.find(',') != std::string::npos) candidate.line.why = "it is part of a nested tuple";
      holder.element = std::atoi(buffer.name.c_str() + brace + 1);
    }
    if (!RunsOnCore(*maker)) candidate.line.why = fmt::format("'{}' ({}) makes it, which is no kernel", maker->name, maker->opcode_name);
    if (shared && candidate.line.why.empty()) candidate.line.why = "it shares its storage with another value (updated in place, or carried by a loop)";
    if (candidate.line.why.empty()) Follow(holder, candidate);
    if (candidate.line.why.empty() && candidate.line.hbm_bytes == 0) candidate.line.why = "no kernel moves it through HBM";
    by_buffer_[index] = candidates_.size();
    candidates_.push_back(std::move(candidate));
  }

  /// Everything that holds the value, until kernels use it up; sets `why` if something else does.
  void Follow(const Holder& holder, Candidate& candidate) const {
    if (std::find_if(candidate.holders.begin(), candidate.holders.end(), [&](const Holder& h) {
          return h.instruction == holder.instruction && h.element == holder.element;
        }) != candidate.holders.end()) {
      return;
    }
    candidate.holders.push_back(holder);
    if (holder.instruction->is_root) {
      bool entry = holder.instruction->parent != nullptr && holder.instruction->parent->is_entry;
      candidate.line.why = entry ? "it is a result of the program" : "it leaves its computation (a loop carries it)";
      return;
    }
    for (const Instruction* user : users_.Of(holder.instruction)) {
      if (user->opcode == Opcode::kGetTupleElement) {
        if (hlo::IntAttr(*user, "index").value_or(-1) == holder.element) Follow({user, -1}, candidate);
      } else if (user->opcode == Opcode::kBitcast && holder.element < 0) {
        Follow({user, -1}, candidate);
      } else if (user->opcode == Opcode::kTuple && holder.element < 0) {
        for (std::size_t k = 0; k < user->operands.size(); ++k) {
          if (user->operands[k] == holder.instruction) Follow({user, static_cast<int>(k)}, candidate);
        }
      } else if (!RunsOnCore(*user)) {
        candidate.line.why = fmt::format("'{}' ({}) takes it, which needs it in HBM", user->name, user->opcode_name);
      }
    }
  }

  const PlanInputs& inputs_;
  Users users_;
  Program program_;
  std::vector<Bytes> live_;
  HbmTraffic traffic_;
  std::vector<Candidate> candidates_;
  std::map<int, std::size_t> by_buffer_;
};

/// Moves values to another memory space.
class Mover : public Rewriter {
 public:
  Mover(const hlo::Module& source, std::int64_t space) : Rewriter(source), space_(space) {}
  void Move(const std::vector<Holder>& holders) {
    for (const Holder& holder : holders) elements_[holder.instruction].push_back(holder.element);
  }
  const Instruction* Before(const Instruction* now) const {
    auto it = before_.find(now->name);
    return it != before_.end() ? it->second : nullptr;
  }
  bool Touches(const Instruction& instruction) const {
    if (elements_.count(&instruction) != 0) return true;
    return std::any_of(instruction.operands.begin(), instruction.operands.end(),
                       [&](const Instruction* operand) { return elements_.count(operand) != 0; });
  }

 private:
  void Rewrite(const Instruction& instruction, hlo::Computation& to) override {
    Instruction* copy = Copy(instruction, to);
    before_[copy->name] = &instruction;
    auto it = elements_.find(&instruction);
    if (it == elements_.end()) return;
    for (int element : it->second) {
      hlo::Shape& shape = element < 0 ? copy->shape : copy->shape.elements[static_cast<std::size_t>(element)];
      if (!shape.has_layout) {
        for (int d = shape.rank() - 1; d >= 0; --d) shape.layout.minor_to_major.push_back(d);
        shape.has_layout = true;
      }
      shape.layout.memory_space = space_;
    }
  }

  std::int64_t space_;
  std::unordered_map<const Instruction*, std::vector<int>> elements_;
  std::unordered_map<std::string_view, const Instruction*> before_;   ///< By name: a later plan copies once more.
};

std::int64_t VmemSpace(const config::ChipConfig& chip) {
  for (const auto& [space, kind] : chip.memory_spaces) {
    if (kind == config::MemoryKind::kVmem) return space;
  }
  return 1;
}

Result<Program> PlanWith(const PlanInputs& inputs, const std::vector<const Candidate*>& chosen, const ResidentOptions& options,
                         Diagnostics& warnings) {
  Mover mover(*inputs.module, VmemSpace(*inputs.chip));
  for (const Candidate* candidate : chosen) mover.Move(candidate->holders);
  const std::unique_ptr<hlo::Module> module = mover.Run();
  std::vector<std::string> touched;
  PlanInputs resident = inputs;
  resident.module = module.get();
  resident.build_kernel = [&](const KernelInputs& kernel_inputs) {
    Kernel kernel = BuildKernel(kernel_inputs);
    const Instruction* before = mover.Before(kernel_inputs.instruction);
    if (before == nullptr || !mover.Touches(*before)) return kernel;
    touched.emplace_back(before->name);
    KernelInputs old = kernel_inputs;
    old.instruction = before;
    // The compiler's scoped memory holds windows that are not needed any more.
    Bytes left = WindowBytes(kernel), gone = WindowBytes(BuildKernel(old)) - left;
    if (gone > 0) kernel.scoped_vmem = std::max(left, kernel.scoped_vmem - gone);
    return kernel;
  };
  Result<Program> program = options.then ? options.then(resident, warnings) : PlanAsCompiled(resident, warnings);
  if (!program.ok()) return program;
  for (Op& op : program->ops) {
    if (std::find(touched.begin(), touched.end(), op.name) != touched.end()) op.as_compiled = false;
  }
  program->plan = "resident";
  return program;
}

/// The buffers that `name` means: a buffer's own name, a value that hands one on, or a tuple of several.
std::vector<Candidate*> Named(const std::string& name, Survey& survey) {
  std::vector<Candidate*> found;
  for (Candidate& candidate : survey.candidates()) {
    bool holds = std::any_of(candidate.holders.begin(), candidate.holders.end(), [&](const Holder& holder) {
      return holder.element < 0 && holder.instruction->name == name;
    });
    if (candidate.line.tensor == name || candidate.line.tensor.rfind(name + "{", 0) == 0 || holds) found.push_back(&candidate);
  }
  return found;
}

Status ChooseNamed(const ResidentOptions& options, Survey& survey, std::vector<const Candidate*>& chosen) {
  Diagnostics errors;
  for (const std::string& name : options.tensors) {
    std::vector<Candidate*> found = Named(name, survey);
    if (found.empty()) {
      std::vector<std::string> known;
      for (const Candidate& candidate : survey.candidates()) known.push_back(candidate.line.tensor);
      std::string near = Nearest(name, known);
      bool exists = survey.users().Find(name) != nullptr;
      errors.push_back(Error(fmt::format(exists ? "'{}' is not made by a kernel into HBM: it cannot be kept in VMEM"
                                                : "no tensor '{}' in the module", name),
                             near.empty() ? "" : fmt::format("did you mean '{}'?", near)));
    }
    for (Candidate* candidate : found) {
      if (candidate->line.resident) continue;
      bool fits = candidate->line.why.empty() && (survey.Fits(*candidate) || options.ignore_capacity);
      if (!fits) {
        errors.push_back(Error(fmt::format("'{}' ({}) cannot stay in VMEM: {}", candidate->line.tensor,
                                           FormatBytes(candidate->line.bytes), candidate->line.why)));
        continue;
      }
      candidate->line.why.clear();
      survey.Take(*candidate);
      chosen.push_back(candidate);
    }
  }
  if (!errors.empty()) return errors;
  return Done{};
}

void ChooseBest(Survey& survey, std::vector<const Candidate*>& chosen) {
  std::vector<Candidate*> order;
  for (Candidate& candidate : survey.candidates()) {
    if (candidate.line.why.empty()) order.push_back(&candidate);
  }
  auto value = [](const Candidate* c) {
    return static_cast<double>(c->line.hbm_bytes) / std::sqrt(static_cast<double>(std::max<Bytes>(c->line.bytes, 1)));
  };
  std::stable_sort(order.begin(), order.end(), [&](const Candidate* a, const Candidate* b) { return value(a) > value(b); });
  for (Candidate* candidate : order) {
    if (!survey.Fits(*candidate)) continue;
    survey.Take(*candidate);
    chosen.push_back(candidate);
  }
}

void Report(const std::vector<Candidate>& candidates, std::vector<Residency>* report) {
  if (report == nullptr) return;
  report->clear();
  for (const Candidate& candidate : candidates) report->push_back(candidate.line);
}

}  // namespace

Result<std::vector<Residency>> ResidencyOf(const PlanInputs& inputs) {
  Survey survey(inputs);
  Diagnostics warnings;
  Status surveyed = survey.Run(warnings);
  if (!surveyed.ok()) return surveyed.errors();
  std::vector<Residency> report;
  for (Candidate& candidate : survey.candidates()) {
    candidate.line.resident = candidate.line.why.empty() && survey.Fits(candidate);
    report.push_back(candidate.line);
  }
  return report;
}

Result<Program> PlanResident(const PlanInputs& inputs, const ResidentOptions& options, Diagnostics& warnings,
                             std::vector<Residency>* report) {
  SPILLWAY_CHECK(inputs.module != nullptr && inputs.chip != nullptr);
  Survey survey(inputs);
  Diagnostics repeated;
  Status surveyed = survey.Run(repeated);
  if (!surveyed.ok()) return surveyed.errors();
  std::vector<const Candidate*> chosen;
  if (options.tensors.empty()) {
    ChooseBest(survey, chosen);
  } else if (Status named = ChooseNamed(options, survey, chosen); !named.ok()) {
    return named.errors();
  }
  for (;;) {
    Diagnostics found;
    Result<Program> program = PlanWith(inputs, chosen, options, found);
    if (!program.ok()) return program;
    // The choice used estimates of scoped memory; the program has the last word.
    bool over = PeakVmem(*program) > inputs.chip->vmem.usable || CountHbm(*program).total() > survey.traffic().total();
    if (over && options.tensors.empty() && !chosen.empty()) {
      for (Candidate& candidate : survey.candidates()) {
        if (&candidate != chosen.back()) continue;
        candidate.line.resident = false;
        candidate.line.why = "capacity: the windows of its kernels leave no room for it";
      }
      chosen.pop_back();
      continue;
    }
    warnings.insert(warnings.end(), found.begin(), found.end());
    for (const Candidate* candidate : chosen) {
      program->notes.push_back(fmt::format("{} stays in VMEM: {} of HBM traffic saved", candidate->line.tensor,
                                           FormatBytes(candidate->line.hbm_bytes)));
    }
    if (chosen.empty()) program->notes.push_back("no tensor between kernels can stay in VMEM: this is the dump's own schedule");
    Report(survey.candidates(), report);
    return program;
  }
}

}  // namespace spillway::plan
