#include "server/rpc/calls/stall.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/server/rpc/moved_clock.hpp"

namespace znni::rpc {
namespace {

TEST(Stall, NobodyWaitsNobodyStalls) {
  const Stall stall(-1);
  EXPECT_FALSE(stall.too_long());
}

TEST(Stall, AWaitCountsWhileItGoesOn) {
  Stall stall(0);
  {
    const Stall::Wait wait(stall);
    while (!stall.too_long()) std::this_thread::yield();
  }
  EXPECT_FALSE(stall.too_long());
}

TEST(Stall, ANewBeginningIsNoWaitOfItsOwn) {
  Stall stall(0);
  stall.restart();
  EXPECT_FALSE(stall.too_long());
  const Stall::Wait wait(stall);
  stall.restart();
  while (!stall.too_long()) std::this_thread::yield();  // the wait goes on
}

TEST(Stall, AWaitIsTimedByTheClockThatIsGiven) {
  MovedClock clock;
  Stall stall(20, clock.now());
  const Stall::Wait wait(stall);
  clock.advance(std::chrono::seconds(20));
  EXPECT_FALSE(stall.too_long());
  clock.advance(std::chrono::milliseconds(1));
  EXPECT_TRUE(stall.too_long());
  stall.restart();
  EXPECT_FALSE(stall.too_long());
}

TEST(Stall, AShortWaitIsNoStall) {
  Stall stall(1e6);
  const Stall::Wait wait(stall);
  EXPECT_FALSE(stall.too_long());
}

}  // namespace
}  // namespace znni::rpc
