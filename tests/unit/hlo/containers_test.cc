// SPDX-License-Identifier: Apache-2.0
// The containers of a module against those of the standard library.
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "sim/hlo/inline_list.h"
#include "sim/hlo/name_index.h"

namespace spillway::hlo {
namespace {

using Strings = InlineList<std::string, 2>;

bool Same(const Strings& list, const std::vector<std::string>& expected) {
  return list.size() == expected.size() && std::equal(list.begin(), list.end(), expected.begin());
}

TEST_CASE("an inline list does what a vector does", "[hlo]") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    Strings list;
    std::vector<std::string> expected;
    for (int step = 0; step < 40; ++step) {
      const std::string text(random() % 40, static_cast<char>('a' + random() % 26));
      const auto at = static_cast<std::ptrdiff_t>(random() % (expected.size() + 1));
      switch (random() % 9) {
        case 0: case 1: list.push_back(text), expected.push_back(text); break;
        case 2: list.insert(list.begin() + at, text), expected.insert(expected.begin() + at, text); break;
        case 3:
          if (expected.empty()) break;
          list.push_back(list.front());
          expected.push_back(std::string(expected.front()));
          break;
        case 4: {
          const auto first = static_cast<std::ptrdiff_t>(random() % static_cast<unsigned>(at + 1));
          list.erase(list.begin() + first, list.begin() + at);
          expected.erase(expected.begin() + first, expected.begin() + at);
          break;
        }
        case 5: {
          const std::size_t size = random() % 6;
          list.resize(size, text), expected.resize(size, text);
          break;
        }
        case 6: {
          const std::vector<std::string> more(random() % 4, text);
          list.insert(list.begin() + at, more.begin(), more.end());
          expected.insert(expected.begin() + at, more.begin(), more.end());
          break;
        }
        case 7: {
          Strings copy = list;
          REQUIRE(copy == list);
          list = std::move(copy);
          break;
        }
        default: {
          Strings other{text, text, text};
          other = list;
          list = Strings(other.begin(), other.end());
        }
      }
      REQUIRE(Same(list, expected));
    }
  }
}

TEST_CASE("a name index finds what was added, and nothing else", "[hlo]") {
  struct Thing {
    std::string_view name;
  };
  std::vector<std::string> names;
  for (int i = 0; i < 3000; ++i) names.push_back(std::string(static_cast<std::size_t>(i % 23), 'x') + std::to_string(i));
  std::vector<Thing> things;
  for (const std::string& name : names) things.push_back({name});
  NameIndex<Thing> index(std::pmr::get_default_resource());
  CHECK(index.Find("x1") == nullptr);
  for (const Thing& thing : things) REQUIRE(index.Add(&thing));
  CHECK(!index.Add(&things[5]));
  CHECK(index.size() == things.size());
  for (const Thing& thing : things) REQUIRE(index.Find(std::string(thing.name)) == &thing);
  for (const std::string& name : names) REQUIRE(index.Find(name + "?") == nullptr);
  CHECK(index.Find("") == nullptr);
}

}  // namespace
}  // namespace spillway::hlo
