// SPDX-License-Identifier: Apache-2.0
#include "sim/hlo/rebind.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "sim/hlo/attributes.h"

using namespace spillway;
using namespace spillway::hlo;

namespace {

std::unique_ptr<Module> Parse(const std::string& text) {
  auto modules = ParseModules(text, "t.hlo");
  REQUIRE(modules.ok());
  return std::move(modules->front());
}

using Dimensions = std::map<std::string, std::vector<int>>;

Result<Rebound> Change(const std::string& text, std::int64_t from, std::int64_t to, Dimensions dimensions = {}) {
  RebindRequest request;
  request.bindings = {{"S", from, to}};
  request.dimensions = std::move(dimensions);
  return Rebind(*Parse(text), request);
}

const Instruction& At(const Module& module, const std::string& name) {
  for (const Computation& computation : module.computations) {
    if (const Instruction* found = computation.Find(name)) return *found;
  }
  FAIL("no instruction " << name);
  return module.computations.front().instructions.front();
}

std::string ShapeOf(const Rebound& rebound, const std::string& name) { return ToString(At(*rebound.module, name).shape); }

/// The error at `line`, and its text.
std::string ErrorOf(const Result<Rebound>& result, int line) {
  REQUIRE(!result.ok());
  CHECK(result.errors().front().line == line);
  CHECK(result.errors().front().column > 0);
  return result.errors().front().message + " / " + result.errors().front().hint;
}

}  // namespace

TEST_CASE("rebind: tiles follow the size") {
  const auto wide = Change(R"(HloModule m, is_scheduled=true, entry_computation_layout={(f32[512]{0:T(512)})->f32[512]{0:T(512)}}
ENTRY e {
  p = f32[512]{0:T(512)} parameter(0)
  ROOT n = f32[512]{0:T(512)} negate(p)
})", 512, 8192);
  REQUIRE(wide.ok());
  CHECK(ShapeOf(*wide, "n") == "f32[8192]{0:T(1024)}");
  CHECK(wide->bound == std::vector<std::string>{"p[0]"});
  bool found = false;
  for (const Attribute& a : wide->module->attributes) {
    if (a.name == "entry_computation_layout") found = a.value.find("f32[8192]{0:T(1024)}") != std::string::npos;
  }
  CHECK(found);
  const auto rows = Change(R"(ENTRY e {
  p = bf16[4,256]{1,0:T(4,128)(2,1)} parameter(0)
  ROOT n = bf16[4,256]{1,0:T(4,128)(2,1)} negate(p)
})", 4, 64);
  REQUIRE(rows.ok());
  CHECK(ShapeOf(*rows, "n") == "bf16[64,256]{1,0:T(8,128)(2,1)}");
}

TEST_CASE("rebind: contraction, broadcast, iota, reduce") {
  const std::string text = R"(
sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
ENTRY e {
  q = f32[64,16] parameter(0)
  k = f32[64,16] parameter(1)
  d = f32[64,64] dot(q, k), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  i = s32[64,64] iota(), iota_dimension=0
  f = f32[64,64] convert(i)
  x = f32[64,64] add(d, f)
  z = f32[] constant(0)
  ROOT r = f32[64] reduce(x, z), dimensions={1}, to_apply=sum
})";
  const auto both = Change(text, 64, 256);
  REQUIRE(both.ok());
  CHECK(ShapeOf(*both, "i") == "s32[256,256]");
  CHECK(ShapeOf(*both, "r") == "f32[256]");
  CHECK(ShapeOf(*both, "q") == "f32[256,16]");
  // Only the queries: keys stay.
  const auto queries = Change(text, 64, 128, {{"q", {0}}});
  REQUIRE(queries.ok());
  CHECK(ShapeOf(*queries, "d") == "f32[128,64]");
  CHECK(ShapeOf(*queries, "i") == "s32[128,64]");
  CHECK(ShapeOf(*queries, "r") == "f32[128]");
}

