#include "planner/costs/costs.hpp"

#include <gtest/gtest.h>

#include "planner/base/parallel.hpp"
#include "tests/planner/drawn_primitives.hpp"

namespace znni {
namespace {

DeviceSpec device() {
  DeviceSpec spec;
  spec.name = "here";
  return spec;
}

LayerProblem conv_problem(std::int64_t edge, std::int64_t f = 2) {
  return ConvProblem{{1, f, Vec3::cube(edge)}, 3, Vec3::cube(2), Vec3::cube(1), Vec3::cube(1), {}};
}

Estimate estimate(const LayerProblem& problem, Format format = drawn::planar, std::int64_t salt = 1) {
  return drawn::make_estimate(problem, format, format, salt);
}

// Returns a record of `problem` that took `ratio` times what the formula says.
TimingRecord record(const LayerProblem& problem, const Estimate& way, double ratio, int version = 1) {
  return {"drawn.conv.a",     version, way.variant, way.in, way.out, to_string(problem), "here", 1,
          {way.time * ratio}, 0,       way.time,    0,      {}};
}

TEST(PlannerCosts, ModelledIsTheFormula) {
  const Estimate way = estimate(conv_problem(8));
  const Cost cost = modelled_costs()->cost(conv_problem(8), drawn::conv, way);
  EXPECT_EQ(cost.seconds, way.time);
  EXPECT_EQ(cost.basis, Basis::model);
}

TEST(PlannerCosts, AreFormulasAloneWhereNothingIsRecorded) {
  EXPECT_TRUE(modelled_costs()->is_formula_of(drawn::conv));
  Timings timings;
  EXPECT_TRUE(recorded_costs(timings, device())->is_formula_of(drawn::conv));
  timings.insert(record(conv_problem(8), estimate(conv_problem(8)), 3));
  EXPECT_FALSE(recorded_costs(timings, device())->is_formula_of(drawn::other_conv)) << "others correct it, too";
  EXPECT_TRUE(recorded_costs(timings, DeviceSpec{})->is_formula_of(drawn::conv)) << "records of another device";
}

TEST(PlannerCosts, SayOfWhatThereAreTimes) {
  EXPECT_FALSE(modelled_costs()->has_times_of(drawn::conv));
  Timings timings;
  timings.insert(record(conv_problem(8), estimate(conv_problem(8)), 3));
  EXPECT_TRUE(recorded_costs(timings, device())->has_times_of(drawn::conv));
  EXPECT_FALSE(recorded_costs(timings, device())->has_times_of(drawn::other_conv));
  EXPECT_FALSE(recorded_costs(timings, DeviceSpec{})->has_times_of(drawn::conv)) << "records of another device";
}

TEST(PlannerCosts, RecordedComesFirst) {
  Timings timings;
  timings.insert(record(conv_problem(8), estimate(conv_problem(8)), 3));
  const Cost cost = recorded_costs(timings, device())->cost(conv_problem(8), drawn::conv, estimate(conv_problem(8)));
  EXPECT_DOUBLE_EQ(cost.seconds, 3 * estimate(conv_problem(8)).time);
  EXPECT_EQ(cost.basis, Basis::recorded);
}

TEST(PlannerCosts, TheRestIsCorrectedTheMoreTheNearerItIs) {
  Timings timings;
  timings.insert(record(conv_problem(8), estimate(conv_problem(8)), 3));
  const std::unique_ptr<CostSource> costs = recorded_costs(timings, device());
  const auto ratio = [&](const LayerProblem& problem) {
    const Estimate way = estimate(problem, drawn::blocked, 2);
    const Cost cost = costs->cost(problem, drawn::conv, way);
    EXPECT_EQ(cost.basis, Basis::model);
    return cost.seconds / way.time;
  };
  EXPECT_GT(ratio(conv_problem(8)), 2);  // another way
  EXPECT_LT(ratio(conv_problem(8)), 3);
  EXPECT_LT(ratio(conv_problem(20)), ratio(conv_problem(8)));
  EXPECT_LT(ratio(conv_problem(8, 3)), ratio(conv_problem(8)));
  EXPECT_LT(ratio(conv_problem(40, 7)), ratio(conv_problem(8, 3)));
  EXPECT_GT(ratio(conv_problem(40, 7)), 1);
}

TEST(PlannerCosts, LikeLayersCorrectLikeLayers) {
  Timings timings;
  timings.insert(record(conv_problem(8, 1), estimate(conv_problem(8, 1)), 10));
  timings.insert(record(conv_problem(8, 2), estimate(conv_problem(8, 2)), 3));
  timings.insert(record(conv_problem(8, 2), estimate(conv_problem(8, 2), drawn::blocked, 2), 0.5));
  const std::unique_ptr<CostSource> costs = recorded_costs(timings, device());
  const auto ratio = [&](const LayerProblem& problem, const Estimate& way) {
    return costs->cost(problem, drawn::conv, way).seconds / way.time;
  };
  const double most = ratio(conv_problem(9, 1), estimate(conv_problem(9, 1)));
  const double middle = ratio(conv_problem(9, 2), estimate(conv_problem(9, 2)));
  EXPECT_GT(most, 3.5);
  EXPECT_GT(most, middle);
  EXPECT_GT(middle, ratio(conv_problem(9, 2), estimate(conv_problem(9, 2), drawn::blocked, 2)));
}

TEST(PlannerCosts, NearSizesCountMost) {
  Timings timings;
  timings.insert(record(conv_problem(6), estimate(conv_problem(6)), 8));
  timings.insert(record(conv_problem(60), estimate(conv_problem(60)), 2));
  const std::unique_ptr<CostSource> costs = recorded_costs(timings, device());
  const double small =
      costs->cost(conv_problem(7), drawn::conv, estimate(conv_problem(7))).seconds / estimate(conv_problem(7)).time;
  const double large =
      costs->cost(conv_problem(59), drawn::conv, estimate(conv_problem(59))).seconds / estimate(conv_problem(59)).time;
  EXPECT_GT(small, 5);
  EXPECT_LT(large, 3);
}

TEST(PlannerCosts, APrimitiveWithoutRecordsErrsLikeTheOthersOnLikeLayers) {
  Timings timings;
  timings.insert(record(conv_problem(8), estimate(conv_problem(8)), 5));
  const std::unique_ptr<CostSource> costs = recorded_costs(timings, device());
  const auto ratio = [&](const LayerProblem& problem) {
    return costs->cost(problem, drawn::other_conv, estimate(problem)).seconds / estimate(problem).time;
  };
  EXPECT_NEAR(ratio(conv_problem(20)), 5, 1e-9);
  EXPECT_NEAR(ratio(conv_problem(20, 7)), 1, 1e-9);
}

TEST(PlannerCosts, OtherMachinesAndEmptyRecordsTellNothing) {
  const Estimate way = estimate(conv_problem(8));
  std::vector<TimingRecord> strange(3, record(conv_problem(8), way, 5));
  strange[0].device = "there";
  strange[1].threads = 16;
  strange[2].samples = {};
  Timings timings;
  for (const TimingRecord& each : strange) timings.insert(each);
  const std::unique_ptr<CostSource> costs = recorded_costs(timings, device());
  EXPECT_EQ(costs->cost(conv_problem(8), drawn::conv, way).seconds, way.time);
  EXPECT_EQ(costs->cost(conv_problem(8), drawn::other_conv, way).seconds, way.time);
}

TEST(PlannerCosts, ErrorBarsComeFromTheRecords) {
  Timings timings;
  for (const std::int64_t edge : {8, 10, 12, 14, 16})
    timings.insert(record(conv_problem(edge), estimate(conv_problem(edge)), 3));
  const std::unique_ptr<CostSource> costs = recorded_costs(timings, device());
  EXPECT_EQ(costs->cost(conv_problem(20), drawn::conv, estimate(conv_problem(20))).error, 0.02);  // all erred alike
  EXPECT_EQ(costs->cost(conv_problem(8), drawn::conv, estimate(conv_problem(8))).error, 0.02);
  EXPECT_EQ(modelled_costs()->cost(conv_problem(8), drawn::conv, estimate(conv_problem(8))).error, 0);
  EXPECT_EQ(calibrate(timings, device()).residuals().at(0).rows, 5U);
}

TEST(PlannerCosts, TogetherTheWeakerBasisAndAllErrorsCount) {
  const Cost both = together({1, Basis::recorded, 0.1}, {3, Basis::model, 0.5});
  EXPECT_EQ(both.seconds, 4);
  EXPECT_EQ(both.basis, Basis::model);
  EXPECT_DOUBLE_EQ(both.error, 0.4);
  EXPECT_EQ(together(both, {1, Basis::model, 0}).error, 0);
  EXPECT_DOUBLE_EQ(together({0, Basis::measured, 0}, both).error, 0.4);
}

TEST(PlannerCosts, WhatErrsIndependentlyErrsLessInAll) {
  const Cost both = beside({1, Basis::recorded, 0.3}, {1, Basis::measured, 0.4});
  EXPECT_EQ(both.seconds, 2);
  EXPECT_EQ(both.basis, Basis::recorded);
  EXPECT_DOUBLE_EQ(both.error, 0.25);
  EXPECT_EQ(beside(both, {1, Basis::model, 0}).error, 0);
}

TEST(PlannerCosts, AnotherVersionIsAnotherPrimitive) {
  Timings timings;
  timings.insert(record(conv_problem(8), estimate(conv_problem(8)), 5, 9));
  const Cost cost = recorded_costs(timings, device())->cost(conv_problem(8), drawn::conv, estimate(conv_problem(8)));
  EXPECT_EQ(cost.basis, Basis::model);
}

TEST(PlannerCosts, SizesThatWereRefusedAreChosenOnlyWhereThereIsNoOtherWay) {
  Timings timings;
  TimingRecord limit = record(conv_problem(20), estimate(conv_problem(20)), 0);
  limit.samples.clear();
  limit.refused = true;
  timings.insert(limit);
  const std::unique_ptr<CostSource> costs = recorded_costs(timings, device());
  EXPECT_TRUE(costs->has_times_of(drawn::conv));
  EXPECT_EQ(costs->cost(conv_problem(19), drawn::conv, estimate(conv_problem(19))).seconds,
            estimate(conv_problem(19)).time);
  for (const std::int64_t edge : {20, 21, 40}) {
    const Estimate way = estimate(conv_problem(edge));
    EXPECT_GT(costs->cost(conv_problem(edge), drawn::conv, way).seconds, 1e5 * way.time);
    EXPECT_EQ(costs->cost(conv_problem(edge), drawn::conv, way).basis, Basis::recorded);
    EXPECT_EQ(costs->cost(conv_problem(edge), drawn::other_conv, way).seconds, way.time);
  }
}

// The threads of a search ask so: for many problems at once.
TEST(PlannerCosts, ManyThreadsHearWhatOneHears) {
  Timings timings;
  timings.insert(record(conv_problem(8), estimate(conv_problem(8)), 3));
  timings.insert(record(conv_problem(60), estimate(conv_problem(60)), 2));
  const std::unique_ptr<CostSource> costs = recorded_costs(timings, device());
  const auto ask = [&](std::size_t i) {
    const LayerProblem problem = conv_problem(static_cast<std::int64_t>(6 + i % 50));
    return costs->cost(problem, drawn::conv, estimate(problem)).seconds;
  };
  std::vector<Seconds> heard(500);
  parallel_for(5, heard.size(), [&](std::size_t i) { heard[i] = ask(i); });
  for (std::size_t i = 0; i < heard.size(); ++i) EXPECT_EQ(heard[i], ask(i));
}

}  // namespace
}  // namespace znni
