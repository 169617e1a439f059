#include "planner/plan/pairs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "planner/layers/schedule.hpp"
#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/random_network.hpp"
#include "tests/server/pipeline/split_plan.hpp"
#include "tests/support/host_sim.hpp"

namespace znni {
namespace {

using testing::HasSubstr;

class PlannerPairs : public testing::Test {
 protected:
  [[nodiscard]] std::vector<Step> steps_with_pairs() const {
    const GeometryChoice choice = test::choice_of(network_, PoolMode::fragments, 2);
    Rung rung = test::split_rung(network_, choice, 0, 0, DeviceSpec{}, test::host_sim_spec()).value();
    EXPECT_EQ(test::join_pairs(network_, rung), 2);
    return rung.segments.front().steps;
  }
  [[nodiscard]] Result<Schedule> schedule(const std::vector<Step>& steps) const {
    return make_schedule(network_, geometry_, steps, test::pair_catalogue(), test::host_sim_spec());
  }

  Network network_ = test::simple_network(2);  // conv pool conv pool conv
  Geometry geometry_ = make_geometry(network_, test::choice_of(network_, PoolMode::fragments, 2)).value();
};

TEST_F(PlannerPairs, AreAConvolutionAndThePoolingBehindIt) {
  const Result<ConvPoolProblem> both = pair_problem(network_, geometry_, 0);
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_TRUE(check(*both));
  EXPECT_EQ(output_shape(*both), geometry_.values[2]);
  EXPECT_THAT(pair_problem(network_, geometry_, 1).error().message, HasSubstr("is not a convolution"));
  EXPECT_THAT(pair_problem(network_, geometry_, 4).error().message, HasSubstr("is not a convolution"));
}

TEST_F(PlannerPairs, WhatOthersReadOrKeepIsNotLeftOut) {
  Network branches;
  branches.nodes = {{"conv", Convolution{3, Vec3::cube(2), Vec3::cube(1), {}}, {0}},
                    {"pool a", Pooling{}, {1}},
                    {"pool b", Pooling{PoolKind::average}, {1}},
                    {"add", Add{}, {2, 3}}};
  const Geometry geometry = make_geometry(branches, test::choice_of(branches, PoolMode::fragments, 1)).value();
  EXPECT_THAT(pair_problem(branches, geometry, 0).error().message, HasSubstr("others read it"));
  Geometry slabs = geometry_;
  slabs.stem.last = 1;
  EXPECT_THAT(pair_problem(network_, slabs, 0).error().message, HasSubstr("slabs"));
  EXPECT_TRUE(pair_problem(network_, slabs, 2));
  Geometry held = geometry_;
  held.held = {1};
  EXPECT_THAT(pair_problem(network_, held, 0).error().message, HasSubstr("held"));
}

// conv 3, pool 2, conv 3, pool 2, conv 3; the second pooling is not joined.
TEST_F(PlannerPairs, OfAStreamReadMorePlanesAndKeepNoneBetweenThem) {
  GeometryChoice choice = test::choice_of(network_, PoolMode::fragments, 2);
  choice.streamed = true;
  choice.pass_input.z = 8;
  const Geometry apart = make_geometry(network_, choice).value();
  ASSERT_EQ(apart.histories.kept, (std::vector<std::int64_t>{2, 1, 2, 1, 2, 0}));
  const Geometry joined = with_pairs(network_, apart, {false, true, false, false, false, false});
  EXPECT_EQ(joined.histories.kept, (std::vector<std::int64_t>{3, 0, 2, 1, 2, 0}));
  EXPECT_EQ(with_pairs(network_, joined, {false, true, false, false, false, false}).histories.kept,
            joined.histories.kept);
  const ConvPoolProblem both = pair_problem(network_, joined, 0).value();
  EXPECT_EQ(both.conv.in.n.z, 8 + 3);
  EXPECT_TRUE(check(both));
  EXPECT_EQ(both, pair_problem(network_, apart, 0).value());
  EXPECT_EQ(left_out_values(network_, steps_with_pairs()), (std::vector<bool>{false, true, false, true, false, false}));
}

TEST_F(PlannerPairs, SubsetsAreAllChoicesOfSome) {
  EXPECT_TRUE(subsets_of({}, 4).empty());
  const std::vector<std::vector<bool>> expected = {
      {false, true, false, false}, {false, false, false, true}, {false, true, false, true}};
  EXPECT_EQ(subsets_of({1, 3}, 4), expected);
}

// The second node of a pair reads what the first did and computes both; between them there are no voxels.
TEST_F(PlannerPairs, AreSearchedAtTheirSecondNode) {
  const std::vector<bool> absent = {false, false, false, true, false, false};
  const Network network = searched_in_pairs(network_, absent);
  EXPECT_EQ(network.nodes[2].inputs, std::vector<int>{});
  EXPECT_EQ(network.nodes[3].inputs, std::vector<int>{2});
  EXPECT_EQ(network.nodes[1].inputs, std::vector<int>{1});
  const Geometry geometry = searched_in_pairs(network_, geometry_, absent);
  EXPECT_EQ(geometry.problems[3], LayerProblem(pair_problem(network_, geometry_, 2).value()));
  EXPECT_EQ(geometry.problems[1], geometry_.problems[1]);
  EXPECT_EQ(tensor_bytes(geometry.values[3], {}), 0);
  EXPECT_EQ(geometry.values[4], geometry_.values[4]);
}

TEST_F(PlannerPairs, StepsOfAPairAreOneStepAgain) {
  Step first;
  first.node = 3;
  first.primitive = "sim.conv_pool";
  first.variant = {{"tile", 4}};
  first.seconds = 2;
  const std::array<Step, 2> both = pair_steps(first);
  EXPECT_EQ(both[1].node, 4);
  EXPECT_EQ(both[1].seconds, 0);
  EXPECT_TRUE(begins_pair({both[0], both[1]}, 0));
  EXPECT_FALSE(begins_pair({both[0], both[1]}, 1));
  EXPECT_FALSE(begins_pair({both[0], both[0]}, 0));
  EXPECT_EQ(pair_as_one(both[0], both[1]).value(), first);
}

TEST_F(PlannerPairs, LeaveOutTheTensorBetweenThem) {
  const Schedule pairs = schedule(steps_with_pairs()).value();
  ASSERT_EQ(pairs.calls.size(), 3U);
  EXPECT_EQ(pairs.calls[0].step, 0);
  EXPECT_EQ(pairs.calls[1].step, 2);
  const std::string between = network_.nodes[0].name + "/output";
  const auto is_between = [&](const Buffer& buffer) { return buffer.name == between; };
  EXPECT_EQ(std::count_if(pairs.memory.begin(), pairs.memory.end(), is_between), 0);
  std::vector<Step> single = steps_with_pairs();
  const GeometryChoice choice = test::choice_of(network_, PoolMode::fragments, 2);
  single = test::split_rung(network_, choice, 0, 0, DeviceSpec{}, test::host_sim_spec()).value().segments[0].steps;
  const Schedule apart = schedule(single).value();
  EXPECT_EQ(std::count_if(apart.memory.begin(), apart.memory.end(), is_between), 1);
  EXPECT_LT(peak(pairs.memory, MemorySpace::device), peak(apart.memory, MemorySpace::device));
}

TEST_F(PlannerPairs, PlansThatWereEditedAreRefusedInWords) {
  std::vector<Step> other = steps_with_pairs();
  other[1].primitive = "sim.pool_mpf";
  EXPECT_THAT(schedule(other).error().message,
              HasSubstr("must name the same primitive (sim.conv_pool, found sim.pool_mpf)"));
  std::vector<Step> alone = steps_with_pairs();
  alone[1].variant.clear();
  EXPECT_FALSE(schedule(alone));
  std::vector<Step> wrong = steps_with_pairs();
  std::swap(wrong[1].variant, wrong[2].variant);
  EXPECT_THAT(schedule(wrong).error().message, HasSubstr(network_.nodes[0].name));
  std::vector<Step> blocked = steps_with_pairs();
  blocked[2].in.layout = Layout::channels_last;
  EXPECT_THAT(schedule(blocked).error().message, HasSubstr("but its input 0 is in"));
}

}  // namespace
}  // namespace znni
