#include "planner/layers/ladder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/layers/pipeline_bytes.hpp"
#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/oracle_primitive.hpp"
#include "tests/server/pipeline/random_network.hpp"
#include "tests/server/pipeline/split_plan.hpp"
#include "tests/support/host_sim.hpp"

namespace znni {
namespace {

using testing::HasSubstr;

// Two rungs on the CPU, and between them one on both.
class LadderTest : public testing::Test {
 protected:
  LadderTest() {
    test::Random random(1);
    const GeometryChoice large = test::choice_of(network_, PoolMode::fragments, 2);
    const GeometryChoice small = test::choice_of(network_, PoolMode::fragments, 1);
    plan_ = test::hand_plan(network_, {large, small}, catalogue_, cpu_, random).value();
    Rung split = test::split_rung(network_, large, 2, 1, cpu_, gpu_).value();
    bytes_ = pipeline_bytes(take_apart(network_, split, catalogue_, {cpu_, gpu_}).value());
    split.memory = {plan_.memory.weights, 0, bytes_.host + bytes_.pinned};
    cpu_alone_ = plan_;
    plan_.ladder.insert(plan_.ladder.begin() + 1, split);
    plan_.memory.transient += split.memory.transient;
  }
  Result<std::vector<LadderRung>> design(const Plan& plan, bool with_gpu = true) {
    return design_ladder(network_, plan, catalogue_, cpu_, with_gpu ? &gpu_ : nullptr);
  }

  const Network network_ = test::simple_network(1);
  const Catalogue catalogue_ = test::split_catalogue();
  const DeviceSpec cpu_ = test::host_device(1)->spec();
  const DeviceSpec gpu_ = test::host_sim_spec();
  Plan plan_;
  Plan cpu_alone_;
  SpaceBytes bytes_;
};

TEST_F(LadderTest, TellsTheKindsApartAndAddsTheirMemory) {
  const auto rungs = design(plan_);
  ASSERT_TRUE(rungs) << rungs.error().message;
  ASSERT_EQ(rungs->size(), 3U);
  EXPECT_TRUE((*rungs)[0].cpu && !(*rungs)[1].cpu && (*rungs)[2].cpu);
  EXPECT_EQ((*rungs)[1].split, bytes_);
  EXPECT_TRUE(needs_gpu(plan_));
  EXPECT_FALSE(needs_gpu(cpu_alone_));
}

TEST_F(LadderTest, ThePlansOwnNumbersMustBeRight) {
  Plan plan = plan_;
  plan.memory.transient -= 64;
  const auto refused = design(plan);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(refused.error().message, HasSubstr("its steps take"));
  plan.ladder.clear();
  EXPECT_THAT(design(plan).error().message, HasSubstr("no rung"));
}

TEST_F(LadderTest, WhatNoPipelineRunsIsRefused) {
  EXPECT_THAT(design(plan_, false).error().message, HasSubstr("rung 1: segment of nodes 2 to 2 is placed on 'gpu'"));
  Plan plan = plan_;
  std::swap(plan.ladder[1].segments[0].place, plan.ladder[1].segments[1].place);
  EXPECT_THAT(design(plan).error().message, HasSubstr("rung 1: "));
}

TEST_F(LadderTest, WithoutTheGpuTheRestIsAPlanOfItsOwn) {
  EXPECT_EQ(without_gpu(plan_), cpu_alone_);
  EXPECT_TRUE(design(without_gpu(plan_), false));
  EXPECT_EQ(without_gpu(cpu_alone_), cpu_alone_);
}

}  // namespace
}  // namespace znni
