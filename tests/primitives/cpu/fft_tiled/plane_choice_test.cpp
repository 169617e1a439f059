#include "primitives/cpu/fft_tiled/plane_choice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/fft_tiled/tile_memory.hpp"
#include "tests/support/random.hpp"

namespace znni::cpu::fft_tiled {
namespace {

constexpr Format blocked{ElementType::f32, Layout::blocked16};

DeviceSpec machine(int threads = 2) {
  DeviceSpec spec;
  spec.threads = threads;
  spec.simd_floats = 16;
  spec.flops_per_second = 1e11 * threads;
  spec.bytes_per_second = 3e10;
  return spec;
}

ConvProblem layer(std::int64_t f, std::int64_t f_out, Vec3 n, Vec3 k) {
  ConvProblem problem;
  problem.in = {1, f, n};
  problem.f_out = f_out;
  problem.k = k;
  return problem;
}

std::vector<Tiling> tilings_of(const ConvProblem& problem, int threads = 2) {
  return plane_tilings(problem, 16, machine(threads));
}

class RandomPlaneOffers : public testing::Test {
 protected:
  // Calls check(problem, tilings) for random problems.
  template <class Check>
  static void each(const Check& check) {
    for (int index = 0; index < test::case_count(40); ++index) {
      const std::uint64_t seed = test::base_seed() * 1000 + static_cast<std::uint64_t>(index);
      test::Random random(seed);
      ConvProblem problem = layer(random.integer(1, 8), random.integer(1, 100), {}, random.vec3(1, 9));
      problem.in.n = problem.k + random.vec3(0, 120);
      problem.in.S = random.integer(1, 5);
      SCOPED_TRACE("seed " + std::to_string(seed) + ": " + to_string(LayerProblem(problem)));
      check(problem, tilings_of(problem));
    }
  }
};

TEST_F(RandomPlaneOffers, AreAFewByRisingTime) {
  each([](const ConvProblem&, const std::vector<Tiling>& tilings) {
    EXPECT_GE(tilings.size(), 1U);
    EXPECT_LE(tilings.size(), 3U);
    EXPECT_TRUE(std::is_sorted(tilings.begin(), tilings.end(), [](const Tiling& a, const Tiling& b) {
      return plane_seconds(a, machine()) < plane_seconds(b, machine());
    }));
  });
}

TEST_F(RandomPlaneOffers, AreLegalTilings) {
  const std::set<std::int64_t> extents(tile_extents().begin(), tile_extents().end());
  each([&](const ConvProblem& problem, const std::vector<Tiling>& tilings) {
    for (const Tiling& t : tilings) {
      EXPECT_EQ(t.problem, problem);
      EXPECT_TRUE(covers(t.m(), Vec3::cube(1))) << to_string(t.T);
      EXPECT_TRUE(extents.contains(t.T.y) && extents.contains(t.T.x)) << to_string(t.T);
      EXPECT_LE(t.T.z, problem.in.n.z);
      EXPECT_EQ(tile_count(t), t.problem.in.S * voxels(t.tiles()));
    }
  });
}

TEST_F(RandomPlaneOffers, SurviveTheWayThroughSettings) {
  each([](const ConvProblem& problem, const std::vector<Tiling>& tilings) {
    std::set<Variant> variants;
    for (const Tiling& t : tilings) {
      const Tiling back = plane_tiling(problem, t.lanes, plane_variant(t));
      EXPECT_EQ(back.T, t.T);
      EXPECT_EQ(back.lanes, t.lanes);
      EXPECT_EQ(back.problem, t.problem);
      EXPECT_EQ(back.stacks_per_batch, 1);
      variants.insert(plane_variant(t));
    }
    EXPECT_EQ(variants.size(), tilings.size()) << "two offers are the same";
  });
}

TEST(PlaneTilings, ThereAreNoneForKernelsLongerThanATile) {
  const std::int64_t longest = tile_extents().back();
  EXPECT_FALSE(tilings_of(layer(1, 4, Vec3::cube(50), Vec3::cube(longest))).empty());
  EXPECT_TRUE(tilings_of(layer(1, 4, Vec3::cube(50), {3, longest + 1, 3})).empty());
  EXPECT_TRUE(tilings_of(layer(1, 4, Vec3::cube(50), {3, 3, longest + 1})).empty());
}

// With many workers and a small input, tiles must be cut finer so that every worker has one.
TEST(PlaneTilings, FillTheWorkers) {
  const ConvProblem problem = layer(1, 80, Vec3::cube(48), Vec3::cube(4));
  EXPECT_GT(tile_count(tilings_of(problem, 48).front()), tile_count(tilings_of(problem, 1).front()));
}

// Returns a tiling of 2 channels of 8^3 to 20; 2 x 2 x 2 tiles of 5 x 6 x 6, of which 3 x 4 x 4 are valid.
Tiling small_tiling() {
  Tiling tiling;
  tiling.problem = layer(2, 20, Vec3::cube(8), Vec3::cube(3));
  tiling.T = {5, 6, 6};
  return tiling;
}

TEST(PlaneEstimate, HoldsWhatItSays) {
  const Tiling t = small_tiling();
  EXPECT_EQ(tile_count(t), 8);
  const Estimate estimate = plane_estimate(t, machine(3), blocked);
  EXPECT_EQ(estimate.in, Format{});
  EXPECT_EQ(estimate.out, blocked);
  EXPECT_EQ(estimate.variant, plane_variant(t));
  ASSERT_EQ(estimate.memory.size(), 5U);
  EXPECT_EQ(estimate.memory[0].bytes, 4 * 2 * 512);
  EXPECT_EQ(estimate.memory[1].bytes, 4 * 32 * 216);
  // 20 columns: four each of kx = 0 and 3, six each of kx = 1 and 2. 2 blocks, 2 channels, 3 taps, (re, im) x 16.
  EXPECT_EQ(estimate.memory[2].name, kernel_spectra_name);
  EXPECT_EQ(estimate.memory[2].bytes, 4 * 20 * 2 * 2 * 3 * 32);
  EXPECT_EQ(estimate.memory[3].bytes, 4 * 32);
  // 20 columns of 2 channels of 3 x 16 planes; 4 times 6 products and 6 rows of 5, a line of 6.
  EXPECT_EQ(estimate.memory[4].name, worker_scratch_name);
  EXPECT_EQ(estimate.memory[4].bytes, 4 * 3 * (20 * 2 * 3 * 16 + 4 * (6 + 6 * 5) * 32 + 6 * 16));
  EXPECT_EQ(persistent_bytes(estimate.memory), estimate.memory[2].bytes + estimate.memory[3].bytes);
}

TEST(PlaneEstimate, SpreadsErrorsAcrossPlanesAlone) {
  Tiling t = small_tiling();
  t.problem.in.n = {20, 30, 40};
  t.problem.k = {3, 4, 5};
  t.T = {12, 16, 48};
  EXPECT_EQ(plane_estimate(t, machine(), blocked).spread, (Vec3{0, 16 - 4, 40 - 5}));
}

TEST(PlaneScratch, TakesEveryTaskInWholeCacheLines) {
  for (const std::int64_t extent : tile_extents()) {
    Tiling t = small_tiling();
    t.T = {extent, extent, 22};
    EXPECT_EQ(plane_scratch(t) % 16, 0);
    EXPECT_GE(plane_scratch(t), tile_scratch(t));
    EXPECT_LT(plane_scratch(t), tile_scratch(t) + 16);
  }
}

TEST(PlaneSeconds, RiseWithTheWorkAndFallWithTheWorkers) {
  const auto seconds = [](std::int64_t f, std::int64_t f_out, std::int64_t n, std::int64_t k, int threads) {
    Tiling t;
    t.problem = layer(f, f_out, Vec3::cube(n), Vec3::cube(k));
    t.T = Vec3::cube(16);
    return plane_seconds(t, machine(threads));
  };
  const Seconds one = seconds(1, 80, 64, 4, 2);
  EXPECT_GT(seconds(4, 80, 64, 4, 2), one);
  EXPECT_GT(seconds(1, 96, 64, 4, 2), one);
  EXPECT_GT(seconds(1, 80, 80, 4, 2), one);
  EXPECT_GT(seconds(1, 80, 64, 6, 2), one);
  EXPECT_LT(seconds(1, 80, 64, 4, 4), one);
  EXPECT_DOUBLE_EQ(seconds(1, 65, 64, 4, 2), one) << "a block is computed whole";
}

// 36 tiles for two workers; all lanes of a block pass through the activation, although 14 of 16 are padding.
TEST(PlaneSeconds, CountAnExponentialForWholeBlocks) {
  Tiling t;
  t.problem = layer(4, 2, {43, 30, 30}, Vec3::cube(4));
  t.T = {16, 16, 16};
  const DeviceSpec spec = machine();
  ASSERT_EQ(tile_count(t) % spec.threads, 0);
  t.problem.activation.kind = ActivationKind::relu;
  const Seconds fast = plane_seconds(t, spec);
  t.problem.activation.kind = ActivationKind::sigmoid;
  const double elements = 16.0 * 40 * 27 * 27;
  const double each = activation_flops(t.problem.activation, spec) / spec.flops_per_second;
  EXPECT_NEAR(plane_seconds(t, spec) - fast, elements * each, 1e-9);
  EXPECT_GT(elements * each, 0);
}

// 11 is a prime: a tile of 22 costs more than one of 24, and gives less.
TEST(PlaneSeconds, KnowTransformsThatAreSlow) {
  Tiling t;
  t.problem = layer(1, 80, Vec3::cube(128), Vec3::cube(4));
  t.T = {24, 22, 22};
  const Seconds eleven = plane_seconds(t, machine());
  t.T = {24, 24, 24};
  EXPECT_LT(plane_seconds(t, machine()), eleven);
}

}  // namespace
}  // namespace znni::cpu::fft_tiled
