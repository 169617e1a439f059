#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "primitives/cpu/fft_tiled/tile_kernels.hpp"
#include "tests/support/cpu.hpp"

namespace znni::cpu {

extern const Primitive conv_fft_tiled;

namespace {

class TiledWorkers : public test::CpuWorkers {};

TEST_P(TiledWorkers, RandomConvolutionsAgreeWithTheOracle) {
  for (int index = 0; index < test::case_count(15); ++index) {
    const std::uint64_t seed = test::base_seed() * 100 + static_cast<std::uint64_t>(index);
    test::Random random(seed);
    const ConvProblem problem = test::random_conv(random, 1e7);
    test::check_primitive(conv_fft_tiled, problem, *device_, seed);
  }
}

// Dilations of 1, 2, 3, 4 and 8, an own one along each axis.
TEST_P(TiledWorkers, DilatedConvolutionsAgreeWithTheOracle) {
  static constexpr std::array<std::int64_t, 5> dilations{1, 2, 3, 4, 8};
  for (int index = 0; index < test::case_count(20); ++index) {
    const std::uint64_t seed = test::base_seed() * 100 + 50 + static_cast<std::uint64_t>(index);
    test::Random random(seed);
    ConvProblem problem = test::random_conv(random, 4e6);
    const Vec3 steps = problem.in.n - dilated(problem.k, problem.dilation);
    for (int axis = 0; axis < 3; ++axis) {
      problem.dilation[axis] = dilations[static_cast<std::size_t>(random.integer(0, 4))];
      problem.k[axis] = std::min<std::int64_t>(problem.k[axis], 5);
    }
    problem.in.n = dilated(problem.k, problem.dilation) + steps;
    test::check_primitive(conv_fft_tiled, problem, *device_, seed);
  }
}

// Numbers of channels with packed units, and enough tiles for groups of stacks that share vectors, the last of which
// may be incomplete.
TEST_P(TiledWorkers, PackedUnitsAgreeWithTheOracle) {
  for (int index = 0; index < test::case_count(12); ++index) {
    const std::uint64_t seed = test::base_seed() * 100 + 70 + static_cast<std::uint64_t>(index);
    test::Random random(seed);
    ConvProblem problem;
    problem.k = random.vec3(1, 4);
    problem.in = {random.integer(1, 3), random.integer(1, 45), problem.k + random.vec3(5, 16)};
    problem.f_out = random.integer(1, 45);
    problem.residual = random.chance(0.3);
    if (random.chance(0.5)) problem.activation = test::random_activation(random);
    if (random.chance(0.3)) problem.dilation = random.vec3(1, 2);
    problem.in.n = problem.in.n + dilated(problem.k, problem.dilation) - problem.k;
    test::check_primitive(conv_fft_tiled, problem, *device_, seed);
  }
}

// On a machine of fixed rates, because offers follow them.
TEST(ConvFftTiled, OffersPackedUnitsWhereItsKernelsHaveThem) {
  const ConvProblem problem{{1, 36, Vec3::cube(98)}, 36, Vec3::cube(3), Vec3::cube(1), Vec3::cube(1), {}};
  for (const int simd_floats : {16, 8, 4}) {
    const fft_tiled::TileKernels* kernels = fft_tiled::tile_kernels(simd_floats);
    if (kernels == nullptr) continue;
    DeviceSpec spec;
    spec.threads = 2;
    spec.simd_floats = simd_floats;
    spec.flops_per_second = 2e11;
    spec.bytes_per_second = 3e10;
    const Result<std::vector<Estimate>> estimates = conv_fft_tiled.describe(problem, spec);
    const bool offered = std::any_of(estimates->begin(), estimates->end(), [](const Estimate& estimate) {
      return setting(estimate.variant, "packed", 0) != 0;
    });
    EXPECT_EQ(offered, kernels->packs) << "vectors of " << simd_floats;
  }
}

// Extreme legal problems, and every activation with channels that pad a block.
TEST_P(TiledWorkers, EdgesAgreeWithTheOracle) {
  const Vec3 one = Vec3::cube(1);
  const ConvProblem problems[] = {
      {{1, 1, {1, 1, 1}}, 1, {1, 1, 1}, one, one, {}},                                     // one voxel
      {{1, 1, {9, 9, 9}}, 1, {9, 9, 9}, one, one, {ActivationKind::relu, 0}},              // k covers the input
      {{1, 16, {1, 17, 33}}, 3, {1, 4, 2}, one, one, {ActivationKind::sigmoid, 0}},        // two dimensions
      {{2, 3, {1, 1, 70}}, 2, {1, 1, 7}, one, one, {ActivationKind::tanh, 0}},             // one dimension
      {{5, 17, {4, 6, 8}}, 33, {2, 2, 2}, one, one, {ActivationKind::elu, 0.5F}},          // just above a block
      {{1, 15, {8, 5, 12}}, 15, {3, 2, 4}, one, one, {ActivationKind::leaky_relu, 0.2F}},  // just below
      {{3, 80, {9, 8, 11}}, 80, {3, 3, 3}, one, one, {ActivationKind::relu, 0}},           // the benchmark's width
      {{1, 8, {40, 37, 41}}, 8, {3, 5, 2}, one, one, {}},                                  // several tiles per axis
  };
  const ConvProblem dilated_ones[] = {
      {{1, 2, {5, 17, 17}}, 3, {3, 3, 3}, {2, 8, 8}, one, {}},                            // one voxel, one phase
      {{1, 21, {20, 19, 18}}, 21, {3, 3, 3}, {8, 8, 8}, one, {ActivationKind::relu, 0}},  // fewer voxels than phases
      {{2, 5, {9, 11, 40}}, 4, {1, 3, 1}, {4, 2, 8}, one, {ActivationKind::sigmoid, 0}},  // axes of one tap
      {{1, 33, {13, 14, 30}}, 7, {2, 2, 3}, {3, 4, 2}, one, {ActivationKind::elu, 1}, true},  // phases of unlike extent
  };
  std::uint64_t seed = 90;
  for (const ConvProblem& problem : problems) test::check_primitive(conv_fft_tiled, problem, *device_, ++seed);
  for (const ConvProblem& problem : dilated_ones) test::check_primitive(conv_fft_tiled, problem, *device_, ++seed);
}

TEST(ConvFftTiled, RefusesStrides) {
  const ConvProblem strided{{1, 16, {9, 9, 9}}, 16, {3, 3, 3}, {1, 1, 1}, {2, 1, 1}, {}};
  test::expect_refusal(conv_fft_tiled, strided, "convolutions without stride or groups, not: conv");
}

INSTANTIATE_TEST_SUITE_P(ConvFftTiled, TiledWorkers,
                         testing::Values(std::pair{16, 1}, std::pair{16, 2}, std::pair{16, 3}, std::pair{8, 2},
                                         std::pair{4, 2}));

}  // namespace
}  // namespace znni::cpu
