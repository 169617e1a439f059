#include "server/follow_repository.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace znni {
namespace {

TEST(FollowRepository, LooksAgainUntilItIsStopped) {
  std::stop_source stop;
  int looks = 0;
  const auto poll = [&](const std::stop_token& token) {
    EXPECT_EQ(token, stop.get_token());
    if (++looks == 3) stop.request_stop();
  };
  follow_repository(poll, 0, stop.get_token());
  EXPECT_EQ(looks, 3);
}

TEST(FollowRepository, AStopEndsTheWait) {
  std::stop_source stop;
  std::jthread following([&] {
    constexpr double a_day = 86400;
    follow_repository([](const std::stop_token&) { ADD_FAILURE() << "the wait is not over"; }, a_day, stop.get_token());
  });
  stop.request_stop();
  following.join();
  follow_repository([](const std::stop_token&) { ADD_FAILURE() << "it was stopped before"; }, 0, stop.get_token());
}

}  // namespace
}  // namespace znni
