// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/buffer_assignment.h"

#include <catch2/catch.hpp>

namespace spillway::plan {
namespace {

constexpr char kText[] = R"(Total bytes used: 6402 (6.2KiB)
allocation 1: size 4.0KiB, parameter 0:

BufferAssignment:
allocation 0: size 512, thread-local:
 value: <2 add.5 @0> (size=512,offset=0): f32[]{:T(128)}
allocation 1: size 4100, parameter 0, shape |f32[1024]| at ShapeIndex {}:
 value: <5 x.1 @0> (size=4100,offset=0): f32[1025]{0:T(1024)}
allocation 2: size 2304, output shape is |f32[64]|, maybe-live-out:
 value: <7 fusion{1} @0> (size=256,offset=2048): f32[64]{0:T(64)}
allocation 3: size 2048, color 1, preallocated-temp:
 value: <9 copy-start{0} @1> (size=1024,offset=1024): f32[256]{0:T(256)S(1)}

Used values:
<2 add.5 @0>
 value: <99 nonsense
)";

TEST_CASE("allocations, values, colours and addresses are read from a buffer assignment") {
  const Result<BufferAssignment> parsed = BufferAssignment::Parse(kText, "b.txt");
  REQUIRE(parsed.ok());
  REQUIRE(parsed->allocations().size() == 4);
  CHECK(parsed->allocations()[0].thread_local_);
  CHECK(parsed->allocations()[1].parameter == 0);
  CHECK(parsed->allocations()[2].live_out);
  CHECK(parsed->allocations()[3].color == 1);
  REQUIRE(parsed->values().size() == 4);
  const BufferAssignment::Value* result = parsed->Find("fusion{1}");
  REQUIRE(result);
  CHECK(parsed->AddressOf(*result) == 5 * 1024 + 2048);  // 4100 bytes before it, rounded up to 1 KiB
  CHECK(parsed->AddressOf(*parsed->Find("copy-start{0}")) == 1024);
  CHECK(parsed->Find("nonsense") == nullptr);
  CHECK(parsed->AllocatedBytes(1) == 2048);
  CHECK(parsed->AllocatedBytes(0) == 4100 + 2304);
}

TEST_CASE("what is no buffer assignment is refused with a position") {
  CHECK(!BufferAssignment::Parse("", "b.txt").ok());
  CHECK(!BufferAssignment::Parse("BufferAssignment:\n value: <1 x @0> (size=1,offset=0): f32[]\n", "b.txt").ok());
  const auto broken = BufferAssignment::Parse("BufferAssignment:\nallocation x: size 5\n", "b.txt");
  REQUIRE(!broken.ok());
  CHECK(broken.errors()[0].line == 2);
}

}  // namespace
}  // namespace spillway::plan
