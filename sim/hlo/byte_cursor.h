// SPDX-License-Identifier: Apache-2.0
// Reads the primitives of MLIR bytecode. After the first failure every read gives zero and `ok()` is false.
#pragma once

#include <cstdint>
#include <string_view>

namespace spillway::hlo {

class ByteCursor {
 public:
  /// `base`: position of `bytes` in the file; sections are aligned to the file.
  explicit ByteCursor(std::string_view bytes, std::size_t base = 0) : bytes_(bytes), base_(base) {}

  bool ok() const { return ok_; }
  void Fail() { ok_ = false; }
  bool AtEnd() const { return at_ >= bytes_.size(); }
  std::size_t position() const { return base_ + at_; }
  std::size_t remaining() const { return bytes_.size() - at_; }

  std::uint8_t Byte();
  std::uint64_t VarInt();
  std::int64_t SignedVarInt();
  /// The low bit is a flag of its own.
  std::uint64_t VarIntWithFlag(bool& flag);
  /// A count of things that take a byte or more each: fails if so many cannot follow.
  std::size_t Count();
  std::string_view Bytes(std::uint64_t size);
  /// Up to a zero byte, which is skipped.
  std::string_view CString();
  void Align(std::uint64_t alignment);

 private:
  std::string_view bytes_;
  std::size_t base_ = 0, at_ = 0;
  bool ok_ = true;
};

}  // namespace spillway::hlo
