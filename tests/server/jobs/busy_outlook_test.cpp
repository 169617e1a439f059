#include "server/jobs/busy_outlook.hpp"

#include <gtest/gtest.h>

#include "tests/server/pipeline/engine_bench.hpp"
#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/random_network.hpp"

namespace znni {
namespace {

using test::choice_of;

// A patch of 9 gives 2 dense voxels per axis: four of them together in `shared` seconds, one alone in `alone`.
class BusyOutlookTest : public testing::Test {
 protected:
  void open(Seconds shared, Seconds alone) {
    const Network network = test::simple_network(1);
    bench_ = test::open_bench(
        network, {choice_of(network, PoolMode::fragments, 0, 4), choice_of(network, PoolMode::fragments, 0, 1)});
    bench_.plan.ladder[0].seconds = shared;
    bench_.plan.ladder[1].seconds = alone;
    bench_.engine = Engine::open(bench_.network, bench_.weights, bench_.plan, bench_.catalogue, *bench_.device).value();
  }
  // Alone but for small jobs that wait, which could take so many places.
  std::size_t rung(Vec3 n, std::int64_t waiting) { return rung(n, Company{true, 1, waiting}); }
  std::size_t rung(Vec3 n, const Company& company) {
    const VolumeShape input{1, n};
    return outlook_in_company(*bench_.engine, input, ElementType::f32, *bench_.engine->outlook(input), company).rung;
  }

  test::EngineBench bench_;
};

TEST_F(BusyOutlookTest, SharesABatchOnceEnoughWaitToFillIt) {
  open(1.5, 1);
  EXPECT_EQ(bench_.engine->outlook({1, Vec3::cube(9)})->rung, 1U) << "alone";
  EXPECT_EQ(rung(Vec3::cube(9), 0), 1U);
  EXPECT_EQ(rung(Vec3::cube(9), 2), 1U);
  EXPECT_EQ(rung(Vec3::cube(9), 3), 0U);
  EXPECT_EQ(rung(Vec3::cube(9), Company{false, 1, 10}), 1U) << "nobody has the turn: they do not wait for it";
}

TEST_F(BusyOutlookTest, PlacesCountRatherThanJobs) {
  open(2.5, 1);
  EXPECT_EQ(bench_.engine->outlook({1, {9, 9, 11}})->rung, 1U) << "two patches, one after the other";
  EXPECT_EQ(rung({9, 9, 11}, 1), 1U);
  EXPECT_EQ(rung({9, 9, 11}, 2), 0U);
}

TEST_F(BusyOutlookTest, WhatCannotShareIsOnNoRungThatSuitsOnlySharing) {
  open(1.5, 1);
  EXPECT_EQ(rung(Vec3::cube(9), Company{true, 0, 10}), 1U);
}

TEST_F(BusyOutlookTest, JobsThatComeTogetherShareWhereThatIsSooner) {
  open(1.5, 1);
  EXPECT_EQ(rung(Vec3::cube(9), Company{false, 2, 0}), 0U) << "1.5 s for both, not 2 s";
}

TEST_F(BusyOutlookTest, WholeBatchesOfThemAreCompared) {
  open(3.5, 1);
  EXPECT_EQ(rung(Vec3::cube(9), Company{false, 3, 0}), 1U);
  EXPECT_EQ(rung(Vec3::cube(9), Company{false, 4, 0}), 0U);
  EXPECT_EQ(rung(Vec3::cube(9), Company{false, 5, 0}), 1U) << "7 s for two batches";
}

TEST_F(BusyOutlookTest, NotWhereTogetherIsNoFaster) {
  open(4.5, 1);
  EXPECT_EQ(rung(Vec3::cube(9), 10), 1U);
}

TEST_F(BusyOutlookTest, NotWhereItWouldTakeMuchLongerShouldNobodyCome) {
  open(2.5, 1);
  EXPECT_EQ(rung(Vec3::cube(9), 10), 1U);
}

TEST_F(BusyOutlookTest, LargeVolumesHaveTheirBatchesForThemselves) {
  open(1.5, 1);
  const VolumeShape input{1, {9, 9, 40}};
  const JobOutlook alone = *bench_.engine->outlook(input);
  EXPECT_EQ(rung(input.n, 10), alone.rung);
  EXPECT_EQ(rung(input.n, Company{false, 10, 10}), alone.rung);
}

}  // namespace
}  // namespace znni
