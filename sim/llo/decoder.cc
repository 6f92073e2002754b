// SPDX-License-Identifier: Apache-2.0
#include "sim/llo/decoder.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace spillway::llo {
namespace {

constexpr std::size_t kTypicalBundleBytes = 200;

inline bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && text.compare(0, prefix.size(), prefix) == 0;
}

// Vector-slot operations with an effect that matters: they go through Lower.
bool HasOutsideEffect(std::string_view opcode) {
  const char second = opcode.size() > 1 ? opcode[1] : '\0';
  if (second != 's' && second != 'w' && second != 'd') return false;
  return StartsWith(opcode, "vsync") || StartsWith(opcode, "vwait") || StartsWith(opcode, "vdelay");
}

// Operand type of a vmatmul; one without a type works on f32.
std::string MatmulType(std::string_view opcode) {
  static constexpr std::array<std::string_view, 12> kTypes = {
      "bf16", "f32", "s8", "u8", "s4", "u4", "f8e4m3", "f8e4m3fn", "f8e5m2", "f8e4m3b11", "bf8", "hf8"};
  for (std::size_t at = opcode.find('.'); at != std::string_view::npos;) {
    std::size_t end = std::min(opcode.find('.', at + 1), opcode.size());
    std::string_view part = opcode.substr(at + 1, end - at - 1);
    if (std::find(kTypes.begin(), kTypes.end(), part) != kTypes.end()) return std::string(part);
    at = end == opcode.size() ? std::string_view::npos : end;
  }
  return "f32";
}

int MatrixUnit(std::string_view opcode) {
  std::size_t at = opcode.rfind("mxu");
  if (at == std::string_view::npos || at + 3 >= opcode.size()) return 0;
  char digit = opcode[at + 3];
  return digit >= '0' && digit <= '7' ? digit - '0' : 0;
}

// Which registers an instruction reads, its old result included where the compiler keeps it.
bool Reads(const MicroInstruction& instruction, std::uint16_t reg, const Kernel& kernel) {
  if (instruction.predicate == reg) return true;
  switch (instruction.op) {
    case MicroOp::kDma: {
      const DmaSite& site = kernel.dmas()[instruction.a];
      return site.source == reg || site.size == reg || site.destination == reg || site.flag == reg ||
             site.source_stride == reg || site.destination_stride == reg || site.steps == reg ||
             site.descriptor_address == reg;
    }
    case MicroOp::kCall: {
      const std::vector<std::uint16_t>& arguments = kernel.calls()[instruction.a].arguments;
      return std::find(arguments.begin(), arguments.end(), reg) != arguments.end();
    }
    case MicroOp::kUnknown:
    case MicroOp::kPopDivide:
      return false;
    default:
      return instruction.a == reg || instruction.b == reg || instruction.c == reg;
  }
}

bool Writes(const MicroInstruction& instruction) {
  return instruction.op < MicroOp::kStore || instruction.op == MicroOp::kPopDivide ||
         instruction.op == MicroOp::kAssumeZero;
}

}  // namespace

Decoder::Decoder(std::string_view text, std::string file, DecodeOptions options)
    : text_(text), options_(options), register_origin_(RegisterMap::kTrue) {
  kernel_.file_ = std::move(file);
  options_.branch_delay_slots = std::clamp(options_.branch_delay_slots, 0, 64);
}

Result<Kernel> Decoder::Run() {
  CountDividePops();
  Reserve(text_.size() / kTypicalBundleBytes + 1);
  BundleReader reader(text_, kernel_.file_);
  BundleText bundle;
  while (reader.Next(bundle)) AddBundle(bundle);
  if (!reader.errors().empty()) return reader.errors();
  if (bundles_.empty()) {
    Diagnostic error = Error("no bundles in this file", "expected lines such as `0x1 : { … }`");
    error.file = kernel_.file_;
    return error;
  }
  kernel_.loads_.push_back(loads_);
  kernel_.stores_.push_back(stores_);
  kernel_.multiplies_.push_back(multiplies_);
  ResolveSymbols();
  BuildBlocks();
  return std::move(kernel_);
}

void Decoder::Reserve(std::size_t bundles) {
  bundles_.reserve(bundles);
  kernel_.lines_.reserve(bundles);
  kernel_.depths_.reserve(bundles);
  for (auto* sums : {&kernel_.loads_, &kernel_.stores_, &kernel_.multiplies_}) sums->reserve(bundles + 1);
}

Result<Kernel> Kernel::Parse(std::string_view text, const std::string& file, DecodeOptions options) {
  return Decoder(text, file, options).Run();
}

void Decoder::CountDividePops() {
  constexpr std::string_view kPop = "= spop.drf ";
  for (std::size_t at = text_.find(kPop); at != std::string_view::npos; at = text_.find(kPop, at + 1)) {
    std::size_t begin = text_.find('%', at), end = begin;
    if (begin == std::string_view::npos) break;
    while (end < text_.size() && text_[end] != ' ' && text_[end] != '\n') ++end;
    ++divide_pops_[std::string(text_.substr(begin, end - begin))];
  }
}

