// SPDX-License-Identifier: Apache-2.0
// First version: every instruction of the fused computation takes issue slots per vector register
// of 8 x 128 elements; the busiest unit sets the pace. No packing of narrow types, no spills.
#include "sim/compute/tile_cost.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/hlo/attributes.h"

namespace spillway::compute {
namespace {

using hlo::Opcode;

constexpr double kRegisterElements = 1024;
constexpr int kMaxDepth = 64;

double CeilDiv(double a, double b) { return b > 0 ? std::ceil(a / b) : 0; }

double Registers(const hlo::Shape& shape) {
  if (shape.IsTuple()) {
    double sum = 0;
    for (const hlo::Shape& element : shape.elements) sum += Registers(element);
    return sum;
  }
  return shape.IsArray() ? std::ceil(static_cast<double>(shape.ElementCount()) / kRegisterElements) : 0;
}

double Accesses(const hlo::Shape& shape, const config::ChipConfig& chip) {
  return CeilDiv(static_cast<double>(hlo::AllocatedBytes(shape)), static_cast<double>(chip.vmem.load_bytes));
}

bool IsTranscendental(Opcode opcode) {
  static const std::set<Opcode> kSet = {
      Opcode::kExp,  Opcode::kExpm1, Opcode::kLog,  Opcode::kLog1p, Opcode::kTanh, Opcode::kLogistic, Opcode::kRsqrt,
      Opcode::kSqrt, Opcode::kCbrt,  Opcode::kSin,  Opcode::kCos,   Opcode::kTan,  Opcode::kErf,      Opcode::kPower,
      Opcode::kDivide, Opcode::kAtan2};
  return kSet.count(opcode) != 0;
}

template <class Map>
double Lookup(const Map& map, const std::string& key, double otherwise) {
  auto it = map.find(key);
  return it != map.end() ? it->second : otherwise;
}

class Counter {
 public:
  Counter(const config::ChipConfig& chip, KernelCost& cost) : chip_(chip), cost_(cost) {}

  void Add(const hlo::Instruction& instruction, int depth) {
    if (instruction.opcode == Opcode::kFusion && !instruction.called.empty() && depth < kMaxDepth) {
      for (const hlo::Instruction& inner : instruction.called.front()->instructions) Add(inner, depth + 1);
      return;
    }
    if (hlo::IsFree(instruction.opcode)) return;
    double registers = Registers(instruction.shape);
    double operand = instruction.operands.empty() ? 0 : Registers(instruction.operands[0]->shape);
    switch (instruction.opcode) {
      case Opcode::kConvolution:
      case Opcode::kDot:
        return Matmul(instruction);
      case Opcode::kReduce:
        cost_.use.valu += operand;
        return;
      case Opcode::kReduceWindow:
        cost_.use.valu += operand + registers;
        return;
      case Opcode::kTranspose:
        cost_.use.xlu += registers;
        return;
      case Opcode::kCopy:
        if (!instruction.operands.empty() && !SameOrder(instruction.shape, instruction.operands[0]->shape)) {
          cost_.use.xlu += registers;
        }
        return;
      case Opcode::kBroadcast:
      case Opcode::kIota:
      case Opcode::kReshape:
      case Opcode::kSlice:
      case Opcode::kPad:
      case Opcode::kConcatenate:
      case Opcode::kReverse:
      case Opcode::kDynamicSlice:
      case Opcode::kDynamicUpdateSlice:
      case Opcode::kGather:
        return;
      default:
        break;
    }
    if (!hlo::IsElementwise(instruction.opcode) && instruction.opcode != Opcode::kConvert) {
      cost_.unmodelled = true;
      if (cost_.why.empty()) cost_.why = "no compute model of " + std::string(instruction.opcode_name);
      return;
    }
    if (IsTranscendental(instruction.opcode)) cost_.use.eup += registers;
    cost_.use.valu += Lookup(SlotsOf(instruction), "valu", 1) * registers;
  }

 private:
  std::map<std::string, double> SlotsOf(const hlo::Instruction& instruction) const {
    auto it = chip_.core.op_slots.find(std::string(instruction.opcode_name));
    return it != chip_.core.op_slots.end() ? it->second : std::map<std::string, double>();
  }

  static bool SameOrder(const hlo::Shape& a, const hlo::Shape& b) {
    for (int i = 0; i < std::min(a.rank(), b.rank()); ++i) {
      if (a.MinorDimension(i) != b.MinorDimension(i)) return false;
    }
    return true;
  }

