#include "primitives/cpu/fft_tiled/pooled_tiles.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "primitives/core/fragments.hpp"
#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/fft_tiled/plane_choice.hpp"
#include "primitives/cpu/fft_tiled/tile_memory.hpp"
#include "tests/primitives/cpu/fft_tiled/kernel_shapes.hpp"
#include "tests/support/random.hpp"

namespace znni::cpu::fft_tiled {
namespace {

DeviceSpec machine(int threads = 2) {
  DeviceSpec spec;
  spec.threads = threads;
  spec.simd_floats = 16;
  spec.flops_per_second = 1e11 * threads;
  spec.bytes_per_second = 3e10;
  return spec;
}

Seconds seconds_of(const PooledTiling& t, const DeviceSpec& spec = machine()) {
  return pooled_seconds(t, kernel_shapes(16), spec);
}

// Returns a layer from one channel to 20, with every offset of 2x2x2 windows.
ConvPoolProblem layers(Vec3 positions, Vec3 k) {
  ConvPoolProblem both;
  both.pool.mode = PoolMode::fragments;
  both.pool.in = {1, 20, {2 * positions.z + 1, 2 * positions.y + 1, 2 * positions.x + 1}};
  both.conv = {{1, 1, both.pool.in.n + k - Vec3::cube(1)}, 20, k, Vec3::cube(1), Vec3::cube(1), {}};
  return both;
}

// Calls check(problem, tilings) for random problems.
template <class Check>
void each_random(const Check& check) {
  for (int index = 0; index < test::case_count(40); ++index) {
    const std::uint64_t seed = test::base_seed() * 1000 + static_cast<std::uint64_t>(index);
    test::Random random(seed);
    const ConvPoolProblem both = test::random_conv_pool_of_pairs(random, 8, 1e9);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + to_string(LayerProblem(both)));
    check(both, pooled_tilings(both, kernel_shapes(16), machine()));
  }
}

TEST(PooledTilings, AreAFewLegalOnesByRisingTime) {
  const std::set<std::int64_t> extents(tile_extents().begin(), tile_extents().end());
  each_random([&](const ConvPoolProblem& both, const std::vector<PooledTiling>& tilings) {
    EXPECT_GE(tilings.size(), 1U);
    EXPECT_LE(tilings.size(), 4U);
    const auto direct = std::find_if(tilings.begin(), tilings.end(), [](const PooledTiling& t) { return t.direct; });
    EXPECT_EQ(direct != tilings.end(), both.conv.in.f * voxels(both.conv.k) <= 256);
    EXPECT_TRUE(std::is_sorted(tilings.begin(), direct, [](const PooledTiling& a, const PooledTiling& b) {
      return seconds_of(a) < seconds_of(b);
    }));
    for (const PooledTiling& t : tilings) {
      EXPECT_TRUE(t.direct || (extents.contains(t.conv.T.y) && extents.contains(t.conv.T.x))) << to_string(t.conv.T);
      EXPECT_TRUE(covers(t.conv.m(), t.read_by(t.positions()))) << to_string(t.conv.T);
      EXPECT_FALSE(covers(t.conv.m(), t.read_by(t.positions() + Vec3::cube(1)))) << to_string(t.conv.T);
      const PooledTiling back = pooled_tiling(both, t.conv.lanes, pooled_variant(t));
      EXPECT_EQ(back.conv.T, t.conv.T);
      EXPECT_EQ(back.pool, both.pool);
      EXPECT_EQ(back.direct, t.direct);
    }
  });
}

// Every position of a window belongs to one tile.
TEST(PooledTiles, PartitionThePositions) {
  each_random([](const ConvPoolProblem& both, const std::vector<PooledTiling>& tilings) {
    const Vec3 n = output_shape(both.pool).n;
    for (const PooledTiling& t : tilings) {
      std::vector<int> taken(static_cast<std::size_t>(both.pool.in.S * voxels(n)));
      for (std::int64_t index = 0; index < tile_count(t); ++index) {
        const PooledTile tile = tile_at(t, index);
        EXPECT_TRUE(covers(tile.count, Vec3::cube(1)));
        for (std::int64_t i = 0; i < voxels(tile.count); ++i) {
          const Vec3 at = tile.first + fragment_at(i, tile.count);
          ASSERT_TRUE(covers(n - Vec3::cube(1), at)) << to_string(at);
          ++taken[static_cast<std::size_t>(tile.s * voxels(n) + fragment_index(at, n))];
        }
      }
      EXPECT_EQ(std::count(taken.begin(), taken.end(), 1), static_cast<std::ptrdiff_t>(taken.size()));
    }
  });
}

// Returns tiles of 6 x 8 x 8 of which 4 x 6 x 6 are valid: one position along z, two along y and x.
PooledTiling small_tiling() {
  const ConvPoolProblem both = layers({3, 5, 4}, Vec3::cube(3));
  return {{both.conv, 16, {6, 8, 8}, 1}, both.pool};
}

TEST(PooledTiles, ReadWhatTheirWindowsSeeAtAllOffsets) {
  PooledTiling t = small_tiling();
  EXPECT_EQ(t.read_by({1, 2, 5}), (Vec3{3, 5, 11}));
  EXPECT_EQ(t.positions(), (Vec3{1, 2, 2}));
  EXPECT_EQ(t.tiles(), (Vec3{3, 3, 2}));
  t.pool.groups = {2, 1, 2};
  EXPECT_EQ(t.read_by({1, 2, 5}), (Vec3{2, 5, 10}));
  EXPECT_EQ(t.positions(), (Vec3{2, 2, 3}));
}

// Planes are held in whole windows. With two offsets, the plane in which the next windows begin is kept.
TEST(PooledPlanes, AreThoseThatProductsTakeTogetherInWholeWindows) {
  const auto held = [](const PooledTiling& t, int simd_floats) {
    const PooledPlanes planes = planes_held(t, kernel_shapes(simd_floats));
    return Vec3{planes.positions, planes.again, planes.held};
  };
  PooledTiling t = small_tiling();
  EXPECT_EQ(held(t, 16), (Vec3{2, 1, 5}));
  EXPECT_EQ(held(t, 8), (Vec3{3, 1, 7}));
  t.pool.groups.z = 2;
  EXPECT_EQ(held(t, 16), (Vec3{2, 0, 4}));
  t.pool.window.z = t.pool.stride.z = t.pool.groups.z = 1;
  EXPECT_EQ(held(t, 16), (Vec3{4, 0, 4}));
  EXPECT_EQ(held(t, 8), (Vec3{3, 0, 3}));
  t = small_tiling();
  t.direct = true;
  EXPECT_EQ(held(t, 16), (Vec3{1, 1, 3}));
}

TEST(PooledEstimate, HoldsWhatItSays) {
  const PooledTiling t = small_tiling();
  const Estimate estimate = pooled_estimate(t, kernel_shapes(16), machine(3));
  EXPECT_EQ(estimate.variant, pooled_variant(t));
  ASSERT_EQ(estimate.memory.size(), 5U);
  EXPECT_EQ(estimate.memory[0].bytes, 4 * 9 * 13 * 11);
  EXPECT_EQ(estimate.memory[1].bytes, 4 * 8 * 32 * 60);
  EXPECT_EQ(estimate.memory[2].name, kernel_spectra_name);
  EXPECT_EQ(estimate.memory[2].bytes, 4 * plane_spectra_floats(t.conv));
  EXPECT_EQ(estimate.memory[3].bytes, 4 * 32);
  // 34 columns of 16 planes, a line of 8, products and spectra of 5 planes; 5 planes of 5 lines of 16 channels.
  EXPECT_EQ(t.conv.columns(), 34);
  EXPECT_EQ(estimate.spread, plane_spread(t.conv));
  EXPECT_GT(estimate.spread.y, 0);
  EXPECT_EQ(estimate.memory[4].bytes, 4 * 3 * (34 * 3 * 16 + 8 * 16 + 5 * (8 * 32 + 8 * 5 * 32) + 5 * 5 * 8 * 16));
}

TEST(PooledEstimate, OfTheDirectAlgorithmHoldsTaps) {
  PooledTiling t = small_tiling();
  t.direct = true;
  const Estimate estimate = pooled_estimate(t, kernel_shapes(16), machine(3));
  ASSERT_EQ(estimate.memory.size(), 5U);
  EXPECT_EQ(estimate.memory[2].bytes, 4 * 32 * 27);
  EXPECT_EQ(estimate.spread, Vec3{});
  EXPECT_EQ(estimate.memory[4].bytes, 4 * 3 * (rows_scratch(t.conv) + 3 * 25 * 16));
}

// With few taps, direct taps cost less than transforms.
TEST(PooledSeconds, PreferTheDirectAlgorithmForSmallKernels) {
  const auto is_direct_faster = [](std::int64_t k) {
    const std::vector<PooledTiling> tilings =
        pooled_tilings(layers(Vec3::cube(60), Vec3::cube(k)), kernel_shapes(16), machine());
    return seconds_of(tilings.back()) < seconds_of(tilings.front());
  };
  EXPECT_TRUE(is_direct_faster(2));
  EXPECT_FALSE(is_direct_faster(6));
}

TEST(PooledSeconds, RiseWithTheWorkAndFallWithTheWorkers) {
  const auto seconds = [](std::int64_t positions, std::int64_t k, int threads, Vec3 groups) {
    ConvPoolProblem both = layers(Vec3::cube(positions), Vec3::cube(k));
    both.pool.groups = groups;
    return seconds_of({{both.conv, 16, Vec3::cube(16), 1}, both.pool}, machine(threads));
  };
  const Vec3 one = Vec3::cube(1);
  EXPECT_GT(seconds(40, 4, 2, one), seconds(30, 4, 2, one));
  EXPECT_GT(seconds(30, 6, 2, one), seconds(30, 4, 2, one));
  EXPECT_LT(seconds(30, 4, 4, one), seconds(30, 4, 2, one));
  EXPECT_LT(seconds(30, 4, 2, {1, 2, 2}), seconds(30, 4, 2, one)) << "fewer offsets";
}

TEST(PooledSeconds, AreBoundedWithoutTiles) {
  each_random([](const ConvPoolProblem& both, const std::vector<PooledTiling>& tilings) {
    const Seconds bound = min_pooled_seconds(both, 16, machine());
    EXPECT_GT(bound, 0);
    for (const PooledTiling& t : tilings) EXPECT_LE(bound, seconds_of(t));
  });
}

TEST(PooledSeconds, RiseWhereTilesLeaveTheCache) {
  const PooledTiling t = small_tiling();
  DeviceSpec small = machine();
  small.l2_bytes /= 8;
  EXPECT_GT(seconds_of(t, small), seconds_of(t));
  small.l2_bytes = 0;
  EXPECT_TRUE(std::isfinite(seconds_of(t, small))) << "of a machine whose caches are unknown";
}

TEST(PooledSeconds, AreLessThanThoseOfTheTwoLayersWhereMemoryIsSlow) {
  const ConvPoolProblem both = layers(Vec3::cube(80), Vec3::cube(4));
  DeviceSpec slow = machine();
  slow.bytes_per_second = 5e9;
  const Seconds apart = plane_seconds(plane_tilings(both.conv, 16, slow).front(), slow);
  EXPECT_LT(seconds_of(pooled_tilings(both, kernel_shapes(16), slow).front(), slow), apart);
}

}  // namespace
}  // namespace znni::cpu::fft_tiled
