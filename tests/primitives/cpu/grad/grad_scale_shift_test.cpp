#include <gtest/gtest.h>

#include "tests/support/gradient_check.hpp"

namespace znni::cpu {
extern const GradientPrimitive grad_scale_shift;

namespace {

TEST(GradScaleShift, MatchesTheOracle) {
  for (const GradientOf of : {GradientOf::input, GradientOf::weights}) {
    test::check_random_gradients(grad_scale_shift, 8, [&](test::Random& random) {
      return GradientProblem{ScaleShiftProblem{{random.integer(1, 3), random.integer(1, 35), random.vec3(1, 9)}}, of};
    });
  }
}

TEST(GradScaleShift, RefusesOtherKindsOfLayer) {
  test::expect_gradient_refusal(grad_scale_shift, {PReluProblem{{1, 2, {3, 3, 3}}}},
                                "cpu.grad.scale_shift computes gradients of scales and shifts");
}

}  // namespace
}  // namespace znni::cpu
