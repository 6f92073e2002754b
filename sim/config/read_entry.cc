// SPDX-License-Identifier: Apache-2.0
// Strict typed reads: nothing is converted that does not look exactly like its type.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "sim/base/file.h"
#include "sim/base/units.h"
#include "sim/config/entries.h"

namespace spillway::config {
namespace {

constexpr std::string_view kClockSuffix = "ck";

template <class Number>
std::optional<Number> ParseWhole(std::string_view text, int base = 10) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<double> ParseReal(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number)) return std::nullopt;
  return number;
}

// "010" is octal to some readers of YAML and decimal to others: refused.
bool HasLeadingZero(std::string_view text) {
  if (!text.empty() && text[0] == '-') text.remove_prefix(1);
  return text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9';
}

std::string NearestOf(const std::string& word, const std::vector<std::string>& names) {
  return word.size() > 100 ? "" : Nearest(word, names);  // the distance costs the length
}

class Reader {
 public:
  Reader(const Entry& entry, Picos tck, Diagnostics& errors) : entry_(entry), tck_(tck), errors_(errors) {}

  bool Read(ChipConfig& chip) {
    const Slot slot = entry_.key->slot(chip);
    const YamlNode& value = entry_.value;
    switch (entry_.key->kind) {
      case KeyKind::kText: return ReadText(*std::get<std::string*>(slot));
      case KeyKind::kBool: return ReadBool(*std::get<bool*>(slot));
      case KeyKind::kCount:
      case KeyKind::kCycles: {
        const std::optional<std::int64_t> number = Count(value, entry_.Path());
        if (!number || !InRange(static_cast<double>(*number))) return false;
        if (int* const* small = std::get_if<int*>(&slot)) {
          **small = static_cast<int>(*number);
        } else {
          *std::get<std::int64_t*>(slot) = *number;
        }
        return true;
      }
      case KeyKind::kNumber: return ReadNumber(*std::get<double*>(slot));
      case KeyKind::kBytes:
      case KeyKind::kDuration:
      case KeyKind::kDramTime: return ReadExact(*std::get<std::int64_t*>(slot));
      case KeyKind::kBandwidth:
      case KeyKind::kFrequency: return ReadRate(*std::get<double*>(slot));
      case KeyKind::kChoice: return ReadChoice(slot);
      case KeyKind::kNumberMap: return ReadNumber((*std::get<NumberMap*>(slot))[entry_.member[0]]);
      case KeyKind::kSlotMap:
        return ReadNumber((*std::get<SlotMap*>(slot))[entry_.member[0]][entry_.member[1]]);
      case KeyKind::kSpaceMap: return ReadSpace(*std::get<SpaceMap*>(slot));
      case KeyKind::kAddressMap: return ReadMap(*std::get<std::vector<AddressSlice>*>(slot));
      case KeyKind::kAddressHash: return ReadHash(*std::get<std::vector<AddressHash>*>(slot));
    }
    return false;
  }

 private:
  bool Fail(const YamlNode& node, std::string message, std::string hint = "") {
    AddError(errors_, node.at, std::move(message), std::move(hint));
    return false;
  }
  bool Fail(std::string message, std::string hint = "") {
    return Fail(entry_.value, std::move(message), std::move(hint));
  }
  bool InRange(double value) {
    const ChipKey& key = *entry_.key;
    if (value >= key.min && value <= key.max) return true;
    return Fail(fmt::format("'{}' is out of range: '{}'", entry_.Path(), Shorten(entry_.value.text)),
                fmt::format("allowed: {}", RangeText(key)));
  }

  bool ReadText(std::string& out) {
    const std::string& text = entry_.value.text;
    const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
    if (text.empty() || text.size() > 1000 || std::any_of(text.begin(), text.end(), control)) {
      return Fail(fmt::format("'{}' must be one line of text, at most 1000 bytes", entry_.Path()));
    }
    out = text;
    return true;
  }

  bool ReadBool(bool& out) {
    const std::string& text = entry_.value.text;
    if (entry_.value.quoted || (text != "true" && text != "false")) {
      return Fail(fmt::format("'{}' must be true or false, not {}", entry_.Path(), DescribeKind(entry_.value)));
    }
    out = text == "true";
    return true;
  }

  std::optional<std::int64_t> Count(const YamlNode& node, const std::string& path) {
    const std::string& text = node.text;
    if (node.kind == YamlNode::Kind::kScalar && !node.quoted && !HasLeadingZero(text)) {
      if (const auto number = ParseWhole<std::int64_t>(text)) return number;
    }
    std::string hint = "a bare decimal number";
    if (HasLeadingZero(text)) hint = "drop the leading zero: some read it as octal";
    if (node.quoted) hint = "drop the quotes";
    Fail(node, fmt::format("'{}' must be a whole number, not {}", path, DescribeKind(node)), hint);
    return std::nullopt;
  }

  bool ReadNumber(double& out) {
    const YamlNode& node = entry_.value;
    const std::optional<double> number =
        node.quoted || HasLeadingZero(node.text) ? std::nullopt : ParseReal(node.text);
    if (!number) return Fail(fmt::format("'{}' must be a number, not {}", entry_.Path(), DescribeKind(node)));
    if (!InRange(*number)) return false;
    out = *number;
    return true;
  }

