#include "server/rpc/connections/paced.hpp"

#include <gtest/gtest.h>

namespace znni::rpc {
namespace {

TEST(Paced, IsToldOfAtOnceAndThenOnceInEachPause) {
  const Paced::Clock::time_point start = Paced::Clock::now();
  Paced paced(std::chrono::seconds(10));
  EXPECT_EQ(paced.happened(start), 1);
  EXPECT_EQ(paced.happened(start), std::nullopt);
  EXPECT_EQ(paced.happened(start + std::chrono::seconds(9)), std::nullopt);
  EXPECT_EQ(paced.happened(start + std::chrono::seconds(10)), 3);
  EXPECT_EQ(paced.happened(start + std::chrono::seconds(19)), std::nullopt);
  EXPECT_EQ(paced.happened(start + std::chrono::seconds(99)), 2);
}

}  // namespace
}  // namespace znni::rpc
