#include "primitives/cpu/pool/pool_layer.hpp"

#include <gtest/gtest.h>

#include <set>

#include "primitives/core/fragments.hpp"
#include "primitives/cpu/backend.hpp"
#include "tests/support/harness.hpp"
#include "tests/support/random.hpp"

namespace znni::cpu {

extern const Primitive pool_mpf;
extern const Primitive pool_average;
extern const Primitive pool_max;

namespace {

// Tensors larger than the cache get non-temporal stores; with a cache of 0 bytes these are all tensors.
TEST(PoolLayer, StoresPastTheCaches) {
  DeviceSpec spec = describe_cpu(2);
  spec.l3_bytes = 0;
  const auto device = std::move(backend().open(spec, std::int64_t{1} << 30, 0, 0).value());
  const PoolProblem mpf{
      .in = {2, 20, {6, 9, 11}}, .window = {3, 2, 2}, .stride = {2, 2, 2}, .mode = PoolMode::fragments};
  test::check_primitive(pool_mpf, mpf, *device, 5);
  const PoolProblem average{
      .in = {1, 16, {6, 8, 12}}, .window = {2, 2, 4}, .stride = {2, 2, 3}, .kind = PoolKind::average};
  test::check_primitive(pool_average, average, *device, 6);
}

// With more workers than planes, workers share the rows; with few rows, some workers get none.
TEST(PoolLayer, RowsOfFewPlanesAreSharedOut) {
  const auto device = std::move(backend().open(describe_cpu(5), std::int64_t{1} << 30, 0, 0).value());
  for (const std::int64_t rows : {2, 3, 9, 31, 60}) {
    const PoolProblem mpf{.in = {1, 3, {1, rows + 1 - rows % 2, 13}},
                          .window = {1, 2, 2},
                          .stride = {1, 2, 2},
                          .mode = PoolMode::fragments};
    test::check_primitive(pool_mpf, mpf, *device, 7);
    const PoolProblem plain{.in = {2, 16, {2, rows - rows % 2, 12}}};
    test::check_primitive(pool_max, plain, *device, 8);
  }
}

// Groups make some of the offsets at a time; stores are non-temporal as above.
TEST(PoolLayer, PairsInGroupsAndPastTheCaches) {
  DeviceSpec spec = describe_cpu(2);
  spec.l3_bytes = 0;
  const auto device = std::move(backend().open(spec, std::int64_t{1} << 30, 0, 0).value());
  for (std::int64_t i = 0; i < 8; ++i) {
    const Vec3 groups = Vec3::cube(1) + Vec3{i / 4, i / 2 % 2, i % 2};
    PoolProblem mpf{.in = {2, 20, Vec3::cube(9)}, .mode = PoolMode::fragments, .groups = groups};
    mpf.in.n = mpf.in.n + Vec3::cube(1) - groups;
    test::check_primitive(pool_mpf, mpf, *device, 9);
  }
}

TEST(PooledInput, PlainPoolingKeepsItsInput) {
  const PoolProblem pool{.in = {6, 1, {4, 4, 4}}, .fragments = {1, 2, 3}};
  for (std::int64_t s = 0; s < 6; ++s) EXPECT_EQ(pooled_input(pool, s, {0, 0, 0}), s);
}

// Along x: 2 fragments before, stride 2: index = 2 * offset + before; S0 = 2 inputs.
TEST(PooledInput, TheNewOffsetIsTheMostSignificantDigit) {
  const PoolProblem pool{.in = {4, 1, {1, 1, 5}},
                         .window = {1, 1, 2},
                         .stride = {1, 1, 2},
                         .mode = PoolMode::fragments,
                         .fragments = {1, 1, 2}};
  EXPECT_EQ(pooled_input(pool, 0, {0, 0, 0}), 0);
  EXPECT_EQ(pooled_input(pool, 1, {0, 0, 0}), 1);
  EXPECT_EQ(pooled_input(pool, 0, {0, 0, 1}), 2);
  EXPECT_EQ(pooled_input(pool, 1, {0, 0, 1}), 3);
  EXPECT_EQ(pooled_input(pool, 2, {0, 0, 0}), 4);
  EXPECT_EQ(pooled_input(pool, 3, {0, 0, 1}), 7);
}

TEST(PooledInput, EveryOutputIsWrittenOnce) {
  test::Random random(test::base_seed());
  for (int i = 0; i < 50; ++i) {
    const PoolProblem pool = test::random_pool(random, PoolMode::fragments);
    std::set<std::int64_t> seen;
    for (std::int64_t s = 0; s < pool.in.S; ++s) {
      for (std::int64_t offset = 0; offset < voxels(pooled_offsets(pool)); ++offset) {
        seen.insert(pooled_input(pool, s, fragment_at(offset, pooled_offsets(pool))));
      }
    }
    const std::int64_t count = output_shape(pool).S;
    EXPECT_EQ(static_cast<std::int64_t>(seen.size()), count) << to_string(pool);
    EXPECT_EQ(*seen.begin(), 0) << to_string(pool);
    EXPECT_EQ(*seen.rbegin(), count - 1) << to_string(pool);
  }
}

TEST(DescribePool, BlockedShortWindowsNeedNoScratch) {
  DeviceSpec spec;
  spec.simd_floats = 16;
  const auto buffers = [&](std::int64_t window) {
    const PoolProblem pool{.in = {1, 4, {8, 8, 20}}, .window = {2, 2, window}, .stride = {1, 1, 1}};
    return describe_pool(pool, spec).back().memory.size();
  };
  EXPECT_EQ(buffers(4), 2U);
  EXPECT_EQ(buffers(5), 3U);
}

TEST(DescribePool, ScratchIsTwoRowsPerWorker) {
  DeviceSpec spec;
  spec.threads = 3;
  spec.simd_floats = 8;
  const std::vector<Estimate> estimates =
      describe_pool({.in = {1, 4, {4, 4, 20}}, .window = {2, 2, 5}, .stride = {2, 2, 5}}, spec);
  ASSERT_EQ(estimates.size(), 2U);
  EXPECT_EQ(estimates[0].memory.back(), (Buffer{"rows", MemorySpace::host, 3 * 2 * 32 * 4, Lifetime::stages(0, 0)}));
  EXPECT_EQ(estimates[1].memory.back(), (Buffer{"rows", MemorySpace::host, 3 * 2 * 160 * 4, Lifetime::stages(0, 0)}));
}

}  // namespace
}  // namespace znni::cpu
