// SPDX-License-Identifier: Apache-2.0
// Sync, DMA and call operations of a bundle to micro instructions.
#include <cstdlib>
#include <utility>

#include "sim/llo/decoder.h"
#include "sim/llo/machine.h"

namespace spillway::llo {
namespace {

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

Dma::Kind DmaKind(std::string_view path) {
  if (path == "hbm_to_vmem") return Dma::Kind::kHbmToVmem;
  if (path == "vmem_to_hbm") return Dma::Kind::kVmemToHbm;
  if (path == "hbm_to_hbm") return Dma::Kind::kHbmToHbm;
  if (path == "vmem_to_vmem") return Dma::Kind::kVmemToVmem;
  if (path == "hbm_to_smem") return Dma::Kind::kHbmToSmem;
  if (path == "smem_to_hbm") return Dma::Kind::kSmemToHbm;
  return Dma::Kind::kOther;
}

const Operand* Named(const std::vector<Operand>& operands, std::string_view name) {
  for (const Operand& operand : operands) {
    if (operand.name == name) return &operand;
  }
  return nullptr;
}

}  // namespace

std::optional<Space> Decoder::PointerSpace(std::string_view name) {
  if (name == "vmem") return Space::kVmem;
  if (name == "smem") return Space::kSmem;
  if (name == "sflag") return Space::kFlag;
  if (name == "hbm") return Space::kHbm;
  return std::nullopt;
}

bool Decoder::LowerSync(const Operation& operation, std::vector<Operand>& operands) {
  const std::string& opcode = operation.opcode;
  MicroInstruction instruction;
  if (opcode == "shalt.err") {
    instruction.op = MicroOp::kBoundsCheck;
    Emit(operation, instruction);
    return true;
  }
  if (opcode == "vdelay" || opcode == "sdelay") {
    instruction.op = MicroOp::kDelay;
    if (operands.size() != 1) failed_ = true;
    if (!failed_) instruction.a = ValueOf(operands[0]);
    Emit(operation, instruction);
    return true;
  }
  bool dma_wait = opcode == "dma.done.wait" || opcode == "dma.done";
  bool wait_ge = StartsWith(opcode, "vwait.ge");
  bool wait_other = (StartsWith(opcode, "vwait.") && !wait_ge) || opcode == "vsyncadd.remote";
  bool set = StartsWith(opcode, "vsyncpa") || StartsWith(opcode, "vsyncset");
  bool add = opcode == "vsyncadd" || opcode == "vsyncadd.s32";
  if (!dma_wait && !wait_ge && !wait_other && !set && !add) return false;
  // Waits for another value than a count come from host and multi-chip protocols: they hold here. Signals to
  // another core (SparseCore) go nowhere: only this core is replayed.
  if (wait_other) return true;
  if (operands.size() != 2) {
    failed_ = true;
    return true;
  }
  instruction.op = set ? MicroOp::kFlagSet : add ? MicroOp::kFlagAdd : MicroOp::kWait;
  instruction.a = FlagOf(operands[0]);
  instruction.b = ValueOf(operands[1]);
  Emit(operation, instruction);
  return true;
}

bool Decoder::LowerDma(const Operation& operation, std::vector<Operand>& operands) {
  if (!StartsWith(operation.opcode, "dma.")) return false;
  if (kernel_.dmas_.size() >= 65535 || operands.size() < 4) {
    failed_ = true;
    return true;
  }
  DmaSite site;
  site.opcode = operation.opcode;
  site.line = operation.line;
  site.thread = std::atoi(operation.comment.c_str());
  site.kind = static_cast<std::uint8_t>(DmaKind(std::string_view(operation.opcode).substr(4)));
  if (operation.opcode == "dma.smem_to_host_iova") {
    const Operand* size = Named(operands, "size_in_granules");
    if (size == nullptr && operands.size() < 5) failed_ = true;
    if (failed_) return true;
    site.source = ValueOf(operands[0], Space::kSmem, true);
    site.destination = ValueOf(operands[1]);
    site.flag = FlagOf(operands[3]);
    site.size = ValueOf(size != nullptr ? *size : operands[4]);
  } else if (operation.opcode == "dma.general") {
    LowerGeneralDma(operation, operands, &site);
  } else if (operands.size() == 4 || operands.size() == 7) {
    site.source = ValueOf(operands[0]);
    site.size = ValueOf(operands[1]);
    site.destination = ValueOf(operands[2]);
    site.flag = FlagOf(operands[3]);
    if (operands.size() == 7) {
      site.strided = true;
      site.source_stride = ValueOf(operands[4]);
      site.destination_stride = ValueOf(operands[5]);
      site.steps = ValueOf(operands[6]);
    }
  } else {
    return false;
  }
  MicroInstruction instruction;
  instruction.op = MicroOp::kDma;
  instruction.a = static_cast<std::uint16_t>(kernel_.dmas_.size());
  kernel_.dmas_.push_back(site);
  Emit(operation, instruction);
  return true;
}

// dma.general says neither where it reads nor where it writes: the pointers do.
void Decoder::LowerGeneralDma(const Operation& operation, const std::vector<Operand>& operands,
                              DmaSite* site) {
  const Operand* descriptor = Named(operands, "stridedescaddr");
  if (descriptor == nullptr && operands.size() > 5) descriptor = &operands[5];
  site->source = ValueOf(operands[0]);
  site->size = ValueOf(operands[1]);
  site->destination = ValueOf(operands[2]);
  site->flag = FlagOf(operands[3]);
  if (descriptor != nullptr) {
    site->descriptor = true;
    site->descriptor_address = ValueOf(*descriptor, Space::kSmem, true);
  }
  std::optional<Space> from = PointerSpaceOf(operands[0]), to = PointerSpaceOf(operands[2]);
  bool from_smem = from == Space::kSmem || operation.trailing.find("smem-to-") != std::string::npos;
  Dma::Kind kind = Dma::Kind::kOther;
  if (from_smem) {
    kind = Dma::Kind::kSmemToHbm;
  } else if (from == Space::kHbm) {
    kind = to == Space::kHbm    ? Dma::Kind::kHbmToHbm
           : to == Space::kSmem ? Dma::Kind::kHbmToSmem
                                : Dma::Kind::kHbmToVmem;
  } else if (to == Space::kHbm) {
    kind = Dma::Kind::kVmemToHbm;
  } else if (from == Space::kVmem && to == Space::kVmem) {
    kind = Dma::Kind::kVmemToVmem;
  }
  site->kind = static_cast<std::uint8_t>(kind);
}

std::optional<Space> Decoder::PointerSpaceOf(const Operand& operand) const {
  for (const RegisterName& name : operand.registers) {
    auto known = pointer_spaces_.find(name.value);
    if (known != pointer_spaces_.end()) return known->second;
  }
  auto symbol = symbol_uses_.find(operand.symbol);
  if (symbol != symbol_uses_.end() && symbol->second.known) return symbol->second.space;
  return std::nullopt;
}

void Decoder::TrackPointers(const Operation& operation, const std::vector<Operand>& operands) {
  if (operation.results.size() != 1 || operation.results[0].file != RegisterName::File::kScalar) return;
  std::string_view opcode = operation.opcode;
  std::optional<Space> space;
  for (std::string_view prefix : {"scalar_lea.", "int_to_ptr.", "inlined_call_operand."}) {
    if (StartsWith(opcode, prefix)) space = PointerSpace(opcode.substr(prefix.size()));
  }
  if (opcode == "scalar_parameter_address") space = Space::kHbm;
  bool copies = StartsWith(opcode, "smov") || opcode == "scalar_select" || StartsWith(opcode, "sshll");
  std::size_t copied = opcode == "scalar_select" && operands.size() > 1 ? operands.size() - 2 : 0;
  if (copies && !operands.empty()) space = PointerSpaceOf(operands[copied]);
  if (space && operation.results[0].value >= 0) pointer_spaces_[operation.results[0].value] = *space;
}

bool Decoder::LowerCall(const Operation& operation, const std::vector<Operand>& operands) {
  if (operation.opcode != "inlined_call" && operation.opcode != "call") return false;
  if (kernel_.calls_.size() >= 65535) {
    failed_ = true;
    return true;
  }
  CallSite site;
  std::string_view callee = operation.comment;
  site.callee = std::string(Trim(callee.substr(0, callee.find(" = "))));
  if (!site.callee.empty() && site.callee.front() == '%') site.callee.erase(0, 1);
  for (const Operand& operand : operands) site.arguments.push_back(ValueOf(operand));
  MicroInstruction instruction;
  instruction.op = MicroOp::kCall;
  instruction.a = static_cast<std::uint16_t>(kernel_.calls_.size());
  kernel_.calls_.push_back(std::move(site));
  Emit(operation, instruction);
  return true;
}

}  // namespace spillway::llo