  static const char* UnitHint(KeyKind kind) {
    switch (kind) {
      case KeyKind::kBytes: return "units: B, kB, MB, GB (powers of 1000), KiB, MiB, GiB (powers of 1024)";
      case KeyKind::kDuration: return "units: ps, ns, us, ms, s";
      case KeyKind::kDramTime: return "units: ck (clocks of hbm.timing.tck), ps, ns, us, ms";
      case KeyKind::kBandwidth: return "units: B/s, kB/s, MB/s, GB/s, TB/s, MiB/s, GiB/s, TiB/s";
      default: return "units: Hz, kHz, MHz, GHz";
    }
  }
  // Says what is wrong with a quantity that did not parse.
  bool BadQuantity() {
    const std::string& text = entry_.value.text;
    const KeyKind kind = entry_.key->kind;
    double number = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const std::string unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
    if (error != std::errc() || rest == text.data() || !std::isfinite(number)) {
      return Fail(fmt::format("'{}' must be a {}, not {}", entry_.Path(), Noun(), DescribeKind(entry_.value)),
                  UnitHint(kind));
    }
    if (unit.empty()) return Fail(fmt::format("'{}' lacks a unit: '{}'", entry_.Path(), Shorten(text)), UnitHint(kind));
    if (number < 0) return Fail(fmt::format("'{}' is negative: '{}'", entry_.Path(), Shorten(text)));
    if (UnitIsKnown(unit)) {
      return Fail(fmt::format("'{}' is not a whole number of {}: '{}'", entry_.Path(),
                              kind == KeyKind::kBytes ? "bytes" : "picoseconds", Shorten(text)));
    }
    return Fail(fmt::format("'{}' has an unknown unit: '{}'", entry_.Path(), Shorten(text)), UnitHint(kind));
  }
  const char* Noun() const {
    switch (entry_.key->kind) {
      case KeyKind::kBytes: return "size";
      case KeyKind::kBandwidth: return "bandwidth";
      case KeyKind::kFrequency: return "frequency";
      default: return "duration";
    }
  }
  bool UnitIsKnown(const std::string& unit) const {
    const std::string one = "1" + unit;
    return entry_.key->kind == KeyKind::kBytes ? ParseBytes(one).has_value() : ParseDuration(one).has_value();
  }

  bool ReadExact(std::int64_t& out) {
    const std::string& text = entry_.value.text;
    const KeyKind kind = entry_.key->kind;
    if (HasLeadingZero(text)) {
      return Fail(fmt::format("'{}' must be a {}, not '{}'", entry_.Path(), Noun(), Shorten(text)), "drop the leading zero");
    }
    if (kind == KeyKind::kDramTime && text.size() > 2 && text.substr(text.size() - 2) == kClockSuffix) {
      return ReadClocks(out);
    }
    const std::optional<std::int64_t> number = kind == KeyKind::kBytes ? ParseBytes(text) : ParseDuration(text);
    if (!number) return BadQuantity();
    if (!InRange(static_cast<double>(*number))) return false;
    out = *number;
    return true;
  }

  bool ReadClocks(std::int64_t& out) {
    const std::string& text = entry_.value.text;
    const auto clocks = ParseWhole<std::int64_t>(std::string_view(text).substr(0, text.size() - kClockSuffix.size()));
    if (!clocks || *clocks < 0 || *clocks > 1'000'000'000) {
      return Fail(fmt::format("'{}' must be a whole number of clocks, not '{}'", entry_.Path(), Shorten(text)));
    }
    if (tck_ == 0) return true;
    if (!InRange(static_cast<double>(*clocks) * static_cast<double>(tck_))) return false;
    out = *clocks * tck_;
    return true;
  }

  bool ReadRate(double& out) {
    const std::string& text = entry_.value.text;
    const std::optional<double> rate = HasLeadingZero(text) ? std::nullopt
                                       : entry_.key->kind == KeyKind::kBandwidth ? ParseBandwidth(text)
                                                                                 : ParseFrequency(text);
    if (!rate || !std::isfinite(*rate)) return BadQuantity();
    if (!InRange(*rate)) return false;
    out = *rate;
    return true;
  }

  std::optional<int> Choice(const std::vector<std::string>& names) {
    const std::string& text = entry_.value.text;
    const auto found = std::find(names.begin(), names.end(), text);
    if (found != names.end()) return static_cast<int>(found - names.begin());
    const std::string nearest = NearestOf(text, names);
    Fail(fmt::format("'{}' cannot be '{}'", entry_.Path(), Shorten(text)),
         nearest.empty() ? fmt::format("one of {}", fmt::join(names, ", "))
                         : fmt::format("did you mean '{}'?", nearest));
    return std::nullopt;
  }
  bool ReadChoice(const Slot& slot) {
    const std::optional<int> index = Choice(ChoicesOf(slot));
    if (!index) return false;
    if (RefreshMode* const* mode = std::get_if<RefreshMode*>(&slot)) **mode = static_cast<RefreshMode>(*index);
    if (RefreshPhase* const* phase = std::get_if<RefreshPhase*>(&slot)) **phase = static_cast<RefreshPhase>(*index);
    if (HbmFidelity* const* level = std::get_if<HbmFidelity*>(&slot)) **level = static_cast<HbmFidelity>(*index);
    return true;
  }
  bool ReadSpace(SpaceMap& out) {
    const std::optional<int> index = Choice(MemoryKindNames());
    const auto space = ParseWhole<std::int64_t>(entry_.member[0]);
    if (!index || !space) return false;
    out[*space] = static_cast<MemoryKind>(*index);
    return true;
  }