  void Matmul(const hlo::Instruction& instruction) {
    if (instruction.operands.size() < 2 || !instruction.shape.IsArray()) return;
    const hlo::Shape& kernel = instruction.operands[1]->shape;
    double features = 1, contraction = 1;
    if (instruction.opcode == Opcode::kDot) {
      hlo::DotDimensions numbers = hlo::DotOf(instruction);
      features = kernel.ElementCount();
      for (std::int64_t d : numbers.rhs_contracting) contraction *= kernel.dimensions[d];
      for (std::int64_t d : numbers.rhs_batch) features /= std::max<double>(kernel.dimensions[d], 1);
      features /= std::max(contraction, 1.0);
    } else if (auto labels = hlo::ConvolutionOf(instruction)) {
      auto window = hlo::WindowOf(instruction).value_or(std::vector<hlo::WindowDimension>());
      features = kernel.dimensions[labels->kernel_output_feature];
      contraction = kernel.dimensions[labels->kernel_input_feature];
      for (const hlo::WindowDimension& w : window) {
        // A dilated dimension has few valid taps: a batch dimension has one.
        contraction *= std::max<double>(1, std::floor(static_cast<double>(w.size) / std::max<double>(w.base_dilation, 1)));
      }
    }
    double rows = static_cast<double>(instruction.shape.ElementCount()) / std::max(features, 1.0);
    std::string type(hlo::ElementTypeName(instruction.operands[0]->shape.type));
    double bits = std::max(hlo::ElementBits(instruction.operands[0]->shape.type), 4);
    double cycles = Lookup(chip_.core.matmul_cycles, type, Lookup(chip_.core.matmul_cycles, "bf16", 8));
    double per_issue = 8 * std::max(32 / bits, 1.0);
    double tiles = CeilDiv(contraction, std::max(chip_.core.mxu_rows, 1)) * CeilDiv(features, std::max(chip_.core.mxu_columns, 1));
    cost_.use.mxu_cycles += CeilDiv(rows, per_issue) * tiles * cycles;
    cost_.use.mxu_pop += Registers(instruction.shape);
  }

  const config::ChipConfig& chip_;
  KernelCost& cost_;
};

void Contains(const hlo::Instruction& instruction, int depth, bool& matmul, bool& reduce) {
  matmul = matmul || instruction.opcode == Opcode::kConvolution || instruction.opcode == Opcode::kDot;
  reduce = reduce || instruction.opcode == Opcode::kReduce || instruction.opcode == Opcode::kReduceWindow;
  if (instruction.opcode != Opcode::kFusion || instruction.called.empty() || depth >= kMaxDepth) return;
  for (const hlo::Instruction& inner : instruction.called.front()->instructions) Contains(inner, depth + 1, matmul, reduce);
}

std::string ClassOf(const hlo::Instruction& instruction) {
  if (instruction.opcode == Opcode::kCustomCall) return "custom";
  if (instruction.opcode == Opcode::kCopy || instruction.opcode == Opcode::kTranspose) return "copy";
  bool matmul = false, reduce = false;
  Contains(instruction, 0, matmul, reduce);
  return matmul ? "output" : reduce ? "input" : "loop";
}

}  // namespace

KernelCost CostOf(const hlo::Instruction& instruction, const config::ChipConfig& chip, std::int64_t steps) {
  KernelCost cost;
  cost.op_class = ClassOf(instruction);
  if (hlo::IsFree(instruction.opcode)) return cost;
  Counter(chip, cost).Add(instruction, 0);
  for (const hlo::Instruction* operand : instruction.operands) cost.use.vload += Accesses(operand->shape, chip);
  cost.use.vstore += Accesses(instruction.shape, chip);
  const config::CoreConfig& core = chip.core;
  struct Unit {
    const char* name;
    double cycles;
  };
  auto per = [](double use, double slots) { return use / std::max(slots, 1.0); };
  const Unit units[] = {{"VALU", per(cost.use.valu, core.valu_slots)},
                        {"EUP", per(cost.use.eup * core.eup_cycles, core.eup_slots)},
                        {"XLU", per(cost.use.xlu, core.xlu_slots)},
                        {"MXU", per(cost.use.mxu_cycles, core.mxus)},
                        {"VLOAD", per(cost.use.vload, chip.vmem.load_slots)},
                        {"VSTORE", per(cost.use.vstore, chip.vmem.store_slots)}};
  const Unit* busiest = std::max_element(std::begin(units), std::end(units),
                                         [](const Unit& a, const Unit& b) { return a.cycles < b.cycles; });
  cost.busiest = busiest->name;
  double limit = 9e15;
  cost.prologue_cycles = core.kernel_overhead;
  cost.total_cycles = core.kernel_overhead +
                      static_cast<Cycles>(std::min(busiest->cycles + static_cast<double>(core.step_overhead) *
                                                                          static_cast<double>(steps), limit));
  return cost;
}

}  // namespace spillway::compute
