// SPDX-License-Identifier: Apache-2.0
#include "sim/hlo/mlir_bytecode.h"

#include <array>

#include "sim/hlo/byte_cursor.h"
#include "sim/hlo/mlir_builtin.h"

namespace spillway::hlo {
namespace {

constexpr std::string_view kMagic = "ML\xefR";
constexpr int kMaxDepth = 200;

/// First format version that has each feature.
constexpr std::uint64_t kDialectVersions = 1, kLazyRegions = 2, kUseListOrders = 3, kElidedLocations = 4,
                        kNativeProperties = 5, kNewestVersion = 6;

enum Section : std::size_t {
  kStrings = 0, kDialects, kAttrTypes, kAttrTypeOffsets, kIr, kResources, kResourceOffsets, kVersions, kProperties, kSections
};

enum Mask : std::uint8_t {
  kHasAttributes = 1, kHasResults = 2, kHasOperands = 4, kHasSuccessors = 8, kHasRegions = 16, kHasUseLists = 32,
  kHasProperties = 64
};

struct SectionData {
  std::string_view bytes;
  std::size_t base = 0;
  bool present = false;
};

struct OpName {
  std::string name;
  bool registered = false;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  Result<MlirModule> Read() {
    if (!IsMlirBytecode(bytes_)) return Bad("no MLIR bytecode");
    ByteCursor in(bytes_.substr(kMagic.size()), kMagic.size());
    version_ = in.VarInt();
    if (in.ok() && version_ > kNewestVersion) {
      return Bad("MLIR bytecode of version " + std::to_string(version_) + "; up to " + std::to_string(kNewestVersion) + " is known");
    }
    module_.producer = std::string(in.CString());
    while (in.ok() && !in.AtEnd()) ReadSection(in);
    if (!in.ok()) return Bad("malformed MLIR bytecode: sections");
    if (!ReadStrings()) return Bad("malformed MLIR bytecode: strings");
    if (!ReadDialects()) return Bad("malformed MLIR bytecode: dialects");
    if (!ReadAttributesAndTypes()) return Bad("malformed MLIR bytecode: attributes and types");
    if (!sections_[kIr].present || !ReadIr()) return Bad("malformed MLIR bytecode: operations");
    return std::move(module_);
  }

 private:
  static Diagnostic Bad(std::string what) { return Error(std::move(what)); }

  ByteCursor In(Section section) const { return ByteCursor(sections_[section].bytes, sections_[section].base); }

  /// Sets `id` and gives the section's bytes.
  static SectionData NextSection(ByteCursor& in, std::uint8_t& id) {
    SectionData data;
    id = in.Byte();
    std::uint64_t length = in.VarInt();
    if ((id & 0x80) != 0) in.Align(in.VarInt());
    id &= 0x7f;
    data.base = in.position();
    data.bytes = in.Bytes(length);
    data.present = in.ok();
    return data;
  }

  void ReadSection(ByteCursor& in) {
    std::uint8_t id = 0;
    SectionData data = NextSection(in, id);
    if (id >= kSections || sections_[id].present) return in.Fail();
    sections_[id] = data;
  }

  bool ReadStrings() {
    if (!sections_[kStrings].present) return false;
    ByteCursor in = In(kStrings);
    std::size_t count = in.Count();
    std::vector<std::uint64_t> sizes(count);   // Last string first, each with its final zero.
    for (std::size_t i = 0; i < count; ++i) sizes[count - 1 - i] = in.VarInt();
    for (std::uint64_t size : sizes) {
      if (size == 0) in.Fail();
      std::string_view text = in.Bytes(size);
      if (!in.ok()) return false;
      strings_.emplace_back(text.substr(0, text.size() - 1));
    }
    return in.ok();
  }

  bool String(std::uint64_t number, std::string& text) const {
    if (number >= strings_.size()) return false;
    text = strings_[number];
    return true;
  }

  bool ReadDialects() {
    if (!sections_[kDialects].present) return false;
    ByteCursor in = In(kDialects);
    std::size_t count = in.Count();
    for (std::size_t i = 0; i < count && in.ok(); ++i) {
      bool versioned = false;
      std::uint64_t name = version_ >= kDialectVersions ? in.VarIntWithFlag(versioned) : in.VarInt();
      if (versioned) {
        std::uint8_t id = 0;
        NextSection(in, id);
        if (id != kVersions) in.Fail();
      }
      dialects_.emplace_back();
      if (!in.ok() || !String(name, dialects_.back())) return false;
    }
    // The total saves the reader from growing its table; ours grows.
    if (version_ >= kElidedLocations && !in.AtEnd()) in.VarInt();
    while (in.ok() && !in.AtEnd()) {
      std::uint64_t dialect = in.VarInt();
      if (dialect >= dialects_.size()) return false;
      std::size_t ops = in.Count();
      for (std::size_t i = 0; i < ops && in.ok(); ++i) {
        OpName op;
        std::string name;
        std::uint64_t number = version_ >= kNativeProperties ? in.VarIntWithFlag(op.registered) : in.VarInt();
        if (!in.ok() || !String(number, name)) return false;
        op.name = dialects_[dialect] + "." + name;
        op_names_.push_back(std::move(op));
      }
    }
    return in.ok();
  }

