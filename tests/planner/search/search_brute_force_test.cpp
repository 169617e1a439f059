#include "planner/search/search.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/planner/brute_force.hpp"
#include "tests/planner/drawn_plan.hpp"
#include "tests/planner/drawn_primitives.hpp"
#include "tests/support/random.hpp"

namespace znni {
namespace {

using test::BruteForce;
using test::drawn_plan;
using test::small_options;

void expect_equal(const Network& network, const SearchOptions& options, const BruteForce& brute) {
  SCOPED_TRACE(network.name + ", limit " + std::to_string(options.memory_limit));
  const double expected = brute.best_within(options.memory_limit);
  const Result<Plan> plan = drawn_plan(network, options);
  if (expected == 0) {
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().code, brute.tried() == 0 ? ErrorCode::invalid_argument : ErrorCode::over_budget);
    return;
  }
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_NEAR(plan->predicted.voxels_per_second / expected, 1.0, 1e-9);
  EXPECT_LE(plan->memory.total(), options.memory_limit);
}

void expect_equal_to_brute_force(const Network& network, SearchOptions options,
                                 const std::vector<std::int64_t>& limits) {
  const BruteForce brute(network, options);
  for (const std::int64_t limit : limits) {
    options.memory_limit = limit;
    expect_equal(network, options, brute);
  }
}

TEST(PlannerSearch, EqualsBruteForceOnAChain) {
  expect_equal_to_brute_force(drawn::chain(3), small_options(0), {2000, 6000, 9000, 14000, 25000, 60000, 1000000});
}

TEST(PlannerSearch, EqualsBruteForceOnBranches) {
  SearchOptions options = small_options(0);
  options.max_extent = 3;
  options.max_S = 1;
  expect_equal_to_brute_force(drawn::branches(), options, {1000, 1600, 2200, 3000, 4500, 9000, 100000});
}

// One branch reads more planes of the input than the other, along z and not along y: streams keep what the thirstier
// needs.
TEST(PlannerSearch, EqualsBruteForceWhereBranchesReadUnlikeHistories) {
  Network network;
  network.name = "unlike";
  network.nodes = {{"flat", drawn::convolution(2, {1, 2, 2}), {0}},
                   {"deep", drawn::convolution(2, {2, 1, 1}), {1}},
                   {"both", drawn::convolution(2, {2, 2, 2}), {0}},
                   {"sum", Add{}, {2, 3}}};
  SearchOptions options = small_options(0);
  options.max_extent = 4;
  options.max_S = 1;
  expect_equal_to_brute_force(network, options, {500, 900, 1600, 2400, 4000, 100000});
}

TEST(PlannerSearch, EqualsBruteForceWhereConvolutionsAddResiduals) {
  SearchOptions options = small_options(0);
  options.max_extent = 3;
  options.max_S = 1;
  expect_equal_to_brute_force(drawn::residuals(), options, {1000, 1600, 2200, 3000, 4500, 9000, 100000});
}

TEST(PlannerSearch, EqualsBruteForceForAVolume) {
  SearchOptions options = small_options(0);
  options.volume = Vec3{6, 6, 6};
  expect_equal_to_brute_force(drawn::chain(3), options, {9000, 25000, 1000000});
}

// Draws a small net of 2 to 4 nodes with any operation, chains and branches; some are not sound.
Network random_network(std::mt19937& random) {
  const auto upto = [&](int most) { return std::uniform_int_distribution<int>(1, most)(random); };
  Network network;
  network.name = "random";
  network.f_in = upto(3);
  const int nodes = 1 + upto(3);
  for (int i = 0; i < nodes; ++i) {
    const int input = upto(3) == 1 ? upto(i + 1) - 1 : i;
    Node node{"node" + std::to_string(i), AcrossChannels{}, {input}};
    const int kind = upto(7);
    if (kind == 7) node = {node.name, drawn::convolution(upto(3), Vec3::cube(1)), {input, upto(i + 1) - 1}};
    if (kind <= 2) node.operation = drawn::convolution(upto(9), {upto(2), upto(2), upto(2)});
    if (kind == 3) node.operation = Pooling{PoolKind::max, {1, 1, 2}, {1, 1, 2}};
    if (kind == 4) node = {node.name, Add{}, {input, upto(i + 1) - 1}};
    if (kind == 5) node = {node.name, Concat{}, {upto(i + 1) - 1, input}};
    network.nodes.push_back(std::move(node));
  }
  return network;
}

TEST(PlannerSearch, EqualsBruteForceOnRandomNets) {
  std::mt19937 random(7);
  int planned = 0;
  for (int i = 0; i < test::case_count(60); ++i) {
    const Network network = random_network(random);
    if (!check(network)) continue;
    SCOPED_TRACE("net " + std::to_string(i) + " of seed 7");
    SearchOptions options = small_options(0);
    options.max_extent = 3;
    const BruteForce brute(network, options);
    for (const std::int64_t limit : {600, 1500, 4000, 100000}) {
      options.memory_limit = limit;
      expect_equal(network, options, brute);
      planned += brute.best_within(limit) > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(planned, test::case_count(60) / 2);
}

// Draws modes for every pooling, among them groups that divide no stride.
std::vector<PoolingMode> random_modes(const Network& network, std::mt19937& random) {
  const std::array<PoolingMode, 6> all = {PoolMode::plain,
                                          PoolMode::fragments,
                                          PoolingMode({1, 1, 2}, true),
                                          PoolingMode({1, 1, 2}, false),
                                          PoolingMode({2, 1, 1}, true),
                                          PoolMode::fragments};
  std::vector<PoolingMode> modes;
  for (std::size_t i = 0; i < pooling_nodes(network).size(); ++i) modes.push_back(all[random() % all.size()]);
  return modes;
}

// Draws each pin in every other case, so that they compose.
Pins random_pins(const Network& network, std::mt19937& random) {
  const auto upto = [&](int most) { return std::uniform_int_distribution<int>(1, most)(random); };
  Pins pins;
  if (upto(2) == 1) pins.patch = Vec3{upto(4), upto(4), upto(4)};
  if (upto(3) == 1) pins.patch = Vec3::cube(upto(4));
  if (upto(2) == 1) pins.modes = random_modes(network, random);
  if (upto(3) == 1) pins.S = upto(3);
  pins.streams = upto(3) > 1;
  pins.groups = upto(3) > 1;
  return pins;
}

// An error names the flag if no plan satisfies the pins; else the plan is the best of all that do.
TEST(PlannerSearch, EqualsBruteForceUnderPins) {
  std::mt19937 random(11);
  int planned = 0;
  int refused = 0;
  for (int i = 0; i < test::case_count(400); ++i) {
    const Network network = i % 4 == 0 ? drawn::chain(3) : random_network(random);
    if (!check(network)) continue;
    SearchOptions options = small_options(i % 3 == 0 ? 4000 : 100000);
    options.max_extent = 4;
    options.pins = random_pins(network, random);
    SCOPED_TRACE("net " + std::to_string(i) + " of seed 11: " + to_string(options.pins));
    const BruteForce brute(network, options);
    if (check_options(network, options)) {
      expect_equal(network, options, brute);
    } else {
      EXPECT_EQ(brute.tried(), 0);
    }
    const Result<Plan> plan = drawn_plan(network, options);
    (plan ? planned : refused) += 1;
    if (plan) {
      EXPECT_EQ(plan->key.pins, to_string(options.pins));
    } else if (plan.error().code == ErrorCode::invalid_argument && options.pins != Pins()) {
      EXPECT_NE(plan.error().message.find("--"), std::string::npos) << plan.error().message;
    }
  }
  if (test::case_count(400) < 400) return;
  EXPECT_GT(planned, 60);
  EXPECT_GT(refused, 60);
}

// If memory is short, little of a column's length is wasted by streaming it, and much by patches.
TEST(PlannerSearch, EqualsBruteForceWhereStreamsWinAndWhereTheyMayNot) {
  const Network network = drawn::chain(4);
  SearchOptions either = small_options(0);
  either.max_extent = 8;
  either.max_S = 1;
  SearchOptions patches_alone = either;
  patches_alone.strategy = Strategy::patches;
  const BruteForce brute(network, either);
  const BruteForce brute_of_patches(network, patches_alone);
  int streamed = 0;
  for (const std::int64_t limit : {9000, 14000, 25000, 60000}) {
    either.memory_limit = patches_alone.memory_limit = limit;
    expect_equal(network, either, brute);
    expect_equal(network, patches_alone, brute_of_patches);
    const Result<Plan> free = drawn_plan(network, either);
    const Result<Plan> patches = drawn_plan(network, patches_alone);
    ASSERT_TRUE(free && patches);
    EXPECT_GE(free->predicted.voxels_per_second, patches->predicted.voxels_per_second);
    EXPECT_FALSE(patches->ladder.front().geometry.streamed);
    EXPECT_EQ(patches->key.strategy, "patches");
    streamed += free->ladder.front().geometry.streamed ? 1 : 0;
  }
  EXPECT_GT(streamed, 0);
}

TEST(PlannerSearch, BaselineIsAllPlain) {
  SearchOptions options = small_options(1000000);
  options.strategy = Strategy::baseline;
  expect_equal_to_brute_force(drawn::chain(3), options, {options.memory_limit});
  const Result<Plan> plan = drawn_plan(drawn::chain(3), options);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->ladder.front().geometry.modes, std::vector<PoolingMode>{PoolMode::plain});
  EXPECT_EQ(plan->key.strategy, "baseline");
}

}  // namespace
}  // namespace znni
