#include <gtest/gtest.h>

#include "tests/support/gradient_check.hpp"

namespace znni::cpu {
extern const GradientPrimitive grad_pool;

namespace {

TEST(GradPool, MatchesTheOracleOnPlainPoolings) {
  test::check_random_gradients(
      grad_pool, 12, [](test::Random& random) { return GradientProblem{test::random_pool(random, PoolMode::plain)}; });
}

TEST(GradPool, MatchesTheOracleOnFragments) {
  test::check_random_gradients(grad_pool, 12, [](test::Random& random) {
    return GradientProblem{test::random_pool(random, PoolMode::fragments)};
  });
}

TEST(GradPool, MatchesTheOracleOnDilatedPoolings) {
  for (const PoolMode mode : {PoolMode::plain, PoolMode::fragments}) {
    test::check_random_gradients(
        grad_pool, 12, [&](test::Random& random) { return GradientProblem{test::random_dilated_pool(random, mode)}; });
  }
}

// Windows hold every other of a row of 7 voxels, so that those of a row are some voxels apart from each other.
TEST(GradPool, WindowsOfADilatedRowMayLieApart) {
  const std::unique_ptr<Device> device = test::open_cpu(2);
  for (const PoolKind kind : {PoolKind::max, PoolKind::average}) {
    const PoolProblem pool{
        .in = {1, 16, {5, 9, 7}}, .window = {2, 3, 2}, .stride = {1, 1, 1}, .kind = kind, .dilation = {3, 2, 5}};
    test::check_gradient(grad_pool, {pool}, *device, 1);
  }
}

// Equal values are the rule behind a relu: all but one of a window's zeros stay without gradient.
TEST(GradPool, TheFirstOfEqualMaximaHasTheGradient) {
  const PoolProblem pool{
      .in = {1, 1, {1, 1, 5}}, .window = {1, 1, 2}, .stride = {1, 1, 2}, .mode = PoolMode::fragments};
  const GradientProblem problem{pool};
  const std::unique_ptr<Device> device = test::open_cpu(2);
  const Result<std::vector<Estimate>> estimates = grad_pool.describe(problem, device->spec());
  test::GradientData data;
  data.saved = {1, 1, 1, 0, 0};
  data.output = {1, 10, 100, 1000};
  for (const Estimate& estimate : *estimates) {
    const std::vector<float> found =
        test::run_gradient(grad_pool, problem, estimate, data, *device, test::Placing::separate).gradient;
    EXPECT_EQ(found, (std::vector<float>{1, 100, 10, 1000, 0})) << to_string(estimate.in);
  }
}

// Rows of more than 256 voxels take several chunks.
TEST(GradPool, LongRows) {
  const std::unique_ptr<Device> device = test::open_cpu(2);
  test::check_gradient(grad_pool, {PoolProblem{.in = {1, 1, {2, 2, 1301}}}}, *device, 1);
}

// The layer's input is not needed any more when the gradient is written: they may share memory, and do if packed.
TEST(GradPool, TheInputIsReadBeforeTheGradientIsWritten) {
  const GradientProblem problem{PoolProblem{.in = {2, 5, {9, 12, 40}}, .window = {3, 2, 3}, .stride = {1, 2, 1}}};
  const std::unique_ptr<Device> device = test::open_cpu(2);
  const test::GradientData data = test::gradient_data(problem, 1);
  const Result<std::vector<Estimate>> estimates = grad_pool.describe(problem, device->spec());
  for (const Estimate& estimate : *estimates) {
    std::int64_t sum = 0;
    for (const Buffer& buffer : estimate.memory) sum += buffer.bytes;
    EXPECT_EQ(peak(estimate.memory), sum - tensor_bytes(gradient_shape(problem), estimate.out));
    const auto run = [&](test::Placing placing) {
      return test::run_gradient(grad_pool, problem, estimate, data, *device, placing);
    };
    const test::GradientOutcome shared = run(test::Placing::packed);
    EXPECT_TRUE(shared.replaced_saved);
    EXPECT_EQ(shared.gradient, run(test::Placing::separate).gradient);
    test::expect_close(shared.gradient, data.gradient, data.tolerance, to_string(estimate.in));
  }
}

TEST(GradPool, AveragesHaveWindowsOfAnySize) {
  const std::unique_ptr<Device> device = test::open_cpu(2);
  const PoolProblem pool{
      .in = {1, 2, Vec3::cube(9)}, .window = Vec3::cube(7), .stride = Vec3::cube(1), .kind = PoolKind::average};
  test::check_gradient(grad_pool, {pool}, *device, 1);
}

TEST(GradPool, RefusesWhatItDoesNotCompute) {
  test::expect_gradient_refusal(grad_pool, {AddProblem{{1, 2, {3, 3, 3}}, 2, {}}},
                                "gradients of poolings of all voxels");
  test::expect_gradient_refusal(grad_pool, {PoolProblem{.in = {1, 1, Vec3::cube(9)}, .kind = PoolKind::average_inside}},
                                "poolings of all voxels");
}

}  // namespace
}  // namespace znni::cpu
