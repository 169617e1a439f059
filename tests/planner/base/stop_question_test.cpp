#include "planner/base/stop_question.hpp"

#include <gtest/gtest.h>

#include <latch>
#include <thread>
#include <vector>

namespace znni {
namespace {

TEST(PlannerStopQuestion, NoFunctionNeverStops) { EXPECT_FALSE(StopQuestion({})()); }

TEST(PlannerStopQuestion, IsNotAskedAgainAfterYes) {
  int asked = 0;
  const StopQuestion stop([&asked] { return ++asked == 3; });
  EXPECT_FALSE(stop());
  EXPECT_FALSE(stop());
  EXPECT_TRUE(stop());
  EXPECT_TRUE(stop());
  EXPECT_EQ(asked, 3);
}

// Not atomic: the thread sanitizer sees two calls at a time.
TEST(PlannerStopQuestion, OneThreadAsksAtATime) {
  int asked = 0;
  const StopQuestion stop([&asked] { return ++asked == 5000; });
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&stop] {
        while (!stop()) {
        }
      });
    }
  }
  EXPECT_EQ(asked, 5000);
}

TEST(PlannerStopQuestion, AThreadDoesNotWaitForTheAnswerOfAnother) {
  std::latch asked(1);
  std::latch answer(1);
  const StopQuestion stop([&] {
    asked.count_down();
    answer.wait();
    return true;
  });
  std::jthread other([&stop] { EXPECT_TRUE(stop()); });
  asked.wait();
  EXPECT_FALSE(stop());
  answer.count_down();
  other.join();
  EXPECT_TRUE(stop());
}

}  // namespace
}  // namespace znni