TEST_CASE("rebind: a size that equals S by chance is refused at its place") {
  const std::string text = R"(HloModule m
ENTRY e {
  x = f32[64,64] parameter(0)
  ROOT n = f32[64,64] negate(x)
})";
  const std::string error = ErrorOf(Change(text, 64, 128), 3);
  CHECK(error.find("x[1] is 64 like x[0]") != std::string::npos);
  CHECK(error.find("dimensions: {x: [0, 1]}") != std::string::npos);
  const auto rows = Change(text, 64, 128, {{"x", {0}}});
  REQUIRE(rows.ok());
  CHECK(ShapeOf(*rows, "n") == "f32[128,64]");
  // Nor do weights of the same shape say it, although they are contracted with it.
  const std::string square = R"(ENTRY e {
  x = f32[64,64] parameter(0)
  w = f32[64,64] parameter(1)
  ROOT d = f32[64,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})";
  CHECK(ErrorOf(Change(square, 64, 128), 2).find("x[1] is 64 like x[0]") != std::string::npos);
  CHECK(Change(square, 64, 128, {{"x", {0}}}).ok());
  // Or weights of the shape of x, where others are not.
  const std::string layer = R"(ENTRY e {
  x = f32[64,16] parameter(0)
  up = f32[16,64] parameter(1)
  down = f32[64,16] parameter(2)
  h = f32[64,64] dot(x, up), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT d = f32[64,16] dot(h, down), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})";
  CHECK(ErrorOf(Change(layer, 64, 128), 3).find("up[1] is 64 like x[0]") != std::string::npos);
  CHECK(Change(layer, 64, 128, {{"x", {0}}}).ok());
  // Parameters of other shapes are another matter too.
  const std::string weights = R"(ENTRY e {
  x = f32[64,16] parameter(0)
  w = f32[16,64] parameter(1)
  ROOT d = f32[64,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})";
  CHECK(ErrorOf(Change(weights, 64, 128), 3).find("w[1] is 64 like x[0]") != std::string::npos);
  CHECK(Change(weights, 64, 128, {{"x", {0}}}).ok());
}

TEST_CASE("rebind: a contraction of a size that changes with one that stays is a contradiction") {
  const std::string text = R"(ENTRY e {
  x = f32[8,64] parameter(0)
  w = f32[64,16] parameter(1)
  ROOT d = f32[8,16] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})";
  const std::string error = ErrorOf(Change(text, 64, 128, {{"x", {1}}}), 3);
  CHECK(error.find("w[0] is not bound") != std::string::npos);
  CHECK(error.find("dimensions: {w: [0], x: [1]}") != std::string::npos);
}

TEST_CASE("rebind: blocks keep their size, loops run more often") {
  const std::string text = R"(HloModule m, is_scheduled=true
cond { t = (s32[], f32[4,8,16], f32[4,8,16]) parameter(0)
  c = s32[] get-tuple-element(t), index=0
  n = s32[] constant(4)
  ROOT less = pred[] compare(c, n), direction=LT }
body { t = (s32[], f32[4,8,16], f32[4,8,16]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  in = f32[4,8,16] get-tuple-element(t), index=1
  out = f32[4,8,16] get-tuple-element(t), index=2
  zero = s32[] constant(0)
  one = s32[] constant(1)
  block = f32[1,8,16] dynamic-slice(in, i, zero, zero), dynamic_slice_sizes={1,8,16}
  new = f32[1,8,16] negate(block)
  put = f32[4,8,16] dynamic-update-slice(out, new, i, zero, zero)
  next = s32[] add(i, one)
  ROOT r = (s32[], f32[4,8,16], f32[4,8,16]) tuple(next, in, put) }
ENTRY e {
  x = f32[32,16] parameter(0)
  b = f32[4,8,16] bitcast(x)
  a = f32[4,8,16] custom-call(), custom_call_target="AllocateBuffer"
  z = s32[] constant(0)
  s = (s32[], f32[4,8,16], f32[4,8,16]) tuple(z, b, a)
  w = (s32[], f32[4,8,16], f32[4,8,16]) while(s), condition=cond, body=body, backend_config={"known_trip_count":{"n":"4"}}
  o = f32[4,8,16] get-tuple-element(w), index=2
  ROOT y = f32[32,16] bitcast(o)
})";
  const auto more = Change(text, 32, 96);
  REQUIRE(more.ok());
  CHECK(ShapeOf(*more, "b") == "f32[12,8,16]");
  CHECK(ShapeOf(*more, "a") == "f32[12,8,16]");
  CHECK(ShapeOf(*more, "block") == "f32[1,8,16]");
  CHECK(ShapeOf(*more, "y") == "f32[96,16]");
  CHECK(At(*more->module, "n").literal == "12");
  CHECK(BackendConfigOf(At(*more->module, "w"))->known_trip_count == 12);
  CHECK(more->assumptions.size() == 1);
  // 36 rows are no whole number of blocks.
  CHECK(ErrorOf(Change(text, 32, 36), 19).find("cannot be divided by 8") != std::string::npos);
}

