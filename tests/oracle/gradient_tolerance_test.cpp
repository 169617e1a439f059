#include "tests/oracle/gradient_tolerance.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace znni::oracle {
namespace {

constexpr double eps = 0x1p-24;

TEST(GradientTolerance, OfConvolutionsFollowsKernelsAndNorms) {
  const ConvProblem conv{{1, 2, {1, 1, 3}}, 1, {1, 1, 2}, {1, 1, 1}, {1, 1, 1}, {}};
  const std::vector<float> kernels = {1, -1, 3, 4};
  const std::vector<Values> in = {{3, 4, 0, 0, 0, 1}};
  const GradientTolerance found = gradient_tolerance(conv, in, {kernels, {}, {}, {}}, {0, -2});
  const double steps = 4.0 + 2.0 * std::log2(3.0);
  EXPECT_DOUBLE_EQ(found.inputs, eps * (steps + std::sqrt(2.0) / 4.0) * 2.0 * 7.0);
  EXPECT_DOUBLE_EQ(found.kernels, eps * steps * 2.0 * 5.0);
  EXPECT_DOUBLE_EQ(found.bias, eps * steps * 2.0 * std::sqrt(2.0));
}

TEST(GradientTolerance, WhatIsMovedIsExact) {
  const Shape5 shape{1, 1, {1, 1, 1}};
  EXPECT_EQ(gradient_tolerance(AddProblem{shape, 2, {}}, std::vector<Values>{{1}, {1}}, {}, {5}).inputs, 0.0);
  EXPECT_EQ(gradient_tolerance(ActivationProblem{shape, {}}, std::vector<Values>{{1}}, {}, {5}).inputs, 0.0);
}

TEST(GradientTolerance, OfPoolingsCountsWindows) {
  PoolProblem pool{.in = {1, 1, {2, 2, 2}}};
  const std::vector<Values> in = {Values(8, 1.0)};
  EXPECT_DOUBLE_EQ(gradient_tolerance(pool, in, {}, {3}).inputs, eps * 10.0 * 8.0 * 3.0);
  pool.kind = PoolKind::average;
  EXPECT_DOUBLE_EQ(gradient_tolerance(pool, in, {}, {3}).inputs, eps * 10.0 * 3.0);
}

TEST(GradientTolerance, OfElementsFollowsTheLargestGradient) {
  const Shape5 shape{1, 2, {1, 1, 1}};
  const std::vector<Values> in = {{1, -1}};
  const Activation leaky{ActivationKind::leaky_relu, 4.0F};
  EXPECT_DOUBLE_EQ(gradient_tolerance(ActivationProblem{shape, leaky}, in, {}, {1, -2}).inputs, eps * 32.0);
  EXPECT_DOUBLE_EQ(gradient_tolerance(AcrossChannelsProblem{shape}, in, {}, {1, -2}).inputs, eps * 24.0);
  EXPECT_DOUBLE_EQ(gradient_tolerance(AcrossChannelsProblem{shape, AcrossKind::log_softmax}, in, {}, {1, -2}).inputs,
                   eps * 56.0);
}

}  // namespace
}  // namespace znni::oracle
