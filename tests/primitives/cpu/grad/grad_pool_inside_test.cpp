#include <gtest/gtest.h>

#include <limits>

#include "tests/support/gradient_check.hpp"

namespace znni::cpu {
extern const GradientPrimitive grad_pool_inside;

namespace {

constexpr float outside = -std::numeric_limits<float>::infinity();

PoolProblem inside(PoolProblem pool) {
  pool.kind = PoolKind::average_inside;
  return pool;
}

// Random inputs have voxels outside at their border.
TEST(GradPoolInside, MatchesTheOracle) {
  test::check_random_gradients(grad_pool_inside, 12, [](test::Random& random) {
    return GradientProblem{inside(test::random_pool(random, PoolMode::plain))};
  });
  test::check_random_gradients(grad_pool_inside, 12, [](test::Random& random) {
    return GradientProblem{inside(test::random_dilated_pool(random, PoolMode::plain))};
  });
}

// Windows of 0, 1 and 2 voxels inside.
TEST(GradPoolInside, VoxelsInsideShareTheGradientOfTheirWindow) {
  const PoolProblem pool = inside({.in = {1, 1, {1, 1, 5}}, .window = {1, 1, 2}, .stride = {1, 1, 1}});
  const std::unique_ptr<Device> device = test::open_cpu(2);
  test::GradientData data;
  data.saved = {outside, outside, 7, -7, 3};
  data.output = {1000, 100, 10, 4};
  const std::vector<Estimate> estimates = grad_pool_inside.describe({pool}, device->spec()).value();
  for (const Estimate& estimate : estimates) {
    const std::vector<float> found =
        test::run_gradient(grad_pool_inside, {pool}, estimate, data, *device, test::Placing::separate).gradient;
    EXPECT_EQ(found, (std::vector<float>{0, 0, 105, 7, 2})) << to_string(estimate.in);
  }
}

TEST(GradPoolInside, RefusesOtherKindsAndFragments) {
  const std::string reason = "cpu.grad.pool_inside computes gradients of plain average poolings of what lies inside";
  test::expect_gradient_refusal(grad_pool_inside, {AddProblem{{1, 2, {3, 3, 3}}, 2, {}}}, reason);
  PoolProblem pool{.in = {1, 3, {3, 3, 3}}, .kind = PoolKind::average};
  test::expect_gradient_refusal(grad_pool_inside, {pool}, reason);
  pool = inside(pool);
  pool.mode = PoolMode::fragments;
  test::expect_gradient_refusal(grad_pool_inside, {pool}, reason);
}

}  // namespace
}  // namespace znni::cpu
