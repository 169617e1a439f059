#include "server/jobs/load_estimate.hpp"

#include <gtest/gtest.h>

#include "tests/server/pipeline/engine_bench.hpp"
#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/random_network.hpp"

namespace znni {
namespace {

using test::choice_of;

// A patch of 9 gives 2 dense voxels per axis: four of them together in `shared` seconds, one alone in `alone`.
class LoadEstimateTest : public testing::Test {
 protected:
  void open(Seconds shared, Seconds alone) {
    const Network network = test::simple_network(1);
    bench_ = test::open_bench(
        network, {choice_of(network, PoolMode::fragments, 0, 4), choice_of(network, PoolMode::fragments, 0, 1)});
    bench_.plan.ladder[0].seconds = shared;
    bench_.plan.ladder[1].seconds = alone;
    bench_.engine = Engine::open(bench_.network, bench_.weights, bench_.plan, bench_.catalogue, *bench_.device).value();
  }
  // Returns the rung of a job that is alone but for small jobs that wait, which could take so many entries.
  std::size_t rung(Vec3 n, std::int64_t waiting) { return rung(n, QueueLoad{true, 1, waiting}); }
  std::size_t rung(Vec3 n, const QueueLoad& queue_load) {
    const VolumeShape input{1, n};
    return estimate_under_load(*bench_.engine, input, ElementType::f32, *bench_.engine->estimate(input), queue_load)
        .rung;
  }

  test::EngineBench bench_;
};

TEST_F(LoadEstimateTest, SharesABatchOnceEnoughWaitToFillIt) {
  open(1.5, 1);
  EXPECT_EQ(bench_.engine->estimate({1, Vec3::cube(9)})->rung, 1U) << "alone";
  EXPECT_EQ(rung(Vec3::cube(9), 0), 1U);
  EXPECT_EQ(rung(Vec3::cube(9), 2), 1U);
  EXPECT_EQ(rung(Vec3::cube(9), 3), 0U);
  EXPECT_EQ(rung(Vec3::cube(9), QueueLoad{false, 1, 10}), 1U) << "no job has the turn: they do not wait for it";
}

TEST_F(LoadEstimateTest, PlacesCountRatherThanJobs) {
  open(2.5, 1);
  EXPECT_EQ(bench_.engine->estimate({1, {9, 9, 11}})->rung, 1U) << "two patches, one after the other";
  EXPECT_EQ(rung({9, 9, 11}, 1), 1U);
  EXPECT_EQ(rung({9, 9, 11}, 2), 0U);
}

TEST_F(LoadEstimateTest, WhatCannotShareIsOnNoRungThatSuitsOnlySharing) {
  open(1.5, 1);
  EXPECT_EQ(rung(Vec3::cube(9), QueueLoad{true, 0, 10}), 1U);
}

TEST_F(LoadEstimateTest, JobsThatComeTogetherShareWhereThatIsSooner) {
  open(1.5, 1);
  EXPECT_EQ(rung(Vec3::cube(9), QueueLoad{false, 2, 0}), 0U) << "1.5 s for both, not 2 s";
}

TEST_F(LoadEstimateTest, WholeBatchesOfThemAreCompared) {
  open(3.5, 1);
  EXPECT_EQ(rung(Vec3::cube(9), QueueLoad{false, 3, 0}), 1U);
  EXPECT_EQ(rung(Vec3::cube(9), QueueLoad{false, 4, 0}), 0U);
  EXPECT_EQ(rung(Vec3::cube(9), QueueLoad{false, 5, 0}), 1U) << "7 s for two batches";
}

TEST_F(LoadEstimateTest, NotWhereTogetherIsNoFaster) {
  open(4.5, 1);
  EXPECT_EQ(rung(Vec3::cube(9), 10), 1U);
}

TEST_F(LoadEstimateTest, NotWhereItWouldTakeMuchLongerShouldNobodyCome) {
  open(2.5, 1);
  EXPECT_EQ(rung(Vec3::cube(9), 10), 1U);
}

TEST_F(LoadEstimateTest, LargeVolumesHaveTheirBatchesForThemselves) {
  open(1.5, 1);
  const VolumeShape input{1, {9, 9, 40}};
  const JobEstimate alone = *bench_.engine->estimate(input);
  EXPECT_EQ(rung(input.n, 10), alone.rung);
  EXPECT_EQ(rung(input.n, QueueLoad{false, 10, 10}), alone.rung);
}

}  // namespace
}  // namespace znni
