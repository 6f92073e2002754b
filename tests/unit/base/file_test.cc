// SPDX-License-Identifier: Apache-2.0
#include "sim/base/file.h"

#include <catch2/catch.hpp>
#include <libdeflate.h>

#include <string>

#include "tests/support/temporary.h"

namespace spillway {
namespace {

std::string Gzip(const std::string& text) {
  libdeflate_compressor* compressor = libdeflate_alloc_compressor(6);
  std::string out(libdeflate_gzip_compress_bound(compressor, text.size()), '\0');
  out.resize(libdeflate_gzip_compress(compressor, text.data(), text.size(), out.data(), out.size()));
  libdeflate_free_compressor(compressor);
  return out;
}

/// What ReadFile makes of a file that holds `bytes`.
Result<std::string> ReadBack(const std::string& bytes) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.path() + "/file";
  REQUIRE(WriteFileAtomically(path, bytes).ok());
  return ReadFile(path);
}

bool IsBroken(const Result<std::string>& read) {
  return !read.ok() && read.errors().front().message.find("broken or truncated gzip") != std::string::npos;
}

TEST_CASE("gzip is undone, whatever its last word says of the size") {
  const std::string small = "HloModule m\n";
  const std::string large(5'000'000, 'x');  // packs better than the room that is made at first
  for (const std::string& text : {std::string(), small, large}) {
    const Result<std::string> read = ReadBack(Gzip(text));
    REQUIRE(read.ok());
    CHECK(*read == text);
  }
  // The last member says how long it is, not how long all are.
  const Result<std::string> members = ReadBack(Gzip(large) + Gzip("") + Gzip(small));
  REQUIRE(members.ok());
  CHECK(*members == large + small);
}

TEST_CASE("a gzip file with a wrong or missing byte is an error") {
  const std::string text = "ENTRY main {\n  ROOT p = f32[8]{0} parameter(0)\n}\n";
  const std::string good = Gzip(text);
  for (std::size_t size = 2; size < good.size(); ++size) CHECK(IsBroken(ReadBack(good.substr(0, size))));
  std::size_t harmless = 0;  // the bits between the last block and the checksum mean nothing
  for (std::size_t at = 10; at < good.size(); ++at) {  // after the header, which may name a time or a system
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    const Result<std::string> read = ReadBack(bad);
    if (!IsBroken(read)) {
      ++harmless;
      CHECK(read.value() == text);
    }
  }
  CHECK(harmless <= 1);
  CHECK(IsBroken(ReadBack(good + "rest")));
}

TEST_CASE("a file that is not there is named in the error") {
  const Result<std::string> read = ReadFile("/nowhere/at/all.hlo");
  REQUIRE_FALSE(read.ok());
  CHECK(read.errors().front().message.find("/nowhere/at/all.hlo") != std::string::npos);
  CHECK_FALSE(ReadFile("/").ok());
}

}  // namespace
}  // namespace spillway
