#include "server/pipeline/split/gpu_retry.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

TEST(GpuRetry, WaitsTwiceAsLongAfterEachFailureUpToAnHour) {
  using std::chrono::seconds;
  const GpuRetry::Clock::time_point start{seconds(1000)};
  GpuRetry retry;
  retry.failed(start);
  EXPECT_FALSE(retry.is_due(start + seconds(59)));
  EXPECT_TRUE(retry.is_due(start + seconds(60)));
  retry.failed(start + seconds(60));
  EXPECT_FALSE(retry.is_due(start + seconds(179)));
  EXPECT_TRUE(retry.is_due(start + seconds(180)));
  for (int i = 0; i < 20; ++i) retry.failed(start);
  EXPECT_FALSE(retry.is_due(start + seconds(3599)));
  EXPECT_TRUE(retry.is_due(start + seconds(3600)));
  retry.passed();
  retry.failed(start);
  EXPECT_TRUE(retry.is_due(start + seconds(60)));
}

}  // namespace
}  // namespace znni
