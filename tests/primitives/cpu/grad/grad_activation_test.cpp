#include <gtest/gtest.h>

#include "primitives/cpu/backend.hpp"
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

// What is larger than the caches is written past them, in whole vectors, where it begins at a multiple of a vector.
TEST(GradActivation, GivesTheSameBitsPastTheCaches) {
  for (const ActivationKind kind :
       {ActivationKind::relu, ActivationKind::leaky_relu, ActivationKind::capped_relu, ActivationKind::none}) {
    for (const Vec3 n : {Vec3{3, 5, 7}, Vec3{4, 6, 8}, Vec3{1, 1, 5}}) {
      const GradientProblem problem{ActivationProblem{{2, 19, n}, {kind, 0.75F}}};
      const test::GradientData data = test::gradient_data(problem, 3);
      for (const int threads : {1, 2, 3}) {
        DeviceSpec spec = describe_cpu(threads);
        std::vector<std::vector<float>> gradients;
        for (const std::int64_t l2_bytes : {std::int64_t{1} << 22, std::int64_t{1}}) {
          spec.l2_bytes = l2_bytes;
          const std::unique_ptr<Device> device = std::move(backend().open(spec, 1 << 28, 0, 0).value());
          test::check_gradient(grad_activation, problem, *device, 1);
          const std::vector<Estimate> estimates = grad_activation.describe(problem, spec).value();
          for (const Estimate& estimate : estimates) {
            gradients.push_back(
                test::run_gradient(grad_activation, problem, estimate, data, *device, test::Placing::packed).gradient);
          }
        }
        for (const std::vector<float>& each : gradients) EXPECT_EQ(each, gradients[0]) << to_string(problem);
      }
    }
  }
}

TEST(GradActivation, RefusesOtherKindsOfLayer) {
  test::expect_gradient_refusal(grad_activation, {AddProblem{{1, 2, {3, 3, 3}}, 2, {}}},
                                "cpu.grad.activation computes gradients of activations");
}

}  // namespace
}  // namespace znni::cpu
