#include "planner/train/work_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "primitives/core/index.hpp"
#include "tests/planner/train/cpu_parts.hpp"

namespace znni {
namespace {

using testing::HasSubstr;
using testing::Not;

const ConvProblem conv{{2, 20, {12, 13, 14}}, 24, {3, 4, 5}, Vec3::cube(1), Vec3::cube(1), {}};
constexpr std::int64_t plenty = std::int64_t{1} << 40;

std::vector<WorkProblem> works() {
  return {LayerProblem(conv), GradientProblem{conv, GradientOf::input, 0},
          GradientProblem{conv, GradientOf::weights, 0}};
}

TEST(WorkPlan, HasTheCallersTensorsInTheOrderInWhichTheyAreRead) {
  const StepParts parts = test::cpu_parts(1);
  const Shape5 output = output_shape(LayerProblem(conv));
  const std::vector<std::vector<Shape5>> shapes = {{conv.in, output}, {output, conv.in}, {output, conv.in}};
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const WorkPlan plan = plan_work(works()[i], plenty, parts).value();
    EXPECT_EQ(plan.reads, i == 2 ? 2 : 1);
    EXPECT_EQ(plan.writes, i == 2 ? -1 : 1);
    for (std::size_t tensor = 0; tensor < 2; ++tensor) {
      EXPECT_EQ(plan.tensors[tensor].shape, shapes[i][tensor]);
      EXPECT_EQ(plan.tensors[tensor].format, Format{});
    }
  }
}

TEST(WorkPlan, TheWorkspaceHasAllButTheCallersTensors) {
  const StepParts parts = test::cpu_parts(1);
  for (const WorkProblem& work : works()) {
    const WorkPlan plan = plan_work(work, plenty, parts).value();
    EXPECT_EQ(plan.packing.offsets, pack(plan.memory).offsets) << "laid out otherwise than declared";
    EXPECT_EQ(plan.packing.bytes, pack(plan.memory).bytes);
    for (int tensor = 0; index(tensor) < plan.tensors.size(); ++tensor) {
      const bool is_callers = tensor < 2;
      const int buffer = plan.tensors[index(tensor)].buffer;
      EXPECT_EQ(plan.packing.offsets[index(buffer)] < 0, is_callers) << plan.tensors[index(tensor)].name;
    }
  }
}

// Limits from the smallest that a work can do with to one beyond which nothing changes.
TEST(WorkPlan, ALargerWorkspaceIsNeverSlower) {
  const StepParts parts = test::cpu_parts(2);
  for (const WorkProblem& work : works()) {
    const WorkPlan fastest = plan_work(work, plenty, parts).value();
    EXPECT_GT(fastest.packing.bytes, 0);
    std::int64_t limit = fastest.packing.bytes;
    Seconds before = fastest.seconds;
    int plans = 0;
    for (Result<WorkPlan> plan = plan_work(work, limit, parts); plan; plan = plan_work(work, limit - 1, parts)) {
      EXPECT_LE(plan->packing.bytes, limit);
      EXPECT_GE(plan->seconds, before);
      before = plan->seconds;
      limit = plan->packing.bytes;
      ++plans;
      if (limit == 0) break;
    }
    EXPECT_GT(plans, 1);
  }
}

TEST(WorkPlan, NoWayIsFasterThanTheOneTaken) {
  const StepParts parts = test::cpu_parts(1);
  for (const WorkProblem& problem : works()) {
    StepWork work;
    std::visit([&](const auto& own) { work.problem = own; }, problem);
    const Result<std::vector<StepWay>> ways = step_ways(work, parts);
    const WorkPlan plan = plan_work(problem, plenty, parts).value();
    for (const StepWay& way : ways.value()) {
      const bool is_planar = way.estimate.in == Format{} && way.estimate.out == Format{};
      EXPECT_TRUE(!is_planar || plan.seconds <= way.seconds);
    }
  }
}

TEST(WorkPlan, WhatDoesNotFitIsRefusedWithBothNumbers) {
  const StepParts parts = test::cpu_parts(1);
  // Transforms hold spectra; the gradient by its definition would hold nothing.
  for (const GradientPrimitive* gradient : parts.gradients) {
    if (gradient->name != "cpu.grad.fft_tiled") continue;
    const StepParts transforms{parts.layers, {&gradient, 1}, parts.device};
    const Result<WorkPlan> plan = plan_work(works()[2], 1000, transforms);
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().code, ErrorCode::over_budget);
    EXPECT_THAT(plan.error().message, HasSubstr("gradient of the weights: conv 2x20x12x13x14 -> 24, k 3x4x5 needs"));
    EXPECT_THAT(plan.error().message, HasSubstr("and the limit is 1000 B: raise it"));
    EXPECT_THAT(plan.error().message, Not(HasSubstr("EiB")));
    return;
  }
  FAIL() << "cpu.grad.fft_tiled is gone";
}

// It takes tensors in blocks of channels alone, and the caller's are planar.
TEST(WorkPlan, AWayThatLacksItsReordersIsNoneAndNeedsNoMemory) {
  const StepParts parts = test::cpu_parts(1);
  const Catalogue none = Catalogue::make({}).value();
  for (const GradientPrimitive* gradient : parts.gradients) {
    if (gradient->name != "cpu.grad.fft_tiled") continue;
    const Result<WorkPlan> plan = plan_work(works()[2], plenty, {none, {&gradient, 1}, parts.device});
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().code, ErrorCode::unsupported);
    EXPECT_THAT(plan.error().message, HasSubstr("no primitive here computes: gradient of the weights: conv"));
    EXPECT_THAT(plan.error().message, HasSubstr("it lacks a reorder"));
    return;
  }
  FAIL() << "cpu.grad.fft_tiled is gone";
}

TEST(WorkPlan, ImpossibleProblemsAndThoseOfNoPrimitiveAreRefused) {
  const StepParts parts = test::cpu_parts(1);
  ConvProblem large = conv;
  large.k.x = 15;
  const Result<WorkPlan> impossible = plan_work(LayerProblem(large), plenty, parts);
  ASSERT_FALSE(impossible);
  EXPECT_EQ(impossible.error().code, ErrorCode::invalid_argument);
  const Result<WorkPlan> both = plan_work(GradientProblem{conv, GradientOf::both}, plenty, parts);
  ASSERT_FALSE(both);
  EXPECT_THAT(both.error().message, HasSubstr("one at a time, not: gradient of input 0 and the weights: conv"));
  const Catalogue none = Catalogue::make({}).value();
  const Result<WorkPlan> unknown = plan_work(LayerProblem(conv), plenty, {none, {}, parts.device});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("no primitive here computes: conv"));
}

}  // namespace
}  // namespace znni
