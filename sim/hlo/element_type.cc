// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstring>

#include "sim/hlo/shape.h"

namespace spillway::hlo {
namespace {

struct TypeInfo {
  std::string_view name;
  int bits;
  bool floating;
};

// In the order of ElementType. Names and sizes: xla_data.proto and primitive_util.
constexpr std::array<TypeInfo, 35> kTypes{{
    {"", 0, false},          {"pred", 8, false},    {"s1", 1, false},           {"s2", 2, false},
    {"s4", 4, false},        {"s8", 8, false},      {"s16", 16, false},         {"s32", 32, false},
    {"s64", 64, false},      {"u1", 1, false},      {"u2", 2, false},           {"u4", 4, false},
    {"u8", 8, false},        {"u16", 16, false},    {"u32", 32, false},         {"u64", 64, false},
    {"f4e2m1fn", 4, true},   {"f8e3m4", 8, true},   {"f8e4m3", 8, true},        {"f8e4m3fn", 8, true},
    {"f8e4m3b11fnuz", 8, true}, {"f8e4m3fnuz", 8, true}, {"f8e5m2", 8, true},   {"f8e5m2fnuz", 8, true},
    {"f8e8m0fnu", 8, true},  {"f16", 16, true},     {"bf16", 16, true},         {"f32", 32, true},
    {"f64", 64, true},       {"c64", 64, false},    {"c128", 128, false},       {"token", 0, false},
    {"opaque", 0, false},    {"tuple", 0, false},    {"b", 0, false},
}};
static_assert(static_cast<std::size_t>(ElementType::kBuffer) + 1 == kTypes.size());

const TypeInfo& Info(ElementType type) { return kTypes[static_cast<std::size_t>(type)]; }

}  // namespace

ElementType ElementTypeFromName(std::string_view name) {
  // The four types that make up nearly all of a dump are looked at first.
  if (name == "f32") return ElementType::kF32;
  if (name == "bf16") return ElementType::kBF16;
  if (name == "s32") return ElementType::kS32;
  if (name == "u32") return ElementType::kU32;
  for (std::size_t i = 1; i < kTypes.size(); ++i) {
    if (kTypes[i].name == name) return static_cast<ElementType>(i);
  }
  if (name == "opaque_t") return ElementType::kOpaque;
  return ElementType::kInvalid;
}

std::string_view ElementTypeName(ElementType type) { return Info(type).name; }
int ElementBits(ElementType type) { return Info(type).bits; }
bool IsFloating(ElementType type) { return Info(type).floating; }

}  // namespace spillway::hlo
