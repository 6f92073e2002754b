// SPDX-License-Identifier: Apache-2.0
#include "sim/config/config_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "sim/base/file.h"
#include "sim/config/chip_checks.h"
#include "sim/config/entries.h"
#include "sim/config/resolved_writer.h"

namespace spillway::config {
namespace {

namespace fs = std::filesystem;

constexpr char kSchema[] = "spillway.chip/1";

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool IsPath(const std::string& chip) {
  return chip.find('/') != std::string::npos || EndsWith(chip, ".yaml") || EndsWith(chip, ".yml");
}

bool Exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::string Canonical(const std::string& path) {
  std::error_code failed;
  const fs::path canonical = fs::weakly_canonical(path, failed);
  return failed ? path : canonical.string();
}

// `chips/NAME.yaml` in the first directory that has it.
std::string FindByName(const std::string& name, const std::vector<std::string>& search) {
  for (const std::string& directory : search) {
    const fs::path path = fs::path(directory) / "chips" / (name + ".yaml");
    if (Exists(path)) return path.string();
  }
  return "";
}

std::string KnownChipsHint(const std::string& name, const std::vector<std::string>& search) {
  const std::vector<std::string> known = ListChips(search);
  const std::string nearest = Nearest(name, known);
  if (!nearest.empty()) return fmt::format("did you mean '{}'?", nearest);
  if (known.empty()) return fmt::format("no chip files in {}", fmt::join(search, ", "));
  return fmt::format("known chips: {}; or give the path of a .yaml file", fmt::join(known, ", "));
}

class Loader {
 public:
  explicit Loader(const std::vector<std::string>& search, ChipFileCache* cache = nullptr)
      : search_(search), cache_(cache) {}

  void Chip(const std::string& chip) {
    const std::string path = IsPath(chip) ? chip : FindByName(chip, search_);
    if (chip.empty()) {
      errors_.push_back(Error("no chip given", KnownChipsHint("", search_)));
    } else if (path.empty()) {
      errors_.push_back(Error(fmt::format("unknown chip '{}'", chip), KnownChipsHint(chip, search_)));
    } else {
      File(path, nullptr);
    }
  }

  /// Loads the parents of `path`, then the file as the next layer. `from`: the `extends` that led here.
  void File(const std::string& path, const YamlNode* from) {
    const std::string canonical = Canonical(path);
    if (InCycle(path, canonical, from)) return;
    const std::shared_ptr<const YamlNode> tree = Parse(path, from);
    if (tree == nullptr) return;
    open_.push_back({path, canonical});
    if (const YamlNode* parent = tree->Find("extends")) Extend(path, *parent);
    open_.pop_back();
    extends_ = extends_ || tree->Find("extends") != nullptr;
    Add(FlattenTree(*tree, ++layer_, {"schema", "extends"}, errors_));
  }

  void Set(const std::string& argument) {
    Add(FlattenSet(argument, ++layer_, errors_));
  }

  /// Whether the files say that they describe a chip, rather than only override one.
  bool IsWholeChip() const { return extends_ || entries_.count({FindChipKey("name"), {}}) != 0; }

  Result<LoadedChip> Resolve(bool want_text = true) {
    LoadedChip loaded;
    // A key that is missing may be one that was misspelt: then the other message is enough.
    const bool all_given = HasRequired(errors_.empty());
    if (all_given) ReadAll(loaded.config);
    const bool adapted = all_given && AdaptAddressMap(entries_, bad_, loaded.config);
    // Beside errors in single values the rules between the good ones are checked in the same go.
    if (all_given) CheckChip(loaded.config, entries_, bad_, errors_);
    if (!errors_.empty()) return errors_;
    if (want_text) loaded.resolved_yaml = WriteResolved(loaded.config, entries_, adapted);
    return loaded;
  }

  const Diagnostics& errors() const { return errors_; }
  const EntryMap& entries() const { return entries_; }

 private:
  struct OpenFile {
    std::string path, canonical;
  };

  /// The map in the file; null, with errors, if there is none. What can be read of a faulty one is returned too.
  std::shared_ptr<const YamlNode> Parse(const std::string& path, const YamlNode* from) {
    if (cache_ != nullptr) {
      const auto known = cache_->trees.find(path);
      if (known != cache_->trees.end()) return known->second;
    }
    Result<std::string> text = ReadFile(path);
    if (!text.ok()) {
      for (const Diagnostic& error : text.errors()) {
        errors_.push_back(from == nullptr ? error : ErrorAtNode(from->at, error.message));
      }
      return nullptr;
    }
    const auto source = std::make_shared<YamlSource>(YamlSource{path, std::move(*text)});
    const std::size_t before = errors_.size();
    std::optional<YamlNode> tree = ParseYaml(source, 0, errors_);
    if (!tree || tree->kind != YamlNode::Kind::kMap) {
      if (errors_.size() == before) errors_.push_back(NotAMap(source, tree));
      return nullptr;
    }
    CheckSchema(source, *tree, errors_.size() == before);
    auto parsed = std::make_shared<const YamlNode>(std::move(*tree));
    if (cache_ != nullptr && errors_.size() == before) cache_->trees[path] = parsed;
    return parsed;
  }

  bool InCycle(const std::string& path, const std::string& canonical, const YamlNode* from) {
    const auto again = std::find_if(open_.begin(), open_.end(), [&](const OpenFile& f) { return f.canonical == canonical; });
    if (again == open_.end()) return false;
    std::string chain;
    for (auto file = again; file != open_.end(); ++file) chain += file->path + " -> ";
    SPILLWAY_CHECK(from != nullptr);
    errors_.push_back(ErrorAtNode(from->at, fmt::format("'extends' runs in a circle: {}{}", chain, path)));
    return true;
  }

