// SPDX-License-Identifier: Apache-2.0
#include "sim/explain/replay.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace spillway::explain {
namespace {

using plan::Action;
using plan::Item;

constexpr int kAllStay = -2;   // As a kept op: this buffer is not removed at all.

struct Removed {
  std::vector<int> kept;   ///< By index into Program::buffers: the op whose transfers stay, -1 none, kAllStay.
  Removed(const plan::Program& program, const Kept& tensors);
  bool Has(const plan::Transfer& transfer, int op) const {
    if (transfer.buffer < 0 || static_cast<std::size_t>(transfer.buffer) >= kept.size()) return false;
    const int stays = kept[static_cast<std::size_t>(transfer.buffer)];
    return stays != kAllStay && stays != op;
  }
};

/// Lets a source run with some of its transfers complete at once: the flag rises, nothing moves.
class FilteredSource : public plan::ActionSource {
 public:
  FilteredSource(std::unique_ptr<plan::ActionSource> source, std::shared_ptr<const Removed> removed, int op)
      : source_(std::move(source)), removed_(std::move(removed)), op_(op) {}
  bool Next(Action& action) override {
    if (!source_->Next(action)) return false;
    if (action.kind == Action::Kind::kIssue && removed_->Has(action.transfer, op_)) {
      action.kind = Action::Kind::kFlag;
      action.bytes = action.transfer.bytes();
      action.set = false;
    }
    return true;
  }
  std::string Failure() const override { return source_->Failure(); }
  bool IsFixed() const override { return source_->IsFixed(); }
  void OnStall(Cycles cycles) override { source_->OnStall(cycles); }

 private:
  std::unique_ptr<plan::ActionSource> source_;
  std::shared_ptr<const Removed> removed_;
  int op_;
};

SourceMaker Filtered(const Item& kernel, const std::shared_ptr<const Removed>& removed) {
  return [inner = kernel.source, removed, op = kernel.op]() -> std::unique_ptr<plan::ActionSource> {
    return std::make_unique<FilteredSource>(inner(), removed, op);
  };
}

void Filter(std::vector<Item>& items, const std::shared_ptr<const Removed>& removed) {
  for (Item& item : items) {
    auto gone = [&](const plan::Transfer& transfer) { return removed->Has(transfer, item.op); };
    item.transfers.erase(std::remove_if(item.transfers.begin(), item.transfers.end(), gone), item.transfers.end());
    if (item.source) item.source = Filtered(item, removed);
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

Removed::Removed(const plan::Program& program, const Kept& tensors) : kept(program.buffers.size(), kAllStay) {
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const auto at = tensors.find(RootOf(program, static_cast<int>(i)));
    if (at != tensors.end()) kept[i] = at->second;
  }
}

}  // namespace

plan::Program WithoutTraffic(const plan::Program& program, const Kept& tensors) {
  plan::Program other = program;
  Filter(other.items, std::make_shared<const Removed>(program, tensors));
  return other;
}

SourceMaker WithoutTraffic(const plan::Program& program, const plan::Item& kernel, const Kept& tensors) {
  return Filtered(kernel, std::make_shared<const Removed>(program, tensors));
}

}  // namespace spillway::explain
