// SPDX-License-Identifier: Apache-2.0
#include "sim/config/resolved_writer.h"

#include <fmt/format.h>

#include <algorithm>

namespace spillway::config {
namespace {

std::string Quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// A comment ends at the line: file names and arguments must not smuggle in another.
std::string OneLine(std::string text) {
  std::replace_if(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, '?');
  return text;
}

std::string ListText(const std::vector<AddressSlice>& map) {
  std::string out;
  for (const AddressSlice& slice : map) {
    out += fmt::format("{}{{field: {}, bits: {}}}", out.empty() ? "" : ", ", slice.field, slice.bits);
  }
  return "[" + out + "]";
}

std::string ListText(const std::vector<AddressHash>& hashes) {
  std::string out;
  for (const AddressHash& hash : hashes) {
    out += fmt::format("{}{{field: {}, bit: {}, mask: {:#x}}}", out.empty() ? "" : ", ", hash.field, hash.bit, hash.mask);
  }
  return "[" + out + "]";
}

// Integers and shortest round-trip decimals: what is read back is the same bit pattern.
std::string ScalarText(const ChipKey& key, const Slot& slot) {
  switch (key.kind) {
    case KeyKind::kText: return Quoted(*std::get<std::string*>(slot));
    case KeyKind::kBool: return *std::get<bool*>(slot) ? "true" : "false";
    case KeyKind::kCount:
    case KeyKind::kCycles:
      if (int* const* small = std::get_if<int*>(&slot)) return fmt::format("{}", **small);
      return fmt::format("{}", *std::get<std::int64_t*>(slot));
    case KeyKind::kNumber: return fmt::format("{}", *std::get<double*>(slot));
    case KeyKind::kBytes: return fmt::format("{}B", *std::get<std::int64_t*>(slot));
    case KeyKind::kDuration:
    case KeyKind::kDramTime: return fmt::format("{}ps", *std::get<std::int64_t*>(slot));
    case KeyKind::kBandwidth: return fmt::format("{}B/s", *std::get<double*>(slot));
    case KeyKind::kFrequency: return fmt::format("{}Hz", *std::get<double*>(slot));
    case KeyKind::kChoice: {
      const std::vector<std::string>& names = ChoicesOf(slot);
      if (auto* const* mode = std::get_if<RefreshMode*>(&slot)) return names[static_cast<std::size_t>(**mode)];
      if (auto* const* phase = std::get_if<RefreshPhase*>(&slot)) return names[static_cast<std::size_t>(**phase)];
      return names[static_cast<std::size_t>(*std::get<HbmFidelity*>(slot))];
    }
    case KeyKind::kAddressMap: return ListText(*std::get<std::vector<AddressSlice>*>(slot));
    case KeyKind::kAddressHash: return ListText(*std::get<std::vector<AddressHash>*>(slot));
    default: break;
  }
  SPILLWAY_CHECK(!"a map is written member by member");
  return "";
}

class Writer {
 public:
  Writer(ChipConfig chip, const EntryMap& entries, bool map_adapted)
      : chip_(std::move(chip)), entries_(entries), map_adapted_(map_adapted) {}

  std::string Write() {
    out_ = "# Resolved by spillway: every key, with the place each value came from.\nschema: spillway.chip/1\n";
    for (const ChipKey& key : ChipKeys()) Key(key);
    return std::move(out_);
  }

 private:
  void Key(const ChipKey& key) {
    std::string_view path = key.path;
    std::string section;
    // Opens the sections that the key needs and the key before it has not opened.
    std::size_t depth = 0;
    for (std::size_t dot; (dot = path.find('.')) != std::string_view::npos; ++depth) {
      const std::string name(path.substr(0, dot));
      section += name + ".";
      if (depth >= open_.size() || open_[depth] != section) {
        open_.resize(depth);
        open_.push_back(section);
        Line(depth, name + ":", "");
      }
      path.remove_prefix(dot + 1);
    }
    open_.resize(depth);
    const std::string name(path);
    const Slot slot = key.slot(chip_);
    if (auto* const* numbers = std::get_if<NumberMap*>(&slot)) {
      Header(depth, name, (*numbers)->empty());
      for (const auto& [type, value] : **numbers) Member(key, {type}, depth + 1, type, fmt::format("{}", value));
    } else if (auto* const* ops = std::get_if<SlotMap*>(&slot)) {
      Header(depth, name, (*ops)->empty());
      for (const auto& [opcode, units] : **ops) {
        Header(depth + 1, opcode, units.empty());
        for (const auto& [unit, value] : units) Member(key, {opcode, unit}, depth + 2, unit, fmt::format("{}", value));
      }
    } else if (auto* const* spaces = std::get_if<SpaceMap*>(&slot)) {
      Header(depth, name, (*spaces)->empty());
      for (const auto& [space, kind] : **spaces) {
        const std::string number = fmt::format("{}", space);
        Member(key, {number}, depth + 1, number, MemoryKindNames()[static_cast<std::size_t>(kind)]);
      }
    } else if (key.kind != KeyKind::kText || !std::get<std::string*>(slot)->empty()) {
      Member(key, {}, depth, name, ScalarText(key, slot));
    }
  }

  void Header(std::size_t depth, const std::string& name, bool empty) {
    Line(depth, name + (empty ? ": {}" : ":"), "");
  }

  void Member(const ChipKey& key, std::vector<std::string> member, std::size_t depth, const std::string& name,
              const std::string& text) {
    const auto found = entries_.find({&key, std::move(member)});
    if (found == entries_.end()) return Line(depth, fmt::format("{}: {}", name, text), "default");
    const Entry& entry = found->second;
    std::string value = text;
    if (!entry.source.empty() || !entry.certainty.empty()) {
      value = "{value: " + text;
      if (!entry.source.empty()) value += ", source: " + Quoted(entry.source);
      if (!entry.certainty.empty()) value += ", certainty: " + entry.certainty;
      value += "}";
    }
    std::string origin = entry.value.at.Describe();
    const bool moved = key.kind == KeyKind::kAddressMap || key.kind == KeyKind::kAddressHash;
    if (moved && map_adapted_) origin += ", fitted to the sizes set later";
    Line(depth, fmt::format("{}: {}", name, value), origin);
  }

  void Line(std::size_t depth, const std::string& text, const std::string& comment) {
    out_ += std::string(2 * depth, ' ') + text;
    if (!comment.empty()) out_ += "  # " + OneLine(comment);
    out_ += "\n";
  }

  ChipConfig chip_;
  const EntryMap& entries_;
  bool map_adapted_;
  std::vector<std::string> open_;
  std::string out_;
};

}  // namespace

std::string WriteResolved(const ChipConfig& chip, const EntryMap& entries, bool map_adapted) {
  return Writer(chip, entries, map_adapted).Write();
}

}  // namespace spillway::config
