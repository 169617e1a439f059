#include <gtest/gtest.h>

#include "tests/support/gradient_check.hpp"

namespace znni::cpu {
extern const GradientPrimitive grad_prelu;

namespace {

TEST(GradPRelu, MatchesTheOracle) {
  for (const GradientOf of : {GradientOf::input, GradientOf::weights}) {
    test::check_random_gradients(grad_prelu, 8, [&](test::Random& random) {
      return GradientProblem{PReluProblem{{random.integer(1, 3), random.integer(1, 35), random.vec3(1, 9)}}, of};
    });
  }
}

// As in PyTorch, 0 has the slope of what is below it.
TEST(GradPRelu, ZeroHasTheSlopeBelow) {
  const GradientProblem problem{PReluProblem{{1, 1, {1, 1, 3}}}};
  test::GradientData data = test::gradient_data(problem, 1);
  data.weights.scale = {0.25F};
  data.output = {4, 4, 4};
  data.saved = {-1, 0, 1};
  const std::unique_ptr<Device> device = test::open_cpu(1);
  const Estimate planar = grad_prelu.describe(problem, device->spec()).value().front();
  const std::vector<float> found =
      test::run_gradient(grad_prelu, problem, planar, data, *device, test::Placing::packed).gradient;
  EXPECT_EQ(found, (std::vector<float>{1, 1, 4}));
}

TEST(GradPRelu, RefusesOtherKindsOfLayer) {
  test::expect_gradient_refusal(grad_prelu, {ActivationProblem{{1, 2, {3, 3, 3}}, {}}},
                                "cpu.grad.prelu computes gradients of rectifiers");
}

}  // namespace
}  // namespace znni::cpu
