// SPDX-License-Identifier: Apache-2.0
#include "sim/hlo/byte_cursor.h"

namespace spillway::hlo {

std::uint8_t ByteCursor::Byte() {
  if (!ok_ || at_ >= bytes_.size()) {
    ok_ = false;
    return 0;
  }
  return static_cast<std::uint8_t>(bytes_[at_++]);
}

std::uint64_t ByteCursor::VarInt() {
  std::uint8_t first = Byte();
  if (!ok_) return 0;
  // The number of low zero bits is the number of bytes that follow.
  int more = 0;
  while (more < 8 && ((first >> more) & 1) == 0) ++more;
  std::uint64_t value = more < 7 ? first >> (more + 1) : 0;
  int bits = more < 8 ? 7 - more : 0;
  for (int i = 0; i < more; ++i) value |= static_cast<std::uint64_t>(Byte()) << (bits + 8 * i);
  return ok_ ? value : 0;
}

std::int64_t ByteCursor::SignedVarInt() {
  std::uint64_t value = VarInt();
  return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

std::uint64_t ByteCursor::VarIntWithFlag(bool& flag) {
  std::uint64_t value = VarInt();
  flag = (value & 1) != 0;
  return value >> 1;
}

std::size_t ByteCursor::Count() {
  std::uint64_t count = VarInt();
  if (count > remaining()) ok_ = false;
  return ok_ ? static_cast<std::size_t>(count) : 0;
}

std::string_view ByteCursor::Bytes(std::uint64_t size) {
  if (!ok_ || size > remaining()) {
    ok_ = false;
    return {};
  }
  std::string_view bytes = bytes_.substr(at_, static_cast<std::size_t>(size));
  at_ += static_cast<std::size_t>(size);
  return bytes;
}

std::string_view ByteCursor::CString() {
  std::size_t end = ok_ ? bytes_.find('\0', at_) : std::string_view::npos;
  if (end == std::string_view::npos) {
    ok_ = false;
    return {};
  }
  std::string_view text = bytes_.substr(at_, end - at_);
  at_ = end + 1;
  return text;
}

void ByteCursor::Align(std::uint64_t alignment) {
  if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > (1U << 20)) {
    ok_ = false;
    return;
  }
  while (ok_ && position() % alignment != 0) Byte();
}

}  // namespace spillway::hlo
