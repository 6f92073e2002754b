// SPDX-License-Identifier: Apache-2.0
#include "sim/hlo/mlir.h"

namespace spillway::hlo {
namespace {

template <class T>
const T* At(const std::vector<T>& table, int number) {
  return number >= 0 && number < static_cast<int>(table.size()) ? &table[number] : nullptr;
}

}  // namespace

const MlirAttribute* MlirModule::Attribute(int number) const { return At(attributes, number); }
const MlirType* MlirModule::Type(int number) const { return At(types, number); }

const MlirType* MlirModule::TypeOf(int value) const {
  const int* type = At(value_types, value);
  return type != nullptr ? Type(*type) : nullptr;
}

const MlirAttribute* MlirModule::Find(const MlirOperation& operation, std::string_view name) const {
  const MlirAttribute* dictionary = Attribute(operation.attributes);
  return dictionary != nullptr ? Find(*dictionary, name) : nullptr;
}

const MlirAttribute* MlirModule::Find(const MlirAttribute& dictionary, std::string_view name) const {
  for (const auto& [key, value] : dictionary.entries) {
    if (key == name) return Attribute(value);
  }
  return nullptr;
}

std::optional<std::int64_t> MlirModule::Integer(const MlirOperation& operation, std::string_view name) const {
  const MlirAttribute* attribute = Find(operation, name);
  if (attribute == nullptr || attribute->kind != MlirAttribute::Kind::kInteger) return std::nullopt;
  return attribute->integer;
}

}  // namespace spillway::hlo