TEST_CASE("rebind: slices, pads, concatenations") {
  const auto quarters = Change(R"(ENTRY e {
  x = f32[64,8] parameter(0)
  a = f32[32,8] slice(x), slice={[0:32], [0:8]}
  b = f32[32,8] slice(x), slice={[32:64], [0:8]}
  ROOT c = f32[64,8] concatenate(b, a), dimensions={0}
})", 64, 256);
  REQUIRE(quarters.ok());
  CHECK(ShapeOf(*quarters, "b") == "f32[128,8]");
  CHECK(At(*quarters->module, "b").Attr("slice") == "{[128:256], [0:8]}");
  const std::string head = R"(ENTRY e {
  x = f32[64,8] parameter(0)
  ROOT a = f32[32,8] slice(x), slice={[0:32], [0:8]}
})";
  CHECK(ErrorOf(Change(head, 64, 128), 3).find("whether the part keeps its size") != std::string::npos);
  const auto padded = Change(R"(ENTRY e {
  x = f32[64] parameter(0)
  y = f32[8] parameter(1)
  z = f32[] constant(0)
  p = f32[72] pad(x, z), padding=0_8
  c = f32[72] concatenate(x, y), dimensions={0}
  ROOT s = f32[72] add(p, c)
})", 64, 128);
  REQUIRE(padded.ok());
  CHECK(ShapeOf(*padded, "p") == "f32[136]");
  CHECK(At(*padded->module, "p").Attr("padding") == "0_8");
}

