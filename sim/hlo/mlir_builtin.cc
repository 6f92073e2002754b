// SPDX-License-Identifier: Apache-2.0
#include "sim/hlo/mlir_builtin.h"

#include <cstring>
#include <iterator>

namespace spillway::hlo {
namespace {

using AttributeKind = MlirAttribute::Kind;
using TypeKind = MlirType::Kind;

/// Codes of the builtin dialect's attributes.
enum AttributeCode : std::uint64_t {
  kArray = 0, kDictionary, kString, kStringWithType, kFlatSymbol, kSymbol, kTypeAttribute, kUnit, kInteger, kFloat,
  kCallSiteLocation, kFileLocation, kFusedLocation, kFusedLocationWithMetadata, kNameLocation, kUnknownLocation,
  kDenseResource, kDenseArray, kDenseElements
};

/// Codes of its types.
enum TypeCode : std::uint64_t {
  kIntegerType = 0, kIndexType, kFunctionType, kBf16, kF16, kF32, kF64, kF80, kF128, kComplex, kMemRef,
  kMemRefInSpace, kNone, kRankedTensor, kRankedTensorWithEncoding, kTuple, kUnrankedMemRef, kUnrankedMemRefInSpace,
  kUnrankedTensor, kVector, kScalableVector, kFirstNarrowFloat
};

/// Floats that the format took up later, from code 21 on (read from files that MLIR 23 writes).
struct NarrowFloat {
  const char* name;
  int bits;
};
constexpr NarrowFloat kNarrowFloats[] = {{"tf32", 19},      {"f8E5M2", 8},       {"f8E4M3", 8},     {"f8E4M3FN", 8},
                                         {"f8E5M2FNUZ", 8}, {"f8E4M3FNUZ", 8},   {"f8E4M3B11FNUZ", 8}, {"f8E3M4", 8},
                                         {"f4E2M1FN", 4},   {"f6E2M3FN", 6},     {"f6E3M2FN", 6},   {"f8E8M0FNU", 8}};

int Number(ByteCursor& in) {
  std::uint64_t value = in.VarInt();
  if (value > 0x7fffffff) in.Fail();
  return in.ok() ? static_cast<int>(value) : -1;
}

std::vector<int> Numbers(ByteCursor& in) {
  std::vector<int> numbers;
  std::size_t count = in.Count();
  for (std::size_t i = 0; i < count && in.ok(); ++i) numbers.push_back(Number(in));
  return numbers;
}

Dims ShapeOf(ByteCursor& in) {
  Dims shape;
  std::size_t count = in.Count();
  for (std::size_t i = 0; i < count && in.ok(); ++i) shape.push_back(in.SignedVarInt());
  return shape;
}

std::int64_t BitsAsInteger(ByteCursor& in, int bits) {
  if (bits <= 8) return static_cast<std::int8_t>(in.Byte());
  if (bits <= 64) {
    // Zero-extended in the file.
    std::uint64_t raw = static_cast<std::uint64_t>(in.SignedVarInt()) << (64 - bits);
    return static_cast<std::int64_t>(raw) >> (64 - bits);
  }
  // Wider ones: the lowest word.
  std::size_t words = in.Count();
  std::int64_t low = 0;
  for (std::size_t i = 0; i < words && in.ok(); ++i) {
    std::int64_t word = in.SignedVarInt();
    if (i == 0) low = word;
  }
  return low;
}

double BitsAsReal(std::int64_t raw, const std::string& type) {
  if (type == "f64") {
    double value = 0;
    std::memcpy(&value, &raw, sizeof(value));
    return value;
  }
  auto bits = static_cast<std::uint32_t>(raw);
  if (type == "bf16") bits <<= 16;
  if (type != "bf16" && type != "f32") return 0;
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return static_cast<double>(value);
}

std::vector<std::int64_t> Words(std::string_view bytes, int bits) {
  std::vector<std::int64_t> words;
  std::size_t size = bits <= 8 ? 1 : static_cast<std::size_t>(bits) / 8;
  for (std::size_t at = 0; at + size <= bytes.size(); at += size) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < size; ++i) {
      word |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(bytes[at + i])) << (8 * i);
    }
    if (size < 8 && ((word >> (8 * size - 1)) & 1) != 0) word |= ~std::uint64_t{0} << (8 * size);
    words.push_back(static_cast<std::int64_t>(word));
  }
  return words;
}

MlirType Named(TypeKind kind, const char* name, int bits) {
  MlirType type;
  type.kind = kind;
  type.name = name;
  type.bits = bits;
  return type;
}

}  // namespace

