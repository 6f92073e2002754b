// SPDX-License-Identifier: Apache-2.0
// Internal: builds a Kernel from bundle text. Lowering of single operations is in lower.cc, of
// bundles and blocks in decoder.cc.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/llo/bundle_text.h"
#include "sim/llo/kernel.h"
#include "sim/llo/operation.h"

namespace spillway::llo {

class Decoder {
 public:
  Decoder(std::string_view text, std::string file, DecodeOptions options);
  Result<Kernel> Run();

 private:
  struct Branch {
    bool present = false;
    int region = -1;
    int line = 0;
  };
  struct Bundle {
    std::uint32_t first = 0, last = 0;      ///< Into `lowered_`.
    std::uint32_t first_matrix = 0, last_matrix = 0;
    Branch branch;
  };

  // decoder.cc
  void Reserve(std::size_t bundles);
  void AddBundle(const BundleText& text);
  void CountVectorOp(std::string_view opcode);
  void EmitOrdered();
  void BuildBlocks();
  std::optional<std::uint32_t> TargetOf(const Branch& branch) const;
  void AppendBlock(std::uint32_t begin, const std::vector<bool>& leaders);
  void ResolveSymbols();
  void CountDividePops();
  void Note(int line, const std::string& message);

  // lower.cc
  void Lower(const OpText& text);
  void LowerOperation(const Operation& operation, std::vector<Operand>& operands);
  bool LowerArithmetic(const Operation& operation, std::vector<Operand>& operands);
  bool LowerMemory(const Operation& operation, std::vector<Operand>& operands);
  bool LowerSync(const Operation& operation, std::vector<Operand>& operands);
  bool LowerDma(const Operation& operation, std::vector<Operand>& operands);
  void LowerGeneralDma(const Operation& operation, const std::vector<Operand>& operands, DmaSite* site);
  void TrackPointers(const Operation& operation, const std::vector<Operand>& operands);
  /// "hbm", "vmem", "smem" or "sflag".
  static std::optional<Space> PointerSpace(std::string_view name);
  std::optional<Space> PointerSpaceOf(const Operand& operand) const;
  bool LowerCall(const Operation& operation, const std::vector<Operand>& operands);
  bool LowerBranch(const Operation& operation);
  bool LowerConstant(const Operation& operation, const std::vector<Operand>& operands);
  void LowerUnknown(const Operation& operation, const std::string& why);
  void TrackLaunchFlags(const Operation& operation, const std::vector<Operand>& operands);
  void Emit(const Operation& operation, MicroInstruction instruction);
  std::uint16_t ResultRegister(const Operation& operation);
  std::uint16_t RegisterOf(const RegisterName& name);
  std::uint16_t ValueOf(const Operand& operand, Space symbol_space, bool space_known);
  std::uint16_t ValueOf(const Operand& operand) { return ValueOf(operand, Space::kVmem, false); }
  std::uint16_t FlagOf(const Operand& operand) { return ValueOf(operand, Space::kFlag, true); }
  std::uint16_t LiteralRegister(std::uint32_t value);
  std::uint16_t ConstantRegister(const Constant& constant);
  std::uint16_t SymbolRegister(const std::string& name, std::int64_t offset, Space space, bool known);
  std::uint16_t Scratch();

  std::string_view text_;
  DecodeOptions options_;
  Kernel kernel_;
  std::vector<Bundle> bundles_;
  std::vector<MicroInstruction> lowered_;
  std::map<int, std::uint32_t> regions_;
  std::map<std::pair<int, std::int64_t>, std::uint16_t> constant_registers_;
  std::map<std::pair<std::string, std::int64_t>, std::uint16_t> symbol_registers_;
  struct SymbolUse {
    Space space = Space::kVmem;
    bool known = false;
  };
  std::map<std::string, SymbolUse> symbol_uses_;
  std::vector<std::pair<std::size_t, std::string>> symbol_constants_;  ///< Constant number, name.
  std::set<std::string> assumed_opcodes_;       ///< Noted already.
  std::map<std::string, std::uint8_t> type_numbers_;
  std::map<int, Space> pointer_spaces_;         ///< By value number: what a pointer points into.
  std::set<std::string> quotients_;             ///< Tokens of divisions that give the quotient only.
  std::map<std::string, int> divide_pops_;      ///< Token of a division: pops not yet seen.
  std::vector<std::string> register_origin_;    ///< SMEM symbol that a register was just loaded from.
  // The bundle being decoded.
  std::vector<MicroInstruction> early_, main_;
  Branch branch_;
  std::uint16_t next_scratch_ = RegisterMap::kFirstScratch;
  bool failed_ = false;                         ///< Out of register space: the operation is unknown.
  std::int64_t loads_ = 0, stores_ = 0, multiplies_ = 0;
  bool entry_is_loop_ = false, has_exit_bundle_ = false;
};

}  // namespace spillway::llo
