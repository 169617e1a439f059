#include "tests/bench/net_bench.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "planner/network/padding.hpp"
#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/oracle_primitive.hpp"
#include "tests/server/pipeline/random_network.hpp"

namespace znni::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class NetBenchTest : public testing::Test {
 protected:
  NetBenchTest() {
    const Backend* const rows[] = {&test::oracle_backend()};
    catalogue_ = Catalogue::make(rows).value();
  }

  Plan plan(PoolMode mode, std::int64_t S) {
    test::Random random(1);
    const std::vector<GeometryChoice> ladder = {test::choice_of(network_, mode, 1, S),
                                                test::choice_of(network_, mode, 0)};
    return test::hand_plan(network_, ladder, catalogue_, device_->spec(), random).value();
  }
  NetWork work(int repetitions) {
    return {&catalogue_, device_.get(), repetitions, stop_.get_token(),
            [this](const std::string& line) { said_.push_back(line); }};
  }

  const Network network_ = test::simple_network(1);
  const std::unique_ptr<Device> device_ = test::host_device(std::int64_t{1} << 30);
  Catalogue catalogue_;
  std::stop_source stop_;
  std::vector<std::string> said_;
};

TEST_F(NetBenchTest, MeasuresOneColdAndTheWarmRunsOfThePlannedPatch) {
  for (const PoolMode mode : {PoolMode::fragments, PoolMode::plain}) {
    const Plan plan = this->plan(mode, 1);
    const Result<NetTimes> times = run_net({network_, {}}, plan, work(3));
    ASSERT_TRUE(times) << times.error().message;
    EXPECT_TRUE(times->seeded_weights);
    EXPECT_GT(times->cold, 0);
    EXPECT_EQ(times->warm.size(), 3);
    ASSERT_EQ(times->processor.size(), 3);
    EXPECT_GT(times->processor[2], 0);
    EXPECT_EQ(times->passes, mode == PoolMode::plain ? 8 : 1);
    EXPECT_EQ(times->predicted, plan.ladder[0].seconds);
    const Vec3 dense = times->patch - Vec3::cube(7);  // the field of view is 8
    EXPECT_EQ(times->voxels, static_cast<double>(voxels(dense)));
    EXPECT_EQ(times->reserved_bytes, times->memory.total());
    EXPECT_EQ(device_->reserved(MemorySpace::host), 0);
  }
}

TEST_F(NetBenchTest, NodesAndRestAddUpToAWarmRun) {
  const Result<NetTimes> times = run_net({network_, random_weights(network_, 1)}, plan(PoolMode::plain, 1), work(1));
  ASSERT_TRUE(times) << times.error().message;
  EXPECT_FALSE(times->seeded_weights);
  ASSERT_EQ(times->nodes.size(), network_.nodes.size());
  Seconds sum = times->rest;
  for (std::size_t i = 0; i < times->nodes.size(); ++i) {
    EXPECT_EQ(times->nodes[i].name, network_.nodes[i].name);
    EXPECT_EQ(times->nodes[i].primitive, "test.oracle");
    EXPECT_NE(times->nodes[i].problem.find(i == 1 ? "pool" : "conv"), std::string::npos);
    EXPECT_GT(times->nodes[i].measured, 0);
    sum += times->nodes[i].measured;
  }
  EXPECT_NEAR(sum, times->warm[0], 1e-6);
}

TEST_F(NetBenchTest, StepsOfAStreamAreMeasuredTogetherAndToldAlone) {
  test::Random random(1);
  GeometryChoice choice = test::choice_of(network_, PoolMode::fragments, 1);
  choice.streamed = true;
  choice.pass_input.z = 2;
  const Plan plan = test::hand_plan(network_, {choice}, catalogue_, device_->spec(), random).value();
  const Result<NetTimes> times = run_net({network_, {}}, plan, work(1));
  ASSERT_TRUE(times) << times.error().message;
  EXPECT_EQ(times->steps, 5);  // 2 planes of output after 7 that prepare them
  EXPECT_EQ(times->voxels, 2.0 * 4 * 4);
  EXPECT_EQ(times->predicted, plan.ladder[0].seconds);
}

TEST_F(NetBenchTest, AStepOfOneTurnGivesItsShareOfTheVoxels) {
  test::Random random(1);
  const std::vector<PoolingMode> modes = {PoolingMode({1, 2, 2}, false)};
  const GeometryChoice choice{{2, 10, 10}, 1, modes, 0, true};  // 4 x 4 outputs in 4 phases
  const Plan plan = test::hand_plan(network_, {choice}, catalogue_, device_->spec(), random).value();
  const Result<NetTimes> times = run_net({network_, {}}, plan, work(1));
  ASSERT_TRUE(times) << times.error().message;
  EXPECT_EQ(times->passes, 1);
  EXPECT_EQ(times->steps, 4 * 5);
  EXPECT_EQ(times->voxels, 2.0 * 4 * 4 / 4);
  EXPECT_EQ(times->predicted, plan.ladder[0].seconds);
}

