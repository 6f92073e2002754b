// SPDX-License-Identifier: Apache-2.0
#include "sim/explain/replay.h"

#include <algorithm>
#include <map>

namespace spillway::explain {
namespace {

using plan::Action;
using plan::Item;

struct Removed {
  std::vector<char> buffer;   ///< By index into Program::buffers, aliases resolved.
  bool Has(const plan::Transfer& transfer) const {
    return transfer.buffer >= 0 && static_cast<std::size_t>(transfer.buffer) < buffer.size() &&
           buffer[static_cast<std::size_t>(transfer.buffer)] != 0;
  }
};

/// Lets a source run with some of its transfers complete at once: the flag rises, nothing moves.
class FilteredSource : public plan::ActionSource {
 public:
  FilteredSource(std::unique_ptr<plan::ActionSource> source, std::shared_ptr<const Removed> removed)
      : source_(std::move(source)), removed_(std::move(removed)) {}
  bool Next(Action& action) override {
    if (!source_->Next(action)) return false;
    if (action.kind == Action::Kind::kIssue && removed_->Has(action.transfer)) {
      action.kind = Action::Kind::kFlag;
      action.bytes = action.transfer.bytes();
      action.set = false;
    }
    return true;
  }
  std::string Failure() const override { return source_->Failure(); }
  void OnStall(Cycles cycles) override { source_->OnStall(cycles); }

 private:
  std::unique_ptr<plan::ActionSource> source_;
  std::shared_ptr<const Removed> removed_;
};

void Filter(std::vector<Item>& items, const std::shared_ptr<const Removed>& removed) {
  for (Item& item : items) {
    auto gone = [&](const plan::Transfer& transfer) { return removed->Has(transfer); };
    item.transfers.erase(std::remove_if(item.transfers.begin(), item.transfers.end(), gone), item.transfers.end());
    if (item.source) {
      auto inner = item.source;
      item.source = [inner, removed]() -> std::unique_ptr<plan::ActionSource> {
        return std::make_unique<FilteredSource>(inner(), removed);
      };
    }
    Filter(item.body, removed);
  }
}

int RootOf(const plan::Program& program, int buffer) {
  int guard = static_cast<int>(program.buffers.size());
  while (program.buffers[static_cast<std::size_t>(buffer)].alias_of >= 0 && guard-- > 0) {
    buffer = program.buffers[static_cast<std::size_t>(buffer)].alias_of;
  }
  return buffer;
}

/// Positions, in the order of the schedule, between which a copy is under way.
struct Flight {
  int start = -1, done = 1 << 30;
};
using Flights = std::map<int, Flight>;

void Survey(const std::vector<Item>& items, const std::set<int>& ops, int& position, Flights& flights, std::vector<int>& kept) {
  for (const Item& item : items) {
    ++position;
    if (item.kind == Item::Kind::kStart) flights[item.token].start = position;
    if (item.kind == Item::Kind::kDone) flights[item.token].done = position;
    if (ops.count(item.op) != 0 && item.kind != Item::Kind::kLoop) kept.push_back(position);
    Survey(item.body, ops, position, flights, kept);
  }
}

std::vector<Item> Keep(const std::vector<Item>& items, const std::set<int>& ops, const std::set<int>& tokens) {
  std::vector<Item> kept;
  for (const Item& item : items) {
    if (item.kind == Item::Kind::kLoop) {
      Item loop = item;
      loop.body = Keep(item.body, ops, tokens);
      loop.trips = std::min<std::int64_t>(loop.trips, 1);
      if (!loop.body.empty()) kept.push_back(std::move(loop));
    } else if (item.kind == Item::Kind::kKernel ? ops.count(item.op) != 0 : tokens.count(item.token) != 0) {
      kept.push_back(item);
    }
  }
  return kept;
}

}  // namespace

plan::Program WithoutTraffic(const plan::Program& program, const std::set<int>& buffers) {
  plan::Program other = program;
  auto removed = std::make_shared<Removed>();
  removed->buffer.resize(program.buffers.size());
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    removed->buffer[i] = buffers.count(RootOf(program, static_cast<int>(i))) != 0;
  }
  Filter(other.items, removed);
  return other;
}

plan::Program Excerpt(const plan::Program& program, const std::set<int>& ops) {
  int position = 0;
  Flights flights;
  std::vector<int> kept;
  Survey(program.items, ops, position, flights, kept);
  std::set<int> tokens;
  for (const auto& [token, flight] : flights) {
    const bool meets = std::any_of(kept.begin(), kept.end(), [&, &flight = flight](int at) { return flight.start <= at && at <= flight.done; });
    if (meets && flight.start >= 0) tokens.insert(token);
  }
  plan::Program excerpt = program;
  excerpt.items = Keep(program.items, ops, tokens);
  return excerpt;
}

}  // namespace spillway::explain
