// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace spillway::llo {

/// Sparse words of SMEM by word address: open addressing, no deletion.
class ScalarMemory {
 public:
  ScalarMemory() : slots_(64) {}

  /// Null if the word was never written.
  const std::uint32_t* Find(std::uint32_t address) const {
    const Slot& slot = slots_[Probe(address)];
    return slot.used ? &slot.value : nullptr;
  }

  void Write(std::uint32_t address, std::uint32_t value) {
    Slot* slot = &slots_[Probe(address)];
    if (!slot->used) {
      if (2 * ++size_ > slots_.size()) {
        Grow();
        slot = &slots_[Probe(address)];
      }
      slot->used = true;
      slot->address = address;
    }
    slot->value = value;
  }

  std::size_t size() const { return size_; }

 private:
  struct Slot {
    std::uint32_t address = 0, value = 0;
    bool used = false;
  };

  std::size_t Probe(std::uint32_t address) const {
    std::size_t mask = slots_.size() - 1;
    std::size_t at = (address * 2654435769U >> 7) & mask;
    while (slots_[at].used && slots_[at].address != address) at = (at + 1) & mask;
    return at;
  }

  void Grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.used) slots_[Probe(slot.address)] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace spillway::llo
