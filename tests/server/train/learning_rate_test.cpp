#include "server/train/learning_rate.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace znni {
namespace {

TEST(LearningRate, StaysWithoutWarmUpAndCosine) {
  for (const std::int64_t step : {0, 1, 99}) EXPECT_EQ(learning_rate({0.3, 0, false}, step, 100), 0.3);
}

TEST(LearningRate, WarmsUpLinearlyToThePeak) {
  const LearningRate rate = {0.4, 4, false};
  EXPECT_DOUBLE_EQ(learning_rate(rate, 0, 100), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate(rate, 1, 100), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(rate, 3, 100), 0.4);
  EXPECT_DOUBLE_EQ(learning_rate(rate, 4, 100), 0.4);
}

TEST(LearningRate, FallsAlongHalfACosineBehindTheWarmUp) {
  const LearningRate rate = {2, 20, true};
  EXPECT_DOUBLE_EQ(learning_rate(rate, 19, 120), 2);
  EXPECT_DOUBLE_EQ(learning_rate(rate, 20, 120), 2);
  EXPECT_DOUBLE_EQ(learning_rate(rate, 45, 120), 1 + std::sqrt(0.5));
  EXPECT_DOUBLE_EQ(learning_rate(rate, 70, 120), 1);
  EXPECT_DOUBLE_EQ(learning_rate(rate, 95, 120), 1 - std::sqrt(0.5));
  EXPECT_NEAR(learning_rate(rate, 119, 120), 2 * 0.00024672, 1e-7);
}

TEST(LearningRate, AllStepsMayWarmUp) { EXPECT_DOUBLE_EQ(learning_rate({1, 10, true}, 9, 10), 1); }

}  // namespace
}  // namespace znni