void Decoder::Note(int line, const std::string& message) {
  Diagnostic note = Warning(message);
  note.severity = Severity::kNote;
  note.file = kernel_.file_;
  note.line = line;
  kernel_.notes_.push_back(std::move(note));
}

void Decoder::AddBundle(const BundleText& text) {
  std::uint32_t index = static_cast<std::uint32_t>(bundles_.size());
  kernel_.lines_.push_back(static_cast<std::uint32_t>(text.line));
  kernel_.depths_.push_back(static_cast<std::uint8_t>(std::min(text.depth, 255)));
  kernel_.loads_.push_back(loads_);
  kernel_.stores_.push_back(stores_);
  kernel_.multiplies_.push_back(multiplies_);
  for (int region : text.regions) regions_.emplace(region, index);
  if (std::size_t at = text.comment.find("entry bundle: "); at != std::string_view::npos) {
    std::string_view rest = text.comment.substr(at + 14);
    kernel_.entry_ = std::string(Trim(rest.substr(0, rest.rfind("*/"))));
    entry_is_loop_ = text.marker.find("LB") != std::string_view::npos;
  }
  has_exit_bundle_ = text.comment.find("exit bundle: ") != std::string_view::npos;
  Bundle bundle;
  bundle.first_matrix = static_cast<std::uint32_t>(kernel_.matrix_ops_.size());
  early_.clear();
  main_.clear();
  branch_ = Branch{};
  next_scratch_ = RegisterMap::kFirstScratch;
  for (const OpText& op : text.ops) {
    OpcodeView view = PeekOpcode(op.text);
    if (!view.scalar_result && !view.opcode.empty() && view.opcode.front() == 'v' &&
        !HasOutsideEffect(view.opcode)) {
      CountVectorOp(view.opcode);
    } else {
      Lower(op);
    }
  }
  bundle.branch = branch_;
  bundle.first = static_cast<std::uint32_t>(lowered_.size());
  EmitOrdered();
  bundle.last = static_cast<std::uint32_t>(lowered_.size());
  for (std::uint32_t i = bundle.first; i < bundle.last; ++i) lowered_[i].bundle = index;
  bundle.last_matrix = static_cast<std::uint32_t>(kernel_.matrix_ops_.size());
  bundles_.push_back(bundle);
}

void Decoder::CountVectorOp(std::string_view opcode) {
  const char second = opcode.size() > 1 ? opcode[1] : '\0';
  if (second == 'l') {
    loads_ += opcode == "vld" || StartsWith(opcode, "vld.");
  } else if (second == 's') {
    stores_ += opcode == "vst" || StartsWith(opcode, "vst.");
  } else if (second == 'm' && StartsWith(opcode, "vmatmul")) {
    ++multiplies_;
    std::string type = MatmulType(opcode);
    auto [it, added] = type_numbers_.emplace(type, static_cast<std::uint8_t>(type_numbers_.size()));
    if (added) kernel_.matrix_types_.push_back(type);
    kernel_.matrix_ops_.push_back({static_cast<std::uint32_t>(bundles_.size()), MatrixOp::Kind::kMultiply,
                                   static_cast<std::uint8_t>(MatrixUnit(opcode)), it->second});
  } else if (second == 'p' && StartsWith(opcode, "vpop.") && opcode.find(".mr") != std::string_view::npos) {
    kernel_.matrix_ops_.push_back({static_cast<std::uint32_t>(bundles_.size()), MatrixOp::Kind::kPop,
                                   static_cast<std::uint8_t>(MatrixUnit(opcode)), 0});
  }
}

// A bundle reads all its registers before it writes any: put every reader of a register before its
// writer; where that is circular, write to scratch first and move at the end.
void Decoder::EmitOrdered() {
  lowered_.insert(lowered_.end(), early_.begin(), early_.end());
  if (main_.size() <= 1) {
    lowered_.insert(lowered_.end(), main_.begin(), main_.end());
    return;
  }
  std::vector<MicroInstruction> pending = main_, late;
  auto blocked = [&](std::size_t i) {
    if (pending[i].op == MicroOp::kStore) {
      return std::any_of(pending.begin(), pending.end(),
                         [](const MicroInstruction& other) { return other.op == MicroOp::kLoad; });
    }
    if (!Writes(pending[i])) return false;
    for (std::size_t j = 0; j < pending.size(); ++j) {
      if (j != i && Reads(pending[j], pending[i].dst, kernel_)) return true;
    }
    return false;
  };
  while (!pending.empty()) {
    std::size_t pick = 0;
    while (pick < pending.size() && blocked(pick)) ++pick;
    if (pick == pending.size()) {
      pick = 0;
      while (pick < pending.size() && !Writes(pending[pick])) ++pick;
      if (pick == pending.size()) pick = 0;
      MicroInstruction& circular = pending[pick];
      std::uint16_t guard = Scratch(), value = Scratch();
      MicroInstruction hold;
      hold.op = circular.negate ? MicroOp::kPredicateNot : MicroOp::kMove;
      hold.dst = guard;
      hold.a = hold.b = hold.c = circular.predicate;
      lowered_.push_back(hold);
      MicroInstruction move;
      move.dst = circular.dst;
      move.a = move.b = move.c = value;
      move.predicate = guard;
      late.push_back(move);
      circular.dst = value;
      circular.predicate = RegisterMap::kTrue;
      circular.negate = false;
    }
    lowered_.push_back(pending[pick]);
    pending.erase(pending.begin() + static_cast<std::ptrdiff_t>(pick));
  }
  lowered_.insert(lowered_.end(), late.begin(), late.end());
}

