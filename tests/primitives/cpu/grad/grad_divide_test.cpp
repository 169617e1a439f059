#include <gtest/gtest.h>

#include "tests/support/gradient_check.hpp"

namespace znni::cpu {
extern const GradientPrimitive grad_divide;

namespace {

DivideProblem random_quotient(test::Random& random, bool of_one) {
  const Shape5 shape{random.integer(1, 3), random.integer(1, 35), random.vec3(1, 9)};
  return {shape, of_one ? 1 : shape.f};
}

TEST(GradDivide, OfTensorsAlikeMatchesTheOracle) {
  for (const int input : {0, 1}) {
    test::check_random_gradients(grad_divide, 6, [&](test::Random& random) {
      return GradientProblem{random_quotient(random, false), GradientOf::input, input};
    });
  }
}

TEST(GradDivide, ADivisorOfOneChannelHasTheSumOverChannels) {
  for (const int input : {0, 1}) {
    test::check_random_gradients(grad_divide, 6, [&](test::Random& random) {
      return GradientProblem{random_quotient(random, true), GradientOf::input, input};
    });
  }
}

// 6 / 2 and 8 / 2: what 1 more of the divisor makes of them is -3 / 2 and -4 / 2.
TEST(GradDivide, OfNumbersIsWhatTheDefinitionSays) {
  const DivideProblem quotient{{1, 2, {1, 1, 1}}, 1};
  const std::unique_ptr<Device> device = test::open_cpu(1);
  test::GradientData data;
  data.output = {1, 10};
  data.saved = {2};
  data.result = {3, 4};
  const auto of = [&](int input) {
    const GradientProblem problem{quotient, GradientOf::input, input};
    const Estimate estimate = grad_divide.describe(problem, device->spec()).value().front();
    return test::run_gradient(grad_divide, problem, estimate, data, *device, test::Placing::separate).gradient;
  };
  EXPECT_EQ(of(0), (std::vector<float>{0.5F, 5}));
  EXPECT_EQ(of(1), (std::vector<float>{-21.5F}));
}

TEST(GradDivide, RefusesOtherKindsOfLayer) {
  test::expect_gradient_refusal(grad_divide, {AddProblem{{1, 2, {3, 3, 3}}, 2, {}}},
                                "cpu.grad.divide computes gradients of quotients");
}

}  // namespace
}  // namespace znni::cpu
