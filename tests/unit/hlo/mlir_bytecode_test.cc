// SPDX-License-Identifier: Apache-2.0
#include "sim/hlo/mlir_bytecode.h"

#include <catch2/catch.hpp>

#include "sim/hlo/byte_cursor.h"
#include "sim/hlo/mlir_scalar.h"
#include "tests/support/mosaic_samples.h"

namespace spillway::hlo {
namespace {

using Kind = MlirAttribute::Kind;

std::string Version(int version) { return *ReadFile(test::MosaicData("v" + std::to_string(version) + ".mlirbc")); }

}  // namespace

TEST_CASE("prefix varints of every length") {
  const std::string bytes("\x0b\x02\x01\x04\x00\x01\x00\xff\xff\xff\xff\xff\xff\xff\xff\x03\x05", 17);
  ByteCursor in(bytes);
  CHECK(in.VarInt() == 5);                         // 0b00001011: 7 bits.
  CHECK(in.VarInt() == (1 << 6));                  // 0b…10 and 0x01: the second byte is above 6 bits.
  CHECK(in.VarInt() == (1ULL << 13));              // 0b…100, 0x00, 0x01: above 5 + 8 bits.
  CHECK(in.VarInt() == ~std::uint64_t{0});         // A zero byte, then all 64 bits.
  CHECK(in.SignedVarInt() == -1);                  // Zigzag 1.
  CHECK(in.SignedVarInt() == 1);                   // Zigzag 2.
  CHECK(in.ok());
  CHECK(in.VarInt() == 0);
  CHECK_FALSE(in.ok());
}

TEST_CASE("one module in every version of the format") {
  for (int version = 0; version <= 6; ++version) {
    INFO("version " << version);
    auto module = ReadMlirBytecode(Version(version));
    REQUIRE(module.ok());
    CHECK(module->producer.find("MLIR") == 0);
    REQUIRE(module->operations.size() == 1);
    const MlirOperation& top = module->operations[0];
    CHECK(top.name == "builtin.module");
    const MlirAttribute* list = module->Find(top, "test.list");
    REQUIRE(list != nullptr);
    REQUIRE(list->elements.size() == 7);
    auto at = [&](int i) { return *module->Attribute(list->elements[i]); };
    CHECK(at(0).integer == 1);
    CHECK(at(1).integer == -300);
    CHECK(at(2).real == 2.5);
    CHECK(at(3).text == "text");
    CHECK(at(4).kind == Kind::kSymbol);
    CHECK(at(4).text == "symbol");
    CHECK(at(5).integers == std::vector<std::int64_t>{3, -4});
    CHECK(module->Type(at(6).type)->name == "f8E4M3FN");
    CHECK(module->Type(at(6).type)->bits == 8);

    const std::vector<MlirOperation>& functions = top.regions[0][0].operations;
    REQUIRE(functions.size() == 2);
    CHECK(functions[0].regions[0].empty());  // A declaration.
    const MlirRegion& body = functions[1].regions[0];
    REQUIRE(body.size() == 2);
    REQUIRE(body[0].arguments.size() == 2);
    const MlirType& memref = *module->TypeOf(body[0].arguments[1]);
    CHECK(memref.kind == MlirType::Kind::kMemRef);
    CHECK(memref.shape[0] == 4);
    CHECK(memref.shape[1] < 0);
    CHECK(module->Type(memref.element)->name == "bf16");
    CHECK(module->Attribute(memref.memory_space)->integer == 3);
    const MlirOperation& pair = body[0].operations[0];
    CHECK(pair.name == "test.pair");
    CHECK(module->Find(pair, "name")->text == "inner");
    CHECK(pair.operands == std::vector<int>{body[0].arguments[0], body[0].arguments[0]});
    // A value of an enclosing region inside a nested one.
    CHECK(pair.regions[0][0].operations[1].operands[1] == body[0].arguments[0]);
    const MlirOperation& add = body[1].operations[0];
    CHECK(add.name == "arith.addi");
    CHECK(add.operands == std::vector<int>{body[1].arguments[0], pair.results[0]});
    CHECK(add.opaque_properties == (version >= 5));
    CHECK(module->TypeOf(body[0].operations[1].results[1])->shape == Dims{8, 128});
  }
}

TEST_CASE("every cut of a file is an error") {
  for (int version : {0, 6}) {
    std::string bytes = Version(version);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      INFO("version " << version << ", " << size << " bytes");
      CHECK_FALSE(ReadMlirBytecode(bytes.substr(0, size)).ok());
    }
  }
  std::string newer = Version(6);
  newer[4] = static_cast<char>((99 << 1) | 1);
  auto module = ReadMlirBytecode(newer);
  REQUIRE_FALSE(module.ok());
  CHECK(module.errors()[0].message.find("version 99") != std::string::npos);
}

