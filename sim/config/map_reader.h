// SPDX-License-Identifier: Apache-2.0
// Strict reading of one YAML map: every key is asked for, what was not asked for is an error.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/config/yaml_node.h"

namespace spillway::config {

class MapReader {
 public:
  /// `what` names the map in messages ("the workload"). A node that is no map is an error, and then
  /// every key reads as absent without further complaint.
  MapReader(const YamlNode& node, std::string what, Diagnostics& errors);

  /// The value of `key`; null, with an error if `required`, when it is absent.
  const YamlNode* Get(const std::string& key, bool required);
  std::string Text(const std::string& key, bool required);
  std::vector<std::string> Texts(const std::string& key, bool required);
  std::int64_t Integer(const std::string& key, bool required);
  std::vector<std::int64_t> Integers(const std::string& key, bool required);
  double Number(const std::string& key, bool required);
  /// Calls `read` for each item of a list or `read_member` for each key and value of a map.
  void Each(const std::string& key, bool required, const std::function<void(const YamlNode&)>& read);
  void EachMember(const std::string& key, bool required,
                  const std::function<void(const YamlNode& name, const YamlNode& value)>& read_member);
  /// Complains about the keys that nobody asked for. Call last.
  void Finish();

  Diagnostics& errors() { return errors_; }
  const YamlNode& node() const { return node_; }

 private:
  const YamlNode& node_;
  std::string what_;
  Diagnostics& errors_;
  std::vector<std::string> asked_;
  bool is_map_ = false;
};

/// Scalars; on error `false` and a message. An integer is decimal without leading zeros ("010" is refused:
/// some YAML readers take it for 8).
bool ReadText(const YamlNode& node, const std::string& what, std::string& value, Diagnostics& errors);
bool ReadInteger(const YamlNode& node, const std::string& what, std::int64_t& value, Diagnostics& errors);
bool ReadNumber(const YamlNode& node, const std::string& what, double& value, Diagnostics& errors);

/// The value of the top-level key `schema` of a YAML text, however broken the rest; empty if none.
std::string SchemaOf(const std::string& text);

}  // namespace spillway::config
