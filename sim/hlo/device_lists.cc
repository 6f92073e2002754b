// SPDX-License-Identifier: Apache-2.0
// Device counts in shardings and replica groups.
#include <fmt/format.h>

#include "sim/hlo/parser.h"

namespace spillway::hlo {
namespace {

// `[2,2]`: the product of the numbers; -1 if it is no such list or overflows.
std::int64_t BracketProduct(Cursor* cursor) {
  if (!cursor->Consume('[')) return -1;
  std::int64_t product = 1;
  do {
    std::int64_t value = 0;
    if (!cursor->Integer(&value, "a number") || value < 0) return -1;
    if (__builtin_mul_overflow(product, value, &product)) return -1;
  } while (cursor->Consume(','));
  return cursor->Consume(']') ? product : -1;
}

std::string Check(Cursor* cursor, bool listed, std::size_t* where) {
  *where = cursor->offset();
  const std::int64_t tiles = BracketProduct(cursor);
  if (tiles < 0) return "expected a list of numbers such as [2,4]";
  if (cursor->ConsumeText("<=")) {
    const std::int64_t devices = BracketProduct(cursor);
    if (devices < 0) return "expected a list of numbers after '<='";
    if (devices != tiles) {
      return fmt::format("the tile dimensions make {} devices, the list after '<=' makes {}", tiles, devices);
    }
    return "";
  }
  if (!listed || !chars::Is(cursor->Next(), chars::kDigit)) return "";
  std::int64_t count = 0, device = 0;
  do {
    if (!chars::Is(cursor->Next(), chars::kDigit)) break;
    if (!cursor->Integer(&device, "a device number")) return "expected a device number";
    ++count;
  } while (cursor->Consume(','));
  if (count != tiles) return fmt::format("the tile dimensions make {} devices, {} are listed", tiles, count);
  return "";
}

}  // namespace

std::string CheckDeviceLists(std::string_view value, std::size_t* where) {
  Cursor cursor(value);
  if (!value.empty() && value.front() == '[') return Check(&cursor, false, where);
  constexpr std::string_view kKey = "devices=";
  for (std::size_t at = value.find(kKey); at != std::string_view::npos; at = value.find(kKey, at + 1)) {
    cursor.Seek(at + kKey.size());
    std::string problem = Check(&cursor, true, where);
    if (!problem.empty()) return problem;
  }
  return "";
}

}  // namespace spillway::hlo
