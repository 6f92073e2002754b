// SPDX-License-Identifier: Apache-2.0
// Programs for the engine, made by hand.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/engine/simulate.h"

namespace spillway::test {

/// Replays a list of actions. Not `fixed`: as one that might react to time.
class ListSource final : public plan::ActionSource {
 public:
  explicit ListSource(std::vector<plan::Action> actions, bool fixed = true) : actions_(std::move(actions)), fixed_(fixed) {}
  bool Next(plan::Action& action) override {
    if (next_ == actions_.size()) return false;
    action = actions_[next_++];
    return true;
  }
  bool IsFixed() const override { return fixed_; }

 private:
  std::vector<plan::Action> actions_;
  bool fixed_;
  std::size_t next_ = 0;
};

inline plan::Action Compute(Cycles cycles, std::int64_t loads = 0) {
  plan::Action action;
  action.cycles = cycles;
  action.loads = loads;
  return action;
}

inline plan::Transfer Read(Bytes bytes, std::int64_t address = 0, int thread = 0) {
  plan::Transfer transfer;
  transfer.chunk_bytes = bytes;
  transfer.address = address;
  transfer.thread = thread;
  return transfer;
}

inline plan::Transfer Write(Bytes bytes, std::int64_t address = 0) {
  plan::Transfer transfer = Read(bytes, address);
  transfer.direction = plan::Direction::kVmemToHbm;
  return transfer;
}

inline plan::Action Issue(const plan::Transfer& transfer, int flag) {
  plan::Action action;
  action.kind = plan::Action::Kind::kIssue;
  action.transfer = transfer;
  action.flag = flag;
  return action;
}

inline plan::Action Wait(int flag, Bytes bytes) {
  plan::Action action;
  action.kind = plan::Action::Kind::kWait;
  action.flag = flag;
  action.bytes = bytes;
  return action;
}

inline plan::Item Kernel(int op, std::vector<plan::Action> actions, bool fixed = true) {
  plan::Item item;
  item.op = op;
  item.source = [actions = std::move(actions), fixed] { return std::make_unique<ListSource>(actions, fixed); };
  return item;
}

inline plan::Item Async(plan::Item::Kind kind, int op, int token, std::vector<plan::Transfer> transfers = {}) {
  plan::Item item;
  item.kind = kind;
  item.op = op;
  item.token = token;
  item.transfers = std::move(transfers);
  return item;
}

inline plan::Program MakeProgram(int ops, std::vector<plan::Item> items) {
  plan::Program program;
  program.module = "test";
  for (int i = 0; i < ops; ++i) {
    plan::Op op;
    op.name = "op" + std::to_string(i);
    program.ops.push_back(op);
  }
  program.items = std::move(items);
  return program;
}

inline plan::Item Loop(std::int64_t trips, std::vector<plan::Item> body) {
  plan::Item item;
  item.kind = plan::Item::Kind::kLoop;
  item.trips = trips;
  item.body = std::move(body);
  return item;
}

inline engine::RunResult Run(const plan::Program& program, const config::ChipConfig& chip) {
  Result<engine::RunResult> result = engine::Simulate(program, chip, {});
  if (!result.ok()) FAIL(result.errors().front().message);
  return std::move(result).value();
}

}  // namespace spillway::test