MlirAttribute BuiltinReader::Attribute(ByteCursor& in, std::vector<std::int64_t>& keys) const {
  MlirAttribute attribute;
  auto bits_of = [&](int type) {
    bool known = type >= 0 && type < static_cast<int>(types.size()) && types[type].bits > 0;
    if (!known) in.Fail();
    return known ? types[type].bits : 1;
  };
  switch (in.VarInt()) {
    case kArray:
      attribute.kind = AttributeKind::kArray;
      attribute.elements = Numbers(in);
      break;
    case kDictionary: {
      attribute.kind = AttributeKind::kDictionary;
      std::size_t count = in.Count();
      for (std::size_t i = 0; i < count && in.ok(); ++i) {
        keys.push_back(Number(in));
        attribute.entries.emplace_back("", Number(in));
      }
      break;
    }
    case kString:
    case kStringWithType: {
      attribute.kind = AttributeKind::kString;
      std::uint64_t number = in.VarInt();
      if (number >= strings.size()) in.Fail();
      if (in.ok()) attribute.text = strings[number];
      break;
    }
    case kFlatSymbol:
    case kSymbol:
      // The name is a string attribute: resolved with the dictionaries' keys.
      attribute.kind = AttributeKind::kSymbol;
      keys.push_back(Number(in));
      break;
    case kTypeAttribute:
      attribute.kind = AttributeKind::kType;
      attribute.type = Number(in);
      break;
    case kUnit:
      attribute.kind = AttributeKind::kUnit;
      break;
    case kInteger:
      attribute.kind = AttributeKind::kInteger;
      attribute.type = Number(in);
      attribute.integer = BitsAsInteger(in, bits_of(attribute.type));
      break;
    case kFloat: {
      attribute.kind = AttributeKind::kFloat;
      attribute.type = Number(in);
      int bits = bits_of(attribute.type);
      if (in.ok()) attribute.real = BitsAsReal(BitsAsInteger(in, bits), types[attribute.type].name);
      break;
    }
    case kDenseArray: {
      attribute.kind = AttributeKind::kIntegers;
      attribute.type = Number(in);
      in.VarInt();
      int bits = bits_of(attribute.type);
      std::string_view bytes = in.Bytes(in.VarInt());
      if (bits <= 64) attribute.integers = Words(bytes, bits);
      break;
    }
    case kDenseElements:
      attribute.kind = AttributeKind::kDense;
      attribute.type = Number(in);
      break;
    default:
      break;  // Locations, resources, strings in tensors: of no use here, and each has its length outside.
  }
  return attribute;
}

MlirType BuiltinReader::Type(ByteCursor& in) {
  MlirType type;
  std::uint64_t code = in.VarInt();
  switch (code) {
    case kIntegerType: {
      std::uint64_t width = in.VarInt() >> 2;
      if (width == 0 || width > 1 << 24) in.Fail();
      type.kind = TypeKind::kInteger;
      type.bits = in.ok() ? static_cast<int>(width) : 1;
      type.name = "i" + std::to_string(type.bits);
      break;
    }
    case kIndexType: return Named(TypeKind::kIndex, "index", 64);
    case kFunctionType:
      type.kind = TypeKind::kFunction;
      type.inputs = Numbers(in);
      type.results = Numbers(in);
      break;
    case kBf16: return Named(TypeKind::kFloat, "bf16", 16);
    case kF16: return Named(TypeKind::kFloat, "f16", 16);
    case kF32: return Named(TypeKind::kFloat, "f32", 32);
    case kF64: return Named(TypeKind::kFloat, "f64", 64);
    case kF80: return Named(TypeKind::kFloat, "f80", 80);
    case kF128: return Named(TypeKind::kFloat, "f128", 128);
    case kMemRefInSpace:
    case kMemRef:
      type.kind = TypeKind::kMemRef;
      if (code == kMemRefInSpace) type.memory_space = Number(in);
      type.shape = ShapeOf(in);
      type.element = Number(in);
      break;
    case kRankedTensorWithEncoding:
    case kRankedTensor:
      type.kind = TypeKind::kTensor;
      if (code == kRankedTensorWithEncoding) Number(in);
      type.shape = ShapeOf(in);
      type.element = Number(in);
      break;
    case kVector:
      type.kind = TypeKind::kVector;
      type.shape = ShapeOf(in);
      type.element = Number(in);
      break;
    default:
      if (code >= kFirstNarrowFloat && code - kFirstNarrowFloat < std::size(kNarrowFloats)) {
        const NarrowFloat& narrow = kNarrowFloats[code - kFirstNarrowFloat];
        return Named(TypeKind::kFloat, narrow.name, narrow.bits);
      }
      break;
  }
  return type;
}

MlirType TypeFromText(std::string_view text) {
  for (const NarrowFloat& narrow : kNarrowFloats) {
    if (text == narrow.name) return Named(TypeKind::kFloat, narrow.name, narrow.bits);
  }
  MlirType type;
  type.name = std::string(text);
  return type;
}

}  // namespace spillway::hlo
