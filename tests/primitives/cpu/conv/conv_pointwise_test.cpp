#include <gtest/gtest.h>

#include "tests/support/cpu.hpp"

namespace znni::cpu {

extern const Primitive conv_pointwise;

namespace {

class PointwiseWorkers : public test::CpuWorkers {};

TEST_P(PointwiseWorkers, RandomConvolutionsAgreeWithTheOracle) {
  for (int index = 0; index < test::case_count(20); ++index) {
    const std::uint64_t seed = test::base_seed() * 100 + static_cast<std::uint64_t>(index);
    test::Random random(seed);
    ConvProblem problem = test::random_conv(random, 1e6);
    problem.in.f = random.integer(1, 4);
    problem.f_out = random.integer(1, 4);
    problem.k = problem.dilation = Vec3::cube(1);
    test::check_primitive(conv_pointwise, problem, *device_, seed);
  }
}

TEST_P(PointwiseWorkers, EdgesAgreeWithTheOracle) {
  const Vec3 one = Vec3::cube(1);
  const ConvProblem problems[] = {
      {{1, 1, {1, 1, 1}}, 1, one, one, one, {}},                                  // one voxel
      {{1, 1, {2, 64, 64}}, 1, one, one, one, {}},                                // whole stretches
      {{1, 3, {2, 41, 51}}, 2, one, one, one, {ActivationKind::relu, 0}},         // and a little more
      {{2, 2, {1, 1, 5000}}, 4, one, one, one, {ActivationKind::sigmoid, 0}},     // one dimension
      {{5, 4, {3, 7, 2}}, 4, one, one, one, {ActivationKind::leaky_relu, 0.2F}},  // the maximum number of channels
      {{1, 2, {4, 9, 31}}, 3, one, one, one, {ActivationKind::elu, 0.5F}, true},  // a residual
  };
  std::uint64_t seed = 70;
  for (const ConvProblem& problem : problems) test::check_primitive(conv_pointwise, problem, *device_, ++seed);
}

TEST(ConvPointwise, RefusesWhatItDoesNotCompute) {
  const DeviceSpec spec = describe_cpu(1);
  ConvProblem problem{{1, 4, Vec3::cube(8)}, 4, Vec3::cube(1), Vec3::cube(1), Vec3::cube(1), {}};
  EXPECT_TRUE(conv_pointwise.describe(problem, spec));
  problem.in.f = 5;
  EXPECT_FALSE(conv_pointwise.describe(problem, spec));
  problem.in.f = 4;
  problem.f_out = 5;
  EXPECT_FALSE(conv_pointwise.describe(problem, spec));
  problem.f_out = 1;
  problem.stride.y = 2;
  test::expect_refusal(conv_pointwise, problem, "convolutions without stride or groups, not: conv");
  problem.stride.y = 1;
  problem.k.y = 2;
  EXPECT_FALSE(conv_pointwise.describe(problem, spec));
  EXPECT_FALSE(conv_pointwise.describe(AcrossChannelsProblem{problem.in}, spec));
}

// Reading one channel from memory limits the time, whatever is computed with it.
TEST(ConvPointwise, AChannelTakesAsLongAsItsBytes) {
  DeviceSpec spec = describe_cpu(1);
  const ConvProblem problem{{1, 1, Vec3::cube(128)}, 1, Vec3::cube(1), Vec3::cube(1), Vec3::cube(1), {}};
  const auto seconds = [&] { return conv_pointwise.describe(problem, spec).value().front().time; };
  spec.bytes_per_second = 1e9;
  const Seconds slow = seconds();
  spec.bytes_per_second = 2e9;
  EXPECT_GT(slow, 1.9 * seconds());
}

INSTANTIATE_TEST_SUITE_P(ConvPointwise, PointwiseWorkers,
                         testing::Values(std::pair{16, 1}, std::pair{16, 3}, std::pair{8, 2}, std::pair{4, 2}));

}  // namespace
}  // namespace znni::cpu
