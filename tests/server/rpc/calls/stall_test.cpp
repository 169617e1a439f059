#include "server/rpc/calls/stall.hpp"

#include <gtest/gtest.h>

#include <thread>

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
  stall.begin_anew();
  EXPECT_FALSE(stall.too_long());
  const Stall::Wait wait(stall);
  stall.begin_anew();
  while (!stall.too_long()) std::this_thread::yield();  // the wait goes on
}

TEST(Stall, AShortWaitIsNoStall) {
  Stall stall(1e6);
  const Stall::Wait wait(stall);
  EXPECT_FALSE(stall.too_long());
}

}  // namespace
}  // namespace znni::rpc