  static Diagnostic NotAMap(const std::shared_ptr<const YamlSource>& source, const std::optional<YamlNode>& tree) {
    const bool empty = !tree || tree->kind == YamlNode::Kind::kNull;
    return ErrorAtNode(tree ? tree->at : YamlLocation{source, 0},
                       empty ? "the file holds no configuration" : "a configuration must be a map of keys",
                       fmt::format("begin with 'schema: {}'", kSchema));
  }

  void CheckSchema(const std::shared_ptr<const YamlSource>& source, const YamlNode& tree, bool complete) {
    const YamlNode* schema = tree.Find("schema");
    if (schema == nullptr) {
      // A text that broke off may have had one.
      if (complete) errors_.push_back(ErrorAtNode({source, 0}, "no 'schema'", fmt::format("begin with 'schema: {}'", kSchema)));
    } else if (schema->kind != YamlNode::Kind::kScalar || schema->text != kSchema) {
      errors_.push_back(ErrorAtNode(schema->at, fmt::format("'schema' must be {}, not {}", kSchema, DescribeKind(*schema)),
                                    "is this the right kind of file?"));
    }
  }

  void Extend(const std::string& path, const YamlNode& parent) {
    if (parent.kind != YamlNode::Kind::kScalar || parent.text.empty()) {
      errors_.push_back(ErrorAtNode(parent.at, fmt::format("'extends' must name one chip or file, not {}", DescribeKind(parent))));
      return;
    }
    const fs::path beside = fs::path(path).parent_path();
    if (IsPath(parent.text)) return File((beside / parent.text).string(), &parent);
    std::string found = FindByName(parent.text, search_);
    const fs::path sibling = beside / (parent.text + ".yaml");
    if (found.empty() && Exists(sibling)) found = sibling.string();
    if (!found.empty()) return File(found, &parent);
    errors_.push_back(ErrorAtNode(parent.at, fmt::format("unknown chip '{}'", parent.text), KnownChipsHint(parent.text, search_)));
  }

  // Every value is read once where it stands, so that an overridden mistake is still a mistake.
  void Add(std::vector<Entry> layer) {
    ChipConfig scratch;
    for (const Entry& entry : layer) Read(entry, 0, scratch);
    Overlay(entries_, std::move(layer));
  }

  void Read(const Entry& entry, Picos tck, ChipConfig& chip) {
    if (!ReadEntry(entry, tck, chip, errors_)) bad_.insert(entry.key->path);
  }

  bool HasRequired(bool report) {
    bool all = true;
    for (const ChipKey& key : ChipKeys()) {
      const auto from = entries_.lower_bound({&key, {}});
      if (!key.required || (from != entries_.end() && from->first.first == &key)) continue;
      all = false;
      if (!report) continue;
      errors_.push_back(Error(fmt::format("no value for '{}' ({})", key.path, key.doc),
                              "'extends: v6e' takes what is not given from another chip"));
    }
    return all;
  }

  // REQUIRES: HasRequired().
  void ReadAll(ChipConfig& chip) {
    const ChipKey* tck = FindChipKey("hbm.timing.tck");
    if (bad_.count(tck->path) == 0) Read(entries_.at({tck, {}}), 0, chip);
    for (const auto& [place, entry] : entries_) {
      if (bad_.count(entry.key->path) != 0) continue;
      if (entry.key->kind == KeyKind::kDramTime && bad_.count(tck->path) != 0) {
        bad_.insert(entry.key->path);
      } else {
        Read(entry, chip.hbm.timing.tck, chip);
      }
    }
  }

  const std::vector<std::string>& search_;
  ChipFileCache* cache_;
  Diagnostics errors_;
  EntryMap entries_;
  std::set<std::string> bad_;  // keys with a value that cannot be read
  std::vector<OpenFile> open_;
  int layer_ = 0;
  bool extends_ = false;
};

}  // namespace

Result<LoadedChip> LoadChip(const ChipRequest& request) {
  Loader loader(request.search, request.cache);
  loader.Chip(request.chip);
  for (const std::string& file : request.files) loader.File(file, nullptr);
  for (const std::string& set : request.sets) loader.Set(set);
  return loader.Resolve(request.want_resolved);
}

std::vector<std::string> ListChips(const std::vector<std::string>& search) {
  std::set<std::string> names;
  for (const std::string& directory : search) {
    std::error_code failed;
    for (fs::directory_iterator it(fs::path(directory) / "chips", failed), end; !failed && it != end; it.increment(failed)) {
      if (it->path().extension() == ".yaml") names.insert(it->path().stem().string());
    }
  }
  return {names.begin(), names.end()};
}

std::vector<KeyInfo> ListKeys() {
  std::vector<KeyInfo> keys;
  for (const ChipKey& key : ChipKeys()) keys.push_back({key.path, TypeName(key), RangeText(key), key.doc});
  return keys;
}

Diagnostics CheckChipFile(const std::string& path, const std::vector<std::string>& search) {
  Loader loader(search);
  loader.File(path, nullptr);
  if (!loader.IsWholeChip()) return loader.errors();
  Result<LoadedChip> loaded = loader.Resolve();
  return loaded.ok() ? Diagnostics{} : loaded.errors();
}

}  // namespace spillway::config
