#include "planner/measure/draw.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "planner/search/candidates.hpp"
#include "tests/planner/drawn_search.hpp"

namespace znni {
namespace {

class PlannerDraw : public test::DrawnSearch {
 protected:
  PlannerDraw() { draw_.count = 20; }
  std::vector<Plan> drawn() { return draw_plans(network_, spec_, catalogue_, *costs_, options_, draw_).value(); }
  std::vector<Plan> near(const Plan& plan) {
    return neighbours(plan, network_, spec_, catalogue_, *costs_, options_, draw_).value();
  }
  void expect_sound(const std::vector<Plan>& plans) {
    for (const Plan& plan : plans) {
      EXPECT_EQ(check(plan, network_, catalogue_, spec_, options_.memory_limit).reason, "");
      EXPECT_EQ(plan.ladder.size(), 1U);
      EXPECT_LE(plan.predicted.seconds, draw_.max_seconds);
      EXPECT_EQ(std::count_if(plans.begin(), plans.end(), [&](const Plan& other) { return other == plan; }), 1);
    }
  }

  DrawOptions draw_;
};

TEST_F(PlannerDraw, PlansRunAndAreAllDifferent) {
  const std::vector<Plan> plans = drawn();
  EXPECT_EQ(plans.size(), draw_.count);
  expect_sound(plans);
}

TEST_F(PlannerDraw, LosersAreAmongThem) {
  const double most = best().predicted.voxels_per_second;
  std::set<std::string> primitives;
  std::set<Vec3> extents;
  double least = most;
  for (const Plan& plan : drawn()) {
    EXPECT_LE(plan.predicted.voxels_per_second, most * (1 + 1e-9));
    least = std::min(least, plan.predicted.voxels_per_second);
    extents.insert(plan.ladder.front().geometry.pass_input);
    for (const Step& step : plan.ladder.front().segments.front().steps) primitives.insert(step.primitive);
  }
  EXPECT_LT(least, most / 2);
  EXPECT_GT(extents.size(), 3U);
  EXPECT_TRUE(primitives.contains("drawn.conv.a") && primitives.contains("drawn.conv.b"));
}

TEST_F(PlannerDraw, TheSeedDecides) {
  const std::vector<Plan> first = drawn();
  EXPECT_EQ(drawn(), first);
  draw_.seed = 2;
  EXPECT_NE(drawn(), first);
}

TEST_F(PlannerDraw, NothingTakesLongerThanAllowed) {
  std::vector<Seconds> seconds;
  for (const Plan& plan : drawn()) seconds.push_back(plan.predicted.seconds);
  std::sort(seconds.begin(), seconds.end());
  draw_.max_seconds = seconds[seconds.size() / 2];
  expect_sound(drawn());
  draw_.max_seconds = 1e-12;
  EXPECT_TRUE(drawn().empty());
}

// A thin step takes little, but output comes after a field of view of them.
TEST_F(PlannerDraw, TheStepsBeforeAStreamsFirstOutputCount) {
  const double fov = static_cast<double>(reaches(network_).back().fov.z);
  draw_.count = 200;
  draw_.max_seconds = 60;
  Seconds longest = 0;
  for (const Plan& plan : drawn()) longest = std::max(longest, plan.predicted.seconds);
  draw_.max_seconds = longest;
  std::size_t streamed = 0;
  for (const Plan& plan : drawn()) {
    const GeometryChoice& choice = plan.ladder.front().geometry;
    if (!choice.streamed) continue;
    ++streamed;
    const double steps = std::ceil((fov - 1) / static_cast<double>(choice.pass_input.z)) + 1;
    EXPECT_LE(steps * plan.predicted.seconds, longest);
  }
  EXPECT_GT(streamed, 0U);
}

TEST_F(PlannerDraw, NeighboursAreNearAndNotTheSamePatch) {
  const Plan chosen = best();
  draw_.count = 6;
  const std::vector<Plan> plans = near(chosen);
  ASSERT_FALSE(plans.empty());
  EXPECT_LE(plans.size(), draw_.count);
  expect_sound(plans);
  const Vec3 here = chosen.ladder.front().geometry.pass_input;
  for (const Plan& plan : plans) {
    EXPECT_NE(plan.ladder.front().geometry, chosen.ladder.front().geometry);
    EXPECT_LE(plan.predicted.voxels_per_second, chosen.predicted.voxels_per_second);
    const Vec3 there = plan.ladder.front().geometry.pass_input;
    EXPECT_TRUE(covers(there * Vec3::cube(2), here)) << to_string(there) << " of " << to_string(here);
  }
}

// These have the same extents, but other extents of the volume.
TEST_F(PlannerDraw, StreamsAlongAnotherAxisAreNotNearest) {
  const std::vector<GeometryChoice> candidates = make_candidates(network_, options_);
  Plan plan = best();
  draw_.count = 1;
  int pairs = 0;
  for (const GeometryChoice& choice : candidates) {
    GeometryChoice turned = choice;
    turned.axis = 2;
    const bool is_pair = choice.streamed && choice.axis == 0 && choice.pass_input.x > 13;
    if (!is_pair || std::find(candidates.begin(), candidates.end(), turned) == candidates.end()) continue;
    plan.ladder.front().geometry = choice;
    const std::vector<Plan> plans = near(plan);
    ASSERT_FALSE(plans.empty());
    EXPECT_EQ(plans.front().ladder.front().geometry.axis, 0) << to_string(choice.pass_input);
    if (++pairs == 5) break;
  }
  EXPECT_GT(pairs, 0);
}

TEST_F(PlannerDraw, StopsAndRefusesAsASearchDoes) {
  options_.stop = [] { return true; };
  EXPECT_TRUE(drawn().empty());
  options_.stop = {};
  options_.volume = Vec3{1, 1, 1};
  EXPECT_FALSE(draw_plans(network_, spec_, catalogue_, *costs_, options_, draw_));
  options_.volume.reset();
  options_.memory_limit = 100;  // less than the weights
  EXPECT_TRUE(drawn().empty());
}

}  // namespace
}  // namespace znni
