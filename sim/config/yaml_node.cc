// SPDX-License-Identifier: Apache-2.0
#include "sim/config/yaml_node.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string_view>

#include "sim/base/file.h"
#include "sim/config/plain_yaml.h"

namespace spillway::config {
namespace {

constexpr std::size_t kMaxErrors = 100;
constexpr std::size_t kMaxTextBytes = std::size_t{256} << 10;

// Builds the tree from parser events rather than from YAML::Node: events keep the place of keys and
// the order of duplicates, and an alias cannot blow the tree up.
class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(std::shared_ptr<const YamlSource> source, std::size_t begin, Diagnostics& errors)
      : source_(std::move(source)), errors_(errors) {
    line_starts_.push_back(begin);
    for (std::size_t i = begin; i < source_->text.size(); ++i) {
      if (source_->text[i] == '\n') line_starts_.push_back(i + 1);
    }
  }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Add(Make(YamlNode::Kind::kNull, mark, "", anchor));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    AddError(errors_, At(mark), "aliases are not supported", "write the value out");
    Add(Make(YamlNode::Kind::kNull, mark, "", YAML::NullAnchor));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode node = Make(YamlNode::Kind::kScalar, mark, tag, anchor);
    node.text = value;
    node.quoted = tag == "!";
    Add(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open_.push_back(Make(YamlNode::Kind::kList, mark, tag, anchor));
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open_.push_back(Make(YamlNode::Kind::kMap, mark, tag, anchor));
  }
  void OnMapEnd() override { Close(); }

  /// The text broke off: what was being read is no more to be trusted.
  void Abandon() {
    if (open_.empty()) return;
    YamlNode& node = open_.back();
    const bool pending_key = node.keys.size() > node.children.size();
    if (!node.keys.empty()) node.keys.pop_back();
    if (!pending_key && !node.children.empty()) node.children.pop_back();
  }
  /// What has been read, complete or not.
  std::optional<YamlNode> Take() {
    while (!open_.empty()) Close();
    return std::move(root_);
  }
  YamlLocation At(const YAML::Mark& mark) const {
    if (mark.line < 0) return {source_, line_starts_.front(), 0};
    const std::size_t line = std::min(static_cast<std::size_t>(mark.line), line_starts_.size() - 1);
    const std::size_t offset = line_starts_[line] + static_cast<std::size_t>(std::max(mark.column, 0));
    const bool whole = line_starts_.front() == 0 && offset <= source_->text.size();
    return {source_, std::min(offset, source_->text.size()), whole ? static_cast<int>(line) + 1 : 0};
  }

 private:
  YamlNode Make(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
                YAML::anchor_t anchor) {
    YamlNode node;
    node.kind = kind;
    node.at = At(mark);
    if (anchor != YAML::NullAnchor) {
      AddError(errors_, node.at, "anchors are not supported", "use 'extends' to share values");
    }
    if (!tag.empty() && tag != "?" && tag != "!") {
      AddError(errors_, node.at, fmt::format("tags are not supported: '{}'", Shorten(tag)));
    }
    return node;
  }
  void Close() {
    YamlNode node = std::move(open_.back());
    open_.pop_back();
    if (node.keys.size() > node.children.size()) node.keys.pop_back();  // the text broke off here
    if (node.kind == YamlNode::Kind::kMap) {
      SPILLWAY_CHECK(node.keys.size() == node.children.size());
      DropDuplicates(node);
    }
    Add(std::move(node));
  }
  static bool HasPlainKeys(const YamlNode& map) {
    std::vector<std::string_view> names;
    names.reserve(map.keys.size());
    for (const YamlNode& key : map.keys) {
      if (key.kind != YamlNode::Kind::kScalar || key.text == "<<") return false;
      names.push_back(key.text);
    }
    std::sort(names.begin(), names.end());
    return std::adjacent_find(names.begin(), names.end()) == names.end();
  }
  void DropDuplicates(YamlNode& map) {
    if (HasPlainKeys(map)) return;
    std::map<std::string, std::size_t> seen;  // key -> its offset
    YamlNode kept;
    for (std::size_t i = 0; i < map.keys.size(); ++i) {
      const YamlNode& key = map.keys[i];
      if (key.kind != YamlNode::Kind::kScalar) {
        AddError(errors_, key.at, "a key must be a plain word");
        continue;
      }
      const auto [first, fresh] = seen.emplace(key.text, key.at.offset);
      if (!fresh) {
        if (TooManyErrors(errors_)) continue;
        const int line = YamlLocation{source_, first->second}.line();
        AddError(errors_, key.at, fmt::format("duplicate key '{}'", Shorten(key.text)),
                 source_->file.empty() ? "" : fmt::format("first given in line {}", line));
      } else if (key.text == "<<") {
        AddError(errors_, key.at, "merge keys are not supported", "use 'extends' to share values");
      } else {
        kept.keys.push_back(std::move(map.keys[i]));
        kept.children.push_back(std::move(map.children[i]));
      }
    }
    map.keys = std::move(kept.keys);
    map.children = std::move(kept.children);
  }
  void Add(YamlNode node) {
    if (open_.empty()) {
      if (!root_) root_ = std::move(node);
      return;
    }
    YamlNode& parent = open_.back();
    if (parent.kind == YamlNode::Kind::kMap && parent.keys.size() == parent.children.size()) {
      parent.keys.push_back(std::move(node));
      return;
    }
    // The parser places a missing value wherever the next token is: the key is the better place.
    if (node.kind == YamlNode::Kind::kNull && node.text.empty() && parent.kind == YamlNode::Kind::kMap) {
      node.at = parent.keys.back().at;
    }
    parent.children.push_back(std::move(node));
  }

