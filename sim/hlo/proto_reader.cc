// SPDX-License-Identifier: Apache-2.0
// HloProto to Module, by way of the text form: the proto's fields are written as the attributes XLA
// prints, and the text parser builds and checks the module. One set of rules for both inputs.
#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>

#include <unordered_map>

#include "hlo/hlo.pb.h"  // generated from hlo.proto
#include "sim/hlo/module.h"
#include "sim/hlo/proto_text.h"

namespace spillway::hlo {
namespace {

constexpr int kMaxProtoNesting = 400;

// `HloProto` has the module in field 1, where `HloModuleProto` has its name: a module's name is not
// a message with computations, and an HloProto has no field 3 of computations.
bool ReadWire(const std::string& bytes, wire::Module* module) {
  const auto parse = [&bytes](google::protobuf::MessageLite* message) {
    google::protobuf::io::CodedInputStream input(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                                 static_cast<int>(bytes.size()));
    input.SetRecursionLimit(kMaxProtoNesting);
    return message->ParseFromCodedStream(&input) && input.ConsumedEntireMessage();
  };
  wire::Hlo hlo;
  if (parse(&hlo) && hlo.hlo_module().computations_size() > 0) {
    module->Swap(hlo.mutable_hlo_module());
    return true;
  }
  return parse(module) && module->computations_size() > 0;
}

}  // namespace

Result<std::unique_ptr<Module>> ReadProto(std::string bytes, const std::string& file) {
  const auto fail = [&file](std::string message) {
    Diagnostic error = Error(std::move(message), "expected a serialised HloProto or HloModuleProto");
    error.file = file;
    return error;
  };
  if (bytes.empty()) return fail("the file is empty");
  if (bytes.size() > (std::size_t{1} << 31) - 1) return fail("a protocol buffer cannot exceed 2 GiB");
  wire::Module wire;
  if (!ReadWire(bytes, &wire)) return fail("this is no HLO protocol buffer, or a truncated one");
  Result<std::string> text = ToText(wire);
  if (!text.ok()) return fail(text.errors().front().message);
  auto modules = ParseModules(std::move(*text), file);
  if (!modules.ok()) {
    // The position is one in a text the user never saw: say what, not where.
    const Diagnostic& error = modules.errors().front();
    return fail(error.message + (error.source_line.empty() ? "" : " (in: " + error.source_line + ")"));
  }
  std::unique_ptr<Module> module = std::move(modules->front());
  module->from_proto = true;
  return module;
}

}  // namespace spillway::hlo
