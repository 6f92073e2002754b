// SPDX-License-Identifier: Apache-2.0
#include "sim/model/access_walker.h"

#include <algorithm>

namespace spillway::model {
namespace {

std::uint64_t Mix(std::uint64_t h, std::uint64_t value) {
  h ^= value + 0x9e3779b97f4a7c15ULL + (h << 6) + (h >> 2);
  h *= 0xff51afd7ed558ccdULL;
  return h ^ (h >> 33);
}

}  // namespace

int Batch::Add(int bank, std::int64_t row, int bursts, bool write) {
  for (std::size_t i = runs.size(); i-- > 0;) {
    RowRun& run = runs[i];
    if (run.bank == bank && run.row == row && run.write == write) {
      run.bursts += bursts;
      return static_cast<int>(i);
    }
  }
  runs.push_back({row, bank, bursts, write});
  return static_cast<int>(runs.size()) - 1;
}

AccessShape::AccessShape(const AddressMap& map, const Access& access)
    : map_(&map), write_(access.write), address_(access.address), chunk_(access.chunk_bytes), chunks_(access.chunks),
      stride_(access.stride), outer_(access.outer), outer_stride_(access.outer_stride) {
  if (chunk_ <= 0 || chunks_ <= 0 || outer_ <= 0) chunk_ = chunks_ = outer_ = 0;
  if (chunks_ > 1 && stride_ == chunk_) {
    chunk_ *= chunks_;
    chunks_ = 1;
  }
  if (chunks_ == 1) {
    chunks_ = outer_;
    stride_ = outer_stride_;
    outer_ = 1;
    if (chunks_ > 1 && stride_ == chunk_) {
      chunk_ *= chunks_;
      chunks_ = 1;
    }
  }
  shares_.assign(static_cast<std::size_t>(map.channels()), {});
  CountShares();
}

void AccessShape::CountPiece(std::int64_t low, std::int64_t high, std::uint64_t sequence) {
  const std::int64_t unit = std::int64_t{1} << map_->unit_bits();
  const Bytes burst = map_->burst_bytes();
  uniform_ = false;
  for (std::int64_t base = low & ~(unit - 1); base < high; base += unit) {
    const std::int64_t from = std::max(low, base), to = std::min(high, base + unit);
    const std::uint64_t packed = map_->Pack(base);
    ChannelShare& share = shares_[static_cast<std::size_t>(map_->ChannelOf(packed))];
    share.bursts += ((to - 1) >> map_->burst_bits()) - (from >> map_->burst_bits()) + 1;
    share.key = Mix(Mix(Mix(share.key, sequence), map_->PlaceOf(packed)), static_cast<std::uint64_t>(from - base) << 32 |
                                                  static_cast<std::uint64_t>(to - base));
    if (write_) {
      const bool head = (from & (burst - 1)) != 0, tail = (to & (burst - 1)) != 0;
      if ((from >> map_->burst_bits()) == ((to - 1) >> map_->burst_bits())) {
        if (head || tail) partial_bytes_ += to - from;
      } else {
        if (head) partial_bytes_ += burst - (from & (burst - 1));
        if (tail) partial_bytes_ += to & (burst - 1);
      }
    }
  }
}

void AccessShape::CountShares() {
  const std::int64_t stripe = std::int64_t{1} << map_->stripe_bits();
  const std::int64_t stripe_bursts = std::int64_t{1} << (map_->stripe_bits() - map_->burst_bits());
  std::int64_t whole_stripes = 0;
  std::uint64_t sequence = 0;
  const bool aligned = ((address_ | chunk_ | stride_ | outer_stride_) & (stripe - 1)) == 0;
  if (map_->symmetric() && aligned) {
    whole_stripes = (chunk_ >> map_->stripe_bits()) * chunks_ * outer_;
  } else {
    for (std::int64_t o = 0; o < outer_; ++o) {
      for (std::int64_t c = 0; c < chunks_; ++c, ++sequence) {
        const std::int64_t low = address_ + o * outer_stride_ + c * stride_, high = low + chunk_;
        const std::int64_t first = (low + stripe - 1) & ~(stripe - 1), last = high & ~(stripe - 1);
        if (!map_->symmetric() || first >= last) {
          // A piece that crosses a stripe border is seen stripe by stripe.
          for (std::int64_t from = low; from < high;) {
            const std::int64_t to = std::min(high, (from & ~(stripe - 1)) + stripe);
            CountPiece(from, to, 4 * sequence + (from == low ? 0 : 1));
            from = to;
          }
          continue;
        }
        if (low < first) CountPiece(low, first, 4 * sequence + 2);
        whole_stripes += (last - first) >> map_->stripe_bits();
        if (last < high) CountPiece(last, high, 4 * sequence + 3);
      }
    }
  }
  for (ChannelShare& share : shares_) share.bursts += whole_stripes * (stripe_bursts / map_->channels());
}

ChannelWalker::ChannelWalker(std::shared_ptr<const AccessShape> shape, int channel)
    : shape_(std::move(shape)), channel_(channel), left_(shape_->shares()[static_cast<std::size_t>(channel)].bursts),
      position_(shape_->address_), end_(shape_->address_ + shape_->chunk_) {}

void ChannelWalker::NextChunk() {
  if (++chunk_index_ == shape_->chunks_) {
    chunk_index_ = 0;
    ++outer_index_;
  }
  position_ = shape_->address_ + outer_index_ * shape_->outer_stride_ + chunk_index_ * shape_->stride_;
  end_ = position_ + shape_->chunk_;
}

void ChannelWalker::AddUnit(std::uint64_t packed, std::int64_t repeats, Batch& batch, std::vector<int>& touched) const {
  const AddressMap& map = shape_->map();
  for (const AddressMap::UnitPart& part : map.unit_parts()) {
    const std::uint64_t place = packed ^ part.packed;
    touched.push_back(batch.Add(map.BankOf(place), map.RowOf(place), static_cast<int>(repeats) * part.bursts,
                                shape_->write()));
  }
}

std::int64_t ChannelWalker::TakePiece(std::int64_t low, std::int64_t high, Batch& batch,
                                      std::vector<int>& touched) const {
  const AddressMap& map = shape_->map();
  const Bytes burst = map.burst_bytes();
  const std::int64_t unit = std::int64_t{1} << map.unit_bits();
  if ((low & (unit - 1)) == 0 && high - low == unit) {
    AddUnit(map.Pack(low), 1, batch, touched);
    return unit / burst;
  }
  std::int64_t taken = 0;
  for (std::int64_t base = low & ~(burst - 1); base < high; base += burst, ++taken) {
    const std::uint64_t packed = map.Pack(base);
    const int bank = map.BankOf(packed);
    const std::int64_t row = map.RowOf(packed);
    // Part of a burst is written by reading the burst, merging and writing it back.
    const bool partial = shape_->write() && (base < low || base + burst > high);
    if (partial) touched.push_back(batch.Add(bank, row, 1, false));
    touched.push_back(batch.Add(bank, row, 1, shape_->write()));
  }
  return taken;
}

std::int64_t ChannelWalker::Take(std::int64_t want, Batch& batch, std::vector<int>& touched) {
  const AddressMap& map = shape_->map();
  const int stripe_bits = map.stripe_bits();
  const std::int64_t stripe = std::int64_t{1} << stripe_bits, unit = std::int64_t{1} << map.unit_bits();
  const Bytes burst = map.burst_bytes();
  std::int64_t taken = 0;
  while (taken < want && left_ > taken) {
    const std::int64_t base = position_ & ~(stripe - 1);
    const std::uint64_t packed = map.Pack(base);
    if (map.symmetric() && position_ == base && end_ - base >= stripe) {
      const std::vector<std::int64_t>& units = map.UnitsByDelta(channel_ ^ map.ChannelOf(packed));
      const std::int64_t stripe_bursts = static_cast<std::int64_t>(units.size()) * (unit / burst);
      if (unit_index_ > 0 || want - taken < stripe_bursts) {
        // Part of a stripe: a coarse interleave must not make turns longer than the controller wants them.
        for (; unit_index_ < units.size() && taken < want; ++unit_index_, taken += unit / burst) {
          AddUnit(packed ^ map.Pack(units[unit_index_]), 1, batch, touched);
        }
        if (unit_index_ < units.size()) break;
        unit_index_ = 0;
        position_ += stripe;
      } else {
        const std::int64_t tile = std::int64_t{1} << map.tile_bits();
        const std::int64_t stripes = std::min({(tile - (base & (tile - 1))) >> stripe_bits, (end_ - base) >> stripe_bits,
                                               (want - taken) / stripe_bursts});
        for (const std::int64_t from : units) AddUnit(packed ^ map.Pack(from), stripes, batch, touched);
        taken += stripes * stripe_bursts;
        position_ += stripes << stripe_bits;
      }
    } else {
      for (const std::int64_t offset : map.UnitsByDelta(channel_ ^ map.ChannelOf(packed))) {
        const std::int64_t low = std::max(position_, base + offset), high = std::min(end_, base + offset + unit);
        if (low >= high) continue;
        const std::int64_t stop = std::min(high, (low & ~(burst - 1)) + (want - taken) * burst);
        taken += TakePiece(low, stop, batch, touched);
        if (taken == want) {
          position_ = stop;
          break;
        }
      }
      if (taken < want) position_ = std::min(end_, base + stripe);
    }
    if (position_ >= end_) NextChunk();
  }
  left_ -= taken;
  return taken;
}

}  // namespace spillway::model
