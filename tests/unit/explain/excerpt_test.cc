// SPDX-License-Identifier: Apache-2.0
#include "sim/explain/excerpt.h"

#include <catch2/catch.hpp>

#include "tests/support/programs.h"
#include "tests/support/test_chip.h"
#include "tests/unit/explain/dumps.h"

namespace spillway::explain {
namespace {

using plan::Action;
using test::Compute;
using test::Issue;
using test::Kernel;
using test::Read;
using test::Wait;
using test::Write;
using testing::PlanDump;

constexpr Bytes kWindow = 32 * kKiB;

/// Inputs in two slots; every third step writes a result, in two slots as well; the last `edge` steps fetch less.
std::vector<Action> Grid(int steps, int edge = 0) {
  Action step;
  step.kind = Action::Kind::kStep;
  const auto input = [&](int i) { return i < steps - edge ? kWindow : kWindow / 2; };
  std::vector<Action> actions = {Issue(Read(input(0)), 0)};
  for (int i = 0; i < steps; ++i) {
    if (i + 1 < steps) actions.push_back(Issue(Read(input(i + 1), (i + 1) % 64 * kWindow), (i + 1) % 2));
    actions.insert(actions.end(), {Wait(i % 2, input(i)), step, Compute(200 + i % 2)});
    if (i % 3 != 2) continue;
    const int slot = 2 + i / 3 % 2;
    if (i >= 6) actions.push_back(Wait(slot, kWindow));
    actions.push_back(Issue(Write(kWindow, 8 * kMiB + i % 64 * kWindow), slot));
  }
  for (int slot = 2; slot < 4; ++slot) actions.push_back(Wait(slot, kWindow));
  return actions;
}

std::vector<Omission> Omissions(const std::vector<Action>& actions, bool fixed = true) {
  test::ListSource source(actions, fixed);
  return FindOmissions(source);
}

std::int64_t Omitted(const std::vector<Omission>& omissions) {
  std::int64_t steps = 0;
  for (const Omission& omission : omissions) steps += omission.end - omission.begin;
  return steps;
}

TEST_CASE("whole periods of steps are left out, slots included") {
  const std::vector<Omission> omissions = Omissions(Grid(300));
  REQUIRE(omissions.size() == 1);
  // Six steps bring both slots of both streams back to where they were.
  CHECK((omissions[0].end - omissions[0].begin) % 6 == 0);
  CHECK((omissions[0].begin - omissions[0].window) % 6 == 0);
  CHECK(Omitted(omissions) > 200);
  CHECK(Omissions(Grid(30)).empty());
  CHECK(Omissions(Grid(300), false).empty());   // May react to time.
}

TEST_CASE("parts of a kernel whose steps differ keep their own") {
  const std::vector<Omission> omissions = Omissions(Grid(400, 160));
  REQUIRE(omissions.size() == 2);
  CHECK(omissions[0].end <= 240);
  CHECK(omissions[1].window >= 239);
  std::vector<Action> irregular = Grid(300);
  std::int64_t step = 0;
  for (Action& action : irregular) {
    if (action.kind == Action::Kind::kCompute) action.cycles = 100 + 37 * (step * step % 101), ++step;
  }
  CHECK(Omissions(irregular).empty());
}

/// Time of the kernel as its excerpt tells it, relative to its whole replay.
double Told(const plan::Op& op, const SourceMaker& source, const config::ChipConfig& chip) {
  const auto busy = [](const engine::RunResult& run) { return run.summary.ops.front().busy_ps; };
  const Picos whole = busy(test::Run(Excerpt(op, source), chip));
  const std::vector<Omission> omissions = FindOmissions(*source());
  CHECK(!omissions.empty());
  const engine::RunResult run = test::Run(Excerpt(op, Omit(source, omissions)), chip);
  REQUIRE(run.summary.complete);
  CHECK(busy(run) < whole);
  return static_cast<double>(WholeTime(omissions, busy(run), run.timeline)) / static_cast<double>(whole);
}

SourceMaker Maker(const std::vector<Action>& actions) { return Kernel(0, actions).source; }

TEST_CASE("what is left out takes what the steps before it took") {
  CHECK(Told({}, Maker(Grid(300)), test::SmallChip()) == Approx(1).epsilon(0.01));
  CHECK(Told({}, Maker(Grid(500, 200)), test::SmallChip()) == Approx(1).epsilon(0.01));
}

TEST_CASE("excerpts of a compiled layer tell the time of its kernels") {
  const auto planned = PlanDump("workloads/hlo/transformer_layer.v6e.S8192", "v6e");
  int cut = 0;
  for (const plan::Item& item : planned->program.items) {
    if (item.kind != plan::Item::Kind::kKernel || FindOmissions(*item.source()).empty()) continue;
    const plan::Op& op = planned->program.ops[static_cast<std::size_t>(item.op)];
    INFO(op.name);
    CHECK(Told(op, item.source, planned->chip) == Approx(1).epsilon(0.04));
    ++cut;
  }
  CHECK(cut >= 8);
}

TEST_CASE("content is what a kernel does, wherever it does it") {
  const auto content = [](const std::vector<Action>& actions, bool fixed = true) {
    test::ListSource source(actions, fixed);
    return ContentOf(source);
  };
  std::vector<Action> moved = Grid(40), slower = Grid(40);
  for (Action& action : moved) action.transfer.address += 4 * kMiB;
  slower[4].cycles += 1;
  REQUIRE(slower[4].kind == Action::Kind::kCompute);
  CHECK(content(moved) == content(Grid(40)));
  CHECK(content(slower) != content(Grid(40)));
  CHECK(content(Grid(41)) != content(Grid(40)));
  CHECK(content(Grid(40), false) == 0);
}

}  // namespace
}  // namespace spillway::explain
