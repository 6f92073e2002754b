// SPDX-License-Identifier: Apache-2.0
#include "sim/config/entries.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/file.h"

namespace spillway::config {
namespace {

using Kind = YamlNode::Kind;

bool Contains(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string DidYouMean(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.size() > 100) return "";  // no typo, and the distance costs its length
  const std::string nearest = Nearest(word, candidates);
  return nearest.empty() ? "" : fmt::format("did you mean '{}'?", nearest);
}

std::string Joined(const std::string& section, const std::string& name) {
  return section.empty() ? name : section + "." + name;
}

// A near name in the same section, else the same name in another section.
std::string HintForKey(const std::string& section, const std::string& name) {
  const std::string nearest = name.size() > 100 ? "" : Nearest(name, ChildrenOf(section));
  if (!nearest.empty()) return fmt::format("did you mean '{}'?", Joined(section, nearest));
  for (const ChipKey& key : ChipKeys()) {
    const std::string_view path = key.path;
    if (path.substr(path.rfind('.') + 1) == name && path != name) return fmt::format("did you mean '{}'?", path);
  }
  return "'spillway list keys' prints every key";
}

bool IsMapKey(const ChipKey& key) {
  return key.kind == KeyKind::kNumberMap || key.kind == KeyKind::kSlotMap || key.kind == KeyKind::kSpaceMap;
}

class Flattener {
 public:
  Flattener(int layer, Diagnostics& errors) : layer_(layer), errors_(errors) {}

  void Section(const YamlNode& map, const std::string& section, const std::vector<std::string>& skip) {
    for (std::size_t i = 0; i < map.keys.size() && !TooManyErrors(errors_); ++i) {
      const std::string& name = map.keys[i].text;
      if (section.empty() && Contains(skip, name)) continue;
      const std::string path = Joined(section, name);
      const YamlNode& value = map.children[i];
      if (const ChipKey* key = FindChipKey(path)) {
        Key(*key, value);
      } else if (!IsSection(path)) {
        Fail(map.keys[i].at, fmt::format("unknown key '{}'", Shorten(path)), HintForKey(section, name));
      } else if (value.kind != Kind::kMap) {
        Fail(value.at, fmt::format("'{}' holds keys of its own, but is given {}", path, DescribeKind(value)),
             fmt::format("indent its keys below '{}:'", name));
      } else {
        Section(value, path, {});
      }
    }
  }

  void Key(const ChipKey& key, const YamlNode& value) {
    Entry entry;
    entry.key = &key;
    entry.layer = layer_;
    const YamlNode* inner = Unwrap(value, entry);
    if (inner == nullptr) return;
    if (IsMapKey(key)) {
      Members(*inner, entry);
    } else {
      Leaf(*inner, std::move(entry));
    }
  }

  /// The value of one member of a map key, e.g. {"bf16"} of core.matmul_cycles.
  void Member(Entry entry, const YamlNode& value) {
    const YamlNode* inner = Unwrap(value, entry);
    if (inner == nullptr) return;
    if (entry.key->kind == KeyKind::kSlotMap && entry.member.size() == 1) {
      Members(*inner, entry);
    } else {
      Leaf(*inner, std::move(entry));
    }
  }

  std::vector<Entry> Take() { return std::move(entries_); }

 private:
  void Fail(const YamlLocation& at, std::string message, std::string hint = "") {
    AddError(errors_, at, std::move(message), std::move(hint));
  }

  // {value: X, source: ..., certainty: ...} is X with its provenance; null after an error.
  const YamlNode* Unwrap(const YamlNode& node, Entry& entry) {
    static const std::vector<std::string> kParts{"value", "source", "certainty"};
    static const std::vector<std::string> kCertainties{"official", "measured", "derived", "assumed"};
    const auto known = [](const YamlNode& key) { return Contains(kParts, key.text); };
    if (node.kind != Kind::kMap || std::none_of(node.keys.begin(), node.keys.end(), known)) return &node;
    const YamlNode* value = node.Find("value");
    bool good = true;
    for (std::size_t i = 0; i < node.keys.size(); ++i) {
      const std::string& name = node.keys[i].text;
      const YamlNode& child = node.children[i];
      if (!known(node.keys[i])) {
        Fail(node.keys[i].at, fmt::format("unknown key '{}' beside the value of '{}'", Shorten(name), entry.Path()),
             "only 'value', 'source' and 'certainty' go together");
        good = false;
      } else if (name == "source" || name == "certainty") {
        const bool is_source = name == "source";
        if (child.kind != Kind::kScalar || child.text.empty()) {
          Fail(child.at, fmt::format("'{}' of '{}' must be text, not {}", name, entry.Path(), DescribeKind(child)));
          good = false;
        } else if (!is_source && !Contains(kCertainties, child.text)) {
          const std::string nearest = DidYouMean(child.text, kCertainties);
          Fail(child.at, fmt::format("unknown certainty '{}'", Shorten(child.text)),
               nearest.empty() ? "official, measured, derived or assumed" : nearest);
          good = false;
        }
        (is_source ? entry.source : entry.certainty) = child.text;
      }
    }
    if (value == nullptr) {
      Fail(node.at, fmt::format("'{}' has a source but no 'value'", entry.Path()));
      return nullptr;
    }
    return good ? value : nullptr;
  }

