// SPDX-License-Identifier: Apache-2.0
// The proto and the text of one module are the same module. Data: tests/data/hlo/make_protos.py.
#include <catch2/catch.hpp>
#include <set>

#include "sim/base/file.h"
#include "sim/hlo/module.h"

namespace spillway::hlo {
namespace {

const std::string kData = SPILLWAY_SOURCE_DIR "/tests/data/hlo/";

std::unique_ptr<Module> ReadText(const std::string& name) {
  const auto text = ReadFile(kData + name);
  REQUIRE(text.ok());
  auto modules = ParseModules(*text, name);
  REQUIRE(modules.ok());
  return std::move(modules->front());
}

// What the proto reader leaves out on purpose (docs/hlo-subset.md).
const std::set<std::string_view> kNotInProto = {"sharding", "frontend_attributes", "origin"};

void CheckSameInstruction(const Instruction& a, const Instruction& b) {
  CAPTURE(a.name);
  CHECK(a.name == b.name);
  CHECK(a.opcode == b.opcode);
  CHECK(ToString(a.shape) == ToString(b.shape));
  CHECK(a.literal == b.literal);
  CHECK(a.is_root == b.is_root);
  CHECK(a.parameter_number == b.parameter_number);
  REQUIRE(a.operands.size() == b.operands.size());
  for (std::size_t i = 0; i < a.operands.size(); ++i) CHECK(a.operands[i]->name == b.operands[i]->name);
  REQUIRE(a.called.size() == b.called.size());
  for (std::size_t i = 0; i < a.called.size(); ++i) CHECK(a.called[i]->name == b.called[i]->name);
  for (const Attribute& attribute : b.attributes) {
    if (kNotInProto.count(attribute.name) > 0) continue;
    CAPTURE(attribute.name);
    CHECK(a.Attr(attribute.name).value_or("(absent)") == attribute.value);
  }
}

void CheckSameModule(const std::string& stem) {
  const auto bytes = ReadFile(kData + stem + ".hlo.pb.gz");
  REQUIRE(bytes.ok());
  const auto proto = ReadProto(*bytes, stem);
  if (!proto.ok()) FAIL(Render(proto.errors().front()));
  const auto text = ReadText(stem + ".hlo.gz");
  const Module& a = **proto;
  CHECK(a.from_proto);
  CHECK(a.name == text->name);
  CHECK(a.is_scheduled);
  CHECK(a.entry->name == text->entry->name);
  // The text omits computations that nothing calls; what it has, the proto has.
  for (const Computation& expected : text->computations) {
    CAPTURE(expected.name);
    const Computation* found = a.Find(expected.name);
    REQUIRE(found != nullptr);
    REQUIRE(found->instructions.size() == expected.instructions.size());
    const bool scheduled = found->is_entry;
    for (std::size_t i = 0; i < expected.instructions.size(); ++i) {
      const Instruction& b = expected.instructions[i];
      const Instruction* same = scheduled ? &found->instructions[i] : found->Find(b.name);
      REQUIRE(same != nullptr);
      CheckSameInstruction(*same, b);
    }
  }
}

TEST_CASE("a CPU module: proto and text agree") { CheckSameModule("cpu_mixed"); }
TEST_CASE("a TPU module: proto and text agree") { CheckSameModule("v6e_softmax"); }

TEST_CASE("an HloProto around the module reads the same") {
  const auto bytes = ReadFile(kData + "v6e_softmax.hlo.pb.gz");
  REQUIRE(bytes.ok());
  std::string wrapped = "\x0a";  // field 1, length-delimited
  for (std::size_t n = bytes->size(); ; n >>= 7) {
    wrapped += static_cast<char>((n & 127) | (n > 127 ? 128 : 0));
    if (n <= 127) break;
  }
  wrapped += *bytes;
  const auto inner = ReadProto(*bytes, "a"), outer = ReadProto(wrapped, "b");
  REQUIRE(inner.ok());
  REQUIRE(outer.ok());
  CHECK(Equal(**inner, **outer));
}

TEST_CASE("bad protos are refused") {
  CHECK_FALSE(ReadProto("", "x").ok());
  CHECK_FALSE(ReadProto("HloModule text, not a proto", "x").ok());
  const auto bytes = ReadFile(kData + "cpu_mixed.hlo.pb.gz");
  REQUIRE(bytes.ok());
  int refused = 0;
  for (std::size_t n = 1; n < bytes->size(); n += 97) {
    if (!ReadProto(bytes->substr(0, n), "cut").ok()) ++refused;  // never a crash
  }
  CHECK(refused > 100);
}

}  // namespace
}  // namespace spillway::hlo
