// SPDX-License-Identifier: Apache-2.0
#include "sim/hlo/mosaic_body.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/hlo/attributes.h"
#include "sim/hlo/mlir_bytecode.h"

namespace spillway::hlo {
namespace {

using Kind = MlirAttribute::Kind;

constexpr std::int64_t kMaxBound = std::int64_t{1} << 31;
constexpr std::size_t kMaxRank = 16;
constexpr std::string_view kPrefix = "stable_mosaic.";

std::optional<std::string> DecodeBase64(const std::string& text) {
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    int value = -1;
    if (c >= 'A' && c <= 'Z') value = c - 'A';
    if (c >= 'a' && c <= 'z') value = c - 'a' + 26;
    if (c >= '0' && c <= '9') value = c - '0' + 52;
    if (c == '+') value = 62;
    if (c == '/') value = 63;
    if (c == '=') break;
    if (value < 0) return std::nullopt;
    bits = (bits << 6) | static_cast<std::uint32_t>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      out += static_cast<char>((bits >> count) & 0xff);
    }
  }
  return out;
}

void StripPrefix(std::vector<MlirOperation>& operations) {
  for (MlirOperation& op : operations) {
    if (op.name.compare(0, kPrefix.size(), kPrefix) == 0) op.name.erase(0, kPrefix.size());
    for (MlirRegion& region : op.regions) {
      for (MlirBlock& block : region) StripPrefix(block.operations);
    }
  }
}

/// Bounds of a grid or window: all in 1 … 2^31.
template <class Bounds>
bool Sound(const Bounds& bounds) {
  if (bounds.size() > kMaxRank) return false;
  for (std::int64_t bound : bounds) {
    if (bound < 1 || bound > kMaxBound) return false;
  }
  return true;
}

/// `#tpu.memory_space<vmem>`: what stands in the brackets.
std::string InBrackets(const std::string& text) {
  std::size_t open = text.find('<'), close = text.rfind('>');
  return open == std::string::npos || close == std::string::npos || close < open ? ""
                                                                                 : text.substr(open + 1, close - open - 1);
}

template <class Predicate>
const MlirOperation* FindFunction(const MlirModule& module, const Predicate& matches) {
  for (const MlirOperation& top : module.operations) {
    for (const MlirRegion& region : top.regions) {
      for (const MlirBlock& block : region) {
        for (const MlirOperation& op : block.operations) {
          if (op.name == "func.func" && matches(op)) return &op;
        }
      }
    }
  }
  return nullptr;
}

bool ReadWindow(const MlirModule& module, const MlirAttribute& params, MosaicBody::Window& window) {
  const MlirAttribute* bounds = module.Find(params, "window_bounds");
  const MlirAttribute* transform = module.Find(params, "transform_indices");
  if (bounds == nullptr && transform == nullptr) return true;  // In HBM as a whole.
  if (bounds == nullptr || transform == nullptr || !Sound(bounds->integers) || bounds->integers.empty()) return false;
  window.bounds = bounds->integers;
  window.transform = transform->text;
  if (const MlirAttribute* kind = module.Find(params, "window_kind")) {
    window.element_offsets = kind->text.find("element_window") != std::string::npos;
  }
  if (const MlirAttribute* mode = module.Find(params, "pipeline_mode")) {
    std::string text = InBrackets(mode->text);
    if (text == "synchronous") window.buffers = 1;
  }
  return true;
}