  void Members(const YamlNode& map, const Entry& parent) {
    if (map.kind != Kind::kMap) {
      Fail(map.at, fmt::format("'{}' must be a map, not {}", parent.Path(), DescribeKind(map)));
      return;
    }
    for (std::size_t i = 0; i < map.keys.size() && !TooManyErrors(errors_); ++i) {
      Entry entry = parent;
      entry.member.push_back(map.keys[i].text);
      if (CheckMember(entry, map.keys[i])) Member(std::move(entry), map.children[i]);
    }
  }

  bool CheckMember(Entry& entry, const YamlNode& name) {
    const std::string& text = entry.member.back();
    if (entry.key->kind == KeyKind::kSpaceMap) {
      const bool digits = !text.empty() && text.size() <= 9 &&
                          std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
      if (digits && (text.size() == 1 || text[0] != '0')) return true;
      Fail(name.at, fmt::format("'{}' is not the number of a memory space", Shorten(text)), "write n of S(n)");
      return false;
    }
    const std::string_view path = entry.key->path;
    if (path == "core.packing" || entry.member.size() == 2) return CheckName("unit", text, entry, UnitNames(), name);
    if (path == "core.error_band") return CheckName("class", text, entry, ComputationClasses(), name);
    if (entry.key->kind == KeyKind::kNumberMap) return CheckType(text, entry.key->path, name);
    const std::size_t dot = text.find('.');
    const std::string opcode = text.substr(0, dot);
    const auto good = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'; };
    if (opcode.empty() || !std::all_of(opcode.begin(), opcode.end(), good)) {
      Fail(name.at, fmt::format("'{}' is not an opcode", Shorten(text)), "write opcode or opcode.type, as 'exponential.bf16'");
      return false;
    }
    for (std::size_t at = dot; at != std::string::npos;) {
      const std::size_t next = text.find('.', at + 1);
      const std::string part = text.substr(at + 1, next == std::string::npos ? next : next - at - 1);
      if (!Contains(SlotParts(), part) && !CheckType(part, entry.key->path, name)) return false;
      at = next;
    }
    return true;
  }

  bool CheckName(const char* what, const std::string& text, const Entry& entry, const std::vector<std::string>& names,
                 const YamlNode& name) {
    if (Contains(names, text)) return true;
    Fail(name.at, fmt::format("unknown {} '{}' in '{}'", what, Shorten(text), entry.key->path), NameHint(text, names));
    return false;
  }

  static std::string NameHint(const std::string& text, const std::vector<std::string>& names) {
    const std::string nearest = DidYouMean(text, names);
    return nearest.empty() ? fmt::format("one of {}", fmt::join(names, ", ")) : nearest;
  }

  bool CheckType(const std::string& type, const char* path, const YamlNode& name) {
    if (Contains(ElementTypeNames(), type)) return true;
    Fail(name.at, fmt::format("unknown element type '{}' in '{}'", Shorten(type), path), NameHint(type, ElementTypeNames()));
    return false;
  }

  void Leaf(const YamlNode& value, Entry entry) {
    const bool list = entry.key->kind == KeyKind::kAddressMap || entry.key->kind == KeyKind::kAddressHash;
    const Kind wanted = list ? Kind::kList : Kind::kScalar;
    if (value.kind == wanted) {
      entry.value = value;
      entries_.push_back(std::move(entry));
    } else if (value.kind == Kind::kNull) {
      Fail(value.at, fmt::format("'{}' has no value", entry.Path()));
    } else {
      Fail(value.at, fmt::format("'{}' must be {}, not {}", entry.Path(), list ? "a list" : "one value",
                                 DescribeKind(value)));
    }
  }