TEST_CASE("a Pallas matmul states grid, windows and scratch") {
  auto sample = test::ReadMosaicSample(test::MosaicData("matmul.hlo.gz"));
  auto body = MosaicBodyOf(*sample.kernel);
  REQUIRE(body.has_value());
  CHECK(body->iteration_bounds == std::vector<std::int64_t>{2, 4, 2});
  CHECK(body->dimension_semantics == std::vector<std::string>(3, "arbitrary"));
  REQUIRE(body->windows.size() == 3);
  CHECK(body->windows[1].bounds == std::vector<std::int64_t>{128, 128});
  CHECK(body->windows[1].buffers == 2);
  CHECK(body->MemorySpaceOf(body->windows[1].argument) == "vmem");
  CHECK(body->scratch.size() == 1);
  CHECK(body->ScratchBytes() == 256 * 128 * 4);
  CHECK(body->Function("transform_2") != nullptr);
  CHECK(body->Function("nothing") == nullptr);
}

TEST_CASE("Pallas kernels with one buffer, prefetched scalars, memory of their own, no grid") {
  auto grouped = test::ReadMosaicSample(test::MosaicData("grouped.hlo.gz"));
  auto body = MosaicBodyOf(*grouped.kernel);
  REQUIRE(body.has_value());
  CHECK(body->windows[1].buffers == 1);
  auto prefetch = test::ReadMosaicSample(test::MosaicData("prefetch.hlo.gz"));
  CHECK(MosaicBodyOf(*prefetch.kernel)->scalar_prefetch == 1);
  auto manual = test::ReadMosaicSample(test::MosaicData("manual.hlo.gz"));
  body = MosaicBodyOf(*manual.kernel);
  REQUIRE(body.has_value());
  CHECK(body->MemorySpaceOf(body->windows[0].argument) == "any");
  CHECK(body->windows[0].bounds.empty());
  CHECK(body->windows[1].bounds == std::vector<std::int64_t>{64, 128});
  CHECK(body->iteration_bounds.empty());
  CHECK(body->scratch.size() == 2);
  CHECK(body->ScratchBytes() == 64 * 128 * 4);
}

TEST_CASE("scalar programs follow arithmetic, comparisons and selections") {
  MlirModule module;
  MlirAttribute two;
  two.kind = Kind::kInteger;
  two.integer = 2;
  MlirAttribute dictionary;
  dictionary.kind = Kind::kDictionary;
  dictionary.entries = {{"value", 0}, {"predicate", 0}};  // 2: less than.
  module.attributes = {two, dictionary};
  ScalarProgram program(module);
  program.AddInput(0);
  auto add = [&](const char* name, std::vector<int> operands, int result) {
    MlirOperation op;
    op.name = name;
    op.operands = std::move(operands);
    op.results = {result};
    op.attributes = 1;
    program.Add(op);
  };
  add("arith.constant", {}, 1);
  add("arith.divsi", {0, 1}, 2);
  add("arith.cmpi", {0, 1}, 3);
  add("arith.select", {3, 1, 2}, 4);
  add("arith.floordivsi", {0, 1}, 5);
  add("memref.load", {9, 0}, 6);
  add("test.unknown", {0}, 7);
  add("arith.addi", {7, 0}, 8);
  ScalarProgram::Values values = program.Evaluate({-7});
  CHECK(program.Get(values, 2).value == -3);
  CHECK(program.Get(values, 5).value == -4);
  CHECK(program.Get(values, 3).value == 1);
  CHECK(program.Get(values, 4).value == 2);
  CHECK(program.Get(values, 6).assumed);
  CHECK(program.Get(values, 6).value == -7);
  CHECK_FALSE(program.Get(values, 8).known);
  CHECK_FALSE(program.Get(values, 77).known);
  CHECK(program.Get(program.Evaluate({9}), 4).value == 4);
}

}  // namespace spillway::hlo
