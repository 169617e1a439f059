#include <gtest/gtest.h>

#include "primitives/cpu/grad/weights_plans.hpp"
#include "tests/support/gradient_check.hpp"

namespace znni::cpu {
extern const GradientPrimitive grad_fft_tiled;

namespace {

TEST(GradFftTiled, MatchesTheOracleOnRandomProblems) {
  test::check_random_gradients(grad_fft_tiled, 12, [](test::Random& random) {
    ConvProblem conv = test::random_conv(random, 2e6);
    conv.activation = {};
    return GradientProblem{conv, random.chance(0.3) ? GradientOf::input : GradientOf::weights};
  });
}

// Groups of one, two and three blocks of output channels, in whole register blocks of input channels and not.
TEST(GradFftTiled, ManyChannelsMatchTheOracle) {
  test::check_random_gradients(grad_fft_tiled, 5, [](test::Random& random) {
    const ConvProblem conv{{2, random.integer(14, 35), random.vec3(6, 9)},
                           16 * random.integer(1, 5) + random.integer(-3, 1),
                           random.vec3(2, 3),
                           Vec3::cube(1),
                           Vec3::cube(1),
                           {}};
    return GradientProblem{conv, GradientOf::weights};
  });
}

// Phases of different extents, and some without an output or an input's voxel.
TEST(GradFftTiled, DilatedKernelsMatchTheOracle) {
  test::check_random_gradients(grad_fft_tiled, 12, [](test::Random& random) {
    const Vec3 k = random.vec3(1, 3);
    const Vec3 dilation = random.vec3(1, 5);
    const Vec3 n = dilation * (k - Vec3::cube(1)) + random.vec3(1, random.chance(0.5) ? 6 : 28);
    const ConvProblem conv{
        {random.integer(1, 2), random.integer(1, 20), n}, random.integer(1, 20), k, dilation, Vec3::cube(1), {}};
    return GradientProblem{conv, random.chance(0.5) ? GradientOf::input : GradientOf::weights};
  });
}

// Tiles along every axis, a last one that is cut, and batches whose sums are added up.
void expect_batches_add_up(Vec3 dilation) {
  const std::unique_ptr<Device> device = test::open_cpu(2);
  const ConvProblem conv{{2, 3, {41, 70, 75}}, 2, {3, 2, 4}, dilation, Vec3::cube(1), {}};
  const GradientProblem problem{conv, GradientOf::weights};
  const test::GradientData data = test::gradient_data(problem, 1);
  const Result<std::vector<Estimate>> estimates = grad_fft_tiled.describe(problem, device->spec());
  Estimate chosen = estimates->front();
  for (const Estimate& estimate : *estimates) {
    if (setting(estimate.variant, "stacks", 0) < setting(chosen.variant, "stacks", 0)) chosen = estimate;
  }
  const fft_tiled::TileKernels& kernels = *fft_tiled::tile_kernels(device->spec().simd_floats);
  ASSERT_GT(fft_tiled::weights_tiling(conv, kernels, chosen.variant).batches(), 1);
  const test::GradientOutcome outcome =
      test::run_gradient(grad_fft_tiled, problem, chosen, data, *device, test::Placing::separate);
  test::expect_close(outcome.gradient, data.gradient, data.tolerance, "batches");
  test::expect_close(outcome.bias, data.bias, data.bias_tolerance, "bias");
}

TEST(GradFftTiled, BatchesOfTilesAddUp) {
  expect_batches_add_up(Vec3::cube(1));
  expect_batches_add_up({1, 2, 3});
}

TEST(GradFftTiled, RefusesWhatItDoesNotCompute) {
  ConvProblem conv{{1, 4, {9, 9, 60}}, 4, {1, 2, 3}, {1, 1, 1}, {1, 1, 2}, {}};
  test::expect_gradient_refusal(grad_fft_tiled, {conv}, "without stride or groups");
  conv.stride.x = 1;
  conv.groups = 2;
  test::expect_gradient_refusal(grad_fft_tiled, {conv}, "without stride or groups");
  conv.groups = 1;
  conv.k.x = 49;
  test::expect_gradient_refusal(grad_fft_tiled, {conv}, "48 taps");
}

}  // namespace
}  // namespace znni::cpu
