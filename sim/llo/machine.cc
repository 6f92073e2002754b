// SPDX-License-Identifier: Apache-2.0
#include "sim/llo/machine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace spillway::llo {
namespace {

constexpr std::int64_t kGranule = 32;          // Bytes a DMA size and a sync flag count.
constexpr std::int64_t kStep = 512;            // Bytes of a stride step.
constexpr std::size_t kMemoryLimit = 1U << 20; // Words; SMEM of a chip has a quarter of that.

float AsFloat(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

std::uint32_t AsBits(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

std::int32_t Signed(std::uint32_t value) { return static_cast<std::int32_t>(value); }

std::uint32_t ToInteger(float value) {
  if (std::isnan(value)) return 0;
  if (value >= 2147483648.0F) return 0x7fffffff;
  if (value <= -2147483648.0F) return 0x80000000;
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
}

std::uint32_t LeadingZeros(std::uint32_t value) {
  return value == 0 ? 32 : static_cast<std::uint32_t>(__builtin_clz(value));
}

}  // namespace

Machine::Machine(const Kernel& kernel, const MachineOptions& options)
    : kernel_(kernel), options_(options), matrix_(kernel, options.matrix) {
  registers_.assign(RegisterMap::kFirstConstant + kernel.constants().size(), 0);
  registers_[RegisterMap::kTrue] = 1;
  for (std::size_t i = 0; i < kernel.constants().size(); ++i) {
    registers_[RegisterMap::kFirstConstant + i] = Initial(kernel.constants()[i]);
  }
  auto preset = [&](const std::string& name, std::uint32_t value) {
    auto symbol = kernel.symbols().find(name);
    if (symbol != kernel.symbols().end()) memory_.Write(Initial(symbol->second), value);
  };
  for (const std::string& name : kernel.launch_flags()) preset(name, 1);
  for (const std::string& name : kernel.prefetch_flags()) preset(name, options.warm ? 1 : 0);
  for (const auto& [name, value] : options.smem) preset(name, value);
  block_runs_.assign(kernel.blocks().size(), 0);
  taken_runs_.assign(kernel.blocks().size(), 0);
  EnterBlock(0);
}

// Objects get addresses of their own, far enough apart that pointers into them never meet. VMEM pointers
// count 512 B words, SMEM words of 4 B, flags are numbered.
std::uint32_t Machine::Initial(const Constant& constant) const {
  auto hbm = [this](const std::vector<std::int64_t>& addresses, std::int64_t index) {
    std::size_t i = static_cast<std::size_t>(index);
    bool known = index >= 0 && i < addresses.size() && addresses[i] >= 0;
    std::int64_t address = known ? addresses[i] : (index % 64) * 2 * kGiB;
    return static_cast<std::uint32_t>(address / std::max<Bytes>(1, options_.hbm_unit_bytes));
  };
  std::int64_t value = constant.value;
  switch (constant.kind) {
    case Constant::Kind::kLiteral:
      break;
    case Constant::Kind::kParameter:
      return hbm(options_.parameter_addresses, constant.index);
    case Constant::Kind::kOperand:
      if (constant.space == Space::kHbm) return hbm(options_.operand_addresses, constant.index);
      value = constant.space == Space::kVmem   ? constant.index << 18
              : constant.space == Space::kFlag ? (constant.index + 8192) << 12
                                               : (constant.index + 8192) << 16;
      break;
    case Constant::Kind::kSymbol:
      value += constant.space == Space::kVmem   ? (constant.index + 128) << 18
               : constant.space == Space::kFlag ? (constant.index + 1) << 12
               : constant.space == Space::kHbm  ? (constant.index + 1) << 20
                                                : (constant.index + 1) << 16;
      break;
  }
  return static_cast<std::uint32_t>(value);
}

void Machine::EnterBlock(std::int32_t block) {
  block_ = block;
  const Block& b = kernel_.blocks()[static_cast<std::size_t>(block)];
  pc_ = b.first_op;
  mark_ = b.begin;
  matrix_mark_ = b.first_matrix;
}

void Machine::AccountTo(std::uint32_t bundle) {
  if (bundle <= mark_) return;
  const Block& block = kernel_.blocks()[static_cast<std::size_t>(block_)];
  Cycles cycles = bundle - mark_;
  event_bundles_ += cycles;
  event_loads_ += kernel_.loads_before(bundle) - kernel_.loads_before(mark_);
  event_stores_ += kernel_.stores_before(bundle) - kernel_.stores_before(mark_);
  if (matrix_.enabled()) {
    std::uint32_t last = matrix_mark_;
    const std::vector<MatrixOp>& ops = kernel_.matrix_ops();
    if (bundle == block.end) {
      last = block.last_matrix;
    } else {
      while (last < block.last_matrix && ops[last].bundle < bundle) ++last;
    }
    cycles += matrix_.Run(matrix_mark_, last, mark_, clock_);
    matrix_mark_ = last;
  }
  bundles_ += bundle - mark_;
  clock_ += cycles;
  cycles_ += cycles;
  event_cycles_ += cycles;
  mark_ = bundle;
}

void Machine::Fail(std::string message, Event& event) {
  event.kind = Event::Kind::kError;
  event.message = std::move(message);
  finished_ = true;
}

Event Machine::Next() {
  if (finished_) return last_;
  Event event;
  event_bundles_ = 0;
  event_cycles_ = 0;
  event_loads_ = event_stores_ = 0;
  jumps_ = 0;
  snapshot_block_ = Block::kEnd;
  while (true) {
    const Block& block = kernel_.blocks()[static_cast<std::size_t>(block_)];
    bool stop = false;
    while (pc_ < block.last_op && !stop) {
      const MicroInstruction& instruction = kernel_.code()[pc_++];
      bool on = (registers_[instruction.predicate] != 0) != instruction.negate;
      stop = on && Execute(instruction, event);
      if (stop) event.bundle = instruction.bundle;
    }
    if (stop || FinishBlock(event)) break;
  }
  event.bundles = event_bundles_;
  event.cycles = event_cycles_;
  event.loads = event_loads_;
  event.stores = event_stores_;
  if (finished_) {
    last_ = event;
    last_.bundles = last_.cycles = last_.loads = last_.stores = 0;
  }
  return event;
}

// The same block with the same registers and nothing stored in between: it will come back forever. The state
// to compare with is renewed at every power of two of the jumps since the last event.
bool Machine::StandsStill(std::int32_t next) {
  constexpr std::int64_t kFirstLook = 1 << 12;
  if (++jumps_ < kFirstLook) return false;
  if (next == snapshot_block_ && stores_done_ == snapshot_stores_ && divisions_.empty() &&
      std::equal(snapshot_.begin(), snapshot_.end(), registers_.begin())) {
    return true;
  }
  if ((jumps_ & (jumps_ - 1)) == 0) {
    snapshot_.assign(registers_.begin(), registers_.begin() + RegisterMap::kFirstScratch);
    snapshot_block_ = divisions_.empty() ? next : Block::kEnd;
    snapshot_stores_ = stores_done_;
  }
  return false;
}

// True if the machine stops here.
bool Machine::FinishBlock(Event& event) {
  std::size_t number = static_cast<std::size_t>(block_);
  const Block& block = kernel_.blocks()[number];
  AccountTo(block.end);
  ++block_runs_[number];
  std::int32_t next = block.next;
  if (block.branches && registers_[RegisterMap::kBranch] != 0) {
    ++taken_runs_[number];
    next = block.taken;
  }
  if (next == Block::kEnd) {
    event.kind = Event::Kind::kEnd;
    finished_ = true;
    return true;
  }
  if (next == Block::kNowhere) {
    Fail(fmt::format("{}:{}: branch to a region that does not exist", kernel_.file(),
                     kernel_.line(block.end - 1)), event);
    return true;
  }
  if (StandsStill(next)) {
    Fail(fmt::format("{}:{}: a loop that never ends: nothing changes in it", kernel_.file(),
                     kernel_.line(block.begin)), event);
    return true;
  }
  if (bundles_ > options_.bundle_limit) {
    Fail(fmt::format("{}:{}: more than {} bundles: taken for an endless loop", kernel_.file(),
                     kernel_.line(block.begin), options_.bundle_limit), event);
    return true;
  }
  EnterBlock(next);
  return false;
}

std::vector<std::string> Machine::notes() const {
  std::vector<std::string> notes;
  if (assumed_values_ > 0) {
    notes.push_back(fmt::format("{} values of the vector unit taken as 0", assumed_values_));
  }
  for (const auto& [address, count] : unwritten_loads_) {
    std::string name = fmt::format("address {:#x}", address);
    for (const auto& [symbol, constant] : kernel_.symbols()) {
      std::uint32_t base = Initial(constant);
      if (constant.space == Space::kSmem && address >= base && address - base < 65536) name = "#" + symbol;
    }
    std::string note = fmt::format("SMEM {} is not in the dump: read as 0", name);
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
    if (notes.size() > 20) break;
  }
  if (failed_checks_ > 0) {
    notes.push_back(fmt::format("{} bounds checks did not hold with the addresses assumed", failed_checks_));
  }
  return notes;
}

void Machine::StartDma(const DmaSite& site, Event& event) {
  Dma& dma = event.dma;
  dma = Dma{};
  dma.kind = static_cast<Dma::Kind>(site.kind);
  dma.thread = site.thread;
  dma.source = HbmAddress(registers_[site.source]);
  dma.destination = HbmAddress(registers_[site.destination]);
  dma.bytes = std::int64_t{registers_[site.size]} * kGranule;
  dma.chunk_bytes = dma.bytes;
  dma.flag = registers_[site.flag];
  bool from_hbm = dma.kind == Dma::Kind::kHbmToVmem || dma.kind == Dma::Kind::kHbmToHbm ||
                  dma.kind == Dma::Kind::kHbmToSmem;
  if (site.descriptor) ApplyDescriptor(site, from_hbm, dma);
  if (!site.strided) return;
  Bytes chunk = std::int64_t{registers_[site.steps]} * kStep;
  Bytes stride = std::int64_t{registers_[from_hbm ? site.source_stride : site.destination_stride]} * kGranule;
  if (chunk <= 0 || chunk >= dma.bytes || stride == chunk) return;  // One contiguous run.
  dma.chunk_bytes = chunk;
  dma.stride = stride;
}

void Machine::ApplyDescriptor(const DmaSite& site, bool from_hbm, Dma& dma) const {
  std::array<std::int64_t, 6> words{};
  for (std::uint32_t i = 0; i < words.size(); ++i) {
    const std::uint32_t* word = memory_.Find(registers_[site.descriptor_address] + i);
    if (word == nullptr) return;      // No strides were set: one run.
    words[i] = *word;
  }
  Bytes outer_stride = words[from_hbm ? 0 : 1] * kGranule, stride = words[from_hbm ? 3 : 4] * kGranule;
  std::int64_t runs = words[2];
  Bytes chunk = words[5] * kStep;
  if (runs <= 0 || chunk <= 0 || chunk >= dma.bytes) return;
  if (runs == 1 || stride == chunk) {   // Runs that touch are one.
    chunk *= runs;
    runs = 1;
  }
  if (runs == 1) {
    if (chunk >= dma.bytes || outer_stride == chunk) return;
    dma.chunk_bytes = chunk;
    dma.stride = outer_stride;
    return;
  }
  dma.chunk_bytes = chunk;
  dma.stride = stride;
  Bytes pattern = chunk * runs;
  if (pattern < dma.bytes && dma.bytes % pattern == 0) {
    dma.outer = dma.bytes / pattern;
    dma.outer_stride = outer_stride;
  }
}

// Returns true at an event. `event.kind` and its fields are set then.
bool Machine::Execute(const MicroInstruction& i, Event& event) {
  std::uint32_t* r = registers_.data();
  std::uint32_t a = r[i.op == MicroOp::kDma || i.op == MicroOp::kCall || i.op == MicroOp::kUnknown ? 0 : i.a];
  std::uint32_t b = r[i.b];
  std::uint32_t& d = r[i.dst];
  switch (i.op) {
    case MicroOp::kMove: d = a; return false;
    case MicroOp::kSelect: d = r[i.c] != 0 ? a : b; return false;
    case MicroOp::kAdd: d = a + b; return false;
    case MicroOp::kSub: d = a - b; return false;
    case MicroOp::kMul: d = a * b; return false;
    case MicroOp::kMulHigh: d = static_cast<std::uint32_t>((std::uint64_t{a} * b) >> 32); return false;
    case MicroOp::kAnd: d = a & b; return false;
    case MicroOp::kOr: d = a | b; return false;
    case MicroOp::kXor: d = a ^ b; return false;
    case MicroOp::kShiftLeft: d = b < 32 ? a << b : 0; return false;
    case MicroOp::kShiftRight: d = b < 32 ? a >> b : 0; return false;
    case MicroOp::kShiftRightSigned:
      d = static_cast<std::uint32_t>(Signed(a) >> std::min(b, 31U));
      return false;
    case MicroOp::kMinSigned: d = Signed(a) < Signed(b) ? a : b; return false;
    case MicroOp::kMaxSigned: d = Signed(a) > Signed(b) ? a : b; return false;
    case MicroOp::kMinUnsigned: d = std::min(a, b); return false;
    case MicroOp::kMaxUnsigned: d = std::max(a, b); return false;
    case MicroOp::kCarry: d = (std::uint64_t{a} + b) >> 32 != 0; return false;
    case MicroOp::kCountLeadingZeros: d = LeadingZeros(a); return false;
    case MicroOp::kPopulation: d = static_cast<std::uint32_t>(__builtin_popcount(a)); return false;
    case MicroOp::kEqual: d = a == b; return false;
    case MicroOp::kNotEqual: d = a != b; return false;
    case MicroOp::kLess: d = Signed(a) < Signed(b); return false;
    case MicroOp::kLessEqual: d = Signed(a) <= Signed(b); return false;
    case MicroOp::kGreater: d = Signed(a) > Signed(b); return false;
    case MicroOp::kGreaterEqual: d = Signed(a) >= Signed(b); return false;
    case MicroOp::kLessUnsigned: d = a < b; return false;
    case MicroOp::kLessEqualUnsigned: d = a <= b; return false;
    case MicroOp::kGreaterUnsigned: d = a > b; return false;
    case MicroOp::kGreaterEqualUnsigned: d = a >= b; return false;
    case MicroOp::kAddFloat: d = AsBits(AsFloat(a) + AsFloat(b)); return false;
    case MicroOp::kSubFloat: d = AsBits(AsFloat(a) - AsFloat(b)); return false;
    case MicroOp::kMulFloat: d = AsBits(AsFloat(a) * AsFloat(b)); return false;
    case MicroOp::kMinFloat: d = AsBits(std::fmin(AsFloat(a), AsFloat(b))); return false;
    case MicroOp::kMaxFloat: d = AsBits(std::fmax(AsFloat(a), AsFloat(b))); return false;
    case MicroOp::kIntToFloat: d = AsBits(static_cast<float>(Signed(a))); return false;
    case MicroOp::kFloatToInt: d = ToInteger(AsFloat(a)); return false;
    case MicroOp::kEqualFloat: d = AsFloat(a) == AsFloat(b); return false;
    case MicroOp::kNotEqualFloat: d = AsFloat(a) != AsFloat(b); return false;
    case MicroOp::kLessFloat: d = AsFloat(a) < AsFloat(b); return false;
    case MicroOp::kLessEqualFloat: d = AsFloat(a) <= AsFloat(b); return false;
    case MicroOp::kGreaterFloat: d = AsFloat(a) > AsFloat(b); return false;
    case MicroOp::kGreaterEqualFloat: d = AsFloat(a) >= AsFloat(b); return false;
    case MicroOp::kPredicateOr: d = (a | b) != 0; return false;
    case MicroOp::kPredicateAnd: d = a != 0 && b != 0; return false;
    case MicroOp::kPredicateXor: d = (a != 0) != (b != 0); return false;
    case MicroOp::kPredicateNand: d = a == 0 || b == 0; return false;
    case MicroOp::kPredicateNor: d = (a | b) == 0; return false;
    case MicroOp::kPredicateNot: d = a == 0; return false;
    case MicroOp::kLoad: {
      const std::uint32_t* word = memory_.Find(a);
      if (word == nullptr && i.b != RegisterMap::kFalse && 
          (unwritten_loads_.size() < 64 || unwritten_loads_.count(a) > 0)) {
        ++unwritten_loads_[a];
      }
      d = word == nullptr ? 0 : *word;
      return false;
    }
    case MicroOp::kStore:
      ++stores_done_;
      if (memory_.size() < kMemoryLimit) memory_.Write(a, b);
      return false;
    case MicroOp::kDivide:
      // By zero: the hardware's answer is not known; these are the usual ones.
      if (divisions_.size() >= 16) divisions_.erase(divisions_.begin());
      divisions_.emplace_back(b == 0 ? 0xffffffffU : a / b, b == 0 ? a : a % b);
      return false;
    case MicroOp::kPopDivide: {
      if (divisions_.empty()) {
        d = 0;
        return false;
      }
      d = i.a == kRemainder ? divisions_.front().second : divisions_.front().first;
      if (i.a != kQuotientFirst) divisions_.erase(divisions_.begin());
      return false;
    }
    case MicroOp::kAssumeZero: d = 0; ++assumed_values_; return false;
    case MicroOp::kBoundsCheck: ++failed_checks_; return false;
    case MicroOp::kDelay: {
      Cycles cycles = std::min<Cycles>(a, 1'000'000'000);
      AccountTo(i.bundle);
      clock_ += cycles;
      cycles_ += cycles;
      event_cycles_ += cycles;
      return false;
    }
    case MicroOp::kDma:
      event.kind = Event::Kind::kDma;
      AccountTo(i.bundle);
      StartDma(kernel_.dmas()[i.a], event);
      event.dma.site = i.a;
      return true;
    case MicroOp::kWait:
    case MicroOp::kFlagSet:
    case MicroOp::kFlagAdd:
      event.kind = i.op == MicroOp::kWait ? Event::Kind::kWait : Event::Kind::kFlag;
      event.set = i.op == MicroOp::kFlagSet;
      event.flag = a;
      event.granules = Signed(b);
      AccountTo(i.bundle);
      return true;
    case MicroOp::kCall: {
      const CallSite& site = kernel_.calls()[i.a];
      event.kind = Event::Kind::kCall;
      event.callee = site.callee;
      for (std::uint16_t argument : site.arguments) event.arguments.push_back(r[argument]);
      AccountTo(i.bundle);
      return true;
    }
    case MicroOp::kUnknown:
      AccountTo(i.bundle);
      Fail(kernel_.unknown(i.a), event);
      return true;
  }
  return false;
}

}  // namespace spillway::llo
