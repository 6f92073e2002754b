// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <nlohmann/json.hpp>

#include "sim/hlo/attributes.h"
#include "sim/hlo/text_util.h"

namespace spillway::hlo {
namespace {

using nlohmann::json;

// Protobuf's JSON prints 64-bit integers as strings: both forms count.
std::optional<std::int64_t> Number(const json& value) {
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

const json* Field(const json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

std::int64_t NumberField(const json& object, const char* name) {
  const json* field = Field(object, name);
  return field == nullptr ? 0 : Number(*field).value_or(0);
}

std::vector<std::int64_t> ListField(const json& object, const char* name) {
  std::vector<std::int64_t> list;
  const json* field = Field(object, name);
  if (field == nullptr || !field->is_array()) return list;
  for (const json& item : *field) list.push_back(Number(item).value_or(0));
  return list;
}

WindowConfig ReadWindow(const json& object) {
  WindowConfig window;
  window.kernel_bounds = ListField(object, "kernel_window_bounds");
  window.output_bounds = ListField(object, "output_window_bounds");
  window.input_bounds = ListField(object, "input_window_bounds");
  window.iteration_bounds = ListField(object, "iteration_bounds");
  window.estimated_cycles = NumberField(object, "estimated_cycles");
  window.buffering_level = NumberField(object, "buffering_level");
  return window;
}

}  // namespace

std::optional<BackendConfig> BackendConfigOf(const Instruction& instruction) {
  const auto text = instruction.Attr("backend_config");
  if (!text) return std::nullopt;
  BackendConfig config;
  config.json = Unescape(*text);
  // Without exceptions: what is no JSON keeps only its text.
  const json root = json::parse(config.json, nullptr, false);
  if (root.is_discarded()) return config;
  if (const json* window = Field(root, "window_config")) config.window = ReadWindow(*window);
  const json* used = Field(root, "used_scoped_memory_configs");
  if (used != nullptr && used->is_array()) {
    for (const json& item : *used) {
      config.used_scoped_memory.push_back(
          {NumberField(item, "memory_space"), NumberField(item, "offset"), NumberField(item, "size")});
    }
  }
  if (const json* trips = Field(root, "known_trip_count")) {
    if (const json* n = Field(*trips, "n")) config.known_trip_count = Number(*n);
  }
  return config;
}

}  // namespace spillway::hlo
