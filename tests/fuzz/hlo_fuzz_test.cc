// SPDX-License-Identifier: Apache-2.0
// Deterministic mutations of seed texts and protos: the reader must answer, never crash or hang. What
// parses must print and parse again, and every typed attribute and size must be readable.
#include <catch2/catch.hpp>
#include <random>

#include "sim/base/file.h"
#include "sim/hlo/attributes.h"
#include "sim/hlo/module.h"

namespace spillway::hlo {
namespace {

const char kSeed[] = R"(HloModule fuzz, is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias) }

FileNames
1 "a.py"

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[]{:T(128)} parameter(0)
  %b = f32[]{:T(128)} parameter(1)
  ROOT %s = f32[]{:T(128)} add(%a, %b), metadata={op_name="jit(f)/add"}
}

%body (p: (s32[], bf16[8,128])) -> (s32[], bf16[8,128]) {
  %p = (s32[]{:T(128)}, bf16[8,128]{1,0:T(8,128)(2,1)}) parameter(0)
  %i = s32[]{:T(128)} get-tuple-element(%p), index=0
  %x = bf16[8,128]{1,0:T(8,128)(2,1)} get-tuple-element(%p), index=1
  %one = s32[]{:T(128)} constant(1)
  %n = s32[]{:T(128)} add(%i, %one)
  ROOT %t = (s32[]{:T(128)}, bf16[8,128]{1,0:T(8,128)(2,1)}) tuple(%n, %x)
}

%cond (q: (s32[], bf16[8,128])) -> pred[] {
  %q = (s32[]{:T(128)}, bf16[8,128]{1,0:T(8,128)(2,1)}) parameter(0)
  %j = s32[]{:T(128)} get-tuple-element(%q), index=0
  %k = s32[]{:T(128)} constant(10)
  ROOT %lt = pred[]{:T(512)} compare(%j, %k), direction=LT
}

ENTRY %main (x: bf16[8,128], w: bf16[3,3,4,8]) -> bf16[8,128] {
  %x.1 = bf16[8,128]{1,0:T(8,128)(2,1)} parameter(0), sharding={devices=[2,1]<=[2]}
  %w.1 = bf16[3,3,4,8]{3,2,1,0:T(8,128)(2,1)} parameter(1)
  %c = s32[2,2]{1,0:T(2,128)} constant({ { 1, -2 }, /*i0=1*/ { 3, 4 } })
  %img = bf16[1,8,8,4]{3,2,1,0} constant({...})
  %conv = bf16[1,6,6,8]{3,2,1,0} convolution(%img, %w.1), window={size=3x3}, dim_labels=b01f_01io->b01f
  %z = s32[]{:T(128)} constant(0)
  %cs = (bf16[8,128]{1,0:T(8,128)(2,1)S(1)}, bf16[8,128]{1,0:T(8,128)(2,1)}, u32[]{:S(2)}) copy-start(%x.1)
  %cd = bf16[8,128]{1,0:T(8,128)(2,1)S(1)} copy-done(%cs), control-predecessors={%c}
  %sl = bf16[4,64]{1,0:T(4,128)(2,1)} slice(%cd), slice={[0:8:2], [64:128]}
  %pd = bf16[9,128]{1,0} pad(%cd, %z), padding=1_0x0_0
  %tp = (s32[]{:T(128)}, bf16[8,128]{1,0:T(8,128)(2,1)}) tuple(%z, %cd)
  %wh = (s32[]{:T(128)}, bf16[8,128]{1,0:T(8,128)(2,1)}) while(%tp), condition=%cond, body=%body, backend_config={"known_trip_count":{"n":"10"}}
  ROOT %out = bf16[8,128]{1,0:T(8,128)(2,1)} get-tuple-element(%wh), index=1, frontend_attributes={a="b\"c"}
}
)";

// Everything a later stage may ask of a module.
std::size_t Touch(const Module& module) {
  std::size_t sum = 0;
  for (const Computation& computation : module.computations) {
    for (const Instruction& instruction : computation.instructions) {
      sum += static_cast<std::size_t>(AllocatedBytes(instruction.shape) & 0xff);
      sum += static_cast<std::size_t>(BufferBytes(instruction.shape) & 0xff) + GridOf(instruction.shape).count.size();
      sum += DimensionsOf(instruction).size() + instruction.OpName().size();
      sum += WindowOf(instruction).has_value() + ConvolutionOf(instruction).has_value();
      sum += SliceOf(instruction).has_value() + PaddingOf(instruction).has_value();
      sum += DotOf(instruction).lhs_contracting.size() + BackendConfigOf(instruction).has_value();
    }
  }
  return sum;
}

