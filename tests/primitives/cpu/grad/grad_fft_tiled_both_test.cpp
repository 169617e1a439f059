#include <gtest/gtest.h>

#include "primitives/cpu/grad/both_plans.hpp"
#include "tests/support/gradient_check.hpp"

namespace znni::cpu {
extern const GradientPrimitive grad_fft_tiled_both;

namespace {

TEST(GradFftTiledBoth, MatchesTheOracleOnRandomProblems) {
  test::check_random_gradients(grad_fft_tiled_both, 12, [](test::Random& random) {
    ConvProblem conv = test::random_conv(random, 2e6);
    conv.activation = {};
    conv.dilation = Vec3::cube(1);
    return GradientProblem{conv, GradientOf::both};
  });
}

// Groups of blocks of channels on both sides, in whole register blocks and not.
TEST(GradFftTiledBoth, ManyChannelsMatchTheOracle) {
  test::check_random_gradients(grad_fft_tiled_both, 5, [](test::Random& random) {
    const ConvProblem conv{{2, random.integer(14, 67), random.vec3(6, 9)},
                           16 * random.integer(1, 4) + random.integer(-3, 1),
                           random.vec3(1, 3),
                           Vec3::cube(1),
                           Vec3::cube(1),
                           {}};
    return GradientProblem{conv, GradientOf::both};
  });
}

// Tiles along every axis, a last one that is cut, and batches whose sums are added up.
TEST(GradFftTiledBoth, BatchesOfTilesAddUp) {
  const std::unique_ptr<Device> device = test::open_cpu(2);
  const ConvProblem conv{{2, 3, {41, 70, 75}}, 2, {3, 2, 4}, Vec3::cube(1), Vec3::cube(1), {}};
  const GradientProblem problem{conv, GradientOf::both};
  const test::GradientData data = test::gradient_data(problem, 1);
  const Result<std::vector<Estimate>> estimates = grad_fft_tiled_both.describe(problem, device->spec());
  Estimate chosen = estimates->front();
  for (const Estimate& estimate : *estimates) {
    if (setting(estimate.variant, "stacks", 0) < setting(chosen.variant, "stacks", 0)) chosen = estimate;
  }
  const fft_tiled::TileKernels& kernels = *fft_tiled::tile_kernels(device->spec().simd_floats);
  ASSERT_GT(fft_tiled::both_tiling(conv, kernels, chosen.variant).batches(), 1);
  const test::GradientOutcome outcome =
      test::run_gradient(grad_fft_tiled_both, problem, chosen, data, *device, test::Placing::separate);
  test::expect_close(outcome.gradient, data.gradient, data.tolerance, "input");
  test::expect_close(outcome.kernels, data.kernels, data.kernels_tolerance, "kernels");
  test::expect_close(outcome.bias, data.bias, data.bias_tolerance, "bias");
}

// Random shapes of one tile as long as the input, along some axes or all: zeros wrap around in it, and nothing else.
TEST(GradFftTiledBoth, TilesAsLongAsTheInputMatchTheOracle) {
  const std::unique_ptr<Device> device = test::open_cpu(2);
  const fft_tiled::TileKernels& kernels = *fft_tiled::tile_kernels(device->spec().simd_floats);
  int whole = 0;
  for (int index = 0; index < test::case_count(6) || (whole == 0 && index < 60); ++index) {
    test::Random random(test::base_seed() * 1000 + static_cast<std::uint64_t>(index));
    const Vec3 n = {2 * random.integer(2, 6), random.integer(5, 12), 2 * random.integer(2, 8)};
    const ConvProblem conv{{random.integer(1, 3), random.integer(1, 5), n},
                           random.integer(1, 5),
                           random.vec3(2, 4),
                           Vec3::cube(1),
                           Vec3::cube(1),
                           {}};
    const GradientProblem problem{conv, GradientOf::both};
    const test::GradientData data = test::gradient_data(problem, random.integer(1, 1000));
    const Result<std::vector<Estimate>> estimates = grad_fft_tiled_both.describe(problem, device->spec());
    ASSERT_TRUE(estimates);
    for (const Estimate& estimate : *estimates) {
      const fft_tiled::Tiling tiling = fft_tiled::both_tiling(conv, kernels, estimate.variant);
      whole += covers(tiling.T, n) && !covers(tiling.T, n + conv.k - Vec3::cube(1)) ? 1 : 0;
      const test::GradientOutcome outcome =
          test::run_gradient(grad_fft_tiled_both, problem, estimate, data, *device, test::Placing::separate);
      test::expect_close(outcome.gradient, data.gradient, data.tolerance, "input");
      test::expect_close(outcome.kernels, data.kernels, data.kernels_tolerance, "kernels");
      test::expect_close(outcome.bias, data.bias, data.bias_tolerance, "bias");
    }
  }
  EXPECT_GT(whole, 0);
}

TEST(GradFftTiledBoth, RefusesWhatItDoesNotCompute) {
  ConvProblem conv{{1, 4, {9, 9, 60}}, 4, {1, 2, 3}, {1, 1, 2}, {1, 1, 1}, {}};
  const auto refused = [&](std::string_view why, GradientOf of = GradientOf::both) {
    test::expect_gradient_refusal(grad_fft_tiled_both, {conv, of}, why);
  };
  refused("without dilation, stride or groups");
  conv.dilation.x = 1;
  refused("both gradients of convolutions", GradientOf::input);
  refused("both gradients of convolutions", GradientOf::weights);
  conv.groups = 2;
  refused("without dilation, stride or groups");
  conv.groups = 1;
  conv.k.x = 49;
  refused("48 taps");
}

}  // namespace
}  // namespace znni::cpu
