#include "planner/parallel.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace znni {
namespace {

TEST(PlannerParallel, EveryIndexOnceForAnyNumberOfThreads) {
  for (const int threads : {-1, 0, 1, 2, 5, 64}) {
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{1000}}) {
      std::vector<int> calls(count, 0);
      parallel_for(threads, count, [&](std::size_t i) { ++calls[i]; });
      EXPECT_EQ(calls, std::vector<int>(count, 1)) << threads;
    }
  }
}

// Each of two calls waits for the other: one thread alone would never end.
TEST(PlannerParallel, CallsRunSideBySide) {
  std::atomic<int> arrived = 0;
  parallel_for(2, 2, [&](std::size_t) {
    ++arrived;
    arrived.notify_all();
    for (int seen = arrived; seen < 2; seen = arrived) arrived.wait(seen);
  });
  EXPECT_EQ(arrived, 2);
}

TEST(PlannerParallel, TheCallingThreadAloneRunsWhereOneIsAskedFor) {
  const std::thread::id self = std::this_thread::get_id();
  parallel_for(1, 10, [&](std::size_t) { EXPECT_EQ(std::this_thread::get_id(), self); });
}

}  // namespace
}  // namespace znni
