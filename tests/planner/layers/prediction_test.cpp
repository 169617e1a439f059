#include "planner/layers/prediction.hpp"

#include <gtest/gtest.h>

#include "planner/costs/problem_text.hpp"
#include "planner/layers/schedule.hpp"
#include "tests/planner/drawn_search.hpp"

namespace znni {
namespace {

class PlannerPrediction : public test::DrawnSearch {
 protected:
  PlannerPrediction() { spec_.name = "here"; }

  // Returns timings of all that the plan runs, which took `ratio` times what the formulas say.
  Timings timings(const Plan& plan, double ratio) const {
    Timings all;
    for (const Rung& rung : plan.ladder) {
      const Geometry geometry = make_geometry(network_, rung.geometry).value();
      const Schedule schedule =
          make_schedule(network_, geometry, rung.segments.front().steps, catalogue_, spec_).value();
      for (const Call& call : schedule.calls) {
        const Estimate& way = call.estimate;
        all.insert({std::string(call.primitive->name),
                    call.primitive->version,
                    way.variant,
                    way.in,
                    way.out,
                    to_string(call.problem),
                    spec_.name,
                    spec_.threads,
                    {ratio * way.time},
                    0,
                    way.time,
                    0,
                    {}});
      }
    }
    return all;
  }

  Result<Plan> again(const Plan& plan, const Timings& timings) {
    const auto costs = [&timings](const DeviceSpec& spec) { return recorded_costs(timings, spec); };
    return predict_again(plan, network_, catalogue_, spec_, costs);
  }
};

TEST_F(PlannerPrediction, ByTheSameTimesIsTheSame) {
  options_.ladder = true;
  const Plan plan = best();
  const Result<Plan> same = again(plan, {});
  ASSERT_TRUE(same) << same.error().message;
  ASSERT_EQ(same->ladder.size(), plan.ladder.size());
  for (std::size_t i = 0; i < plan.ladder.size(); ++i) {
    EXPECT_EQ(same->ladder[i].segments, plan.ladder[i].segments);
    EXPECT_NEAR(same->ladder[i].seconds, plan.ladder[i].seconds, 1e-9 * plan.ladder[i].seconds);
  }
  EXPECT_NEAR(same->predicted.voxels_per_second, plan.predicted.voxels_per_second,
              1e-9 * plan.predicted.voxels_per_second);
}

// This holds for a plan over several places, too.
TEST_F(PlannerPrediction, LikeStepsErrAlikeWhereverTheyRunAndOthersIndependently) {
  const auto step = [](const char* primitive, Seconds seconds) {
    Step made;
    made.primitive = primitive;
    made.seconds = seconds;
    made.error = 0.2;
    return made;
  };
  Rung rung;
  rung.segments = {{0, 0, Place::cpu, {}, {step("a", 1)}}, {1, 2, Place::gpu, {1}, {step("a", 1), step("b", 2)}}};
  const Cost cost =
      cost_of_steps(rung, [](const Segment& segment, const Step&) { return segment.place == Place::gpu ? 2.0 : 1.0; });
  EXPECT_DOUBLE_EQ(cost.seconds, 1 + 2 * 3);
  EXPECT_DOUBLE_EQ(cost.error, 0.2 * 5 / 7) << "3 s of one and 4 s of the other";
}

TEST_F(PlannerPrediction, OtherTimesChangeStepsRungsAndRate) {
  const Plan plan = best();
  const Plan slow = again(plan, timings(plan, 3)).value();
  const std::vector<Step>& before = plan.ladder.front().segments.front().steps;
  const std::vector<Step>& after = slow.ladder.front().segments.front().steps;
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(after[i].primitive, before[i].primitive);
    EXPECT_NEAR(after[i].seconds, 3 * before[i].seconds, 1e-9 * before[i].seconds);
    EXPECT_EQ(after[i].basis, before[i].seconds > 0 ? Basis::recorded : before[i].basis);
    EXPECT_GT(after[i].error, 0);
  }
  EXPECT_EQ(slow.predicted.basis, Basis::recorded);
  EXPECT_EQ(slow.predicted.seconds, slow.ladder.front().seconds);
  EXPECT_GT(slow.predicted.error, 0);
  EXPECT_NEAR(slow.predicted.voxels_per_second * slow.predicted.seconds,
              plan.predicted.voxels_per_second * plan.predicted.seconds, 1e-6);
  EXPECT_LT(slow.predicted.voxels_per_second, plan.predicted.voxels_per_second);
  EXPECT_EQ(slow.memory, plan.memory);
}

TEST_F(PlannerPrediction, OtherTimesChangeTheRateInAnEndlessVolumeToo) {
  options_.volume = Vec3{19, 20, 21};
  const Plan plan = best();
  ASSERT_GT(plan.predicted.endless_voxels_per_second, 0);
  const Prediction slow = again(plan, timings(plan, 3)).value().predicted;
  const double slower = plan.predicted.seconds / slow.seconds;
  EXPECT_LT(slower, 1);
  EXPECT_NEAR(slow.endless_voxels_per_second / plan.predicted.endless_voxels_per_second, slower, 1e-9);
}

TEST_F(PlannerPrediction, StepsOfOnePrimitiveErrAlikeAndOthersDoNot) {
  const Plan plan = best();
  Rung rung = plan.ladder.front();
  const Geometry geometry = make_geometry(network_, rung.geometry).value();
  std::vector<Step>& steps = rung.segments.front().steps;
  const auto error = [&] { return predict(network_, geometry, rung, 1).error; };
  for (Step& step : steps) {
    step.primitive = "one";
    step.seconds = 1;
    step.error = 0.2;
  }
  EXPECT_NEAR(error(), 0.2, 1e-12);
  steps.back().primitive = "another";
  EXPECT_LT(error(), 0.19);
  steps.back().error = 0;
  EXPECT_EQ(error(), 0);  // unknown
}

TEST_F(PlannerPrediction, OfAPlanThatDoesNotRunIsAnError) {
  Plan plan = best();
  plan.ladder.front().segments.front().steps.back().primitive = "drawn.gone";
  const Result<Plan> none = again(plan, {});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("rung 0"), std::string::npos) << none.error().message;
  plan = best();
  plan.ladder.front().segments.front().place = Place::gpu;
  EXPECT_EQ(again(plan, {}).error().code, ErrorCode::unsupported);
}

}  // namespace
}  // namespace znni
