#include <gtest/gtest.h>

#include "tests/support/cpu.hpp"

namespace znni::cpu {
extern const Primitive activation;

namespace {

using enum Layout;

TEST(ActivationPrimitive, MatchesTheOracleForEveryKind) {
  for (int kind = 0; kind <= static_cast<int>(last_activation_kind); ++kind) {
    test::check_random(activation, 4, [&](test::Random& random) {
      const Shape5 shape{random.integer(1, 3), random.integer(1, 35), random.vec3(1, 9)};
      return ActivationProblem{shape, {static_cast<ActivationKind>(kind), 0.7F}};
    });
  }
}

TEST(ActivationPrimitive, OffersTheBlockedLayoutOfTheVectorWidth) {
  const ActivationProblem problem{{1, 4, {2, 2, 2}}, {ActivationKind::tanh, 0.0F}};
  EXPECT_EQ(test::offered_layouts(activation, problem, 16), (std::vector{planar, blocked16}));
  EXPECT_EQ(test::offered_layouts(activation, problem, 8), (std::vector{planar, blocked8}));
  EXPECT_EQ(test::offered_layouts(activation, problem, 4), (std::vector{planar, blocked8}));
}

TEST(ActivationPrimitive, RefusesOtherKindsOfLayer) {
  test::expect_refusal(activation, AcrossChannelsProblem{{1, 2, {3, 3, 3}}},
                       "computes activations, not: softmax 1x2x3x3x3");
}

}  // namespace
}  // namespace znni::cpu
