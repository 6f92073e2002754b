// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "sim/hlo/attributes.h"
#include "sim/hlo/module.h"

namespace spillway::hlo {
namespace {

std::unique_ptr<Module> Parse(const std::string& text) {
  auto modules = ParseModules(text, "t.hlo");
  if (!modules.ok()) FAIL(Render(modules.errors().front()));
  return std::move(modules->front());
}

Diagnostic Refused(const std::string& text) {
  auto modules = ParseModules(text, "t.hlo");
  REQUIRE_FALSE(modules.ok());
  return modules.errors().front();
}

std::string InEntry(const std::string& body) { return "HloModule m\nENTRY e {\n" + body + "\n}\n"; }

TEST_CASE("a scheduled dump in the new style") {
  const auto m = Parse(R"(HloModule jit_f, is_scheduled=true, entry_computation_layout={(f32[8,128]{1,0:T(8,128)})->f32[8,128]{1,0:T(8,128)}}

FileNames
1 "a b.py"

FunctionNames
1 "f.<locals>.<lambda>"

FileLocations
1 {file_name_id=1 function_name_id=1 line=3}

StackFrames
1 {file_location_id=1 parent_frame_id=1}


%fused (p.1: f32[8,128]) -> f32[8,128] {
  %p.1 = f32[8,128]{1,0:T(8,128)} parameter(0)
  ROOT %t = f32[8,128]{1,0:T(8,128)S(1)} tanh(%p.1), metadata={op_name="jit(f)/a\"b" stack_frame_id=1}
}, execution_thread="main"

ENTRY %main.5 (x: f32[8,128]) -> f32[8,128] {
  %x = f32[8,128]{1,0:T(8,128)} parameter(0), sharding={replicated}
  /* a comment */ ROOT %fusion = f32[8,128]{1,0:T(8,128)S(1)} fusion(%x), kind=kLoop, calls=%fused, // more
    backend_config={"window_config":{"output_window_bounds":["1","1"],"iteration_bounds":["4"],
      "estimated_cycles":"77"},"used_scoped_memory_configs":[{"memory_space":"1","offset":"0","size":"4096"}]}
}
)");
  CHECK(m->name == "jit_f");
  CHECK(m->is_scheduled);
  CHECK(m->attributes.size() == 2);
  REQUIRE(m->entry != nullptr);
  CHECK(m->entry->name == "main.5");
  REQUIRE(m->entry->parameters.size() == 1);
  const Instruction& fusion = *m->entry->root;
  CHECK(fusion.opcode == Opcode::kFusion);
  CHECK(fusion.FusionKind() == "kLoop");
  REQUIRE(fusion.Called("calls") == m->Find("fused"));
  CHECK(m->Find("fused")->root->OpName() == "jit(f)/a\"b");
  CHECK(fusion.operands[0] == m->entry->Find("x"));
  CHECK(fusion.shape.layout.memory_space == 1);
  const auto config = BackendConfigOf(fusion);
  REQUIRE(config);
  REQUIRE(config->window);
  CHECK(config->window->iteration_bounds == std::vector<std::int64_t>{4});
  CHECK(config->window->estimated_cycles == 77);
  REQUIRE(config->used_scoped_memory.size() == 1);
  CHECK(config->used_scoped_memory[0].size == 4096);
}

TEST_CASE("old style: typed operands, no signature, a quoted backend_config, several modules") {
  auto modules = ParseModules(R"(
HloModule one:
  c { ROOT r = (f32[2]{0}, /*index=1*/s32[]) parameter(0) }
ENTRY two {
  a = f32[2,2] parameter(0)
  b = f32[2,2] constant({ {1, 2}, { 3, -inf } })
  ROOT s = f32[2,2]{1,0} subtract(f32[2,2]{1,0} %a, f32[2,2] b), backend_config="{\"k\": \"v\n\"}"
}
// -----
HloModule second
  d { ROOT k = pred[] constant(true) })", "t");
  REQUIRE(modules.ok());
  REQUIRE(modules->size() == 2);
  const Module& first = *modules->front();
  CHECK(first.entry->name == "two");
  CHECK(BackendConfigOf(*first.entry->root)->json == "{\"k\": \"v\n\"}");
  CHECK(first.entry->Find("b")->literal == "{ {1, 2}, { 3, -inf } }");
  CHECK((*modules)[1]->entry->name == "d");  // none is marked: the last one
}

TEST_CASE("names used before their definition are resolved, printed order stays") {
  const auto m = Parse(InEntry("  ROOT y = f32[] negate(x)\n  x = f32[] parameter(0)"));
  CHECK(m->entry->root->operands[0] == m->entry->Find("x"));
  CHECK(m->entry->root->index == 0);
  CHECK(m->entry->Find("x")->index == 1);
}

TEST_CASE("operands that are instructions, computations in place, one instruction alone") {
  const auto nested = Parse(InEntry("ROOT r = f32[] add(f32[] parameter(0), f32[] negate(f32[] parameter(1)))"));
  REQUIRE(nested->entry->instructions.size() == 4);
  CHECK(nested->entry->root->index == 3);
  CHECK(nested->entry->root->operands[1]->opcode == Opcode::kNegate);
  const auto inside = Parse(InEntry("p = f32[4] parameter(0)\nz = f32[] constant(0)\n"
                                    "ROOT r = f32[] reduce(p, z), dimensions={0}, to_apply={\n"
                                    " a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b) }"));
  REQUIRE(inside->entry->root->Called("to_apply") != nullptr);
  CHECK(inside->entry->root->Called("to_apply")->root->opcode == Opcode::kAdd);
  const auto again = ParseModules(Print(*inside), "t");
  REQUIRE(again.ok());
  CHECK(Equal(*again->front(), *inside));
  const auto alone = Parse("f32[10]{0} add(f32[10]{0}, f32[10]{0} %y)");
  CHECK(alone->entry->parameters.size() == 2);
}

TEST_CASE("shapes left out are derived") {
  const auto m = Parse(InEntry("p = (f32[3], s32[2,4]) parameter(0)\n g = get-tuple-element(p), index=1\n"
                               "n = negate(g)\n c = compare(g, n), direction=LT\n ROOT t = tuple(c, n)"));
  CHECK(ToString(m->entry->root->shape) == "(pred[2,4], s32[2,4])");
}

TEST_CASE("asynchronous sugar keeps its name and is an async op") {
  const auto m = Parse(InEntry("p = f32[8]{0} parameter(0)\n"
                               "s = ((f32[8]{0}), f32[4]{0:S(1)}, s32[]) slice-start(p), slice={[0:4]}\n"
                               "ROOT d = f32[4]{0:S(1)} slice-done(s)"));
  CHECK(m->entry->Find("s")->opcode == Opcode::kAsyncStart);
  CHECK(m->entry->Find("s")->opcode_name == "slice-start");
  CHECK(m->entry->root->opcode == Opcode::kAsyncDone);
}

TEST_CASE("values with spaces, braces, newlines and odd characters") {
  const auto m = Parse(InEntry("p = f32[8] parameter(0), frontend_attributes={kernel_metadata={\n\"a}\":\"{\\\"\"\n}}\n"
                               "ROOT a = f32[8] custom-call(p), custom_call_target=\"x,y\", literal=f32[] 0.1,"
                               " replica_groups=mesh['a'=2,'b'=2] {'a'}, control-predecessors={p}"));
  const Instruction& call = *m->entry->root;
  CHECK(call.Attr("literal") == "f32[] 0.1");
  CHECK(call.Attr("replica_groups") == "mesh['a'=2,'b'=2] {'a'}");
  CHECK(call.Attr("custom_call_target") == "\"x,y\"");
}

struct BadText {
  const char* what;
  std::string text;
  int line, column;
  const char* message;
};

TEST_CASE("errors say where and what was expected") {
  const std::vector<BadText> cases = {
      {"empty", " \n", 1, 1, "expected 'HloModule'"},
      {"no HLO", "hello world", 1, 1, "expected 'HloModule', 'ENTRY' or a computation, found 'hello'"},
      {"unknown operand", InEntry("  ROOT a = f32[] negate(b)"), 3, 25, "operand 'b' is not defined"},
      {"cycle", InEntry("a = f32[] negate(b)\nROOT b = f32[] negate(a)"), 3, 1, "depends on itself"},
      {"redefinition", InEntry("a = f32[] parameter(0)\na = f32[] negate(a)"), 4, 1, "defined twice"},
      {"two roots", InEntry("ROOT a = f32[] parameter(0)\nROOT b = f32[] negate(a)"), 4, 1, "second ROOT"},
      {"overflow", InEntry("ROOT a = f32[4611686018427387904,16] parameter(0)"), 3, 10, "overflows"},
      {"huge number", InEntry("ROOT a = f32[99999999999999999999] parameter(0)"), 3, 14, "does not fit 64 bits"},
      {"bad type", InEntry("ROOT a = f33[2] parameter(0)"), 3, 10, "'f33' is no element type"},
      {"layout rank", InEntry("ROOT a = f32[2,2]{0} parameter(0)"), 3, 18, "orders 1 dimensions, the shape has 2"},
      {"layout order", InEntry("ROOT a = f32[2,2]{1,1} parameter(0)"), 3, 21, "no permutation"},
      {"suffix", InEntry("ROOT a = f32[2]{0:Z(1)} parameter(0)"), 3, 19, "expected a layout suffix"},
      {"no parenthesis", InEntry("ROOT a = f32[2] parameter"), 3, 17, "expected an opcode and '('"},
      {"arity", InEntry("p = f32[] parameter(0)\nROOT a = f32[] add(p)"), 4, 6, "takes 2 operands, found 1"},
      {"index", InEntry("p = (f32[]) parameter(0)\nROOT a = f32[] get-tuple-element(p), index=3"), 4, 6, "index 3"},
      {"operand type", InEntry("p = f32[2] parameter(0)\nROOT a = f32[2] negate(f32[3] p)"), 4, 31, "has the shape f32[2]"},
      {"parameter gap", InEntry("a = f32[] parameter(1)\nROOT b = f32[] negate(a)"), 5, 1, "no parameter 0"},
      {"callee", InEntry("p = f32[] parameter(0)\nROOT b = f32[] call(p), to_apply=nobody"), 4, 34, "'nobody' is not defined"},
      {"unclosed string", InEntry("ROOT a = f32[] parameter(0), metadata={op_name=\"x"), 4, 2, "text ends inside"},
      {"sharding", InEntry("ROOT a = f32[8] parameter(0), sharding={devices=[2,2]<=[16]}"), 3, 49, "4 devices"},
      {"literal", InEntry("ROOT a = f32[2] constant({1,2,3})"), 3, 6, "3 elements where its shape has 2"},
      {"literal range", InEntry("ROOT a = s8[] constant(300)"), 3, 6, "is no s8"},
      {"attribute twice", InEntry("ROOT a = f32[2] iota(), iota_dimension=0, iota_dimension=0"), 3, 43, "given twice"},
      {"no instructions", "HloModule m\nENTRY e {\n}", 3, 1, "no instructions"},
  };
  for (const BadText& bad : cases) {
    CAPTURE(bad.what);
    const Diagnostic error = Refused(bad.text);
    CHECK(error.line == bad.line);
    CHECK(error.column == bad.column);
    CHECK_THAT(error.message, Catch::Contains(bad.message));
  }
}

TEST_CASE("a text that ends in the middle says in which computation") {
  const Diagnostic error = Refused("HloModule m\n\nf {\n  p = f32[] parameter(0)\n  q = f32[] negate(p)\n");
  CHECK(error.message == "text ends inside computation f (line 5), no ENTRY found");
  const Diagnostic mid_line = Refused("HloModule m\n\nf {\n  p = f32[] parameter(0)\n  q = f32[] neg");
  CHECK(mid_line.message == "text ends inside computation f (line 5), no ENTRY found");
}

TEST_CASE("computations that call each other in a circle are refused") {
  const Diagnostic error = Refused("HloModule m\na { p = f32[] parameter(0)\n ROOT r = f32[] call(p), to_apply=b }\n"
                                   "b { q = f32[] parameter(0)\n ROOT s = f32[] call(q), to_apply=a }\n");
  CHECK_THAT(error.message, Catch::Contains("calls itself"));
}

TEST_CASE("deep nesting is an error, not a stack overflow") {
  const std::string open(100000, '('), braces(100000, '{');
  CHECK_THAT(Refused(InEntry("a = " + open)).message, Catch::Contains("deep"));
  CHECK_THAT(Refused(InEntry("a = f32[] constant(" + braces + ")")).message, Catch::Contains("deep"));
  std::string nested, bodies;
  for (int i = 0; i < 100000; ++i) nested += "negate(";
  for (int i = 0; i < 100000; ++i) bodies += "a = f32[] call(), to_apply={";
  CHECK_THAT(Refused(InEntry("a = f32[] " + nested)).message, Catch::Contains("deep"));
  CHECK_THAT(Refused(InEntry(bodies)).message, Catch::Contains("deep"));
}

}  // namespace
}  // namespace spillway::hlo
