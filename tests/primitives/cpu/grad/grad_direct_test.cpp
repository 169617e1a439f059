#include <gtest/gtest.h>

#include "tests/support/gradient_check.hpp"

namespace znni::cpu {
extern const GradientPrimitive grad_direct;

namespace {

GradientProblem either(ConvProblem conv, test::Random& random) {
  conv.activation = {};
  return {conv, random.chance(0.5) ? GradientOf::input : GradientOf::weights};
}

TEST(GradDirect, MatchesTheOracleOnPlainConvolutions) {
  test::check_random_gradients(grad_direct, 12,
                               [](test::Random& random) { return either(test::random_conv(random, 2e6), random); });
}

TEST(GradDirect, MatchesTheOracleOnStrides) {
  test::check_random_gradients(
      grad_direct, 12, [](test::Random& random) { return either(test::random_strided_conv(random, 2e6), random); });
}

TEST(GradDirect, MatchesTheOracleOnGroups) {
  test::check_random_gradients(
      grad_direct, 12, [](test::Random& random) { return either(test::random_grouped_conv(random, 2e6), random); });
}

TEST(GradDirect, RefusesWhatItDoesNotCompute) {
  const ConvProblem conv{{1, 2, {3, 3, 3}}, 2, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {}, true};
  test::expect_gradient_refusal(grad_direct, {conv, GradientOf::input, 1}, "gradients of convolutions, not");
  test::expect_gradient_refusal(grad_direct, {CropProblem{conv.in, {}, {}}}, "gradients of convolutions, not");
}

}  // namespace
}  // namespace znni::cpu