void Try(const std::string& text) {
  const auto modules = ParseModules(text, "fuzz");
  if (!modules.ok()) {
    REQUIRE_FALSE(modules.errors().empty());
    REQUIRE_FALSE(Render(modules.errors().front()).empty());
    return;
  }
  for (const auto& module : *modules) {
    Touch(*module);
    const auto again = ParseModules(Print(*module), "printed");
    if (!again.ok()) FAIL(Render(again.errors().front()) << "\nfrom:\n" << text);
    if (!Equal(*again->front(), *module)) FAIL("prints to another module:\n" << text);
  }
}

class Mutator {
 public:
  explicit Mutator(std::uint32_t seed) : random_(seed) {}

  std::string Mutate(std::string text) {
    const std::size_t times = 1 + Below(3);
    for (std::size_t i = 0; i < times && !text.empty(); ++i) One(&text);
    return text;
  }

 private:
  std::size_t Below(std::size_t n) { return n == 0 ? 0 : random_() % n; }

  void One(std::string* text) {
    const std::size_t at = Below(text->size());
    switch (Below(8)) {
      case 0: text->resize(at); break;                                              // truncate
      case 1: (*text)[at] = static_cast<char>((*text)[at] ^ (1 << Below(8))); break;  // flip a bit
      case 2: text->insert(at, text->substr(Below(text->size()), Below(60))); break;  // splice
      case 3: text->erase(at, 1 + Below(10)); break;
      case 4: DeleteLine(text, at); break;
      case 5: {  // another mark of the grammar
        static const std::string kMarks = "{}()[],:=%\"\\/*<>-?#0123456789xT \n";
        (*text)[at] = kMarks[Below(kMarks.size())];
        break;
      }
      case 6: ReplaceNumber(text, at); break;
      default: text->insert(at, 1 + Below(300), "({[\"/"[Below(5)]); break;  // depth
    }
  }

  static void DeleteLine(std::string* text, std::size_t at) {
    const std::size_t from = text->rfind('\n', at), to = text->find('\n', at + 1);
    if (from != std::string::npos && to != std::string::npos) text->erase(from, to - from);
  }

  void ReplaceNumber(std::string* text, std::size_t at) {
    at = text->find_first_of("0123456789", at);
    if (at == std::string::npos) return;
    const std::size_t end = std::min(text->find_first_not_of("0123456789", at), text->size());
    static const char* const kNumbers[] = {"0", "-1", "9223372036854775807", "99999999999999999999", "4294967296", "65"};
    text->replace(at, end - at, kNumbers[Below(6)]);
  }

  std::mt19937 random_;
};

TEST_CASE("mutated texts") {
  Try(kSeed);
  REQUIRE(ParseModules(kSeed, "seed").ok());
  std::vector<std::string> seeds = {kSeed};
  const auto tpu = ReadFile(SPILLWAY_SOURCE_DIR "/tests/data/hlo/v6e_softmax.hlo.gz");
  REQUIRE(tpu.ok());
  seeds.push_back(*tpu);
  Mutator mutator(20260801);
  for (const std::string& seed : seeds) {
    for (int i = 0; i < 3000; ++i) Try(mutator.Mutate(seed));
  }
}

TEST_CASE("every prefix of the seed") {
  const std::string seed = kSeed;
  for (std::size_t n = 0; n <= seed.size(); ++n) Try(seed.substr(0, n));
}

TEST_CASE("mutated protos") {
  const auto bytes = ReadFile(SPILLWAY_SOURCE_DIR "/tests/data/hlo/v6e_softmax.hlo.pb.gz");
  REQUIRE(bytes.ok());
  Mutator mutator(7);
  for (int i = 0; i < 1500; ++i) {
    const auto module = ReadProto(mutator.Mutate(*bytes), "fuzz.pb");
    if (module.ok()) Touch(**module);
  }
}

TEST_CASE("noise") {
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    std::string noise;
    for (int n = 0; n < 400; ++n) noise += static_cast<char>(random() & 0xff);
    Try(noise);
    Try("HloModule m\nENTRY e {\n" + noise + "}");
    (void)ReadProto(noise, "noise").ok();
  }
}

}  // namespace
}  // namespace spillway::hlo
