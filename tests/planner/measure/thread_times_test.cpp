#include "planner/measure/thread_times.hpp"

#include <gtest/gtest.h>

#include "tests/support/temporary.hpp"

namespace znni {
namespace {

void write_thread(const test::TemporaryDirectory& folder, const std::string& thread, const std::string& text) {
  std::filesystem::create_directories(folder.path() / "task" / thread);
  folder.write("task/" + thread + "/schedstat", text);
}

TEST(PlannerThreadTimes, AddsUpAllThreads) {
  const test::TemporaryDirectory folder;
  write_thread(folder, "1", "3000000000 1000000000 7\n");
  write_thread(folder, "2", "1000000000 0 9\n");
  const ThreadTimes times = read_thread_times(folder.path());
  EXPECT_DOUBLE_EQ(times.ran, 4);
  EXPECT_DOUBLE_EQ(times.waited, 1);
  EXPECT_DOUBLE_EQ(times.waited_share(), 0.2);
  EXPECT_DOUBLE_EQ((times - ThreadTimes{2, 0}).waited_share(), 1.0 / 3);
}

TEST(PlannerThreadTimes, WhatCannotBeReadIsNothing) {
  const test::TemporaryDirectory folder;
  EXPECT_EQ(read_thread_times(folder.path()).ran, 0);
  EXPECT_EQ(ThreadTimes().waited_share(), 0);
  write_thread(folder, "1", "what");
  EXPECT_EQ(read_thread_times(folder.path()).waited, 0);
}

TEST(PlannerThreadTimes, OfThisProcessOnlyGrow) {
  const ThreadTimes before = read_thread_times();
  const ThreadTimes after = read_thread_times();
  EXPECT_GE(after.ran, before.ran);
}

}  // namespace
}  // namespace znni
