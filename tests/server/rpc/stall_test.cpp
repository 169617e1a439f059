#include "server/rpc/stall.hpp"

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

TEST(Stall, AShortWaitIsNoStall) {
  Stall stall(1e6);
  const Stall::Wait wait(stall);
  EXPECT_FALSE(stall.too_long());
}

}  // namespace
}  // namespace znni::rpc