bool ReadMain(MosaicBody& body, const MlirOperation& main) {
  const MlirModule& module = body.module;
  if (main.regions.size() != 1 || main.regions[0].empty()) return false;
  const std::vector<int>& arguments = main.regions[0][0].arguments;
  if (const MlirAttribute* bounds = module.Find(main, "iteration_bounds")) {
    if (!Sound(bounds->integers)) return false;
    body.iteration_bounds = bounds->integers;
  }
  if (const MlirAttribute* semantics = module.Find(main, "dimension_semantics")) {
    for (int element : semantics->elements) {
      const MlirAttribute* one = module.Attribute(element);
      body.dimension_semantics.push_back(one != nullptr ? InBrackets(one->text) : "");
    }
  }
  body.scalar_prefetch = module.Integer(main, "scalar_prefetch").value_or(0);
  std::int64_t scratch = module.Integer(main, "scratch_operands").value_or(0);
  // A kernel without iteration_bounds still takes an index for each dimension it names.
  std::size_t axes = std::max(body.iteration_bounds.size(), body.dimension_semantics.size());
  if (body.iteration_bounds.empty()) body.iteration_bounds.assign(axes, 1);
  if (body.iteration_bounds.size() != axes) return false;
  auto total = static_cast<std::int64_t>(arguments.size());
  std::int64_t first = static_cast<std::int64_t>(axes) + body.scalar_prefetch;
  if (body.scalar_prefetch < 0 || scratch < 0 || scratch > total || first > total - scratch) return false;
  body.indices.assign(arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(axes));
  body.scratch.assign(arguments.end() - scratch, arguments.end());
  const MlirAttribute* params = module.Find(main, "window_params");
  for (std::int64_t a = first; a < total - scratch; ++a) {
    MosaicBody::Window window;
    window.argument = arguments[a];
    if (params != nullptr && params->kind == Kind::kArray) {
      if (static_cast<std::int64_t>(params->elements.size()) != total - scratch - first) return false;
      const MlirAttribute* one = module.Attribute(params->elements[a - first]);
      if (one == nullptr || !ReadWindow(module, *one, window)) return false;
    } else if (std::string space = body.MemorySpaceOf(window.argument); space == "vmem" || space == "smem") {
      // No grid: the whole of it is there when the kernel starts.
      const MlirType* type = module.TypeOf(window.argument);
      if (type == nullptr || !Sound(type->shape)) return false;
      window.bounds.assign(type->shape.begin(), type->shape.end());
      window.buffers = 1;
    }
    body.windows.push_back(std::move(window));
  }
  return true;
}

}  // namespace

std::optional<std::string> MosaicBytesOf(const Instruction& kernel) {
  if (kernel.opcode != Opcode::kCustomCall) return std::nullopt;
  auto config = BackendConfigOf(kernel);
  if (!config) return std::nullopt;
  nlohmann::json json = nlohmann::json::parse(config->json, nullptr, false);
  if (!json.is_object() || !json.contains("custom_call_config")) return std::nullopt;
  const nlohmann::json& call = json["custom_call_config"];
  if (!call.is_object() || !call.contains("body") || !call["body"].is_string()) return std::nullopt;
  return DecodeBase64(call["body"].get<std::string>());
}

const MlirOperation* MosaicBody::Function(std::string_view name) const {
  return FindFunction(module, [&](const MlirOperation& op) {
    const MlirAttribute* symbol = module.Find(op, "sym_name");
    return symbol != nullptr && symbol->text == name;
  });
}

const MlirOperation* MosaicBody::Main() const {
  return FindFunction(module, [&](const MlirOperation& op) {
    return module.Find(op, "iteration_bounds") != nullptr || module.Find(op, "scratch_operands") != nullptr;
  });
}

std::string MosaicBody::MemorySpaceOf(int value) const {
  const MlirType* type = module.TypeOf(value);
  const MlirAttribute* space = type != nullptr ? module.Attribute(type->memory_space) : nullptr;
  std::string name = space != nullptr ? InBrackets(space->text) : "";
  return name.empty() ? "vmem" : name;
}

std::int64_t MosaicBody::ScratchBytes() const {
  double bytes = 0;
  for (int value : scratch) {
    const MlirType* type = module.TypeOf(value);
    const MlirType* element = type != nullptr ? module.Type(type->element) : nullptr;
    if (element == nullptr || !Sound(type->shape) || MemorySpaceOf(value) != "vmem") continue;
    double size = element->bits / 8.0;
    for (std::int64_t length : type->shape) size *= static_cast<double>(length);
    bytes += size;
  }
  return bytes < 1e15 ? static_cast<std::int64_t>(bytes) : 0;
}

std::optional<MosaicBody> MosaicBodyFrom(std::string_view bytecode) {
  auto module = ReadMlirBytecode(bytecode);
  if (!module) return std::nullopt;
  MosaicBody body;
  body.module = std::move(*module);
  StripPrefix(body.module.operations);
  const MlirOperation* main = body.Main();
  if (main == nullptr || !ReadMain(body, *main)) return std::nullopt;
  return body;
}

std::optional<MosaicBody> MosaicBodyOf(const Instruction& kernel) {
  auto bytes = MosaicBytesOf(kernel);
  if (!bytes || !IsMlirBytecode(*bytes)) return std::nullopt;
  return MosaicBodyFrom(*bytes);
}

}  // namespace spillway::hlo
