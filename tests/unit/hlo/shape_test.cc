// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "sim/hlo/opcode.h"
#include "sim/hlo/shape.h"

namespace spillway::hlo {
namespace {

Shape Of(const std::string& text) {
  const auto shape = ParseShape(text);
  if (!shape.ok()) FAIL(Render(shape.errors().front()));
  return *shape;
}

TEST_CASE("shapes print as they are read") {
  for (const char* text :
       {"f32[]", "pred[0]", "bf16[8192,128]{1,0:T(8,128)(2,1)S(1)}", "s4[64,128]{1,0:T(64,128)(8,1)E(4)}",
        "u32[]{:S(2)}", "f32[]{:T(128)S(6)}", "pred[<=1801,1]{1,0}", "f32[?,4]", "token[]", "c128[2]",
        "f8e4m3b11fnuz[4]{0}", "f4e2m1fn[16]{0:T(256)E(4)}", "s32[7]{0:T(8)L(1024)}", "s32[<=2]{0:T(128)M(1024)}",
        "s32[64]{0:T(128)S(1)SC(0:3)}", "f32[10,10]{1,0:D(X,C)}", "((f32[2]{0}, s8[]), (), u32[]{:S(2)})",
        "f32[3,4,5]{2,1,0:T(*,*,8)}", "b(f32[2,4])", "opaque[]"}) {
    CAPTURE(text);
    CHECK(ToString(Of(text)) == text);
  }
}

TEST_CASE("what is no shape is refused") {
  for (const char* text : {"", "f32", "f32[", "f32[2", "f32[-1]", "f32[2]{0", "f32[2]{0}x", "(f32[2]", "q7[2]",
                           "f32[2]{0:T(0)}", "f32[2]{0:T(2,*)}", "f32[2]{0:T}", "f32[a]", "f32[2]{1}"}) {
    CAPTURE(text);
    CHECK_FALSE(ParseShape(text).ok());
  }
}

TEST_CASE("allocated bytes follow memory order, tiles, packing, element size") {
  CHECK(AllocatedBytes(Of("f32[8192,1]{1,0:T(8,128)}")) == 8192 * 128 * 4);
  CHECK(AllocatedBytes(Of("f32[8192,1]{0,1:T(1,128)}")) == 8192 * 4);
  CHECK(AllocatedBytes(Of("bf16[3,3]{1,0:T(8,128)(2,1)}")) == 8 * 128 * 2);
  // The second tile pads too when the first does not already fit it.
  CHECK(AllocatedBytes(Of("bf16[1,128]{1,0:T(1,128)(2,1)}")) == 2 * 128 * 2);
  CHECK(AllocatedBytes(Of("pred[8,128]{1,0:T(8,128)E(32)}")) == 8 * 128 * 4);
  CHECK(AllocatedBytes(Of("s4[64,128]{1,0:T(64,128)(8,1)E(4)}")) == 64 * 128 / 2);
  CHECK(AllocatedBytes(Of("u1[9]")) == 2);
  CHECK(AllocatedBytes(Of("s32[7]{0:T(8)L(1024)}")) == 4096);
  CHECK(AllocatedBytes(Of("s32[2]{0:T(128)M(1024)}")) == 512 + 1024);
  CHECK(AllocatedBytes(Of("f32[3,4,5]{2,1,0:T(*,*,8)}")) == 64 * 4);
  CHECK(AllocatedBytes(Of("f32[3,5]{1,0}")) == 60);
  CHECK(AllocatedBytes(Of("f32[0,5]{1,0:T(8,128)}")) == 0);
  CHECK(AllocatedBytes(Of("token[]")) == 0);
  CHECK(AllocatedBytes(Of("(f32[8,128]{1,0:T(8,128)}, (s8[3]))")) == 4096 + 3);
  CHECK(IsUnbounded(Of("(f32[?])")));
  CHECK(AllocatedBytes(Of("f32[?]")) == 0);
}

TEST_CASE("the tile grid is in logical order") {
  const TileGrid grid = GridOf(Of("bf16[4,300,17]{1,2,0:T(8,128)(2,1)}"));
  CHECK(grid.tile == Dims{1, 128, 8});
  CHECK(grid.count == Dims{4, 3, 3});
  CHECK(grid.tile_bytes == 2048);
  const TileGrid plain = GridOf(Of("f32[4,3]"));
  CHECK(plain.count == Dims{4, 3});
  CHECK(plain.tile_bytes == 4);
}

TEST_CASE("opcode names go both ways") {
  for (int i = 1; i <= static_cast<int>(Opcode::kXor); ++i) {
    const auto opcode = static_cast<Opcode>(i);
    CHECK(OpcodeFromName(OpcodeName(opcode)) == opcode);
  }
  CHECK(OpcodeFromName("get-tuple-element") == Opcode::kGetTupleElement);
  CHECK(OpcodeFromName("exponential") == Opcode::kExp);
  CHECK(OpcodeFromName("dynamic-slice-done") == Opcode::kAsyncDone);
  CHECK(OpcodeFromName("frobnicate") == Opcode::kUnknown);
  CHECK(OpcodeFromName("frobnicate-start") == Opcode::kUnknown);
}

}  // namespace
}  // namespace spillway::hlo