  int layer_;
  Diagnostics& errors_;
  std::vector<Entry> entries_;
};

// Splits what follows a map key in a --set path. Opcodes of op_slots hold a dot themselves.
std::vector<std::string> SplitMember(const ChipKey& key, const std::string& rest) {
  if (key.kind != KeyKind::kSlotMap) return {rest};
  const std::size_t dot = rest.rfind('.');
  if (dot == std::string::npos || !Contains(UnitNames(), rest.substr(dot + 1))) return {rest};
  return {rest.substr(0, dot), rest.substr(dot + 1)};
}

// A map of one member, as if written in a file.
YamlNode WrapInMap(const YamlNode& name, YamlNode value) {
  YamlNode map;
  map.kind = Kind::kMap;
  map.at = name.at;
  map.keys.push_back(name);
  map.children.push_back(std::move(value));
  return map;
}

}  // namespace

std::string Entry::Path() const {
  std::string path = key->path;
  for (const std::string& part : member) path += "." + part;
  return Shorten(path);
}

std::vector<Entry> FlattenTree(const YamlNode& tree, int layer, const std::vector<std::string>& skip,
                               Diagnostics& errors) {
  Flattener flattener(layer, errors);
  flattener.Section(tree, "", skip);
  return flattener.Take();
}

std::vector<Entry> FlattenSet(const std::string& argument, int layer, Diagnostics& errors) {
  static const std::string kFlag = "--set ";
  auto source = std::make_shared<YamlSource>();
  source->text = kFlag + argument;
  const YamlLocation at{source, kFlag.size()};
  const std::size_t equals = argument.find('=');
  if (equals == std::string::npos || equals == 0) {
    errors.push_back(ErrorAtNode(at, fmt::format("'--set {}' is not KEY=VALUE", Shorten(argument)),
                                 "for example --set hbm.channels=16"));
    return {};
  }
  const std::string path = argument.substr(0, equals);
  const std::size_t errors_before = errors.size();
  const std::optional<YamlNode> value = ParseYaml(source, kFlag.size() + equals + 1, errors);
  if (errors.size() != errors_before) return {};
  if (!value || value->kind == Kind::kNull) {
    errors.push_back(ErrorAtNode(at, fmt::format("'--set {}' has no value", Shorten(argument))));
    return {};
  }
  // The longest prefix that is a key or a section; what follows a map key names its member.
  YamlNode name;
  name.kind = Kind::kScalar;
  name.at = at;
  Flattener flattener(layer, errors);
  for (std::size_t end = path.size(); end != std::string::npos && end > 0; end = path.rfind('.', end - 1)) {
    const std::string prefix = path.substr(0, end);
    if (const ChipKey* key = FindChipKey(prefix)) {
      if (end == path.size()) {
        flattener.Key(*key, *value);
        return flattener.Take();
      }
      if (!IsMapKey(*key)) break;
      YamlNode tree = *value;
      std::vector<std::string> member = SplitMember(*key, path.substr(end + 1));
      for (auto part = member.rbegin(); part != member.rend(); ++part) {
        name.text = *part;
        tree = WrapInMap(name, std::move(tree));
      }
      flattener.Key(*key, tree);
      return flattener.Take();
    }
    if (end == path.size() && IsSection(prefix) && value->kind == Kind::kMap) {
      flattener.Section(*value, prefix, {});
      return flattener.Take();
    }
  }
  if (IsSection(path)) {
    errors.push_back(ErrorAtNode(at, fmt::format("'{}' holds keys of its own, but is given {}", path,
                                                 DescribeKind(*value)),
                                 fmt::format("for example {}.{}", path, ChildrenOf(path).front())));
    return {};
  }
  const std::size_t dot = path.rfind('.');
  const std::string section = dot == std::string::npos ? "" : path.substr(0, dot);
  std::string hint;
  if (section.empty() || IsSection(section)) {
    hint = HintForKey(section, path.substr(dot == std::string::npos ? 0 : dot + 1));
  } else {
    std::vector<std::string> all;
    for (const ChipKey& key : ChipKeys()) all.emplace_back(key.path);
    hint = DidYouMean(path, all);
    if (hint.empty()) hint = "'spillway list keys' prints every key";
  }
  errors.push_back(ErrorAtNode(at, fmt::format("unknown key '{}'", Shorten(path)), hint));
  return {};
}

void Overlay(EntryMap& base, std::vector<Entry> layer) {
  for (Entry& entry : layer) {
    auto place = std::make_pair(entry.key, entry.member);
    base.insert_or_assign(std::move(place), std::move(entry));
  }
}

}  // namespace spillway::config
