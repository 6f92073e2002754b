// SPDX-License-Identifier: Apache-2.0
// From names to the things that bear them: one flat table, so that a lookup in a dump of 10^5 instructions
// costs one or two cache misses, and taking it down costs nothing.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory_resource>
#include <string_view>
#include <vector>

namespace spillway::hlo {

/// Eight characters at a time; not for names that an adversary chooses.
inline std::uint64_t HashText(std::string_view text) {
  constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15u;
  const auto mix = [](std::uint64_t value) { return (value ^ value >> 32) * kFactor; };
  std::uint64_t hash = text.size(), word = 0;
  const char* at = text.data();
  std::size_t left = text.size();
  for (; left >= 8; left -= 8, at += 8) {
    std::memcpy(&word, at, 8);
    hash = mix(hash ^ word);
  }
  word = 0;
  // Compilers turn these fixed sizes into plain loads; the tails overlap in no byte.
  if ((left & 4) != 0) {
    std::uint32_t part = 0;
    std::memcpy(&part, at, 4);
    word = part;
    at += 4;
  }
  for (std::size_t i = 0; i < (left & 3); ++i) word = word << 8 | static_cast<unsigned char>(at[i]);
  hash = mix(hash ^ word);
  return hash ^ hash >> 29;
}

/// `T` has a member `name` (a string_view), the key. What is added must stay where it is and keep its name.
template <class T>
class NameIndex {
 public:
  explicit NameIndex(std::pmr::memory_resource* memory) : slots_(memory) {}

  std::size_t size() const { return size_; }
  /// Null if there is none.
  const T* Find(std::string_view name) const {
    if (slots_.empty()) return nullptr;
    return SlotOf(name, static_cast<std::uint32_t>(HashText(name))).value;
  }
  /// False, and nothing changes, if the name is taken.
  bool Add(const T* value) {
    if (2 * size_ >= slots_.size()) Grow();
    const auto hash = static_cast<std::uint32_t>(HashText(value->name));
    Slot& slot = const_cast<Slot&>(SlotOf(value->name, hash));
    if (slot.value != nullptr) return false;
    slot = {value, hash};
    ++size_;
    return true;
  }

 private:
  struct Slot {
    const T* value = nullptr;
    std::uint32_t hash = 0;
  };
  static constexpr std::size_t kFirstSlots = 16;

  /// The slot that holds the name, or the free one where it belongs. REQUIRES: a free slot.
  const Slot& SlotOf(std::string_view name, std::uint32_t hash) const {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
      const Slot& slot = slots_[i];
      if (slot.value == nullptr || (slot.hash == hash && slot.value->name == name)) return slot;
    }
  }
  void Grow() {
    std::pmr::vector<Slot> old(slots_.empty() ? kFirstSlots : 4 * slots_.size(), slots_.get_allocator());
    old.swap(slots_);
    const std::size_t mask = slots_.size() - 1;
    for (const Slot& slot : old) {
      if (slot.value == nullptr) continue;
      std::size_t i = slot.hash & mask;
      while (slots_[i].value != nullptr) i = (i + 1) & mask;
      slots_[i] = slot;
    }
  }

  std::pmr::vector<Slot> slots_;  ///< A power of two, at most half full.
  std::size_t size_ = 0;
};

}  // namespace spillway::hlo