TEST_F(NetBenchTest, PatchesComputedTogetherAreMeasuredTogether) {
  const Result<NetTimes> one = run_net({network_, {}}, plan(PoolMode::fragments, 1), work(1));
  const Result<NetTimes> three = run_net({network_, {}}, plan(PoolMode::fragments, 3), work(1));
  ASSERT_TRUE(one && three);
  EXPECT_EQ(three->S, 3);
  EXPECT_EQ(three->voxels, 3 * one->voxels);
}

TEST_F(NetBenchTest, EverySocketOfAPlanHasAPatchOrAColumn) {
  const std::unique_ptr<Device> machine = test::host_device(std::int64_t{1} << 30, std::byte{0}, 2);
  NetWork both = work(1);
  both.device = machine.get();
  GeometryChoice step = test::choice_of(network_, PoolMode::fragments, 1);
  step.streamed = true;
  step.pass_input.z = 2;
  for (const GeometryChoice& choice : {test::choice_of(network_, PoolMode::fragments, 1), step}) {
    test::Random random(1);
    Plan plan = test::hand_plan(network_, {choice}, catalogue_, device_->spec(), random).value();
    const Result<NetTimes> one = run_net({network_, {}}, plan, work(1));
    plan.sockets = 2;
    const Result<NetTimes> two = run_net({network_, {}}, plan, both);
    ASSERT_TRUE(one && two) << (two ? "" : two.error().message);
    EXPECT_EQ(two->voxels, 2 * one->voxels);
    EXPECT_EQ(two->steps, one->steps);
    EXPECT_EQ(two->reserved_bytes, two->memory.total());
    EXPECT_EQ(two->memory.transient, 2 * one->memory.transient);
  }
}

TEST_F(NetBenchTest, ANetworkThatPadsReadsAVolumeWithoutItsFrame) {
  const Network padded = test::simple_network(0);
  const Border all = {Vec3::cube(1), Vec3::cube(1)};
  const Network network = without_padding({padded, {}}, {all})->network;
  test::Random random(1);
  GeometryChoice stream = test::choice_of(network, PoolMode::plain, 3);
  stream.streamed = true;
  stream.pass_input.z = 2;
  for (const GeometryChoice& choice : {test::choice_of(network, PoolMode::plain, 3), stream}) {
    const Plan plan = test::hand_plan(network, {choice}, catalogue_, device_->spec(), random).value();
    const Result<NetTimes> times = run_net({network, {}}, plan, work(1));
    ASSERT_TRUE(times) << times.error().message;
    EXPECT_EQ(times->voxels, static_cast<double>(voxels(times->patch - Vec3::cube(2))));
  }
}

TEST_F(NetBenchTest, ALimitTakesTheLargestPatchWithinIt) {
  Plan whole = plan(PoolMode::fragments, 1);
  whole.ladder[0].seconds = 8;
  whole.ladder[1].seconds = 2;
  whole.predicted = {100, 8, 1, Basis::model};
  EXPECT_EQ(rung_within(network_, whole, 9)->ladder[0], whole.ladder[0]);
  const Result<Plan> part = rung_within(network_, whole, 4);
  ASSERT_TRUE(part);
  EXPECT_EQ(part->ladder, std::vector{whole.ladder[1]});
  EXPECT_EQ(part->memory.transient, whole.ladder[1].memory.transient);
  const Result<NetTimes> times = run_net({network_, {}}, *part, work(1));
  ASSERT_TRUE(times) << times.error().message;
  EXPECT_EQ(times->predicted, 2);
  EXPECT_EQ(times->planned.seconds, 8);
  EXPECT_THAT(rung_within(network_, whole, 1).error().message,
              HasSubstr("the smallest patch of the plan takes 2.00 s"));
}

TEST_F(NetBenchTest, SaysWhatItDoes) {
  ASSERT_TRUE(run_net({network_, {}}, plan(PoolMode::fragments, 1), work(2)));
  EXPECT_THAT(said_, ElementsAre(HasSubstr("preparing"), HasSubstr("cold run, predicted"), "warm run 1 of 2",
                                 "warm run 2 of 2"));
}

TEST_F(NetBenchTest, AStopEndsIt) {
  stop_.request_stop();
  const Result<NetTimes> times = run_net({network_, {}}, plan(PoolMode::fragments, 1), work(1));
  ASSERT_FALSE(times);
  EXPECT_EQ(times.error().code, ErrorCode::cancelled);
  EXPECT_EQ(device_->reserved(MemorySpace::host), 0);
}

}  // namespace
}  // namespace znni::bench
