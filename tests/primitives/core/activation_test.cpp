#include "primitives/core/activation.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace znni {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

TEST(Activation, FollowsItsDefinition) {
  EXPECT_EQ(apply({ActivationKind::none, 0}, -2.0F), -2.0F);
  EXPECT_EQ(apply({ActivationKind::relu, 0}, -2.0F), 0.0F);
  EXPECT_EQ(apply({ActivationKind::relu, 0}, 3.0F), 3.0F);
  EXPECT_EQ(apply({ActivationKind::leaky_relu, 0.25F}, -2.0F), -0.5F);
  EXPECT_FLOAT_EQ(apply({ActivationKind::elu, 2.0F}, -1.0F), 2.0F * (std::exp(-1.0F) - 1.0F));
  EXPECT_FLOAT_EQ(apply({ActivationKind::sigmoid, 0}, 0.0F), 0.5F);
  EXPECT_FLOAT_EQ(apply({ActivationKind::tanh, 0}, 0.5F), std::tanh(0.5F));
}

TEST(Activation, CapsAndSoftensARelu) {
  EXPECT_EQ(apply({ActivationKind::capped_relu, 6}, -2.0F), 0.0F);
  EXPECT_EQ(apply({ActivationKind::capped_relu, 6}, 3.0F), 3.0F);
  EXPECT_EQ(apply({ActivationKind::capped_relu, 6}, 7.0F), 6.0F);
  EXPECT_EQ(apply({ActivationKind::capped_relu, -1}, 7.0F), -1.0F);
  EXPECT_FLOAT_EQ(apply({ActivationKind::softplus, 0}, 0.0F), std::log(2.0F));
  EXPECT_FLOAT_EQ(apply({ActivationKind::softplus, 0}, -50.0F), std::exp(-50.0F));
}

// The numbers are those of PyTorch.
TEST(Activation, MultipliesByAFactor) {
  EXPECT_FLOAT_EQ(apply({ActivationKind::silu, 0}, 1.0F), 0.731058579F);
  EXPECT_FLOAT_EQ(apply({ActivationKind::silu, 0}, -2.0F), -0.238405844F);
  EXPECT_FLOAT_EQ(apply({ActivationKind::hard_swish, 0}, -2.0F), -1.0F / 3.0F);
  EXPECT_EQ(apply({ActivationKind::hard_swish, 0}, 4.0F), 4.0F);
  EXPECT_EQ(apply({ActivationKind::hard_swish, 0}, -4.0F), 0.0F);
  EXPECT_FLOAT_EQ(apply({ActivationKind::mish, 0}, 1.0F), 0.865098388F);
  EXPECT_FLOAT_EQ(apply({ActivationKind::mish, 0}, -2.0F), -0.252501477F);
  EXPECT_FLOAT_EQ(apply({ActivationKind::gelu, 0}, 1.0F), 0.841344746F);
  EXPECT_FLOAT_EQ(apply({ActivationKind::gelu, 0}, -2.0F), -0.0455002639F);
  EXPECT_FLOAT_EQ(apply({ActivationKind::gelu_tanh, 0}, 1.0F), 0.841191991F);
  EXPECT_FLOAT_EQ(apply({ActivationKind::gelu_tanh, 0}, -2.0F), -0.0454023059F);
}

TEST(Activation, InfinitiesGiveTheLimits) {
  EXPECT_EQ(apply({ActivationKind::capped_relu, 6}, infinity), 6.0F);
  EXPECT_EQ(apply({ActivationKind::capped_relu, 6}, -infinity), 0.0F);
  for (int kind = static_cast<int>(ActivationKind::softplus); kind <= static_cast<int>(last_activation_kind); ++kind) {
    const Activation activation{static_cast<ActivationKind>(kind), 0};
    EXPECT_EQ(apply(activation, infinity), infinity) << to_string(activation.kind);
    EXPECT_EQ(apply(activation, -infinity), 0.0F) << to_string(activation.kind);
  }
}

// Looks for a larger argument of a smaller result.
TEST(Activation, MayFallIfItFallsSomewhere) {
  for (int kind = 0; kind <= static_cast<int>(last_activation_kind); ++kind) {
    for (const float alpha : {0.5F, -0.5F}) {
      const Activation activation{static_cast<ActivationKind>(kind), alpha};
      bool falls = false;
      for (int i = -100; i < 100; ++i) {
        const float x = static_cast<float>(i) * 0.05F;
        falls = falls || apply(activation, x + 0.05F) < apply(activation, x);
      }
      EXPECT_EQ(may_fall(activation), falls) << to_string(activation.kind) << " " << alpha;
    }
  }
}

TEST(Activation, TakesAlphaIfItDependsOnIt) {
  for (int kind = 0; kind <= static_cast<int>(last_activation_kind); ++kind) {
    const auto one = static_cast<ActivationKind>(kind);
    const bool differs = apply({one, 0.25F}, -1.0F) != apply({one, 0.5F}, -1.0F) ||
                         apply({one, 0.25F}, 1.0F) != apply({one, 0.5F}, 1.0F);
    EXPECT_EQ(takes_alpha(one), differs) << to_string(one);
  }
}

TEST(Activation, HasANameForEachKind) {
  EXPECT_EQ(to_string(ActivationKind::none), "none");
  EXPECT_EQ(to_string(ActivationKind::tanh), "tanh");
  EXPECT_EQ(to_string(ActivationKind::capped_relu), "capped_relu");
  EXPECT_EQ(to_string(ActivationKind::hard_swish), "hard_swish");
  EXPECT_EQ(to_string(last_activation_kind), "gelu_tanh");
}

}  // namespace
}  // namespace znni
