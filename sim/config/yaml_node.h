// SPDX-License-Identifier: Apache-2.0
// A YAML document as a tree of our own: every node knows its place in the text, so that any later
// complaint can point at it. Only yaml_node.cc and plain_yaml.cc include yaml-cpp.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/result.h"

namespace spillway::config {

/// A text that nodes point into: a file, or one `--set` argument.
struct YamlSource {
  std::string file;  ///< As the user named it; empty for the command line.
  std::string text;
};

struct YamlLocation {
  std::shared_ptr<const YamlSource> source;
  std::size_t offset = 0;
  int known_line = 0;  ///< From 1; 0: line() has to count.

  int line() const;
  /// "file:line", or the whole argument of the command line.
  std::string Describe() const;
};

struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  YamlLocation at;
  std::string text;                ///< Scalars.
  bool quoted = false;             ///< A quoted scalar is text, never a number.
  std::vector<YamlNode> keys;      ///< Maps: scalars, each once; same length as `children`.
  std::vector<YamlNode> children;  ///< Maps and lists.

  /// Child of a map; null if absent or not a map.
  const YamlNode* Find(const std::string& key) const;
};

/// "a list", "a map", "no value", "'text'": for messages.
std::string DescribeKind(const YamlNode& node);
/// `text` cut to what fits a message.
std::string Shorten(const std::string& text);

/// An error that points at `at`.
Diagnostic ErrorAtNode(const YamlLocation& at, std::string message, std::string hint = "");

/// Adds such an error, unless so many are there that more would only bury the first: then one says so.
void AddError(Diagnostics& errors, const YamlLocation& at, std::string message, std::string hint = "");
/// Whether AddError has stopped listening: hostile files must not cost a search for each hint.
bool TooManyErrors(const Diagnostics& errors);

/// Parses the one document that begins at byte `begin` of `source`. Errors: malformed YAML, a second
/// document, duplicate keys, keys that are not scalars, anchors, aliases, tags, merge keys (the last
/// four because a silent reading of them would surprise), a text above 256 KiB. On error whatever
/// could be read is returned as well, so that its contents can be checked in the same go.
std::optional<YamlNode> ParseYaml(const std::shared_ptr<const YamlSource>& source, std::size_t begin,
                                  Diagnostics& errors);

/// The same, always by yaml-cpp: ParseYaml has a faster way for plain texts, which must not differ.
std::optional<YamlNode> ParseYamlByLibrary(const std::shared_ptr<const YamlSource>& source, std::size_t begin,
                                           Diagnostics& errors);

}  // namespace spillway::config
