// SPDX-License-Identifier: Apache-2.0
// The fast reader of plain YAML must see what yaml-cpp sees, or leave the text to it.
#include "sim/config/plain_yaml.h"

#include <yaml-cpp/eventhandler.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <random>

#include "sim/base/file.h"
#include "sim/config/yaml_node.h"

namespace spillway::config {
namespace {

class Nothing final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

bool IsPlain(const std::string& text) {
  Nothing events;
  return ReadPlainYaml(text, events);
}

bool Same(const YamlNode& a, const YamlNode& b) {
  const auto same = [](const YamlNode& x, const YamlNode& y) { return Same(x, y); };
  return a.kind == b.kind && a.at.offset == b.at.offset && a.at.line() == b.at.line() && a.text == b.text &&
         a.quoted == b.quoted && std::equal(a.keys.begin(), a.keys.end(), b.keys.begin(), b.keys.end(), same) &&
         std::equal(a.children.begin(), a.children.end(), b.children.begin(), b.children.end(), same);
}

// Both ways give the same tree and the same errors.
bool Agree(const std::string& text) {
  const auto source = std::make_shared<const YamlSource>(YamlSource{"t.yaml", text});
  Diagnostics errors, expected_errors;
  const auto tree = ParseYaml(source, 0, errors);
  const auto expected = ParseYamlByLibrary(source, 0, expected_errors);
  const auto render = [](const Diagnostics& list) {
    std::string all;
    for (const Diagnostic& d : list) all += d.file + std::to_string(d.line) + ":" + std::to_string(d.column) + d.message + d.hint;
    return all;
  };
  return tree.has_value() == expected.has_value() && (!tree || Same(*tree, *expected)) &&
         render(errors) == render(expected_errors);
}

TEST_CASE("the files that users get are plain YAML and read as yaml-cpp reads them", "[config]") {
  for (const char* folder : {"/configs/chips", "/workloads"}) {
    for (const auto& entry : std::filesystem::directory_iterator(std::string(SPILLWAY_SOURCE_DIR) + folder)) {
      if (entry.path().extension() != ".yaml") continue;
      INFO(entry.path());
      const std::string text = *ReadFile(entry.path().string());
      CHECK(Agree(text));
      if (std::string(folder) == "/configs/chips") CHECK(IsPlain(text));
    }
  }
}

TEST_CASE("what plain YAML is, and what is left to yaml-cpp", "[config]") {
  for (const char* text :
       {"a: 1\n", "a: b c  # d\n", "a:\n  b: {c: 1, d: \"x: y\", e: [1, 2]}\n", "a:\n- 1\n- {b: c}\nd: 1\n", "a:\n", "a:\nb:\n",
        "# c\n\na: 'x # y'\n\n  # d\nb: []\n", "a:\n  - b: 1\n    c: 2\n  - b: 3\n", "a: x:y\n", "a: -3\n", "a: {}", "- 1\n- a: 2\n",
        "a: 1\na: 2\n", "a: it's\n", "a: 1 , 2\n", "a: {b: 1}   # c\n", "a: \"\"\n",
        "0: {a: 1}\n", "a: b [c, {d}]\n"}) {
    INFO(text);
    CHECK(IsPlain(text));
    CHECK(Agree(text));
  }
  for (const char* text :
       {"", "# c\n", "a: ~\n", "a: null\n", "null: 1\n", "a: b\n  c\n", "a: |\n  b\n", "a: >-\n  b\n", "a: &x 1\n", "a: *x\n", "a: !!str 1\n",
        "a: {b: 1,\n  c: 2}\n", "a: \"x\\n\"\n", "a: 'x''y'\n", "a: \"x\n", "\"a\": 1\n", "a: b: c\n", "a: [1, 2\n", "a: [1, , 2]\n",
        "a: {b}\n", "a: {b:}\n", "a: {b: 1,}\n", "a:\tb\n", "a: \xc3\xa9\n", "--- \na: 1\n", "a: 1\n...\n", "a: 1\n---\nb: 2\n", "%YAML 1.2\n",
        "a\n", "a:b\n", "a: 1\n b: 2\n", "  a: 1\nb: 2\n", "a:\n    b: 1\n  c: 2\n", "? a\n: b\n", "<<: 1\n", "a: {b: c: d}\n", "- - 1\n",
        "-\n", "a: - 1\n", "a: \"b\"c\n", "a: [b]c\n", "a: [b] #c\nd: [b]#c\n", "a: @b\n", "a: #b\n c\n", "a: 1\r\n", "a: {b: 1}}\n"}) {
    INFO(text);
    CHECK(!IsPlain(text));
    CHECK(Agree(text));
  }
}

TEST_CASE("broken copies of a chip file are read the same way by both readers", "[config]") {
  const std::string whole = *ReadFile(SPILLWAY_SOURCE_DIR "/configs/chips/v6e.yaml");
  const std::string text = whole.substr(0, whole.find('\n', 2000) + 1);
  std::mt19937 random(1);
  int plain = 0;
  for (int i = 0; i < 1500; ++i) {
    std::string broken = text;
    for (unsigned edits = 1 + random() % 2; edits > 0; --edits) {
      static const std::string kPieces = "ab1 :,-#\n\n  {}[]'\"?|>&*!.";
      const std::size_t at = random() % broken.size();
      switch (random() % 3) {
        case 0: broken.erase(at, 1 + random() % 8); break;
        case 1: broken.insert(at, 1 + random() % 3, kPieces[random() % kPieces.size()]); break;
        default: broken[at] = kPieces[random() % kPieces.size()];
      }
    }
    if (!IsPlain(broken)) continue;
    ++plain;
    if (!Agree(broken)) FAIL(broken);
  }
  CHECK(plain > 300);
}

}  // namespace
}  // namespace spillway::config