void Decoder::ResolveSymbols() {
  std::array<std::int64_t, 4> counts{};
  for (const auto& [name, use] : symbol_uses_) {
    Constant symbol;
    symbol.kind = Constant::Kind::kSymbol;
    symbol.space = use.space;
    symbol.index = counts[static_cast<std::size_t>(use.space)]++;
    kernel_.symbols_[name] = symbol;
  }
  for (const auto& [index, name] : symbol_constants_) {
    std::int64_t offset = kernel_.constants_[index].value;
    kernel_.constants_[index] = kernel_.symbols_[name];
    kernel_.constants_[index].value = offset;
  }
}

// The comments of the entry and the exit bundle take the place of their region marks.
std::optional<std::uint32_t> Decoder::TargetOf(const Branch& branch) const {
  auto target = regions_.find(branch.region);
  if (target != regions_.end()) return target->second;
  if (entry_is_loop_) return 0;
  if (has_exit_bundle_) return static_cast<std::uint32_t>(bundles_.size() - 1);
  return std::nullopt;
}

void Decoder::BuildBlocks() {
  std::size_t count = bundles_.size();
  std::vector<bool> leaders(count + 1, false);
  leaders[0] = true;
  for (std::size_t i = 0; i < count; ++i) {
    const Branch& branch = bundles_[i].branch;
    if (!branch.present) continue;
    if (std::optional<std::uint32_t> target = TargetOf(branch)) {
      leaders[*target] = true;
    } else {
      Note(branch.line, fmt::format("branch to region {}, which does not start anywhere", branch.region));
    }
    std::size_t after = i + 1 + static_cast<std::size_t>(options_.branch_delay_slots);
    if (after < count) leaders[after] = true;
  }
  std::vector<std::int32_t> block_at(count + 1, Block::kEnd);
  std::int32_t blocks = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (leaders[i]) block_at[i] = blocks++;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (leaders[i]) AppendBlock(static_cast<std::uint32_t>(i), leaders);
  }
  for (Block& block : kernel_.blocks_) {
    block.next = block_at[block.end];
    if (!block.branches) continue;
    Branch branch;
    branch.region = block.taken;
    std::optional<std::uint32_t> target = TargetOf(branch);
    block.taken = target ? block_at[*target] : Block::kNowhere;
  }
}

void Decoder::AppendBlock(std::uint32_t begin, const std::vector<bool>& leaders) {
  std::uint32_t count = static_cast<std::uint32_t>(bundles_.size());
  Block block;
  block.begin = begin;
  block.end = begin;
  while (true) {
    const Branch& branch = bundles_[block.end].branch;
    if (branch.present) {
      block.branches = true;
      block.taken = branch.region;      // Becomes a block number in BuildBlocks.
      block.end = std::min(count, block.end + 1 + static_cast<std::uint32_t>(options_.branch_delay_slots));
      break;
    }
    ++block.end;
    if (block.end >= count || leaders[block.end]) break;
  }
  block.first_op = static_cast<std::uint32_t>(kernel_.code_.size());
  bool seen_branch = false;
  for (std::uint32_t i = begin; i < block.end; ++i) {
    const Bundle& bundle = bundles_[i];
    kernel_.code_.insert(kernel_.code_.end(), lowered_.begin() + bundle.first,
                         lowered_.begin() + bundle.last);
    if (bundle.branch.present && seen_branch) {
      MicroInstruction stop;
      stop.op = MicroOp::kUnknown;
      stop.bundle = i;
      stop.a = static_cast<std::uint16_t>(std::min<std::size_t>(kernel_.unknowns_.size(), 65535));
      kernel_.unknowns_.push_back(fmt::format("{}:{}: a branch in the delay slot of another",
                                              kernel_.file_, bundle.branch.line));
      kernel_.code_.push_back(stop);
    }
    seen_branch |= bundle.branch.present;
  }
  block.last_op = static_cast<std::uint32_t>(kernel_.code_.size());
  block.first_matrix = bundles_[begin].first_matrix;
  block.last_matrix = bundles_[block.end - 1].last_matrix;
  block.loads = kernel_.loads_[block.end] - kernel_.loads_[begin];
  block.stores = kernel_.stores_[block.end] - kernel_.stores_[begin];
  block.pure = std::all_of(kernel_.code_.begin() + block.first_op, kernel_.code_.begin() + block.last_op,
                           [](const MicroInstruction& i) { return i.op < MicroOp::kDma; });
  kernel_.blocks_.push_back(block);
}

}  // namespace spillway::llo
