// SPDX-License-Identifier: Apache-2.0
#include "sim/model/address_map.h"

#include <catch2/catch.hpp>

#include "tests/support/hbm_presets.h"

namespace spillway::model {
namespace {

config::HbmConfig Base() { return test::Hbm(test::kHbm3, 64, 2); }

std::string ErrorOf(const config::HbmConfig& hbm) {
  const Result<AddressMap> map = AddressMap::Create(hbm);
  return map.ok() ? "" : map.errors()[0].message;
}

TEST_CASE("slices are read from the low bits up") {
  config::HbmConfig hbm = Base();
  hbm.address_map = {{"offset", 5}, {"column", 2}, {"channel", 6}, {"bank_group", 2},
                     {"column", 3}, {"bank", 2},   {"stack", 1},   {"row", 13}};
  const Result<AddressMap> map = AddressMap::Create(hbm);
  REQUIRE(map.ok());
  CHECK(map->bits() == 34);
  CHECK(map->Decode(0) == Location{0, 0, 0, 0, 0});
  CHECK(map->Decode(7) == Location{0, 0, 0, 0, 7});
  CHECK(map->Decode(3 << 5) == Location{0, 0, 0, 3, 0});
  CHECK(map->Decode(5 << 7) == Location{5, 0, 0, 0, 0});
  // A bank group is 4 banks, a stack 16.
  CHECK(map->Decode(std::int64_t{1} << 13) == Location{0, 4, 0, 0, 0});
  CHECK(map->Decode(std::int64_t{5} << 15) == Location{0, 0, 0, 20, 0});
  CHECK(map->Decode(std::int64_t{3} << 18) == Location{0, 3, 0, 0, 0});
  CHECK(map->Decode(std::int64_t{1} << 20) == Location{0, 16, 0, 0, 0});
  CHECK(map->Decode(std::int64_t{9} << 21) == Location{0, 0, 9, 0, 0});
  CHECK(map->unit_bits() == 7);
  CHECK(map->stripe_bits() == 15);
  CHECK(map->tile_bits() == 18);
  CHECK(map->symmetric());
}

TEST_CASE("a hash term flips a field bit by the parity of its mask") {
  config::HbmConfig hbm = Base();
  hbm.address_map = {{"offset", 5}, {"channel", 6}, {"bank_group", 2}, {"column", 5},
                     {"bank", 2},   {"stack", 1},   {"row", 13}};
  hbm.address_hash = {{"channel", 2, (std::uint64_t{1} << 21) | (std::uint64_t{1} << 22)}};
  const Result<AddressMap> map = AddressMap::Create(hbm);
  REQUIRE(map.ok());
  CHECK(map->Decode(std::int64_t{1} << 21).channel == 4);
  CHECK(map->Decode(std::int64_t{3} << 21).channel == 0);
  const std::int64_t address = (std::int64_t{1} << 22) + 12345;
  CHECK(map->Encode(map->Decode(address)) == address);
}

TEST_CASE("maps that cannot be are refused with a reason") {
  config::HbmConfig hbm = Base();
  hbm.channels = 48;
  CHECK(ErrorOf(hbm).find("powers of two") != std::string::npos);
  hbm = Base();
  hbm.address_map = {{"offset", 5}, {"chanel", 6}};
  CHECK(ErrorOf(hbm) == "hbm.address_map: unknown field \"chanel\"");
  hbm.address_map = {{"offset", 5}, {"channel", 5}, {"bank_group", 2}, {"column", 5}, {"bank", 2}, {"stack", 1}, {"row", 14}};
  CHECK(ErrorOf(hbm) == "hbm.address_map: field \"channel\" has 5 bits, the configuration needs 6");
  hbm.address_map = {{"channel", 6}, {"offset", 5}, {"bank_group", 2}, {"column", 5}, {"bank", 2}, {"stack", 1}, {"row", 13}};
  CHECK(ErrorOf(hbm).find("lowest slice") != std::string::npos);
  hbm.address_map.clear();
  hbm.address_hash = {{"channel", 0, std::uint64_t{1} << 60}};
  CHECK(ErrorOf(hbm).find("outside the map") != std::string::npos);
  hbm.address_hash = {{"channel", 6, std::uint64_t{1} << 30}};
  CHECK(ErrorOf(hbm).find("no bit 6") != std::string::npos);
  // Each of two channel bits XORed with the other's address bit: both become the same parity.
  hbm.address_hash = {{"channel", 0, std::uint64_t{1} << 8}, {"channel", 1, std::uint64_t{1} << 7}};
  CHECK(ErrorOf(hbm).find("bijection") != std::string::npos);
}

TEST_CASE("the default slices cover the capacity") {
  const config::HbmConfig hbm = Base();
  const Result<AddressMap> map = AddressMap::Create(hbm);
  REQUIRE(map.ok());
  CHECK((Bytes{1} << map->bits()) == hbm.capacity);
}

}  // namespace
}  // namespace spillway::model
