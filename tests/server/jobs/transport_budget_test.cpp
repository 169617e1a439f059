#include "server/jobs/transport_budget.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace znni {
namespace {

using testing::HasSubstr;

TEST(TransportBudget, LeasesAreGivenBackWhenTheyEnd) {
  const auto budget = std::make_shared<TransportBudget>(1000);
  {
    const Result<TransportLease> lease = take_lease(budget, 600);
    ASSERT_TRUE(lease);
    EXPECT_EQ(budget->used, 600);
    const Result<TransportLease> second = take_lease(budget, 400);
    EXPECT_TRUE(second);
    EXPECT_EQ(budget->used, 1000);
  }
  EXPECT_EQ(budget->used, 0);
}

TEST(TransportBudget, RefusesPastTheLimitNamingBothNumbers) {
  const auto budget = std::make_shared<TransportBudget>(2048);
  const Result<TransportLease> lease = take_lease(budget, 1024);
  const Result<TransportLease> refused = take_lease(budget, 1536);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::over_budget);
  EXPECT_THAT(refused.error().message, HasSubstr("1.50 KiB"));
  EXPECT_THAT(refused.error().message, HasSubstr("1.00 KiB of 2.00 KiB are free"));
  EXPECT_EQ(budget->used, 1024);
  EXPECT_EQ(take_lease(budget, -1).error().code, ErrorCode::invalid_argument);
  EXPECT_FALSE(take_lease(budget, std::numeric_limits<std::int64_t>::max()));
}

TEST(TransportBudget, AJobLeavesSomeOfWhatIsFree) {
  const auto budget = std::make_shared<TransportBudget>(1000);
  EXPECT_EQ(usual_share(*budget), 500);
  const Result<TransportLease> lease = take_lease(budget, 600);
  EXPECT_EQ(usual_share(*budget), 200);
  EXPECT_EQ(idle_share(*budget), 500);
}

TEST(TransportBudget, ALeaseMovesAndMayOutliveItsServer) {
  auto budget = std::make_shared<TransportBudget>(1000);
  Result<TransportLease> lease = take_lease(budget, 300);
  TransportLease moved = std::move(*lease);
  EXPECT_EQ(budget->used, 300);
  TransportLease other;
  other = std::move(moved);
  EXPECT_EQ(budget->used, 300);
  { const TransportLease last = std::move(other); }
  EXPECT_EQ(budget->used, 0);
  Result<TransportLease> survivor = take_lease(budget, 10);
  budget.reset();
}

TEST(TransportBudget, ManyThreadsNeverTakeMoreThanThereIs) {
  const auto budget = std::make_shared<TransportBudget>(100);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int repeat = 0; repeat < 1000; ++repeat) {
          const Result<TransportLease> lease = take_lease(budget, 40);
          const std::lock_guard lock(budget->mutex);
          ASSERT_LE(budget->used, 100);
        }
      });
    }
  }
  EXPECT_EQ(budget->used, 0);
}

}  // namespace
}  // namespace znni