  std::shared_ptr<const YamlSource> source_;
  Diagnostics& errors_;
  std::vector<std::size_t> line_starts_;
  std::vector<YamlNode> open_;
  std::optional<YamlNode> root_;
};

}  // namespace

int YamlLocation::line() const { return known_line > 0 ? known_line : Locate(source->text, offset).line; }

std::string YamlLocation::Describe() const {
  return source->file.empty() ? source->text : fmt::format("{}:{}", source->file, line());
}

const YamlNode* YamlNode::Find(const std::string& key) const {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].text == key) return &children[i];
  }
  return nullptr;
}

std::string Shorten(const std::string& text) {
  constexpr std::size_t kWidth = 60;
  std::string out = text.size() > kWidth ? text.substr(0, kWidth) + "..." : text;
  std::replace_if(out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, '?');
  return out;
}

bool TooManyErrors(const Diagnostics& errors) { return errors.size() > kMaxErrors; }

void AddError(Diagnostics& errors, const YamlLocation& at, std::string message, std::string hint) {
  if (TooManyErrors(errors)) return;
  if (errors.size() == kMaxErrors) {
    errors.push_back(Error("too many errors: the rest is not shown"));
  } else {
    errors.push_back(ErrorAtNode(at, std::move(message), std::move(hint)));
  }
}

std::string DescribeKind(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull: return "no value";
    case YamlNode::Kind::kScalar: return fmt::format("'{}'", Shorten(node.text));
    case YamlNode::Kind::kList: return "a list";
    case YamlNode::Kind::kMap: return "a map";
  }
  return "";
}

Diagnostic ErrorAtNode(const YamlLocation& at, std::string message, std::string hint) {
  Diagnostic error =
      ErrorAt(at.source->text, at.source->file, at.offset, std::move(message), std::move(hint));
  if (at.source->file.empty()) error.line = error.column = 0;  // an argument has no lines
  return error;
}

std::optional<YamlNode> ParseYaml(const std::shared_ptr<const YamlSource>& source, std::size_t begin,
                                  Diagnostics& errors) {
  if (source->text.size() <= kMaxTextBytes) {
    Diagnostics found;
    TreeBuilder builder(source, begin, found);
    if (ReadPlainYaml(std::string_view(source->text).substr(begin), builder)) {
      errors.insert(errors.end(), found.begin(), found.end());
      return builder.Take();
    }
  }
  return ParseYamlByLibrary(source, begin, errors);
}

std::optional<YamlNode> ParseYamlByLibrary(const std::shared_ptr<const YamlSource>& source, std::size_t begin,
                                           Diagnostics& errors) {
  if (source->text.size() > kMaxTextBytes) {
    errors.push_back(ErrorAtNode({source, 0}, "a configuration of more than 256 KiB", "is this the right file?"));
    return std::nullopt;
  }
  TreeBuilder builder(source, begin, errors);
  try {
    std::istringstream stream(source->text.substr(begin));
    YAML::Parser parser(stream);
    TreeBuilder* first = &builder;
    if (!parser.HandleNextDocument(*first)) return std::nullopt;
    Diagnostics ignored;
    TreeBuilder second(source, begin, ignored);
    if (parser.HandleNextDocument(second)) {
      const std::optional<YamlNode> extra = second.Take();
      const YamlLocation at = extra ? extra->at : YamlLocation{source, begin};
      errors.push_back(ErrorAtNode(at, "more than one YAML document", "keep one per file"));
    }
  } catch (const YAML::Exception& e) {
    builder.Abandon();
    Diagnostic error = ErrorAtNode(builder.At(e.mark), fmt::format("malformed YAML: {}", e.msg));
    const std::size_t text_begin = error.source_line.find_first_not_of(' ');
    if (text_begin != std::string::npos && error.source_line[text_begin] == '\t') {
      error.hint = "indent with spaces: YAML allows no tabs there";
    }
    errors.push_back(std::move(error));
  } catch (const std::exception& e) {
    // The library lets a few standard exceptions escape on hostile text.
    builder.Abandon();
    errors.push_back(ErrorAtNode({source, begin}, fmt::format("malformed YAML: {}", e.what())));
  }
  return builder.Take();
}

}  // namespace spillway::config
