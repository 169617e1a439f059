#include "planner/search/search.hpp"

#include <gtest/gtest.h>

#include "tests/planner/drawn_plan.hpp"

namespace znni {
namespace {

using test::drawn_plan;
using test::small_options;

TEST(PlannerSearch, WithoutStreamsAndGroupsPlansAreLayerwise) {
  for (const std::int64_t limit : {9000, 25000, 1000000}) {
    SearchOptions options = small_options(limit);
    options.max_extent = 12;
    options.ladder = true;
    options.strategy = Strategy::layerwise;
    const Plan layerwise = drawn_plan(drawn::chain(), options).value();
    options.strategy = Strategy::cpu;
    options.pins.streams = options.pins.groups = false;
    const Plan pinned = drawn_plan(drawn::chain(), options).value();
    EXPECT_EQ(pinned.ladder, layerwise.ladder);
    EXPECT_EQ(pinned.predicted, layerwise.predicted);
  }
}

// Patches beyond what is looked at by itself, and larger than the volume.
TEST(PlannerSearch, PinsMayNameWhatIsNotLookedAt) {
  SearchOptions options = small_options(std::int64_t{1} << 40);
  options.volume = Vec3::cube(9);
  options.pins.patch = Vec3{22, 6, 14};
  options.pins.S = 7;
  const Plan plan = drawn_plan(drawn::chain(3), options).value();
  const Geometry geometry = make_geometry(drawn::chain(3), plan.ladder.front().geometry).value();
  EXPECT_EQ(geometry.patch_input, *options.pins.patch);
  EXPECT_EQ(geometry.choice.S, 7);
}

TEST(PlannerSearch, SmallerRungsChooseTheirOwnPatch) {
  SearchOptions options;
  options.max_extent = 60;
  options.memory_limit = 8 << 20;
  options.pins.patch = Vec3::cube(34);
  options.pins.modes = {PoolMode::plain};
  options.pins.streams = false;
  const Plan plan = drawn_plan(drawn::chain(), options).value();
  EXPECT_GE(plan.ladder.size(), 3U);
  for (const Rung& rung : plan.ladder) EXPECT_EQ(rung.geometry.modes, options.pins.modes);
  EXPECT_EQ(make_geometry(drawn::chain(), plan.ladder.front().geometry)->patch_input, Vec3::cube(34));
}

TEST(PlannerSearch, ALimitThatIsTooSmallIsToldWithThePins) {
  SearchOptions options = small_options(10);
  options.pins.S = 2;
  const Result<Plan> refused = drawn_plan(drawn::chain(), options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::over_budget);
  EXPECT_NE(refused.error().message.find("chain with --S 2"), std::string::npos) << refused.error().message;
}

TEST(PlannerSearch, ForcedPrimitivesAreUsed) {
  SearchOptions options = small_options(1 << 20);
  for (const char* name : {"drawn.conv.a", "drawn.conv.b"}) {
    options.force = {{"conv1", name}, {"2", name}};
    const Result<Plan> plan = drawn_plan(drawn::chain(), options);
    ASSERT_TRUE(plan);
    for (const Step& step : plan->ladder.front().segments.front().steps) {
      if (step.node == 0 || step.node == 2) {
        EXPECT_EQ(step.primitive, name);
      }
    }
  }
}

TEST(PlannerSearch, RefusesWhatCannotBeForced) {
  SearchOptions options = small_options(1 << 20);
  options.force = {{"conv3", "drawn.conv.b"}};  // refuses k = 1
  const Result<Plan> refused = drawn_plan(drawn::chain(), options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_NE(refused.error().message.find("node conv3: drawn.conv.b: k = 1x1x1"), std::string::npos)
      << refused.error().message;
  options.force = {{"conv9", "drawn.conv.b"}};
  EXPECT_NE(drawn_plan(drawn::chain(), options).error().message.find("no node 'conv9'"), std::string::npos);
  options.force = {{"conv1", "drawn.conv.c"}};
  EXPECT_NE(drawn_plan(drawn::chain(), options).error().message.find("no primitive"), std::string::npos);
}

}  // namespace
}  // namespace znni