  struct Entry {
    std::uint64_t dialect = 0;
    std::uint64_t size = 0;
    bool custom = false;
  };

  bool ReadAttributesAndTypes() {
    if (!sections_[kAttrTypeOffsets].present || !sections_[kAttrTypes].present) return false;
    ByteCursor in = In(kAttrTypeOffsets);
    std::size_t attributes = in.Count(), types = in.Count();
    if (!in.ok() || attributes + types > in.remaining()) return false;
    std::vector<Entry> entries;
    while (in.ok() && entries.size() < attributes + types) {
      Entry entry;
      entry.dialect = in.VarInt();
      std::size_t count = in.Count();
      if (count == 0 || count > attributes + types - entries.size() || entry.dialect >= dialects_.size()) return false;
      for (std::size_t i = 0; i < count; ++i) {
        entry.size = in.VarIntWithFlag(entry.custom);
        entries.push_back(entry);
      }
    }
    if (!in.ok()) return false;
    ByteCursor data = In(kAttrTypes);
    std::vector<ByteCursor> cursors;
    for (const Entry& entry : entries) {
      std::size_t base = data.position();
      cursors.emplace_back(data.Bytes(entry.size), base);
    }
    if (!data.ok()) return false;
    for (std::size_t i = attributes; i < entries.size(); ++i) {
      if (!ReadType(entries[i], cursors[i])) return false;
    }
    for (std::size_t i = 0; i < attributes; ++i) {
      if (!ReadAttribute(entries[i], cursors[i])) return false;
    }
    return ResolveKeys();
  }

  bool ReadType(const Entry& entry, ByteCursor in) {
    MlirType type;
    if (!entry.custom) {
      type = TypeFromText(in.CString());
    } else if (dialects_[entry.dialect] == "builtin") {
      type = BuiltinReader::Type(in);
    }
    module_.types.push_back(std::move(type));
    return in.ok();
  }

  bool ReadAttribute(const Entry& entry, ByteCursor in) {
    MlirAttribute attribute;
    std::vector<std::int64_t> keys;
    if (!entry.custom) {
      attribute.text = std::string(in.CString());
    } else if (dialects_[entry.dialect] == "builtin") {
      attribute = BuiltinReader{strings_, module_.types}.Attribute(in, keys);
    }
    module_.attributes.push_back(std::move(attribute));
    keys_.push_back(std::move(keys));
    return in.ok();
  }

  /// Names of dictionary entries and symbols are string attributes of their own.
  bool ResolveKeys() {
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      MlirAttribute& attribute = module_.attributes[i];
      for (std::size_t k = 0; k < keys_[i].size(); ++k) {
        const MlirAttribute* name = module_.Attribute(static_cast<int>(keys_[i][k]));
        if (name == nullptr || name->kind != MlirAttribute::Kind::kString) return false;
        if (attribute.kind == MlirAttribute::Kind::kSymbol) {
          attribute.text = name->text;
        } else {
          attribute.entries[k].first = name->text;
        }
      }
    }
    return true;
  }

  /// Values visible inside one isolated region, by their number in it.
  struct Scope {
    std::vector<int> values;
    std::vector<std::size_t> next;   ///< A region's first number that is still free.
  };

  bool ReadIr() {
    if (sections_[kProperties].present) {
      ByteCursor properties = In(kProperties);
      properties_ = properties.Count();
      if (!properties.ok()) return false;
    }
    ByteCursor in = In(kIr);
    Scope scope;
    scope.next.push_back(0);
    MlirBlock block;
    if (!ReadBlock(in, scope, block, 0)) return false;
    module_.operations = std::move(block.operations);
    return true;
  }

  bool Define(ByteCursor& in, Scope& scope, std::uint64_t type, std::vector<int>& values) {
    if (type >= module_.types.size() || scope.next.back() >= scope.values.size()) in.Fail();
    if (!in.ok()) return false;
    int value = scope.values[scope.next.back()++];
    module_.value_types[value] = static_cast<int>(type);
    values.push_back(value);
    return true;
  }

  void SkipUseLists(ByteCursor& in, std::size_t values) {
    std::size_t lists = values > 1 ? in.Count() : 1;
    for (std::size_t i = 0; i < lists && in.ok(); ++i) {
      if (values > 1) in.VarInt();
      bool pairs = false;
      std::uint64_t count = in.VarIntWithFlag(pairs);
      if (count > in.remaining()) in.Fail();
      for (std::uint64_t k = 0; k < count && in.ok(); ++k) in.VarInt();
    }
  }