  // Checks that a list item is a map of exactly `names`.
  bool ItemHas(const YamlNode& item, const std::vector<std::string>& names) {
    if (item.kind != YamlNode::Kind::kMap) {
      return Fail(item, fmt::format("an item of '{}' must be {{{}}}, not {}", entry_.Path(),
                                    fmt::join(names, ", "), DescribeKind(item)));
    }
    bool good = true;
    for (const YamlNode& key : item.keys) {
      if (std::find(names.begin(), names.end(), key.text) != names.end()) continue;
      const std::string nearest = NearestOf(key.text, names);
      good = Fail(key, fmt::format("unknown key '{}' in an item of '{}'", Shorten(key.text), entry_.Path()),
                  nearest.empty() ? "" : fmt::format("did you mean '{}'?", nearest));
    }
    for (const std::string& name : names) {
      const YamlNode* child = item.Find(name);
      if (child == nullptr) {
        good = Fail(item, fmt::format("an item of '{}' lacks '{}'", entry_.Path(), name));
      } else if (child->kind != YamlNode::Kind::kScalar) {
        good = Fail(*child, fmt::format("'{}' in an item of '{}' must be one value, not {}", name, entry_.Path(),
                                        DescribeKind(*child)));
      }
    }
    return good;
  }
  bool Field(const YamlNode& node, std::size_t from, std::string& out) {
    const std::vector<std::string>& names = AddressFields();
    if (std::find(names.begin(), names.end(), node.text) == names.end()) {
      const std::string nearest = NearestOf(node.text, names);
      return Fail(node, fmt::format("unknown address field '{}'", Shorten(node.text)),
                  nearest.empty() ? fmt::format("one of {}", fmt::join(names.begin() + static_cast<int>(from), names.end(), ", "))
                                  : fmt::format("did you mean '{}'?", nearest));
    }
    out = node.text;
    return true;
  }
  bool Small(const YamlNode& node, const char* what, int min, int& out) {
    const std::optional<std::int64_t> number = Count(node, what);
    if (!number) return false;
    if (*number < min || *number > 63) {
      return Fail(node, fmt::format("'{}' is out of range: '{}'", what, Shorten(node.text)), fmt::format("allowed: {} .. 63", min));
    }
    out = static_cast<int>(*number);
    return true;
  }
  bool ReadMap(std::vector<AddressSlice>& out) {
    std::vector<AddressSlice> slices;
    bool good = true;
    for (const YamlNode& item : entry_.value.children) {
      AddressSlice slice;
      if (!ItemHas(item, {"field", "bits"})) {
        good = false;
        continue;
      }
      good = Field(*item.Find("field"), 0, slice.field) && good;
      good = Small(*item.Find("bits"), "bits", 1, slice.bits) && good;
      slices.push_back(slice);
    }
    if (good) out = std::move(slices);
    return good;
  }
  bool ReadHash(std::vector<AddressHash>& out) {
    std::vector<AddressHash> hashes;
    bool good = true;
    for (const YamlNode& item : entry_.value.children) {
      AddressHash hash;
      if (!ItemHas(item, {"field", "bit", "mask"})) {
        good = false;
        continue;
      }
      good = Field(*item.Find("field"), 2, hash.field) && good;
      good = Small(*item.Find("bit"), "bit", 0, hash.bit) && good;
      const YamlNode& mask = *item.Find("mask");
      const bool hex = mask.text.size() > 2 && mask.text.compare(0, 2, "0x") == 0;
      if (hex) {
        hash.mask = ParseWhole<std::uint64_t>(std::string_view(mask.text).substr(2), 16).value_or(0);
      } else if (!HasLeadingZero(mask.text)) {
        hash.mask = ParseWhole<std::uint64_t>(mask.text).value_or(0);
      }
      if (hash.mask == 0 || hash.mask >> 63 != 0) {
        good = Fail(mask, fmt::format("'mask' must be a non-zero mask of address bits, not {}", DescribeKind(mask)),
                    "for example 0x84200000");
      }
      hashes.push_back(hash);
    }
    if (good) out = std::move(hashes);
    return good;
  }

  const Entry& entry_;
  Picos tck_;
  Diagnostics& errors_;
};

}  // namespace

bool ReadEntry(const Entry& entry, Picos tck, ChipConfig& chip, Diagnostics& errors) {
  return Reader(entry, tck, errors).Read(chip);
}

}  // namespace spillway::config
