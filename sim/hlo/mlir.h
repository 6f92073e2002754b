// SPDX-License-Identifier: Apache-2.0
// A small generic MLIR: operations with attributes, types and nested regions, as far as the bodies of
// Mosaic kernels need it. Attributes and types stand in flat tables and refer to each other by
// number, so a module is a plain value and a malformed file cannot make a cycle of owners.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/hlo/shape.h"

namespace spillway::hlo {

struct MlirType {
  enum class Kind : std::uint8_t { kOther, kInteger, kIndex, kFloat, kVector, kMemRef, kTensor, kFunction };
  Kind kind = Kind::kOther;
  int bits = 0;                 ///< kInteger, kFloat; kIndex: 64.
  std::string name;             ///< "i32", "bf16", …; of any other type its text, possibly empty.
  Dims shape;                   ///< kVector, kMemRef, kTensor; -1 or less: dynamic.
  int element = -1;             ///< Type number.
  int memory_space = -1;        ///< kMemRef: attribute number, -1: not stated.
  std::vector<int> inputs, results;   ///< kFunction: type numbers.
};

struct MlirAttribute {
  enum class Kind : std::uint8_t {
    kOther, kUnit, kInteger, kFloat, kString, kSymbol, kType, kArray, kDictionary, kIntegers, kDense
  };
  Kind kind = Kind::kOther;
  std::int64_t integer = 0;                          ///< kInteger.
  double real = 0;                                   ///< kFloat.
  /// kString, kSymbol; kOther: its text (`#tpu.…<…>`, `affine_map<…>`).
  std::string text;
  int type = -1;                                     ///< kInteger, kFloat, kType, kDense.
  std::vector<int> elements;                         ///< kArray: attribute numbers.
  std::vector<std::pair<std::string, int>> entries;  ///< kDictionary.
  std::vector<std::int64_t> integers;                ///< kIntegers: `array<i64: …>`.
};

struct MlirOperation;
struct MlirBlock {
  std::vector<int> arguments;               ///< Value numbers.
  std::vector<MlirOperation> operations;
};
using MlirRegion = std::vector<MlirBlock>;

struct MlirOperation {
  std::string name;                         ///< "arith.addi".
  std::vector<int> operands, results;       ///< Value numbers, unique in the module.
  int attributes = -1;                      ///< A kDictionary, or -1.
  bool opaque_properties = false;           ///< It has properties in its dialect's own encoding: not read.
  std::vector<MlirRegion> regions;
};

struct MlirModule {
  std::string producer;
  std::vector<MlirAttribute> attributes;
  std::vector<MlirType> types;
  std::vector<int> value_types;             ///< By value number.
  std::vector<MlirOperation> operations;    ///< Top level: usually one `builtin.module`.

  /// Null if there is none, or `number` is out of range.
  const MlirAttribute* Attribute(int number) const;
  const MlirType* Type(int number) const;
  const MlirType* TypeOf(int value) const;
  /// Entry of an operation's or a dictionary's attributes.
  const MlirAttribute* Find(const MlirOperation& operation, std::string_view name) const;
  const MlirAttribute* Find(const MlirAttribute& dictionary, std::string_view name) const;
  std::optional<std::int64_t> Integer(const MlirOperation& operation, std::string_view name) const;
};

}  // namespace spillway::hlo
