#include <gtest/gtest.h>

#include "tests/support/cpu.hpp"

namespace znni::cpu {
extern const Primitive pool_max;

namespace {

TEST(PoolMax, MatchesTheOracleOnRandomProblems) {
  test::check_random(pool_max, 25, [](test::Random& random) {
    PoolProblem pool = test::random_pool(random, PoolMode::plain);
    pool.kind = PoolKind::max;
    return pool;
  });
}

TEST(PoolMax, DilatedWindowsMatchTheOracle) {
  test::check_random(pool_max, 25, [](test::Random& random) {
    PoolProblem pool = test::random_dilated_pool(random, PoolMode::plain);
    pool.kind = PoolKind::max;
    return pool;
  });
}

TEST(PoolMax, DropsVoxelsThatFillNoWindow) {
  const std::unique_ptr<Device> device = test::open_cpu();
  const PoolProblem pool{.in = {1, 3, {5, 7, 8}}, .window = {2, 3, 3}, .stride = {2, 3, 3}, .kind = PoolKind::max};
  EXPECT_EQ(output_shape(pool).n, (Vec3{2, 2, 2}));
  test::check_primitive(pool_max, pool, *device, 1);
}

TEST(PoolMax, SkipsVoxelsBetweenWindowsSmallerThanTheStride) {
  const std::unique_ptr<Device> device = test::open_cpu();
  const PoolProblem pool{.in = {2, 3, {5, 5, 11}}, .window = {1, 1, 1}, .stride = {2, 3, 5}, .kind = PoolKind::max};
  test::check_primitive(pool_max, pool, *device, 1);
}

TEST(PoolMax, OffersTheBlockedLayoutOfTheVectorWidth) {
  const PoolProblem pool{.in = {1, 3, {4, 4, 4}}, .kind = PoolKind::max};
  EXPECT_EQ(test::offered_layouts(pool_max, pool, 16), (std::vector{Layout::planar, Layout::blocked16}));
  EXPECT_EQ(test::offered_layouts(pool_max, pool, 8), (std::vector{Layout::planar, Layout::blocked8}));
  EXPECT_EQ(test::offered_layouts(pool_max, pool, 4), (std::vector{Layout::planar, Layout::blocked8}));
}

TEST(PoolMax, RefusesTheOtherKindAndFragments) {
  PoolProblem pool{.in = {1, 3, {4, 4, 4}}, .kind = PoolKind::average};
  test::expect_refusal(pool_max, pool, "computes plain max poolings");
  pool.kind = PoolKind::max;
  pool.in.n = {3, 3, 3};
  pool.mode = PoolMode::fragments;
  test::expect_refusal(pool_max, pool, "computes plain max poolings");
}

}  // namespace
}  // namespace znni::cpu
