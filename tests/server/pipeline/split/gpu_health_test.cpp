#include "server/pipeline/split/gpu_health.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

TEST(GpuHealth, IsGoodUntilTheGpuFails) {
  const GpuHealth health;
  EXPECT_FALSE(health.why_lost());
  EXPECT_FALSE(health.is_lost_for_good());
  EXPECT_FALSE(health.is_retry_due());
}

TEST(GpuHealth, TheFirstReasonStaysUntilTheGpuWorks) {
  GpuHealth health;
  health.retry_after(0);
  health.failed({ErrorCode::device_failure, "it is hot"});
  health.failed({ErrorCode::over_budget, "it is full"});
  EXPECT_EQ(health.why_lost(), "it is hot");
  EXPECT_TRUE(health.is_retry_due());
  health.works();
  EXPECT_FALSE(health.why_lost());
  EXPECT_FALSE(health.is_retry_due());
  health.failed({ErrorCode::over_budget, "it is full"});
  EXPECT_EQ(health.why_lost(), "it is full");
}

TEST(GpuHealth, ItIsAskedAgainAfterAWhile) {
  GpuHealth health;
  health.retry_after(GpuRetry::longest_wait);
  health.failed({ErrorCode::device_failure, "it is hot"});
  EXPECT_FALSE(health.is_retry_due());
}

TEST(GpuHealth, WhatIsLostToTheProcessIsNotAskedAgain) {
  GpuHealth health;
  health.retry_after(0);
  health.failed({ErrorCode::device_failure, "it is hot"});
  health.failed({ErrorCode::device_lost, "it fell off the bus"});
  EXPECT_EQ(health.why_lost(), "it fell off the bus");
  EXPECT_TRUE(health.is_lost_for_good());
  EXPECT_FALSE(health.is_retry_due());
}

TEST(GpuHealth, AGpuThatDidNotOpenIsLostAtOnce) {
  GpuHealth health;
  health.did_not_open("it is on fire");
  EXPECT_EQ(health.why_lost(), "it is on fire");
  EXPECT_FALSE(health.is_lost_for_good());
}

}  // namespace
}  // namespace znni
