#include <gtest/gtest.h>

#include "tests/support/gradient_check.hpp"

namespace znni::cpu {
extern const GradientPrimitive grad_multiply;

namespace {

MultiplyProblem random_product(test::Random& random, bool gates) {
  const Shape5 shape{random.integer(1, 3), random.integer(1, 35), random.vec3(1, 9)};
  return {shape, gates ? 1 : shape.f};
}

TEST(GradMultiply, AFactorHasTheOtherTimesTheGradient) {
  for (const int input : {0, 1}) {
    test::check_random_gradients(grad_multiply, 6, [&](test::Random& random) {
      return GradientProblem{random_product(random, false), GradientOf::input, input};
    });
  }
}

TEST(GradMultiply, AGateHasTheSumOverChannels) {
  for (const int input : {0, 1}) {
    test::check_random_gradients(grad_multiply, 6, [&](test::Random& random) {
      return GradientProblem{random_product(random, true), GradientOf::input, input};
    });
  }
}

TEST(GradMultiply, RefusesOtherKindsOfLayer) {
  test::expect_gradient_refusal(grad_multiply, {AddProblem{{1, 2, {3, 3, 3}}, 2, {}}},
                                "cpu.grad.multiply computes gradients of products");
}

}  // namespace
}  // namespace znni::cpu
