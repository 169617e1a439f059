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

// A convolution without a bias has no gradient of one.
TEST(GradDirect, AMissingBiasIsNotWritten) {
  const std::unique_ptr<Device> device = test::open_cpu(2);
  const ConvProblem conv{.in = {1, 3, {4, 5, 6}}, .f_out = 2, .k = {2, 2, 2}, .activation = {}};
  const GradientProblem problem{conv, GradientOf::weights};
  test::GradientData data = test::gradient_data(problem, 1);
  data.bias.clear();
  const Estimate estimate = grad_direct.describe(problem, device->spec()).value().front();
  const test::GradientOutcome found =
      test::run_gradient(grad_direct, problem, estimate, data, *device, test::Placing::packed);
  test::expect_close(found.gradient, data.gradient, data.tolerance, "kernels");
}

}  // namespace
}  // namespace znni::cpu
