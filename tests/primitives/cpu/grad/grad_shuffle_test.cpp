#include <gtest/gtest.h>

#include "tests/support/gradient_check.hpp"

namespace znni::cpu {
extern const GradientPrimitive grad_shuffle;

namespace {

TEST(GradShuffle, MatchesTheOracle) {
  test::check_random_gradients(grad_shuffle, 8, [](test::Random& random) {
    const Vec3 factor = random.vec3(1, 3);
    const std::int64_t f = random.chance(0.5) ? 16 : random.integer(1, 9);
    const Shape5 in{random.integer(1, 2), f * voxels(factor), random.vec3(1, 5)};
    return GradientProblem{UpsampleProblem{in, factor, UpsampleKind::shuffle}};
  });
}

TEST(GradShuffle, RefusesOtherUpsamplings) {
  test::expect_gradient_refusal(grad_shuffle, {UpsampleProblem{{1, 8, {3, 3, 3}}}},
                                "cpu.grad.shuffle computes gradients of shuffles");
}

}  // namespace
}  // namespace znni::cpu
