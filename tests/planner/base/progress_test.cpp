#include "planner/base/progress.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace znni {
namespace {

using namespace std::chrono_literals;

class PlannerProgress : public testing::Test {
 protected:
  Progress::Clock clock() {
    return [this] { return now_; };
  }
  std::chrono::steady_clock::time_point now_{};
  std::ostringstream out_;
};

TEST_F(PlannerProgress, SaysNothingInTheFirstSecond) {
  for (const bool terminal : {false, true}) {
    Progress progress(out_, terminal, clock());
    progress.tell("searching");
    now_ += 900ms;
    progress.tick();
  }
  EXPECT_EQ(out_.str(), "");
}

TEST_F(PlannerProgress, WritesALineEveryThirtySecondsToAFile) {
  {
    Progress progress(out_, false, clock());
    progress.tell("searching");
    for (int second = 0; second < 65; ++second) {
      now_ += 1s;
      progress.tick();
    }
  }
  EXPECT_EQ(out_.str(), "30 s: searching\n60 s: searching\n");
}

TEST_F(PlannerProgress, WritesOverItsLineOnATerminalAndWipesIt) {
  {
    Progress progress(out_, true, clock());
    now_ += 2s;
    progress.tell("measuring");
    progress.tick();
    progress.tick();
    now_ += 1s;
    progress.tell("done");
  }
  EXPECT_EQ(out_.str(), "\r2 s: measuring\r3 s: done     \r" + std::string(9, ' ') + "\r");
}

TEST_F(PlannerProgress, WipesItsLineForOtherText) {
  Progress progress(out_, true, clock());
  progress.wipe();
  EXPECT_EQ(out_.str(), "") << "nothing was shown";
  now_ += 2s;
  progress.tell("measuring");
  progress.wipe();
  progress.wipe();
  EXPECT_EQ(out_.str(), "\r2 s: measuring\r" + std::string(14, ' ') + "\r");
  now_ += 1s;
  progress.tell("done");
  EXPECT_EQ(out_.str(), "\r2 s: measuring\r" + std::string(14, ' ') + "\r\r3 s: done");
}

TEST_F(PlannerProgress, CutsLongLinesOnATerminal) {
  {
    Progress progress(out_, true, clock());
    now_ += 2s;
    progress.tell(std::string(500, 'x'));
  }
  EXPECT_LT(out_.str().size(), 350U);
}

}  // namespace
}  // namespace znni
