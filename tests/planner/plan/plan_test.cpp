#include "planner/plan/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/planner/fake_primitives.hpp"

namespace znni {
namespace {

using test::blocked;
using test::planar;
using testing::ElementsAre;

Plan example() {
  Plan plan;
  plan.key = {"net", {"a: conv", "b: softmax"}, "box", 2, 1000, "cpu", "cpu.any:2 cpu.conv.staged:1"};
  Segment segment{0, 1, Place::cpu, {}, {}};
  segment.steps = {{0, "cpu.conv.blocked", 3, {}, planar, blocked, planar, "cpu.reorder", {}, 0.5, Basis::model},
                   {1, "cpu.any", 2, {}, planar, planar, planar, "", {}, 0.25, Basis::recorded}};
  Rung rung;
  rung.geometry.pass_input = {8, 8, 8};
  rung.geometry.modes.push_back(PoolMode::fragments);
  rung.segments.push_back(segment);
  rung.seconds = 0.75;
  rung.memory = {1, 2, 3};
  plan.ladder = {rung, rung};
  plan.memory = {4, 5, 6};
  plan.predicted = {100, 0.75, 1.5, Basis::model};
  return plan;
}

TEST(PlannerPlan, EqualPlansDoNotDiffer) { EXPECT_THAT(diff(example(), example()), ElementsAre()); }

TEST(PlannerPlan, DifferencesAreLinesOfBoth) {
  Plan other = example();
  other.ladder[1].segments[0].steps[1].seconds = 0.5;
  EXPECT_THAT(diff(example(), other),
              ElementsAre("- rung 1, node 1: cpu.any:2, f32:planar -> f32:planar, 0.25 s recorded",
                          "+ rung 1, node 1: cpu.any:2, f32:planar -> f32:planar, 0.5 s recorded"));
}

TEST(PlannerPlan, LinesOfOneOnly) {
  Plan other = example();
  other.ladder.pop_back();
  const std::vector<std::string> lines = diff(example(), other);
  ASSERT_EQ(lines.size(), 5U);
  for (const std::string& line : lines) EXPECT_TRUE(line.starts_with("- rung 1, ")) << line;
  EXPECT_EQ(diff(other, example()).size(), 5U);
  EXPECT_EQ(diff(Plan(), example()).size(), diff(example(), Plan()).size());
}

TEST(PlannerPlan, StepsOfARungAreThoseOfItsSegments) {
  Rung rung = example().ladder.front();
  const std::vector<Step> steps = rung.segments.front().steps;
  EXPECT_EQ(steps_of(rung), steps);
  rung.segments = {{0, 0, Place::cpu, {}, {steps[0]}}, {1, 1, Place::gpu, {}, {steps[1]}}};
  EXPECT_EQ(steps_of(rung), steps);
  EXPECT_THAT(steps_of(Rung()), ElementsAre());
}

TEST(PlannerPlan, TheFirstSegmentOffTheCpu) {
  Rung rung = example().ladder.front();
  EXPECT_EQ(first_off_cpu(rung), nullptr);
  EXPECT_TRUE(on_cpu(rung));
  rung.segments.push_back({2, 2, Place::gpu_host_ram, {}, {}});
  rung.segments.push_back({3, 3, Place::gpu, {}, {}});
  EXPECT_EQ(first_off_cpu(rung), &rung.segments[1]);
  EXPECT_FALSE(on_cpu(rung));
}

TEST(PlannerPlan, TheEndlessRateIsTheRateWhereNoVolumeIsNamed) {
  EXPECT_EQ(endless_rate({90, 1, 1, Basis::model, 0}), 90);
  EXPECT_EQ(endless_rate({90, 1, 1, Basis::model, 0, 120}), 120);
}

// Every field of a plan, changed alone, shows.
TEST(PlannerPlan, EveryFieldShows) {
  const auto step = [](Plan& p) -> Step& { return p.ladder[0].segments[0].steps[0]; };
  const std::vector<std::function<void(Plan&)>> changes = {
      [](Plan& p) { p.key.network = "x"; },
      [](Plan& p) { p.key.nodes[0] = "x"; },
      [](Plan& p) { p.key.nodes.emplace_back("x"); },
      [](Plan& p) { p.key.device = "x"; },
      [](Plan& p) { p.key.threads = 7; },
      [](Plan& p) { p.key.memory_limit = 7; },
      [](Plan& p) { p.key.strategy = "x"; },
      [](Plan& p) { p.key.search_space = "x"; },
      [](Plan& p) { p.key.precision = Precision::bf16; },
      [](Plan& p) { p.key.pins = "x"; },
      [](Plan& p) {
        p.key.volume = Vec3{1, 2, 3};
      },
      [](Plan& p) { p.memory.weights = 7; },
      [](Plan& p) { p.memory.persistent = 7; },
      [](Plan& p) { p.memory.transient = 7; },
      [](Plan& p) { p.predicted.voxels_per_second += 1e-12; },
      [](Plan& p) { p.predicted.seconds = 7; },
      [](Plan& p) { p.predicted.border_cost = 7; },
      [](Plan& p) { p.predicted.basis = Basis::measured; },
      [](Plan& p) { p.predicted.error = 0.5; },
      [](Plan& p) { p.predicted.endless_voxels_per_second = 7; },
      [](Plan& p) { p.ladder[0].geometry.pass_input.y = 7; },
      [](Plan& p) { p.ladder[0].geometry.stem_slab = 8; },
      [](Plan& p) { p.ladder[0].geometry.S = 7; },
      [](Plan& p) { p.ladder[0].geometry.modes[0] = PoolMode::plain; },
      [](Plan& p) {
        p.ladder[0].geometry.modes[0] = {{2, 1, 1}, true};
      },
      [](Plan& p) {
        p.ladder[0].geometry.modes[0] = {{2, 1, 1}, false};
      },
      [](Plan& p) { p.ladder[0].seconds = 7; },
      [](Plan& p) { p.ladder[0].memory.transient = 7; },
      [](Plan& p) { p.ladder[0].segments[0].first = -1; },
      [](Plan& p) { p.ladder[0].segments[0].last = 7; },
      [](Plan& p) { p.ladder[0].segments[0].place = Place::gpu; },
      [](Plan& p) { p.ladder[0].segments[0].micro_batch.inputs = 7; },
      [&](Plan& p) { step(p).node = 7; },
      [&](Plan& p) { step(p).primitive = "x"; },
      [&](Plan& p) { step(p).version = 7; },
      [&](Plan& p) {
        step(p).variant = {{"tile", 7}};
      },
      [&](Plan& p) { step(p).in = blocked; },
      [&](Plan& p) { step(p).native = planar; },
      [&](Plan& p) { step(p).out = blocked; },
      [&](Plan& p) { step(p).reorder = "x"; },
      [&](Plan& p) {
        step(p).division = {Division{1, 2, 3, 4}};
      },
      [&](Plan& p) { step(p).seconds = 7; },
      [&](Plan& p) { step(p).basis = Basis::measured; },
      [&](Plan& p) { step(p).error = 0.5; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Plan other = example();
    changes[i](other);
    ASSERT_NE(example(), other) << "change " << i;
    EXPECT_FALSE(diff(example(), other).empty()) << "change " << i;
  }
}

TEST(PlannerPlan, Names) {
  EXPECT_EQ(to_string(Place::gpu_host_ram), "gpu_host_ram");
  EXPECT_EQ(to_string(Place::cpu), "cpu");
  EXPECT_EQ(to_string(Basis::model), "model");
  EXPECT_EQ(to_string(Basis::smoothed), "recorded, smoothed");
  EXPECT_EQ(to_string(Basis::recorded), "recorded");
  EXPECT_EQ(to_string(Basis::measured), "measured");
  EXPECT_LT(Basis::model, Basis::smoothed) << "the weaker counts";
  EXPECT_LT(Basis::smoothed, Basis::recorded);
}

}  // namespace
}  // namespace znni
