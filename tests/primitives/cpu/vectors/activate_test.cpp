#include "primitives/cpu/vectors/activate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace znni::cpu {
namespace {

TEST(Activate, AgreesWithTheDefinitionForEveryKind) {
  std::vector<float> arguments;
  for (int i = -40; i <= 40; ++i) arguments.push_back(static_cast<float>(i) * 0.37F);
  for (int kind = 0; kind <= static_cast<int>(last_activation_kind); ++kind) {
    const Activation activation{static_cast<ActivationKind>(kind), 0.3F};
    std::vector<float> values = arguments;
    activate(activation, values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float wanted = apply(activation, arguments[i]);
      const float of_factor = may_fall(activation) ? std::abs(arguments[i]) : 0.0F;
      EXPECT_NEAR(values[i], wanted, 4e-7F * (std::abs(wanted) + of_factor))
          << to_string(activation.kind) << " of " << arguments[i];
    }
  }
}

TEST(Activate, SurvivesInfinities) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> values = {-infinity, infinity};
  activate({ActivationKind::sigmoid, 0.0F}, values);
  EXPECT_EQ(values, (std::vector<float>{0.0F, 1.0F}));
  values = {-infinity, infinity};
  activate({ActivationKind::elu, 0.5F}, values);
  EXPECT_EQ(values, (std::vector<float>{-0.5F, infinity}));
}

TEST(Exponentiate, IsTheExponentialOfWhatIsNotAboveZero) {
  std::vector<float> values = {0.0F,  -1.0F,  -0.25F, -80.0F, -200.0F, -std::numeric_limits<float>::infinity(),
                               -3.0F, -1e-6F, -10.0F};
  const std::vector<float> arguments = values;
  exponentiate(values);
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_FLOAT_EQ(values[i], std::exp(arguments[i])) << arguments[i];
}

TEST(Accumulate, AddsValueByValue) {
  const std::vector<float> from = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  std::vector<float> to(9, 0.5F);
  accumulate(from, to);
  EXPECT_EQ(to, (std::vector<float>{1.5F, 2.5F, 3.5F, 4.5F, 5.5F, 6.5F, 7.5F, 8.5F, 9.5F}));
}

TEST(ClearLanes, ZeroesTheLanesBehindTheLastChannel) {
  std::vector<float> values = {1, 2, 3, 4, 5, 6, 7, 8};
  clear_lanes(values, 3, 4);
  EXPECT_EQ(values, (std::vector<float>{1, 2, 3, 0, 5, 6, 7, 0}));
}

TEST(ClearLanes, LeavesWholeBlocksAlone) {
  std::vector<float> values = {1, 2, 3, 4};
  clear_lanes(values, 4, 4);
  clear_lanes(values, 7, 1);
  EXPECT_EQ(values, (std::vector<float>{1, 2, 3, 4}));
}

}  // namespace
}  // namespace znni::cpu
