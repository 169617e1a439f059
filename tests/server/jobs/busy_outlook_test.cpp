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
  std::size_t rung(Vec3 n, std::int64_t waiting) {
    const VolumeShape input{1, n};
    return outlook_while_busy(*bench_.engine, input, ElementType::f32, *bench_.engine->outlook(input), waiting).rung;
  }

  test::EngineBench bench_;
};

TEST_F(BusyOutlookTest, SharesABatchOnceEnoughWaitToFillIt) {
  open(1.5, 1);
  EXPECT_EQ(bench_.engine->outlook({1, Vec3::cube(9)})->rung, 1U) << "alone";
  EXPECT_EQ(rung(Vec3::cube(9), 0), 1U);
  EXPECT_EQ(rung(Vec3::cube(9), 2), 1U);
  EXPECT_EQ(rung(Vec3::cube(9), 3), 0U);
  EXPECT_EQ(rung({9, 9, 11}, 1), 0U) << "two patches each";
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
  EXPECT_EQ(outlook_while_busy(*bench_.engine, input, ElementType::f32, alone, 10).rung, alone.rung);
}

}  // namespace
}  // namespace znni
