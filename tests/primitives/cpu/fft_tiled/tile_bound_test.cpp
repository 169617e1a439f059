#include "primitives/cpu/fft_tiled/tile_bound.hpp"

#include <gtest/gtest.h>

#include "primitives/cpu/fft_tiled/tile_choice.hpp"
#include "primitives/cpu/fft_tiled/tile_model.hpp"
#include "tests/primitives/cpu/fft_tiled/kernel_shapes.hpp"
#include "tests/support/random.hpp"

namespace znni::cpu::fft_tiled {
namespace {

DeviceSpec machine(int simd_floats, double bytes_per_second) {
  DeviceSpec spec;
  spec.threads = 2;
  spec.simd_floats = simd_floats;
  spec.flops_per_second = 2e11;
  spec.bytes_per_second = bytes_per_second;
  return spec;
}

ConvProblem random_layer(test::Random& random, std::int64_t max_channels, std::int64_t max_output) {
  ConvProblem problem;
  problem.k = random.vec3(1, 9);
  if (random.chance(0.3)) problem.dilation = random.vec3(1, 8);
  const Vec3 window = dilated(problem.k, problem.dilation);
  problem.in = {random.integer(1, 5), random.integer(1, max_channels), window + random.vec3(0, max_output)};
  problem.f_out = random.integer(1, max_channels);
  problem.residual = random.chance(0.3);
  if (random.chance(0.2)) problem.k.z = 1;
  if (random.chance(0.3)) problem.activation = test::random_activation(random);
  return problem;
}

TEST(TileBound, IsBelowTheTimeOfEveryPlan) {
  for (int index = 0; index < test::case_count(200); ++index) {
    const std::uint64_t seed = test::base_seed() * 1000 + static_cast<std::uint64_t>(index);
    test::Random random(seed);
    const ConvProblem problem = random_layer(random, 100, index % 2 == 0 ? 20 : 300);
    const int lanes = random.chance(0.5) ? 16 : 8;
    const DeviceSpec spec = machine(lanes, random.chance(0.5) ? 3e10 : 1e9);
    const Seconds bound = min_tile_seconds(problem, lanes, spec);
    EXPECT_GT(bound, 0);
    for (const TilePlan& plan : tile_plans(problem, kernel_shapes(lanes), spec)) {
      EXPECT_LE(bound, tile_seconds(plan, spec)) << "seed " << seed << ": " << to_string(LayerProblem(problem));
    }
  }
}

// Otherwise a search would have to describe most layers.
TEST(TileBound, IsCloseForLayersOfManyTiles) {
  for (const std::int64_t extent : {120, 250, 500, 1000}) {
    for (const std::int64_t k : {3, 5, 7}) {
      ConvProblem problem;
      problem.in = {1, 80, Vec3::cube(extent)};
      problem.f_out = 80;
      problem.k = Vec3::cube(k);
      const DeviceSpec spec = machine(16, 3e10);
      const Seconds fastest = tile_seconds(tile_plans(problem, kernel_shapes(16), spec).front(), spec);
      EXPECT_GT(min_tile_seconds(problem, 16, spec), 0.9 * fastest) << extent << ", k " << k;
    }
  }
}

}  // namespace
}  // namespace znni::cpu::fft_tiled
