// SPDX-License-Identifier: Apache-2.0
// Scalar, SMEM and branch operations of a bundle to micro instructions.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "sim/llo/decoder.h"

namespace spillway::llo {
namespace {

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

struct Arithmetic {
  std::string_view opcode;
  MicroOp op;
  int operands;
};

constexpr Arithmetic kArithmetic[] = {
    {"smov", MicroOp::kMove, 1}, {"smov.u32", MicroOp::kMove, 1}, {"smov.s32", MicroOp::kMove, 1},
    {"smov.f32", MicroOp::kMove, 1}, {"pmov", MicroOp::kMove, 1},
    {"sadd.s32", MicroOp::kAdd, 2}, {"sadd.u32", MicroOp::kAdd, 2},
    {"ssub.s32", MicroOp::kSub, 2}, {"ssub.u32", MicroOp::kSub, 2},
    {"smul.u32", MicroOp::kMul, 2}, {"smul.s32", MicroOp::kMul, 2}, {"smulhi.u32", MicroOp::kMulHigh, 2},
    {"sand.u32", MicroOp::kAnd, 2}, {"sor.u32", MicroOp::kOr, 2}, {"sxor.u32", MicroOp::kXor, 2},
    {"sshll.u32", MicroOp::kShiftLeft, 2}, {"sshrl.u32", MicroOp::kShiftRight, 2},
    {"sshra.s32", MicroOp::kShiftRightSigned, 2},
    {"smin.s32", MicroOp::kMinSigned, 2}, {"smax.s32", MicroOp::kMaxSigned, 2},
    {"smin.u32", MicroOp::kMinUnsigned, 2}, {"smax.u32", MicroOp::kMaxUnsigned, 2},
    {"sc.u32", MicroOp::kCarry, 2}, {"sclz", MicroOp::kCountLeadingZeros, 1},
    {"sclz.u32", MicroOp::kCountLeadingZeros, 1}, {"spcnt", MicroOp::kPopulation, 1},
    {"spcnt.u32", MicroOp::kPopulation, 1},
    {"scmp.eq.s32.totalorder", MicroOp::kEqual, 2}, {"scmp.ne.s32.totalorder", MicroOp::kNotEqual, 2},
    {"scmp.lt.s32.totalorder", MicroOp::kLess, 2}, {"scmp.le.s32.totalorder", MicroOp::kLessEqual, 2},
    {"scmp.gt.s32.totalorder", MicroOp::kGreater, 2}, {"scmp.ge.s32.totalorder", MicroOp::kGreaterEqual, 2},
    {"scmp.eq.u32.totalorder", MicroOp::kEqual, 2}, {"scmp.ne.u32.totalorder", MicroOp::kNotEqual, 2},
    {"scmp.lt.u32.totalorder", MicroOp::kLessUnsigned, 2},
    {"scmp.le.u32.totalorder", MicroOp::kLessEqualUnsigned, 2},
    {"scmp.gt.u32.totalorder", MicroOp::kGreaterUnsigned, 2},
    {"scmp.ge.u32.totalorder", MicroOp::kGreaterEqualUnsigned, 2},
    {"sadd.f32", MicroOp::kAddFloat, 2}, {"ssub.f32", MicroOp::kSubFloat, 2},
    {"smul.f32", MicroOp::kMulFloat, 2}, {"smin.f32", MicroOp::kMinFloat, 2},
    {"smax.f32", MicroOp::kMaxFloat, 2}, {"scvt.s32.f32", MicroOp::kIntToFloat, 1},
    {"scvt.f32.s32", MicroOp::kFloatToInt, 1},
    {"scmp.eq.f32.partialorder", MicroOp::kEqualFloat, 2},
    {"scmp.ne.f32.partialorder", MicroOp::kNotEqualFloat, 2},
    {"scmp.lt.f32.partialorder", MicroOp::kLessFloat, 2},
    {"scmp.le.f32.partialorder", MicroOp::kLessEqualFloat, 2},
    {"scmp.gt.f32.partialorder", MicroOp::kGreaterFloat, 2},
    {"scmp.ge.f32.partialorder", MicroOp::kGreaterEqualFloat, 2},
    {"por", MicroOp::kPredicateOr, 2}, {"pand", MicroOp::kPredicateAnd, 2},
    {"pxor", MicroOp::kPredicateXor, 2}, {"pnand", MicroOp::kPredicateNand, 2},
    {"pnor", MicroOp::kPredicateNor, 2}, {"pneg", MicroOp::kPredicateNot, 1},
    {"pnot", MicroOp::kPredicateNot, 1},
};

const Arithmetic* FindArithmetic(std::string_view opcode) {
  for (const Arithmetic& entry : kArithmetic) {
    if (entry.opcode == opcode) return &entry;
  }
  return nullptr;
}

// No effect on anything that we model: hints, traces, aliases of a register with itself.
bool IsHarmless(std::string_view opcode) {
  for (std::string_view name : {"sfence", "compiler-scheduling-barrier", "sphi", "pphi", "set.rngseed",
                                "setrngseed", "snop", "nop"}) {
    if (opcode == name) return true;
  }
  return false;
}

}  // namespace

std::uint16_t Decoder::Scratch() {
  if (next_scratch_ >= RegisterMap::kFirstConstant) {
    failed_ = true;
    return RegisterMap::kFirstConstant - 1;
  }
  return next_scratch_++;
}

std::uint16_t Decoder::ConstantRegister(const Constant& constant) {
  std::size_t number = RegisterMap::kFirstConstant + kernel_.constants_.size();
  if (number > 65535) {
    failed_ = true;
    return RegisterMap::kTrue;
  }
  kernel_.constants_.push_back(constant);
  return static_cast<std::uint16_t>(number);
}

std::uint16_t Decoder::LiteralRegister(std::uint32_t value) {
  auto [it, added] = constant_registers_.emplace(std::make_pair(-1, std::int64_t{value}), std::uint16_t{0});
  if (added) {
    Constant constant;
    constant.value = value;
    it->second = ConstantRegister(constant);
  }
  return it->second;
}

std::uint16_t Decoder::SymbolRegister(const std::string& name, std::int64_t offset, Space space, bool known) {
  SymbolUse& use = symbol_uses_[name];
  if (known && !use.known) use = {space, true};
  auto [it, added] = symbol_registers_.emplace(std::make_pair(name, offset), std::uint16_t{0});
  if (added) {
    symbol_constants_.emplace_back(kernel_.constants_.size(), name);
    Constant constant;
    constant.kind = Constant::Kind::kSymbol;
    constant.value = offset;
    it->second = ConstantRegister(constant);
  }
  return it->second;
}

std::uint16_t Decoder::RegisterOf(const RegisterName& name) {
  if (name.file == RegisterName::File::kScalar && name.number >= 0 && name.number < RegisterMap::kScalars) {
    return static_cast<std::uint16_t>(name.number);
  }
  if (name.file == RegisterName::File::kPredicate && name.number >= 0 &&
      name.number < RegisterMap::kPredicates) {
    return static_cast<std::uint16_t>(RegisterMap::kFirstPredicate + name.number);
  }
  failed_ = true;
  return RegisterMap::kFirstConstant - 1;
}

std::uint16_t Decoder::ValueOf(const Operand& operand, Space symbol_space, bool space_known) {
  std::vector<std::uint16_t> terms;
  for (const RegisterName& name : operand.registers) terms.push_back(RegisterOf(name));
  if (operand.is_float) {
    float value = static_cast<float>(operand.float_value);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return LiteralRegister(bits);
  }
  if (!operand.symbol.empty()) {
    terms.push_back(SymbolRegister(operand.symbol, operand.offset, symbol_space, space_known));
  } else if (operand.offset != 0 || terms.empty()) {
    terms.push_back(LiteralRegister(static_cast<std::uint32_t>(operand.offset)));
  }
  std::uint16_t sum = terms[0];
  for (std::size_t i = 1; i < terms.size(); ++i) {
    MicroInstruction add;
    add.op = MicroOp::kAdd;
    add.dst = Scratch();
    add.a = sum;
    add.b = terms[i];
    early_.push_back(add);
    sum = add.dst;
  }
  if (operand.negated) {
    MicroInstruction negate;
    negate.op = MicroOp::kPredicateNot;
    negate.dst = Scratch();
    negate.a = sum;
    early_.push_back(negate);
    sum = negate.dst;
  }
  return sum;
}

std::uint16_t Decoder::ResultRegister(const Operation& operation) {
  if (operation.results.size() != 1) {
    failed_ = true;
    return RegisterMap::kFirstConstant - 1;
  }
  return RegisterOf(operation.results[0]);
}

void Decoder::Emit(const Operation& operation, MicroInstruction instruction) {
  if (operation.predicate) {
    instruction.predicate = RegisterOf(operation.predicate->registers[0]);
    instruction.negate = operation.predicate->negated;
  }
  bool writes = !operation.results.empty() && operation.results[0].file != RegisterName::File::kToken;
  if (writes && operation.tied) {
    std::uint16_t old = ValueOf(*operation.tied);
    if (old != instruction.dst) {
      // The value kept lies in another register: compute on the side, then select.
      MicroInstruction select;
      select.op = MicroOp::kSelect;
      select.dst = instruction.dst;
      select.c = instruction.predicate;
      instruction.dst = Scratch();
      select.a = instruction.negate ? old : instruction.dst;
      select.b = instruction.negate ? instruction.dst : old;
      instruction.predicate = RegisterMap::kTrue;
      instruction.negate = false;
      early_.push_back(instruction);
      main_.push_back(select);
      return;
    }
  }
  main_.push_back(instruction);
}

void Decoder::LowerUnknown(const Operation& operation, const std::string& why) {
  std::string message = fmt::format("cannot execute `{}`: {}", operation.opcode, why);
  Note(operation.line, message);
  MicroInstruction stop;
  stop.op = MicroOp::kUnknown;
  stop.a = static_cast<std::uint16_t>(std::min<std::size_t>(kernel_.unknowns_.size(), 65535));
  kernel_.unknowns_.push_back(fmt::format("{}:{}: {}", kernel_.file_, operation.line, message));
  main_.push_back(stop);
}

void Decoder::Lower(const OpText& text) {
  std::optional<Operation> operation = ParseOperation(text);
  failed_ = false;
  if (!operation) {
    Operation broken;
    broken.opcode = std::string(text.text.substr(0, 60));
    broken.line = text.line;
    LowerUnknown(broken, "the text of the operation makes no sense");
    return;
  }
  if (IsHarmless(operation->opcode)) return;
  if (LowerBranch(*operation)) return;
  while (!operation->tail.empty() && operation->tail[0] == '[' && operation->tail.compare(0, 2, "[#") != 0 &&
         operation->tail.compare(0, 6, "[smem:") != 0) {
    std::size_t close = operation->tail.find(']');
    if (close == std::string::npos) break;
    if (!StartsWith(operation->opcode, "dma.") && !StartsWith(operation->opcode, "int_to_ptr.")) break;
    if (operation->tail.compare(0, 9, "[thread:$") == 0) {
      operation->comment = operation->tail.substr(9, close - 9);
    }
    operation->tail = std::string(Trim(std::string_view(operation->tail).substr(close + 1)));
  }
  if (StartsWith(operation->opcode, "sst")) {
    // `[smem:[…]] %s5_s3` has no comma.
    std::size_t close = operation->tail.rfind(']');
    if (close != std::string::npos && close + 1 < operation->tail.size()) {
      operation->tail.insert(close + 1, ",");
    }
  }
  std::size_t main_size = main_.size(), early_size = early_.size();
  std::vector<Operand> operands;
  bool inlined_operand = StartsWith(operation->opcode, "inlined_call_operand.");
  if (operation->opcode != "shalt.err" && !inlined_operand && !ParseOperands(operation->tail, &operands)) {
    LowerUnknown(*operation, "an operand makes no sense");
    return;
  }
  LowerOperation(*operation, operands);
  if (failed_) {
    main_.resize(main_size);
    early_.resize(early_size);
    LowerUnknown(*operation, "a register or operand that cannot be encoded");
  }
}

void Decoder::LowerOperation(const Operation& operation, std::vector<Operand>& operands) {
  TrackLaunchFlags(operation, operands);
  TrackPointers(operation, operands);
  if (LowerArithmetic(operation, operands) || LowerMemory(operation, operands) ||
      LowerSync(operation, operands) || LowerDma(operation, operands) || LowerCall(operation, operands) ||
      LowerConstant(operation, operands)) {
    return;
  }
  bool scalar = !operation.results.empty() && operation.results[0].file != RegisterName::File::kToken &&
                operation.results[0].file != RegisterName::File::kVector;
  bool from_vector = operation.opcode.front() == 'v' && !StartsWith(operation.opcode, "vsync");
  if (scalar && (from_vector || StartsWith(operation.opcode, "spop"))) {
    MicroInstruction assume;
    assume.op = MicroOp::kAssumeZero;
    assume.dst = ResultRegister(operation);
    Emit(operation, assume);
    if (assumed_opcodes_.insert(operation.opcode).second) {
      Note(operation.line,
           fmt::format("`{}` reads values that are not in the dump: taken as 0", operation.opcode));
    }
    return;
  }
  LowerUnknown(operation, "unknown opcode");
}

bool Decoder::LowerArithmetic(const Operation& operation, std::vector<Operand>& operands) {
  std::optional<Space> pointer;
  MicroInstruction instruction;
  if (const Arithmetic* entry = FindArithmetic(operation.opcode)) {
    instruction.op = entry->op;
    if (static_cast<int>(operands.size()) != entry->operands) failed_ = true;
  } else if (StartsWith(operation.opcode, "scalar_lea.")) {
    pointer = PointerSpace(std::string_view(operation.opcode).substr(11));
    instruction.op = MicroOp::kAdd;
    if (operands.empty() || operands.size() > 2) failed_ = true;
  } else if (StartsWith(operation.opcode, "int_to_ptr.") || StartsWith(operation.opcode, "ptr_to_int")) {
    if (operands.size() != 1) failed_ = true;
    if (failed_) return true;
    std::uint16_t source = ValueOf(operands[0]), result = ResultRegister(operation);
    if (source == result) return true;   // The same register under a new name, in the same bundle.
    instruction.op = MicroOp::kMove;
  } else if (operation.opcode == "scalar_select") {
    if (operands.size() != 3) failed_ = true;
    if (failed_) return true;
    instruction.op = MicroOp::kSelect;
    instruction.dst = ResultRegister(operation);
    instruction.c = ValueOf(operands[0]);
    instruction.a = ValueOf(operands[1]);
    instruction.b = ValueOf(operands[2]);
    Emit(operation, instruction);
    return true;
  } else if (operation.opcode == "sdivrem.u32") {
    if (operands.size() != 2) failed_ = true;
    if (failed_) return true;
    instruction.op = MicroOp::kDivide;
    // Newer compilers say what they want of it: kDiv, kRem or kDivAndRem.
    if (operation.comment == "kDiv" && !operation.results.empty()) {
      quotients_.insert(fmt::format("%{}", operation.results[0].value));
    }
    instruction.a = ValueOf(operands[0]);
    instruction.b = ValueOf(operands[1]);
    Emit(operation, instruction);
    return true;
  } else if (operation.opcode == "spop.drf") {
    instruction.op = MicroOp::kPopDivide;
    instruction.dst = ResultRegister(operation);
    // Two pops of one division give the quotient, then the remainder; a single one what was asked for.
    int& left = divide_pops_[operation.tail];
    bool quotient = quotients_.count(operation.tail) > 0;
    instruction.a = left == 2 ? kQuotientFirst : quotient ? kQuotientOnly : kRemainder;
    --left;
    Emit(operation, instruction);
    return true;
  } else {
    return false;
  }
  if (failed_) return true;
  instruction.dst = ResultRegister(operation);
  Space space = pointer.value_or(Space::kVmem);
  instruction.a = ValueOf(operands[0], space, pointer.has_value());
  if (operands.size() > 1) {
    instruction.b = ValueOf(operands[1], space, pointer.has_value());
  } else if (pointer) {
    instruction.b = LiteralRegister(0);
  }
  Emit(operation, instruction);
  return true;
}

bool Decoder::LowerMemory(const Operation& operation, std::vector<Operand>& operands) {
  bool load = operation.opcode == "sld" || StartsWith(operation.opcode, "sld.");
  bool store = operation.opcode == "sst" || StartsWith(operation.opcode, "sst.");
  if (!load && !store) return false;
  if (operands.size() != (load ? 1U : 2U) || !operands[0].memory) {
    failed_ = true;
    return true;
  }
  MicroInstruction instruction;
  instruction.op = load ? MicroOp::kLoad : MicroOp::kStore;
  instruction.a = ValueOf(operands[0], Space::kSmem, true);
  if (load) {
    instruction.dst = ResultRegister(operation);
    // Chip and core numbers: 0 is right for the one core that we run.
    bool identity = operation.comment.find("core id") != std::string::npos ||
                    operation.comment.find("chip id") != std::string::npos;
    if (identity) instruction.b = RegisterMap::kFalse;
  } else {
    instruction.b = ValueOf(operands[1]);
  }
  Emit(operation, instruction);
  return true;
}

bool Decoder::LowerBranch(const Operation& operation) {
  if (operation.opcode != "sbr.rel" && operation.opcode != "sbr.abs") return false;
  // `target = $region530`, or of older compilers `target bundleno = 165 (0xa5), region = 46`. The
  // bundle numbers of the latter are off; the regions are right.
  std::size_t at = operation.tail.find("region = ");
  std::size_t begin = at == std::string::npos ? operation.tail.find("$region") : at;
  std::size_t skip = at == std::string::npos ? 7 : 9;
  bool bad = begin == std::string::npos || begin + skip >= operation.tail.size() ||
             operation.tail[begin + skip] < '0' || operation.tail[begin + skip] > '9';
  if (bad || branch_.present || (operation.predicate && operation.predicate->registers.empty())) {
    LowerUnknown(operation, bad ? "no target region" : "two branches in one bundle");
    return true;
  }
  branch_.present = true;
  branch_.line = operation.line;
  branch_.region = std::atoi(operation.tail.substr(begin + skip, 9).c_str());
  MicroInstruction take;
  take.dst = RegisterMap::kBranch;
  if (operation.predicate) {
    take.op = operation.predicate->negated ? MicroOp::kPredicateNot : MicroOp::kMove;
    take.a = RegisterOf(operation.predicate->registers[0]);
  }
  main_.push_back(take);
  if (failed_) LowerUnknown(operation, "a predicate that cannot be encoded");
  return true;
}

bool Decoder::LowerConstant(const Operation& operation, const std::vector<Operand>& operands) {
  Constant constant;
  if (StartsWith(operation.opcode, "inlined_call_operand.")) {
    constant.kind = Constant::Kind::kOperand;
    std::string_view space = std::string_view(operation.opcode).substr(21);
    constant.space = StartsWith(space, "hbm")    ? Space::kHbm
                     : StartsWith(space, "vmem") ? Space::kVmem
                     : StartsWith(space, "sflag") ? Space::kFlag
                                                  : Space::kSmem;
    std::size_t at = operation.tail.find("index: ");
    if (at == std::string::npos) {
      failed_ = true;
      return true;
    }
    constant.index = std::atoi(operation.tail.substr(at + 7, 9).c_str());
  } else if (operation.opcode == "scalar_parameter_address" || operation.opcode == "reloc") {
    if (operands.size() != 1 || !operands[0].registers.empty()) {
      failed_ = true;
      return true;
    }
    constant.index = constant.value = operands[0].offset;
    if (operation.opcode != "reloc") {
      constant.kind = Constant::Kind::kParameter;
      constant.space = Space::kHbm;
      constant.value = 0;
    }
  } else {
    return false;
  }
  MicroInstruction instruction;
  instruction.op = MicroOp::kMove;
  instruction.dst = ResultRegister(operation);
  instruction.a = constant.kind == Constant::Kind::kLiteral
                      ? LiteralRegister(static_cast<std::uint32_t>(constant.value))
                      : ConstantRegister(constant);
  Emit(operation, instruction);
  return true;
}

// The launch code leaves a few words in SMEM that a top-level program tests: `x != 1` skips the whole
// program, `select(x != 0, n, 0)` skips a cross-program prefetch that is already done.
void Decoder::TrackLaunchFlags(const Operation& operation, const std::vector<Operand>& operands) {
  auto index = [](const RegisterName& name) {
    int base = name.file == RegisterName::File::kPredicate ? RegisterMap::kFirstPredicate : 0;
    bool physical = name.file == RegisterName::File::kScalar || name.file == RegisterName::File::kPredicate;
    return physical && name.number >= 0 && name.number < 32 ? base + name.number : -1;
  };
  auto origin = [&](const Operand& operand) -> std::string {
    if (operand.registers.size() != 1 || index(operand.registers[0]) < 0) return {};
    return register_origin_[static_cast<std::size_t>(index(operand.registers[0]))];
  };
  std::string result;
  if (operation.opcode == "sld" && operands.size() == 1 && operands[0].registers.empty()) {
    result = operands[0].symbol;
  } else if (operation.opcode == "scmp.ne.s32.totalorder" && operands.size() == 2 &&
             operands[1].registers.empty() && operands[1].symbol.empty()) {
    std::string from = origin(operands[0]);
    if (operands[1].offset == 1 && !from.empty()) kernel_.launch_flags_.push_back(from);
    if (operands[1].offset == 0) result = from;
  } else if (operation.opcode == "scalar_select" && operands.size() == 3) {
    std::string from = origin(operands[0]);
    std::vector<std::string>& flags = kernel_.prefetch_flags_;
    if (!from.empty() && std::find(flags.begin(), flags.end(), from) == flags.end()) flags.push_back(from);
  } else if (StartsWith(operation.opcode, "int_to_ptr.")) {
    return;
  }
  for (const RegisterName& name : operation.results) {
    if (index(name) >= 0) register_origin_[static_cast<std::size_t>(index(name))] = result;
  }
}

}  // namespace spillway::llo
