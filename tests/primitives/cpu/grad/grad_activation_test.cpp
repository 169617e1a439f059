#include <gtest/gtest.h>

#include "tests/support/gradient_check.hpp"

namespace znni::cpu {
extern const GradientPrimitive grad_activation;

namespace {

TEST(GradActivation, MatchesTheOracleForEveryKind) {
  for (int kind = 0; kind <= static_cast<int>(last_activation_kind); ++kind) {
    test::check_random_gradients(grad_activation, 2, [&](test::Random& random) {
      const Shape5 shape{random.integer(1, 3), random.integer(1, 35), random.vec3(1, 9)};
      return GradientProblem{ActivationProblem{shape, {static_cast<ActivationKind>(kind), 1.5F}}};
    });
  }
}

// The output of a falling activation does not tell the slope: it follows from the input.
TEST(GradActivation, NegativeAlphaReadsTheInput) {
  const std::unique_ptr<Device> device = test::open_cpu(2);
  for (const ActivationKind kind : {ActivationKind::leaky_relu, ActivationKind::elu}) {
    test::check_gradient(grad_activation, {ActivationProblem{{1, 3, {2, 3, 40}}, {kind, -0.5F}}}, *device, 1);
  }
}

TEST(GradActivation, RefusesOtherKindsOfLayer) {
  test::expect_gradient_refusal(grad_activation, {AddProblem{{1, 2, {3, 3, 3}}, 2, {}}},
                                "cpu.grad.activation computes gradients of activations");
}

}  // namespace
}  // namespace znni::cpu
