#include <gtest/gtest.h>

#include "tests/support/gradient_check.hpp"

namespace znni::cpu {
extern const GradientPrimitive grad_upsample;

namespace {

TEST(GradUpsample, OfRepeatedVoxelsMatchesTheOracle) {
  test::check_random_gradients(grad_upsample, 8, [](test::Random& random) {
    const Shape5 in{random.integer(1, 3), random.integer(1, 20), random.vec3(1, 6)};
    return GradientProblem{UpsampleProblem{in, random.vec3(1, 4), UpsampleKind::nearest}};
  });
}

TEST(GradUpsample, OfInterpolatedVoxelsMatchesTheOracle) {
  test::check_random_gradients(
      grad_upsample, 12, [](test::Random& random) { return GradientProblem{test::random_linear_upsample(random)}; });
}

TEST(GradUpsample, RefusesOtherUpsamplings) {
  const Shape5 shape{1, 8, {3, 3, 3}};
  test::expect_gradient_refusal(grad_upsample, {UpsampleProblem{shape, Vec3::cube(2), UpsampleKind::shuffle}},
                                "cpu.grad.upsample computes gradients of nearest and linear upsamplings");
}

}  // namespace
}  // namespace znni::cpu
