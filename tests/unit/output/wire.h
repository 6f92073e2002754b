// SPDX-License-Identifier: Apache-2.0
// A protobuf decoder that knows no schema: checks our field numbers independently of our .proto files.
#pragma once

#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace spillway::output {

class Wire {
 public:
  explicit Wire(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::uint64_t key = Varint(bytes);
      const int field = static_cast<int>(key >> 3);
      std::uint64_t number = 0;
      std::string_view text;
      switch (key & 7) {
        case 0: number = Varint(bytes); break;
        case 1:
          REQUIRE(bytes.size() >= 8);
          std::memcpy(&number, bytes.data(), 8);
          bytes.remove_prefix(8);
          break;
        case 2: {
          const std::uint64_t length = Varint(bytes);
          REQUIRE(bytes.size() >= length);
          text = bytes.substr(0, length);
          bytes.remove_prefix(length);
          break;
        }
        default: FAIL("wire type " << (key & 7));
      }
      fields_[field].push_back({number, std::string(text)});
    }
  }

  std::size_t Count(int field) const { return fields_.count(field) ? fields_.at(field).size() : 0; }
  bool Has(int field) const { return Count(field) > 0; }
  std::uint64_t Number(int field, std::size_t i = 0) const {
    return i < Count(field) ? fields_.at(field)[i].number : 0;
  }
  std::int64_t Signed(int field) const { return static_cast<std::int64_t>(Number(field)); }
  double Double(int field) const {
    const std::uint64_t bits = Number(field);
    double value;
    std::memcpy(&value, &bits, 8);
    return value;
  }
  std::string Text(int field, std::size_t i = 0) const {
    return i < Count(field) ? fields_.at(field)[i].text : "";
  }
  Wire Message(int field, std::size_t i = 0) const { return Wire(Text(field, i)); }
  std::vector<Wire> All(int field) const {
    std::vector<Wire> out;
    for (std::size_t i = 0; i < Count(field); ++i) out.push_back(Message(field, i));
    return out;
  }

 private:
  struct Value {
    std::uint64_t number;
    std::string text;
  };
  static std::uint64_t Varint(std::string_view& bytes) {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      REQUIRE_FALSE(bytes.empty());
      const auto byte = static_cast<unsigned char>(bytes[0]);
      bytes.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    FAIL("a varint of more than ten bytes");
    return 0;
  }
  std::map<int, std::vector<Value>> fields_;
};

}  // namespace spillway::output