TEST_CASE("rebind: what has no rule, or lists its elements, is refused") {
  CHECK(ErrorOf(Change(R"(ENTRY e {
  x = f32[64,8] parameter(0)
  ROOT k = f32[64,8] custom-call(x), custom_call_target="tpu_custom_call"
})", 64, 128), 3).find("cannot be rewritten") != std::string::npos);
  CHECK(ErrorOf(Change(R"(ENTRY e {
  x = f32[2] parameter(0)
  c = f32[2] constant({1, 2})
  ROOT k = f32[2] add(x, c)
})", 2, 4), 3).find("lists its elements") != std::string::npos);
  // The number of groups would be the symbol.
  CHECK(ErrorOf(Change(R"(ENTRY e {
  x = f32[8,32,64] parameter(0)
  k = f32[1,1,64] constant({...})
  c = f32[8,32,64] convolution(x, k), window={size=1}, dim_labels=b0f_0io->b0f, feature_group_count=64
  ROOT y = f32[8,32,64] add(c, x)
})", 64, 128), 4).find("how it would look is not known") != std::string::npos);
  CHECK(ErrorOf(Change(R"(ENTRY e {
  x = f32[64] parameter(0)
  i = f32[64] iota(), iota_dimension=0
  n = f32[64] negate(x)
  ROOT t = (f32[64], f32[64]) tuple(i, n)
})", 64, 128), 3).find("does not follow") != std::string::npos);
}

TEST_CASE("rebind: bad requests") {
  const std::string text = R"(ENTRY e {
  x = f32[64,8] parameter(0)
  ROOT n = f32[64,8] negate(x)
})";
  CHECK(!Change(text, 100, 200).ok());
  CHECK(!Change(text, 64, 0).ok());
  CHECK(!Change(text, 1, 2).ok());
  CHECK(!Change(text, 64, std::int64_t{1} << 60).ok());
  CHECK(!Change(text, 64, 128, {{"y", {0}}}).ok());
  CHECK(!Change(text, 64, 128, {{"x", {2}}}).ok());
  CHECK(!Change(text, 64, 128, {{"x", {1}}}).ok());
  const auto same = Change(text, 64, 64);
  REQUIRE(same.ok());
  CHECK(ShapeOf(*same, "n") == "f32[64,8]");
}

TEST_CASE("rebind: a number of blocks that fits one tile is still a number of blocks") {
  // T(2,128): both blocks in one tile. The slices of `put` follow from the bitcast alone.
  const std::string text = R"(HloModule m, is_scheduled=true
cond { t = (s32[], f32[2,8,128], s32[2]) parameter(0)
  c = s32[] get-tuple-element(t), index=0
  n = s32[] constant(2)
  ROOT less = pred[] compare(c, n), direction=LT }
body { t = (s32[], f32[2,8,128], s32[2]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  in = f32[2,8,128] get-tuple-element(t), index=1
  starts = s32[2] get-tuple-element(t), index=2
  zero = s32[] constant(0)
  one = s32[] constant(1)
  start = s32[1] dynamic-slice(starts, i), dynamic_slice_sizes={1}
  block = f32[1,8,128] dynamic-slice(in, i, zero, zero), dynamic_slice_sizes={1,8,128}
  put = f32[2,8,128] dynamic-update-slice(in, block, i, zero, zero)
  next = s32[] add(i, one)
  ROOT r = (s32[], f32[2,8,128], s32[2]) tuple(next, put, starts) }
ENTRY e {
  x = f32[16,128]{1,0:T(8,128)} parameter(0)
  a = f32[2,8,128]{2,1,0:T(8,128)} bitcast(x)
  b = f32[2,8,128]{2,0,1:T(2,128)} copy(a)
  c = f32[8,2,128]{2,1,0:T(2,128)} bitcast(b)
  d = f32[8,2,128]{2,1,0:T(2,128)} negate(c)
  s = f32[2,8,128]{2,0,1:T(2,128)} bitcast(d)
  starts = s32[2] iota(), iota_dimension=0
  z = s32[] constant(0)
  t = (s32[], f32[2,8,128], s32[2]) tuple(z, s, starts)
  w = (s32[], f32[2,8,128], s32[2]) while(t), condition=cond, body=body, backend_config={"known_trip_count":{"n":"2"}}
  ROOT o = f32[2,8,128] get-tuple-element(w), index=1
})";
  const auto more = Change(text, 16, 128);
  REQUIRE(more.ok());
  CHECK(ShapeOf(*more, "s") == "f32[16,8,128]{2,0,1:T(8,128)}");
  CHECK(ShapeOf(*more, "starts") == "s32[16]");
  CHECK(At(*more->module, "n").literal == "16");
}

TEST_CASE("rebind: a loop that runs once does not say how often it may run") {
  const std::string text = R"(HloModule m, is_scheduled=true
cond { t = (s32[], f32[1,8,16]) parameter(0)
  c = s32[] get-tuple-element(t), index=0
  n = s32[] constant(1)
  ROOT less = pred[] compare(c, n), direction=LT }
body { t = (s32[], f32[1,8,16]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  in = f32[1,8,16] get-tuple-element(t), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  ROOT r = (s32[], f32[1,8,16]) tuple(next, in) }
ENTRY e {
  x = f32[8,16] parameter(0)
  b = f32[1,8,16] bitcast(x)
  z = s32[] constant(0)
  s = (s32[], f32[1,8,16]) tuple(z, b)
  w = (s32[], f32[1,8,16]) while(s), condition=cond, body=body, backend_config={"known_trip_count":{"n":"1"}}
  ROOT o = f32[1,8,16] get-tuple-element(w), index=1
})";
  CHECK(ErrorOf(Change(text, 8, 32), 17).find("runs once") != std::string::npos);
}

TEST_CASE("rebind: a loop that nothing ties to a size") {
  const auto loop = [](int trips) {
    return "HloModule m, is_scheduled=true\n"
           "cond { t = (s32[], f32[64]) parameter(0)\n  c = s32[] get-tuple-element(t), index=0\n  n = s32[] constant(" +
           std::to_string(trips) + ")\n" + R"(  ROOT less = pred[] compare(c, n), direction=LT }
body { t = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  in = f32[64] get-tuple-element(t), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  more = f32[64] negate(in)
  ROOT r = (s32[], f32[64]) tuple(next, more) }
ENTRY e {
  x = f32[64] parameter(0)
  z = s32[] constant(0)
  s = (s32[], f32[64]) tuple(z, x)
  w = (s32[], f32[64]) while(s), condition=cond, body=body
  ROOT o = f32[64] get-tuple-element(w), index=1
})";
  };
  const auto ten = Change(loop(10), 64, 128);
  REQUIRE(ten.ok());
  REQUIRE(ten->assumptions.size() == 1);
  CHECK(ten->assumptions[0].find("still runs 10 times") != std::string::npos);
  CHECK(ErrorOf(Change(loop(64), 64, 128), 17).find("whether that is by chance") != std::string::npos);
}

TEST_CASE("rebind: sizes that nothing relates to the parameters are named, or refused if they may be the symbol's") {
  const auto with = [](int size) {
    return fmt::format(R"(ENTRY e {{
  x = f32[64] parameter(0)
  i = f32[{0}] iota(), iota_dimension=0
  n = f32[64] negate(x)
  ROOT t = (f32[{0}], f32[64]) tuple(i, n)
}})", size);
  };
  const auto other = Change(with(24), 64, 128);
  REQUIRE(other.ok());
  CHECK(ShapeOf(*other, "i") == "f32[24]");
  REQUIRE(other->assumptions.size() == 1);
  CHECK(other->assumptions[0].find("24 of 'i'") != std::string::npos);
  CHECK(ErrorOf(Change(with(64), 64, 128), 3).find("does not follow") != std::string::npos);
  // As large as a number of blocks that changes.
  const std::string blocks = R"(ENTRY e {
  x = f32[64,8] parameter(0)
  b = f32[16,4,8] reshape(x)
  i = s32[16] iota(), iota_dimension=0
  ROOT t = (f32[16,4,8], s32[16]) tuple(b, i)
})";
  CHECK(ErrorOf(Change(blocks, 64, 128), 4).find("is 16") != std::string::npos);
}

TEST_CASE("rebind: a block whose size follows from nothing is refused") {
  CHECK(ErrorOf(Change(R"(ENTRY e {
  x = f32[64,8] parameter(0)
  i = s32[] parameter(1)
  z = s32[] constant(0)
  ROOT b = f32[16,8] dynamic-slice(x, i, z), dynamic_slice_sizes={16,8}
})", 64, 128), 5).find("whether the part keeps its size") != std::string::npos);
}

TEST_CASE("rebind: unequal pieces of one array keep their share") {
  const std::string text = R"(ENTRY e {
  x = f32[80] parameter(0)
  a = f32[64] slice(x), slice={[0:64]}
  b = f32[16] slice(x), slice={[64:80]}
  ROOT c = f32[80] concatenate(a, b), dimensions={0}
})";
  const auto more = Change(text, 80, 200);
  REQUIRE(more.ok());
  CHECK(At(*more->module, "a").Attr("slice") == "{[0:160]}");
  CHECK(At(*more->module, "b").Attr("slice") == "{[160:200]}");
  REQUIRE(more->assumptions.size() == 1);
  CHECK(more->assumptions[0].find("each keeps its share") != std::string::npos);
  CHECK(!Change(text, 80, 81).ok());
}
