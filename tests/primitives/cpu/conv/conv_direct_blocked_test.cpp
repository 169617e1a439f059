#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/cpu.hpp"

namespace znni::cpu {

extern const Primitive conv_direct_blocked;

namespace {

class BlockedWorkers : public test::CpuWorkers {};

TEST_P(BlockedWorkers, RandomConvolutionsAgreeWithTheOracle) {
  for (int index = 0; index < test::case_count(20); ++index) {
    const std::uint64_t seed = test::base_seed() * 100 + static_cast<std::uint64_t>(index);
    test::Random random(seed);
    ConvProblem problem = index % 3 == 0 ? test::random_strided_conv(random, 1e7) : test::random_conv(random, 1e7);
    problem.in.f = random.chance(0.5) ? random.integer(1, 3) : random.integer(4, 40);
    const Vec3 k = min(problem.k, Vec3::cube(4));
    problem.in.n = problem.in.n - dilated(problem.k, problem.dilation) + dilated(k, problem.dilation);
    problem.k = k;
    test::check_primitive(conv_direct_blocked, problem, *device_, seed);
  }
}

// Extreme legal problems, and every activation with channels that pad a block.
TEST_P(BlockedWorkers, EdgesAgreeWithTheOracle) {
  const Vec3 one = Vec3::cube(1);
  const ConvProblem problems[] = {
      {{1, 1, {1, 1, 1}}, 1, {1, 1, 1}, one, one, {}},                               // one voxel
      {{1, 1, {5, 5, 5}}, 1, {5, 5, 5}, one, one, {ActivationKind::relu, 0}},        // k covers the input
      {{1, 64, {1, 17, 35}}, 3, {1, 2, 2}, one, one, {ActivationKind::sigmoid, 0}},  // two dimensions, 256 taps
      {{2, 3, {1, 1, 70}}, 2, {1, 1, 7}, one, one, {ActivationKind::tanh, 0}},       // one dimension
      {{5, 2, {4, 6, 8}}, 33, {2, 2, 2}, {2, 1, 3}, {1, 1, 1}, {ActivationKind::elu, 0.5F}},  // just above a block
      {{1, 4, {8, 5, 12}}, 15, {3, 2, 4}, one, one, {ActivationKind::leaky_relu, 0.2F}},      // just below
      {{3, 1, {9, 38, 45}}, 80, {3, 3, 3}, one, one, {ActivationKind::relu, 0}},              // several tasks per plane
      {{2, 33, {3, 18, 41}}, 20, {1, 1, 1}, one, one, {ActivationKind::relu, 0}},       // one tap of several blocks
      {{2, 3, {5, 19, 40}}, 20, {2, 3, 3}, one, {2, 2, 2}, {ActivationKind::relu, 0}},  // rests of a stride
      {{1, 33, {4, 7, 50}}, 15, {1, 1, 2}, one, {1, 3, 5}, {ActivationKind::relu, 0}, true},  // wider than the kernel
      {{1, 16, {4, 9, 40}}, 17, {2, 3, 3}, {1, 2, 1}, {1, 1, 1}, {}},                         // one whole block
  };
  std::uint64_t seed = 90;
  for (const ConvProblem& problem : problems) test::check_primitive(conv_direct_blocked, problem, *device_, ++seed);
}

// Up to four output channels, with input channels in the lanes: rows of whole and of cut register blocks.
TEST_P(BlockedWorkers, NarrowConvolutionsAgreeWithTheOracle) {
  for (int index = 0; index < test::case_count(16); ++index) {
    const std::uint64_t seed = test::base_seed() * 100 + 50 + static_cast<std::uint64_t>(index);
    test::Random random(seed);
    ConvProblem problem = index % 3 == 0 ? test::random_strided_conv(random, 1e7) : test::random_conv(random, 1e7);
    problem.in.f = random.integer(10, 40);
    problem.f_out = 1 + index % 4;
    problem.k = min(problem.k, Vec3::cube(4));
    test::check_primitive(conv_direct_blocked, problem, *device_, seed);
  }
}

TEST(ConvDirectBlocked, OffersInputChannelsInTheLanesForAFewOutputs) {
  const DeviceSpec spec = describe_cpu(1);
  const auto narrow = [&](std::int64_t f_out, Vec3 k = {1, 3, 3}) {
    const ConvProblem problem{{1, 28, {1, 40, 40}}, f_out, k, Vec3::cube(1), Vec3::cube(1), {}};
    const std::vector<Estimate> all = conv_direct_blocked.describe(problem, spec).value();
    const auto front =
        std::min_element(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
    return setting(front->variant, "narrow", 0);
  };
  EXPECT_EQ(narrow(3), 1);
  EXPECT_EQ(narrow(5), 0);
  EXPECT_EQ(narrow(3, Vec3::cube(1)), 0) << "adding up costs more than it saves";
}

TEST(ConvDirectBlocked, RefusesWhatItDoesNotCompute) {
  const DeviceSpec spec = describe_cpu(1);
  ConvProblem problem{{1, 4, Vec3::cube(40)}, 80, Vec3::cube(4), Vec3::cube(2), {1, 1, 1}, {}};
  EXPECT_EQ(conv_direct_blocked.describe(problem, spec).value().size(), 2U);
  problem.in.f = 5;  // with this many taps only from blocks
  EXPECT_EQ(conv_direct_blocked.describe(problem, spec).value().size(), 1U);
  problem.in.f = 65;
  EXPECT_FALSE(conv_direct_blocked.describe(problem, spec));
  EXPECT_FALSE(conv_direct_blocked.describe(AcrossChannelsProblem{problem.in}, spec));
}

// A kernel twice as long takes longer, but less than twice as long: writing costs the same.
TEST(ConvDirectBlocked, EstimatesRiseWithTheTaps) {
  const auto seconds = [](std::int64_t k) {
    const ConvProblem problem{{1, 1, Vec3::cube(64)}, 80, {k, 4, 4}, Vec3::cube(1), Vec3::cube(1), {}};
    return conv_direct_blocked.describe(problem, describe_cpu(1)).value().front().time;
  };
  EXPECT_GT(seconds(8), seconds(4));
  EXPECT_LT(seconds(8), 2 * seconds(4));
}

TEST(ConvDirectBlocked, CountsAnExponential) {
  const DeviceSpec spec = describe_cpu(1);
  ConvProblem problem{{1, 80, Vec3::cube(20)},  80, Vec3::cube(1), Vec3::cube(1), Vec3::cube(1),
                      {ActivationKind::relu, 0}};
  const Seconds relu = conv_direct_blocked.describe(problem, spec).value().front().time;
  problem.activation.kind = ActivationKind::tanh;
  EXPECT_GT(conv_direct_blocked.describe(problem, spec).value().front().time, relu);
}

INSTANTIATE_TEST_SUITE_P(ConvDirectBlocked, BlockedWorkers,
                         testing::Values(std::pair{16, 1}, std::pair{16, 2}, std::pair{16, 3}, std::pair{8, 2},
                                         std::pair{4, 2}));

}  // namespace
}  // namespace znni::cpu
