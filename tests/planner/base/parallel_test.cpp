#include "planner/base/parallel.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <semaphore>
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

// Each of two calls waits for the other, as long as a test may last: one thread alone would wait in vain.
TEST(PlannerParallel, CallsRunSideBySide) {
  std::array<std::binary_semaphore, 2> arrived = {std::binary_semaphore(0), std::binary_semaphore(0)};
  std::array<bool, 2> met = {};
  parallel_for(2, 2, [&](std::size_t i) {
    arrived[i].release();
    met[i] = arrived[1 - i].try_acquire_for(std::chrono::minutes(1));
  });
  EXPECT_TRUE(met[0] && met[1]) << "a second thread was not used, or the system granted none";
}

TEST(PlannerParallel, TheCallingThreadAloneRunsWhereOneIsAskedFor) {
  const std::thread::id self = std::this_thread::get_id();
  parallel_for(1, 10, [&](std::size_t) { EXPECT_EQ(std::this_thread::get_id(), self); });
}

}  // namespace
}  // namespace znni
