// SPDX-License-Identifier: Apache-2.0
#include "sim/model/access_walker.h"

#include <algorithm>

namespace spillway::model {
namespace {

constexpr std::size_t kMostCachedEntries = std::size_t{1} << 21;

std::uint64_t Mix(std::uint64_t h, std::uint64_t value) {
  h ^= value + 0x9e3779b97f4a7c15ULL + (h << 6) + (h >> 2);
  h *= 0xff51afd7ed558ccdULL;
  return h ^ (h >> 33);
}

/// All bits up to the highest one.
std::int64_t Fill(std::int64_t bits) {
  return bits == 0 ? 0 : static_cast<std::int64_t>(~std::uint64_t{0} >> __builtin_clzll(static_cast<std::uint64_t>(bits)));
}

AccessPattern::Loops LoopsOf(const Access& access) {
  AccessPattern::Loops l{access.write, access.address, access.chunk_bytes,  access.chunks,
                         access.stride, access.outer,  access.outer_stride};
  if (l.chunk <= 0 || l.chunks <= 0 || l.outer <= 0) return {access.write, 0, 0, 0, 0, 0, 0};
  if (l.chunks > 1 && l.stride == l.chunk) {
    l.chunk *= l.chunks;
    l.chunks = 1;
  }
  if (l.chunks == 1) {
    l.chunks = l.outer;
    l.stride = l.outer_stride;
    l.outer = 1;
    if (l.chunks > 1 && l.stride == l.chunk) {
      l.chunk *= l.chunks;
      l.chunks = 1;
    }
  }
  if (l.chunks == 1) l.stride = 0;
  if (l.outer == 1) l.outer_stride = 0;
  return l;
}

/// The address bits that differ inside the access. Where a bit is the same throughout, the offset's bit equals the carry
/// into it, and then the carry out of it does not depend on the address: such bits can be changed at will.
std::int64_t VaryingBits(const AccessPattern::Loops& l) {
  std::int64_t varying = 0;
  for (std::int64_t o = 0; o < l.outer; ++o) {
    for (std::int64_t c = 0; c < l.chunks; ++c) {
      const std::int64_t low = l.address + o * l.outer_stride + c * l.stride;
      varying |= (low ^ l.address) | Fill(low ^ (low + l.chunk - 1));
    }
  }
  return varying;
}

}  // namespace

AccessPattern::AccessPattern(const AddressMap& map, const Loops& l) : map_(&map), write_(l.write) {
  shares_.resize(static_cast<std::size_t>(map.channels()));
  static thread_local ByChannel entries;   // Keeps its memory from pattern to pattern.
  entries.resize(shares_.size());
  for (std::vector<Entry>& of_channel : entries) of_channel.clear();
  const std::int64_t stripe = std::int64_t{1} << map.stripe_bits();
  std::uint64_t sequence = 0;
  for (std::int64_t o = 0; o < l.outer; ++o) {
    for (std::int64_t c = 0; c < l.chunks; ++c, ++sequence) {
      const std::int64_t low = l.address + o * l.outer_stride + c * l.stride, high = low + l.chunk;
      const std::int64_t first = (low + stripe - 1) & ~(stripe - 1), last = high & ~(stripe - 1);
      if (!map.symmetric() || first >= last) {
        AddPiece(low, high, 4 * sequence, entries);
        continue;
      }
      if (low < first) AddPiece(low, first, 4 * sequence + 1, entries);
      AddStripes(first, last, entries);
      if (last < high) AddPiece(last, high, 4 * sequence + 2, entries);
    }
  }
  std::size_t size = 0;
  for (const std::vector<Entry>& of_channel : entries) {
    begin_.push_back(size);
    size += of_channel.size();
  }
  entries_.reserve(size);
  for (const std::vector<Entry>& of_channel : entries) entries_.insert(entries_.end(), of_channel.begin(), of_channel.end());
}

void AccessPattern::AddStripes(std::int64_t first, std::int64_t last, ByChannel& entries) {
  constexpr std::int64_t kMost = 1 << 30;
  const std::int64_t stripe_bursts = std::int64_t{1} << (map_->stripe_bits() - map_->burst_bits());
  const std::int64_t stripes = (last - first) >> map_->stripe_bits();
  for (ChannelShare& share : shares_) share.bursts += stripes * (stripe_bursts / map_->channels());
  for (std::vector<Entry>& of_channel : entries) {
    for (std::int64_t done = 0; done < stripes; done += kMost) {
      of_channel.push_back({static_cast<std::uint64_t>(first + (done << map_->stripe_bits())),
                         static_cast<std::int32_t>(std::min(kMost, stripes - done)), Entry::kStripes, false});
    }
  }
}

void AccessPattern::CountPartial(std::int64_t from, std::int64_t to) {
  const Bytes burst = map_->burst_bytes();
  const bool head = (from & (burst - 1)) != 0, tail = (to & (burst - 1)) != 0;
  if ((from >> map_->burst_bits()) == ((to - 1) >> map_->burst_bits())) {
    if (head || tail) partial_bytes_ += to - from;
  } else {
    if (head) partial_bytes_ += burst - (from & (burst - 1));
    if (tail) partial_bytes_ += to & (burst - 1);
  }
}

void AccessPattern::AddPartOfUnit(std::vector<Entry>& entries, std::int64_t from, std::int64_t to) {
  const Bytes burst = map_->burst_bytes();
  for (std::int64_t base = from & ~(burst - 1); base < to; base += burst) {
    const std::uint64_t packed = map_->Pack(base);
    // Part of a burst is written by reading the burst, merging and writing it back.
    const bool partial = write_ && (base < from || base + burst > to);
    if (partial) entries.push_back({packed, 1, Entry::kMerge, false});
    entries.push_back({packed, 1, Entry::kBursts, false});
  }
}

void AccessPattern::AddPiece(std::int64_t low, std::int64_t high, std::uint64_t sequence, ByChannel& by_channel) {
  const std::int64_t unit = std::int64_t{1} << map_->unit_bits();
  uniform_ = false;
  for (std::int64_t base = low & ~(unit - 1); base < high; base += unit) {
    const std::int64_t from = std::max(low, base), to = std::min(high, base + unit);
    const std::uint64_t packed = map_->Pack(base);
    const auto channel = static_cast<std::size_t>(map_->ChannelOf(packed));
    ChannelShare& share = shares_[channel];
    std::vector<Entry>& entries = by_channel[channel];
    share.bursts += ((to - 1) >> map_->burst_bits()) - (from >> map_->burst_bits()) + 1;
    share.key = Mix(Mix(Mix(share.key, sequence), map_->PlaceOf(packed)), static_cast<std::uint64_t>(from - base) << 32 |
                                                  static_cast<std::uint64_t>(to - base));
    if (((from | to) & ((std::int64_t{1} << map_->even_bits()) - 1)) == 0) {
      const bool same = !entries.empty() && entries.back().kind == Entry::kUnit &&
                        map_->PlaceOf(entries.back().packed) == map_->PlaceOf(packed);
      entries.push_back({packed, static_cast<std::int32_t>((to - from) >> map_->burst_bits()), Entry::kUnit, same});
    } else {
      AddPartOfUnit(entries, from, to);
    }
    if (write_) CountPartial(from, to);
  }
}

std::size_t PatternCache::Hash::operator()(const AccessPattern::Loops& l) const {
  std::uint64_t h = l.write ? 1 : 0;
  for (const std::int64_t value : {l.address, l.chunk, l.chunks, l.stride, l.outer, l.outer_stride}) {
    h = Mix(h, static_cast<std::uint64_t>(value));
  }
  return static_cast<std::size_t>(h);
}

std::shared_ptr<const AccessPattern> PatternCache::Get(const AddressMap& map, const AccessPattern::Loops& loops) {
  std::shared_ptr<const AccessPattern>& pattern = patterns_[loops];
  if (pattern != nullptr) return pattern;
  const auto made = std::make_shared<const AccessPattern>(map, loops);
  pattern = made;
  size_ += made->size() + 1;
  if (size_ > kMostCachedEntries) {
    // Bounds memory; those in use live on.
    patterns_.clear();
    size_ = 0;
  }
  return made;
}

AccessShape::AccessShape(const AddressMap& map, const Access& access, PatternCache* cache) {
  AccessPattern::Loops loops = LoopsOf(access);
  const std::int64_t unit = std::int64_t{1} << map.unit_bits();
  const std::int64_t fixed = loops.address & ~(VaryingBits(loops) | (unit - 1));
  loops.address ^= fixed;
  translation_ = map.Pack(fixed);
  channel_shift_ = map.ChannelOf(translation_);
  pattern_ = cache != nullptr ? cache->Get(map, loops) : std::make_shared<const AccessPattern>(map, loops);
}

ChannelWalker::ChannelWalker(const AccessShape& shape, int channel)
    : pattern_(shape.pattern_.get()), translation_(shape.translation_), left_(shape.share(channel).bursts),
      channel_(channel ^ shape.channel_shift_) {
  entry_ = pattern_->entries_.data() + pattern_->begin_[static_cast<std::size_t>(channel_)];
}

std::int64_t ChannelWalker::TakeStripes(std::int64_t want, Batch& batch, std::vector<int>& touched) {
  const AddressMap& map = *pattern_->map_;
  const AccessPattern::Entry& entry = *entry_;
  const int stripe_bits = map.stripe_bits();
  const std::int64_t unit_bursts = std::int64_t{1} << (map.unit_bits() - map.burst_bits());
  const auto add = [&](std::uint64_t packed, std::int64_t units) {
    touched.push_back(batch.Add(map, {packed, static_cast<int>(units * unit_bursts), pattern_->write_, true}));
  };
  std::int64_t taken = 0;
  while (taken < want && stripe_ < entry.count) {
    const std::int64_t base = static_cast<std::int64_t>(entry.packed) + (std::int64_t{stripe_} << stripe_bits);
    const std::uint64_t canonical = map.Pack(base);
    const std::vector<std::uint64_t>& units = map.UnitsByDelta(channel_ ^ map.ChannelOf(canonical));
    const std::uint64_t packed = canonical ^ translation_;
    const std::int64_t stripe_bursts = static_cast<std::int64_t>(units.size()) * unit_bursts;
    if (unit_index_ > 0 || want - taken < stripe_bursts) {
      // Part of a stripe: a coarse interleave must not make turns longer than the controller wants them.
      auto unit = static_cast<std::size_t>(unit_index_);
      for (; unit < units.size() && taken < want; ++unit, taken += unit_bursts) add(packed ^ units[unit], 1);
      unit_index_ = static_cast<std::int32_t>(unit);
      if (unit < units.size()) break;
      unit_index_ = 0;
      ++stripe_;
    } else {
      const std::int64_t tile = std::int64_t{1} << map.tile_bits();
      const std::int64_t stripes = std::min({(tile - (base & (tile - 1))) >> stripe_bits,
                                             std::int64_t{entry.count - stripe_}, (want - taken) / stripe_bursts});
      for (const std::uint64_t unit : units) add(packed ^ unit, stripes);
      taken += stripes * stripe_bursts;
      stripe_ += static_cast<std::int32_t>(stripes);
    }
  }
  if (stripe_ == entry.count) {
    stripe_ = 0;
    ++entry_;
  }
  return taken;
}

std::int64_t ChannelWalker::Take(std::int64_t want, Batch& batch, std::vector<int>& touched) {
  const AddressMap& map = *pattern_->map_;
  const bool write = pattern_->write_;
  std::int64_t taken = 0;
  int before = -1;  // The run of the unit before.
  while (taken < want && left_ > taken) {
    const AccessPattern::Entry& entry = *entry_;
    if (entry.kind == AccessPattern::Entry::kStripes) {
      taken += TakeStripes(want - taken, batch, touched);
      before = -1;
      continue;
    }
    ++entry_;
    const std::uint64_t packed = entry.packed ^ translation_;
    if (entry.kind == AccessPattern::Entry::kUnit) {
      taken += entry.count;
      if (before >= 0 && entry.same_rows) {
        batch.runs[static_cast<std::size_t>(before)].bursts += entry.count;
        continue;
      }
      before = batch.Add(map, {packed, entry.count, write, true});
      touched.push_back(before);
      continue;
    }
    before = -1;
    const bool merge = entry.kind == AccessPattern::Entry::kMerge;
    touched.push_back(batch.Add(map, {packed, entry.count, write && !merge, false}));
    if (!merge) taken += entry.count;
  }
  left_ -= taken;
  return taken;
}

}  // namespace spillway::model
