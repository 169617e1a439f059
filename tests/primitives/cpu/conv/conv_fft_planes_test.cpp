#include <gtest/gtest.h>

#include "tests/support/cpu.hpp"

namespace znni::cpu {

extern const Primitive conv_fft_planes;

namespace {

class PlanesWorkers : public test::CpuWorkers {};

TEST_P(PlanesWorkers, RandomConvolutionsAgreeWithTheOracle) {
  for (int index = 0; index < test::case_count(20); ++index) {
    const std::uint64_t seed = test::base_seed() * 100 + static_cast<std::uint64_t>(index);
    test::Random random(seed);
    ConvProblem problem = test::random_conv(random, 1e7);
    problem.in.n = problem.in.n - dilated(problem.k, problem.dilation) + problem.k;
    problem.in.f = random.integer(1, 8);
    problem.dilation = Vec3::cube(1);
    test::check_primitive(conv_fft_planes, problem, *device_, seed);
  }
}

// Extreme legal problems, and every activation with channels that pad a block.
TEST_P(PlanesWorkers, EdgesAgreeWithTheOracle) {
  const Vec3 one = Vec3::cube(1);
  const ConvProblem problems[] = {
      {{1, 1, {1, 1, 1}}, 1, {1, 1, 1}, one, one, {}},                                    // one voxel
      {{1, 1, {9, 9, 9}}, 1, {9, 9, 9}, one, one, {ActivationKind::relu, 0}},             // k covers the input
      {{1, 8, {1, 17, 33}}, 3, {1, 4, 2}, one, one, {ActivationKind::sigmoid, 0}},        // two dimensions
      {{2, 3, {1, 1, 70}}, 2, {1, 1, 7}, one, one, {ActivationKind::tanh, 0}},            // one dimension
      {{5, 2, {4, 6, 8}}, 33, {2, 2, 2}, one, one, {ActivationKind::elu, 0.5F}},          // just above a block
      {{1, 4, {8, 5, 12}}, 15, {3, 2, 4}, one, one, {ActivationKind::leaky_relu, 0.2F}},  // just below
      {{3, 1, {9, 8, 11}}, 80, {3, 3, 3}, one, one, {ActivationKind::relu, 0}},           // the benchmark's width
      {{1, 1, {70, 37, 41}}, 8, {3, 5, 2}, one, one, {}},                                 // several tiles per axis
      {{1, 1, {52, 52, 3}}, 5, {48, 48, 1}, one, one, {}},                                // the longest kernel
  };
  std::uint64_t seed = 90;
  for (const ConvProblem& problem : problems) test::check_primitive(conv_fft_planes, problem, *device_, ++seed);
}

TEST(ConvFftPlanes, RefusesWhatItDoesNotCompute) {
  const DeviceSpec spec = describe_cpu(1);
  const auto refused = [&](const ConvProblem& problem) { return !conv_fft_planes.describe(problem, spec); };
  const ConvProblem fine{{1, 8, Vec3::cube(40)}, 80, Vec3::cube(3), Vec3::cube(1), Vec3::cube(1), {}};
  EXPECT_FALSE(refused(fine));
  ConvProblem many = fine;
  many.in.f = 9;
  EXPECT_TRUE(refused(many));
  ConvProblem dilated = fine;
  dilated.dilation.y = 2;
  EXPECT_TRUE(refused(dilated));
  ConvProblem strided = fine;
  strided.stride.y = 2;
  test::expect_refusal(conv_fft_planes, strided, "convolutions without stride or groups, not: conv");
  ConvProblem large = fine;
  large.in.n = Vec3::cube(60);
  large.k.x = 49;
  EXPECT_TRUE(refused(large));
  EXPECT_FALSE(conv_fft_planes.describe(AcrossChannelsProblem{fine.in}, spec));
}

INSTANTIATE_TEST_SUITE_P(ConvFftPlanes, PlanesWorkers,
                         testing::Values(std::pair{16, 1}, std::pair{16, 2}, std::pair{16, 3}, std::pair{8, 2},
                                         std::pair{4, 2}));

}  // namespace
}  // namespace znni::cpu