  bool ReadBlock(ByteCursor& in, Scope& scope, MlirBlock& block, int depth) {
    bool has_arguments = false;
    std::uint64_t count = in.VarIntWithFlag(has_arguments);
    if (has_arguments) {
      std::size_t arguments = in.Count();
      for (std::size_t i = 0; i < arguments; ++i) {
        bool located = true;
        std::uint64_t type = version_ >= kElidedLocations ? in.VarIntWithFlag(located) : in.VarInt();
        if (located) in.VarInt();
        if (!Define(in, scope, type, block.arguments)) return false;
      }
      if (version_ >= kUseListOrders && in.Byte() != 0) SkipUseLists(in, arguments);
    }
    if (count > in.remaining()) in.Fail();
    for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
      block.operations.emplace_back();
      if (!ReadOperation(in, scope, block.operations.back(), depth)) return false;
    }
    return in.ok();
  }

  bool ReadOperation(ByteCursor& in, Scope& scope, MlirOperation& op, int depth) {
    std::uint64_t name = in.VarInt();
    std::uint8_t mask = in.Byte();
    in.VarInt();  // Location.
    if (!in.ok() || name >= op_names_.size()) return false;
    op.name = op_names_[name].name;
    if ((mask & kHasAttributes) != 0) op.attributes = Dictionary(in);
    if ((mask & kHasProperties) != 0) {
      if (version_ < kNativeProperties) return false;
      // An op that its writer did not know has a dictionary; of the others only the dialect knows the encoding.
      op.opaque_properties = op_names_[name].registered;
      if (op.opaque_properties && in.VarInt() >= properties_) return false;
      int properties = op.opaque_properties ? -1 : Dictionary(in);
      if (op.attributes < 0) op.attributes = properties;
    }
    if ((mask & kHasResults) != 0) {
      std::size_t count = in.Count();
      for (std::size_t i = 0; i < count; ++i) {
        if (!Define(in, scope, in.VarInt(), op.results)) return false;
      }
    }
    if ((mask & kHasOperands) != 0) {
      std::size_t count = in.Count();
      for (std::size_t i = 0; i < count && in.ok(); ++i) {
        std::uint64_t value = in.VarInt();
        if (value >= scope.values.size()) return false;
        op.operands.push_back(scope.values[value]);
      }
    }
    if ((mask & kHasSuccessors) != 0) {
      std::size_t count = in.Count();
      for (std::size_t i = 0; i < count; ++i) in.VarInt();
    }
    if ((mask & kHasUseLists) != 0 && version_ >= kUseListOrders) SkipUseLists(in, op.results.size());
    if ((mask & kHasRegions) != 0) return ReadRegions(in, scope, op, depth);
    return in.ok();
  }

  int Dictionary(ByteCursor& in) {
    std::uint64_t number = in.VarInt();
    if (number >= module_.attributes.size() || module_.attributes[number].kind != MlirAttribute::Kind::kDictionary) in.Fail();
    return in.ok() ? static_cast<int>(number) : -1;
  }

  bool ReadRegions(ByteCursor& in, Scope& scope, MlirOperation& op, int depth) {
    bool isolated = false;
    std::uint64_t count = in.VarIntWithFlag(isolated);
    if (!in.ok() || depth >= kMaxDepth || count > in.remaining()) return false;
    op.regions.resize(count);
    if (!isolated) return ReadRegionList(in, scope, op, depth);
    Scope own;
    if (version_ < kLazyRegions) return ReadRegionList(in, own, op, depth);
    std::uint8_t id = 0;
    SectionData section = NextSection(in, id);
    if (!in.ok() || id != kIr) return false;
    ByteCursor inner(section.bytes, section.base);
    return ReadRegionList(inner, own, op, depth);
  }

  bool ReadRegionList(ByteCursor& in, Scope& scope, MlirOperation& op, int depth) {
    for (MlirRegion& region : op.regions) {
      std::size_t blocks = in.Count();
      if (!in.ok()) return false;
      if (blocks == 0) continue;
      std::size_t values = in.Count();
      // Each value has a type somewhere in the file, so more than bytes there cannot be.
      if (!in.ok() || module_.value_types.size() + values > bytes_.size()) return false;
      std::size_t outer = scope.values.size();
      scope.next.push_back(outer);
      for (std::size_t i = 0; i < values; ++i) {
        scope.values.push_back(static_cast<int>(module_.value_types.size()));
        module_.value_types.push_back(-1);
      }
      region.resize(blocks);
      for (MlirBlock& block : region) {
        if (!ReadBlock(in, scope, block, depth + 1)) return false;
      }
      scope.values.resize(outer);
      scope.next.pop_back();
    }
    return in.ok();
  }

  std::string_view bytes_;
  std::uint64_t version_ = 0;
  std::array<SectionData, kSections> sections_;
  std::vector<std::string> strings_, dialects_;
  std::vector<OpName> op_names_;
  std::vector<std::vector<std::int64_t>> keys_;
  std::size_t properties_ = 0;     ///< Entries of that section.
  MlirModule module_;
};

}  // namespace

bool IsMlirBytecode(std::string_view bytes) { return bytes.substr(0, kMagic.size()) == kMagic; }

Result<MlirModule> ReadMlirBytecode(std::string_view bytes) { return Reader(bytes).Read(); }

}  // namespace spillway::hlo
