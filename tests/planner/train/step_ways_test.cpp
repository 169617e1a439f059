#include "planner/train/step_ways.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/planner/train/cpu_parts.hpp"

namespace znni {
namespace {

using testing::HasSubstr;

const Shape5 shape{1, 16, {4, 4, 4}};

StepWork activation(int reads, int writes) {
  StepWork work;
  work.node = 0;
  work.problem = LayerProblem(ActivationProblem{shape, {ActivationKind::relu, 0.0F}});
  work.reads = {reads};
  work.writes = writes;
  return work;
}

TEST(StepWays, TheGradientsOfWeightsAreWrittenPlanar) {
  const StepParts parts = test::cpu_parts(1);
  StepWork work;
  const ConvProblem conv{shape, 16, Vec3::cube(2), Vec3::cube(1), Vec3::cube(1), {}};
  work.problem = GradientProblem{conv, GradientOf::weights, 0};
  const Result<std::vector<StepWay>> ways = step_ways(work, parts);
  ASSERT_TRUE(ways);
  for (const StepWay& way : *ways) {
    EXPECT_EQ(way.estimate.out, Format{});
    EXPECT_NE(way.gradient, nullptr);
    EXPECT_GE(way.seconds, way.estimate.time);
  }
}

TEST(StepWays, PreparingAgainCostsTimeWhereSomethingIsKept) {
  const StepParts parts = test::cpu_parts(1);
  StepWork work;
  work.problem = LayerProblem(ConvProblem{shape, 16, Vec3::cube(2), Vec3::cube(1), Vec3::cube(1), {}});
  bool some_keep = false;
  const Result<std::vector<StepWay>> ways = step_ways(work, parts);
  for (const StepWay& way : ways.value()) {
    const bool keeps = persistent_bytes(way.estimate.memory) > 0;
    EXPECT_EQ(way.seconds > cold_share * way.estimate.time, keeps) << way.layer->name;
    some_keep = some_keep || keeps;
  }
  EXPECT_TRUE(some_keep);
}

TEST(StepWays, KeepNoSpectra) {
  const StepParts parts = test::cpu_parts(1);
  StepWork work;
  work.problem = LayerProblem(ConvProblem{{1, 16, {20, 20, 20}}, 16, Vec3::cube(3), Vec3::cube(1), Vec3::cube(1), {}});
  int tiled = 0;
  const Result<std::vector<StepWay>> ways = step_ways(work, parts);
  for (const StepWay& way : ways.value()) {
    EXPECT_EQ(setting(way.estimate.variant, "keep_spectra", 0), 0);
    tiled += way.layer->name == "cpu.conv.fft_tiled";
  }
  EXPECT_GT(tiled, 0);
}

TEST(StepWays, OfTheLossTakeDenseTensorsOnlyForFragments) {
  const StepParts parts = test::cpu_parts(1);
  StepWork work;
  work.problem = LossProblem{{1, 2, {4, 4, 4}}, {1, 2, {4, 4, 4}}};
  EXPECT_EQ(step_ways(work, parts).value().front().estimate.memory.size(), 2U);
  work.problem = LossProblem{{8, 2, {2, 2, 2}}, {1, 2, {4, 4, 4}}};
  const MemoryPlan memory = step_ways(work, parts).value().front().estimate.memory;
  EXPECT_EQ(memory.size(), 4U);
  EXPECT_EQ(peak(memory), 2 * tensor_bytes({1, 2, {4, 4, 4}}, {}));
}

TEST(StepWays, NameWhatNothingComputes) {
  StepParts parts = test::cpu_parts(1);
  parts.gradients = {};
  StepWork work;
  work.problem = GradientProblem{ActivationProblem{shape, {ActivationKind::relu, 0.0F}}};
  const Result<std::vector<StepWay>> ways = step_ways(work, parts);
  ASSERT_FALSE(ways);
  EXPECT_THAT(ways.error().message, HasSubstr("no primitive here computes: gradient of input 0: activation"));
}

TEST(StepWays, ReordersStandBeforeAndBehindAWork) {
  const StepParts parts = test::cpu_parts(1);
  const StepWork work = activation(0, 1);
  const Result<std::vector<StepWay>> ways = step_ways(work, parts);
  ASSERT_TRUE(ways);
  Format blocked;
  for (const StepWay& way : *ways) blocked = std::max(blocked, way.estimate.in);
  ASSERT_NE(blocked, Format{});
  for (const StepWay& way : *ways) {
    Reorders reorders(parts);
    StepLine line;
    line.add_tensor("in", shape, {});
    line.add_tensor("out", shape, blocked);
    line.bring(0);
    const std::optional<Seconds> seconds = append(work, way, reorders, line);
    ASSERT_TRUE(seconds);
    EXPECT_EQ(line.calls().size(), 2U);
    EXPECT_GT(*seconds, way.seconds);
    EXPECT_EQ(line.calls().front().reads.front(), 0);
    EXPECT_EQ(line.calls().back().writes, 1);
  }
}

TEST(StepWays, ATensorThatIsReadTwiceIsReorderedOnce) {
  const StepParts parts = test::cpu_parts(1);
  StepWork work;
  work.node = 0;
  work.problem = LayerProblem(AddProblem{shape, 2, {}});
  work.reads = {0, 0};
  work.writes = 1;
  const Result<std::vector<StepWay>> ways = step_ways(work, parts);
  ASSERT_TRUE(ways);
  for (const StepWay& way : *ways) {
    Reorders reorders(parts);
    StepLine line;
    line.add_tensor("in", shape, {});
    line.add_tensor("out", shape, way.estimate.out);
    line.bring(0);
    ASSERT_TRUE(append(work, way, reorders, line));
    EXPECT_EQ(line.calls().size(), way.estimate.in == Format{} ? 1U : 2U);
  }
}

}  // namespace
}  // namespace znni
