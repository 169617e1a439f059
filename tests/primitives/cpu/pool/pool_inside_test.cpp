#include <gtest/gtest.h>

#include <limits>

#include "tests/oracle/tolerance.hpp"
#include "tests/support/cpu.hpp"

namespace znni::cpu {
extern const Primitive pool_inside;

namespace {

constexpr float outside = -std::numeric_limits<float>::infinity();

TEST(PoolInside, MatchesTheOracleOnRandomProblems) {
  test::check_random(pool_inside, 25, [](test::Random& random) {
    PoolProblem pool = random.chance(0.5) ? test::random_pool(random, PoolMode::plain)
                                          : test::random_dilated_pool(random, PoolMode::plain);
    pool.kind = PoolKind::average_inside;
    return pool;
  });
}

TEST(PoolInside, LeavesOutWhatIsMinusInfinity) {
  const std::unique_ptr<Device> device = test::open_cpu();
  for (int i = 0; i < test::case_count(25); ++i) {
    test::Random random(test::base_seed() + static_cast<std::uint64_t>(i));
    PoolProblem pool = test::random_dilated_pool(random, PoolMode::plain);
    pool.kind = PoolKind::average_inside;
    const std::vector<std::vector<float>> inputs = {test::random_framed(pool.in, random)};
    const std::vector<oracle::Values> exact_inputs = {oracle::widened(inputs[0])};
    const oracle::Values exact = oracle::oracle_run(pool, exact_inputs, {});
    const std::vector<oracle::Values> finite = {oracle::Values(1, 5.0)};  // larger than any of these normals
    const std::vector<Estimate> estimates = pool_inside.describe(pool, device->spec()).value();
    for (const Estimate& estimate : estimates) {
      const std::vector<float> found = test::run_once(pool_inside, pool, estimate, {}, inputs, *device).values;
      test::expect_close(found, exact, oracle::tolerance(pool, finite, {}), to_string(LayerProblem(pool)));
    }
  }
}

TEST(PoolInside, AMeanOfNothingIs0) {
  const std::unique_ptr<Device> device = test::open_cpu();
  const PoolProblem pool{
      .in = {1, 1, {1, 1, 4}}, .window = {1, 1, 2}, .stride = {1, 1, 1}, .kind = PoolKind::average_inside};
  const std::vector<std::vector<float>> inputs = {{outside, outside, 3, 5}};
  const std::vector<Estimate> estimates = pool_inside.describe(pool, device->spec()).value();
  for (const Estimate& estimate : estimates) {
    EXPECT_EQ(test::run_once(pool_inside, pool, estimate, {}, inputs, *device).values, (std::vector<float>{0, 3, 4}));
  }
}

TEST(PoolInside, RefusesOtherKindsAndFragments) {
  PoolProblem pool{.in = {1, 3, {3, 3, 3}}, .kind = PoolKind::average};
  test::expect_refusal(pool_inside, pool, "computes plain average poolings of what lies inside");
  pool.kind = PoolKind::average_inside;
  pool.mode = PoolMode::fragments;
  test::expect_refusal(pool_inside, pool, "computes plain average poolings of what lies inside");
}

}  // namespace
}  // namespace znni::cpu
