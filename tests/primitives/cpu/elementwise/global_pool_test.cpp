#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/cpu.hpp"

namespace znni::cpu {
extern const Primitive global_pool;

namespace {

using enum Layout;

TEST(GlobalPool, MatchesTheOracleOnRandomProblems) {
  test::check_random(global_pool, 40, [](test::Random& random) { return test::random_global_pool(random); });
}

// Rows of less than a vector, of whole ones and with a rest; channels that leave lanes of a block empty.
TEST(GlobalPool, MatchesTheOracleForEveryRowLength) {
  const std::unique_ptr<Device> device = test::open_cpu();
  for (const std::int64_t x : {1, 7, 16, 33, 150}) {
    for (const PoolKind kind : {PoolKind::max, PoolKind::average}) {
      const GlobalPoolProblem problem{{2, 20, {2, 3, x}}, kind};
      test::check_primitive(global_pool, problem, *device, static_cast<std::uint64_t>(x));
    }
  }
}

TEST(GlobalPool, MatchesTheOracleWithManyWorkers) {
  const std::unique_ptr<Device> device = test::open_cpu(9);
  for (const Shape5& shape : {Shape5{1, 1, {3, 3, 5}}, Shape5{3, 20, {5, 4, 5}}}) {
    test::check_primitive(global_pool, GlobalPoolProblem{shape}, *device, 1);
  }
}

// Returns what the planar way makes of `values`, of one channel.
std::vector<float> pooled(const std::vector<float>& values, PoolKind kind, int workers) {
  const std::unique_ptr<Device> device = test::open_cpu(workers);
  const GlobalPoolProblem problem{{1, 1, {4, 5, static_cast<std::int64_t>(values.size()) / 20}}, kind};
  const Estimate planar = global_pool.describe(problem, device->spec()).value()[0];
  const std::vector<std::vector<float>> inputs = {values};
  return test::run_once(global_pool, problem, planar, {}, inputs, *device).values;
}

TEST(GlobalPool, IsTheSameForAnyNumberOfWorkers) {
  test::Random random(test::base_seed());
  const std::vector<float> values = random.normals(20 * 37);
  EXPECT_EQ(pooled(values, PoolKind::average, 1), pooled(values, PoolKind::average, 3));
}

TEST(GlobalPool, TheLargestVoxelMayBeNegative) {
  std::vector<float> values(20 * 3, -7.0F);
  values[31] = -2.5F;
  EXPECT_EQ(pooled(values, PoolKind::max, 2), std::vector<float>(values.size(), -2.5F));
}

// Sums of float32 would lose the ones behind 2^24.
TEST(GlobalPool, SmallVoxelsCountBesideLargeOnes) {
  std::vector<float> values(20 * 16, 1.0F);
  values.front() = 0x1p24F;
  const double mean = (0x1p24 + 319.0) / 320.0;
  EXPECT_EQ(pooled(values, PoolKind::average, 1).back(), static_cast<float>(mean));
}

TEST(GlobalPool, ReadsAndWritesBothLayouts) {
  const GlobalPoolProblem problem{{1, 6, {4, 4, 4}}};
  EXPECT_EQ(test::offered_layouts(global_pool, problem, 16), (std::vector{planar, blocked16}));
  EXPECT_EQ(test::offered_layouts(global_pool, problem, 8), (std::vector{planar, blocked8}));
}

TEST(GlobalPool, RefusesOtherKindsOfLayer) {
  test::expect_refusal(global_pool, AcrossChannelsProblem{{1, 2, {3, 3, 3}}},
                       "cpu.global_pool computes poolings of all voxels");
}

}  // namespace
}  // namespace znni::cpu
