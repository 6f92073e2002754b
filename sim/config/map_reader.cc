// SPDX-License-Identifier: Apache-2.0
#include "sim/config/map_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "sim/base/file.h"

namespace spillway::config {
namespace {

using Kind = YamlNode::Kind;

std::string Quoted(const std::string& key) { return fmt::format("'{}'", key); }

/// All up to the end of the first line that is no comment; empty if the line after it may belong to it.
std::string FirstEntry(const std::string& text) {
  for (std::size_t begin = 0, end; begin < text.size(); begin = end) {
    end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    if (text[begin] == '#' || text[begin] == '\n') continue;
    const bool more = end < text.size() && (text[end] == ' ' || text[end] == '\t' || text[end] == '-');
    return more ? "" : text.substr(0, end);
  }
  return "";
}

}  // namespace

bool ReadText(const YamlNode& node, const std::string& what, std::string& value, Diagnostics& errors) {
  if (node.kind != Kind::kScalar || node.text.empty()) {
    errors.push_back(
        ErrorAtNode(node.at, fmt::format("{} must be a text, not {}", what, DescribeKind(node))));
    return false;
  }
  value = node.text;
  return true;
}

bool ReadInteger(const YamlNode& node, const std::string& what, std::int64_t& value, Diagnostics& errors) {
  const std::string& text = node.text;
  const char* end = text.data() + text.size();
  bool good = node.kind == Kind::kScalar && !node.quoted && !text.empty();
  const std::size_t digits = text.find_first_not_of('-');
  good = good && (text == "0" || (digits != std::string::npos && digits <= 1 && text[digits] != '0'));
  if (good) {
    const auto [stop, code] = std::from_chars(text.data(), end, value);
    good = stop == end && code == std::errc();
  }
  if (!good)
    errors.push_back(
        ErrorAtNode(node.at, fmt::format("{} must be an integer, not {}", what, DescribeKind(node))));
  return good;
}

bool ReadNumber(const YamlNode& node, const std::string& what, double& value, Diagnostics& errors) {
  const std::string& text = node.text;
  const char* end = text.data() + text.size();
  bool good = node.kind == Kind::kScalar && !node.quoted && !text.empty();
  if (good) {
    const auto [stop, code] = std::from_chars(text.data(), end, value);
    good = stop == end && code == std::errc() && std::isfinite(value);
  }
  if (!good)
    errors.push_back(
        ErrorAtNode(node.at, fmt::format("{} must be a number, not {}", what, DescribeKind(node))));
  return good;
}

MapReader::MapReader(const YamlNode& node, std::string what, Diagnostics& errors)
    : node_(node), what_(std::move(what)), errors_(errors), is_map_(node.kind == Kind::kMap) {
  if (!is_map_) {
    errors_.push_back(
        ErrorAtNode(node.at, fmt::format("{} must be a map of keys, not {}", what_, DescribeKind(node))));
  }
}

const YamlNode* MapReader::Get(const std::string& key, bool required) {
  asked_.push_back(key);
  const YamlNode* value = node_.Find(key);
  if (value == nullptr && required && is_map_) {
    errors_.push_back(ErrorAtNode(node_.at, fmt::format("{} has no '{}'", what_, key)));
  }
  return value;
}

std::string MapReader::Text(const std::string& key, bool required) {
  std::string text;
  if (const YamlNode* value = Get(key, required)) ReadText(*value, Quoted(key), text, errors_);
  return text;
}

std::vector<std::string> MapReader::Texts(const std::string& key, bool required) {
  std::vector<std::string> texts;
  Each(key, required, [&](const YamlNode& item) {
    std::string text;
    if (ReadText(item, fmt::format("an item of '{}'", key), text, errors_)) texts.push_back(text);
  });
  return texts;
}

std::int64_t MapReader::Integer(const std::string& key, bool required) {
  std::int64_t number = 0;
  if (const YamlNode* value = Get(key, required)) ReadInteger(*value, Quoted(key), number, errors_);
  return number;
}

std::vector<std::int64_t> MapReader::Integers(const std::string& key, bool required) {
  std::vector<std::int64_t> numbers;
  Each(key, required, [&](const YamlNode& item) {
    std::int64_t number = 0;
    if (ReadInteger(item, fmt::format("an item of '{}'", key), number, errors_)) numbers.push_back(number);
  });
  return numbers;
}

double MapReader::Number(const std::string& key, bool required) {
  double number = 0;
  if (const YamlNode* value = Get(key, required)) ReadNumber(*value, Quoted(key), number, errors_);
  return number;
}

void MapReader::Each(const std::string& key, bool required,
                     const std::function<void(const YamlNode&)>& read) {
  const YamlNode* list = Get(key, required);
  if (list == nullptr) return;
  if (list->kind != Kind::kList) {
    errors_.push_back(
        ErrorAtNode(list->at, fmt::format("'{}' must be a list, not {}", key, DescribeKind(*list))));
    return;
  }
  for (const YamlNode& item : list->children) read(item);
}

void MapReader::EachMember(const std::string& key, bool required,
                           const std::function<void(const YamlNode&, const YamlNode&)>& read_member) {
  const YamlNode* map = Get(key, required);
  if (map == nullptr) return;
  if (map->kind != Kind::kMap) {
    errors_.push_back(
        ErrorAtNode(map->at, fmt::format("'{}' must be a map, not {}", key, DescribeKind(*map))));
    return;
  }
  for (std::size_t i = 0; i < map->keys.size(); ++i) read_member(map->keys[i], map->children[i]);
}

void MapReader::Finish() {
  for (const YamlNode& key : node_.keys) {
    if (std::find(asked_.begin(), asked_.end(), key.text) != asked_.end()) continue;
    const std::string nearest = Nearest(key.text, asked_);
    errors_.push_back(ErrorAtNode(key.at, fmt::format("unknown key '{}'", key.text),
                                  nearest.empty()
                                      ? fmt::format("{} takes: {}", what_, fmt::join(asked_, ", "))
                                      : fmt::format("did you mean '{}'?", nearest)));
  }
}

std::string SchemaOf(const std::string& text) {
  const std::string first = FirstEntry(text);
  for (const std::string& part : {first, text}) {  // it is the first entry of nearly every file
    const auto source = std::make_shared<YamlSource>(YamlSource{"", part});
    Diagnostics ignored;
    const std::optional<YamlNode> tree = ParseYaml(source, 0, ignored);
    const YamlNode* schema = tree ? tree->Find("schema") : nullptr;
    if (schema != nullptr) return schema->kind == YamlNode::Kind::kScalar ? schema->text : "";
  }
  return "";
}

}  // namespace spillway::config
