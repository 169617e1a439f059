#include "planner/base/child.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>
#include <vector>

namespace znni {
namespace {

using Tell = std::function<void(const ChildMessage&)>;
constexpr std::int64_t plenty = std::int64_t{1} << 30;

Seconds ignore(const ChildMessage&) { return 0; }

void sleep_long() { std::this_thread::sleep_for(std::chrono::minutes(5)); }

TEST(PlannerChild, TellsAndIsDone) {
  std::vector<ChildMessage> heard;
  const Result<ChildEnd> end = run_in_child(
      [](const Tell& tell) {
        for (int i = 0; i < 500; ++i) tell(ChildMessage::make(7, i, 0.5 * i, "word", 3));
      },
      [&](const ChildMessage& message) {
        heard.push_back(message);
        return 0;
      },
      {plenty, {}});
  ASSERT_TRUE(end);
  EXPECT_EQ(end->how, ChildEnd::done);
  ASSERT_EQ(heard.size(), 500U);
  EXPECT_EQ(heard[499].which, 499);
  EXPECT_EQ(heard[499].number, 249.5);
  EXPECT_EQ(heard[499].second, 3);
  EXPECT_EQ(heard[499].text(), "word");
}

TEST(PlannerChild, ItsMemoryIsItsOwn) {
  int value = 1;
  ASSERT_TRUE(run_in_child([&](const Tell&) { value = 2; }, ignore, {plenty, {}}));
  EXPECT_EQ(value, 1);
}

TEST(PlannerChild, SaysHowItDied) {
  const Result<ChildEnd> end = run_in_child([](const Tell&) { ::raise(SIGKILL); }, ignore, {plenty, {}});
  ASSERT_TRUE(end);
  EXPECT_EQ(end->how, ChildEnd::died);
  EXPECT_NE(end->why.find("signal 9"), std::string::npos) << end->why;
  const Result<ChildEnd> code = run_in_child([](const Tell&) { ::_exit(3); }, ignore, {plenty, {}});
  EXPECT_EQ(code->why, "ended with code 3");
}

TEST(PlannerChild, DoesNotGetMoreThanItsMemory) {
  bool got = true;
  const Result<ChildEnd> end = run_in_child(
      [](const Tell& tell) {
        void* volatile block = std::malloc(std::size_t{1} << 30);
        tell(ChildMessage::make(0, 0, block != nullptr ? 1 : 0));
        std::free(block);
      },
      [&](const ChildMessage& message) {
        got = message.number > 0;
        return 0;
      },
      {std::int64_t{1} << 28, {}});
  ASSERT_TRUE(end);
  EXPECT_TRUE(!got || end->how == ChildEnd::died);
}

TEST(PlannerChild, SilenceBeyondItsTimeEndsIt) {
  const Result<ChildEnd> end = run_in_child(
      [](const Tell& tell) {
        tell(ChildMessage::make(0, 0, 0));
        sleep_long();
      },
      [](const ChildMessage&) { return 0.2; }, {plenty, {}});
  ASSERT_TRUE(end);
  EXPECT_EQ(end->how, ChildEnd::slow);
}

TEST(PlannerChild, StopsWhenAsked) {
  int polls = 0;
  const Result<ChildEnd> end =
      run_in_child([](const Tell&) { sleep_long(); }, ignore, {plenty, [&] { return ++polls > 2; }});
  ASSERT_TRUE(end);
  EXPECT_EQ(end->how, ChildEnd::stopped);
}

TEST(PlannerChild, LongWordsAreCut) {
  EXPECT_EQ(ChildMessage::make(0, 0, 0, std::string(1000, 'x')).text().size(), 231U);
}

}  // namespace
}  // namespace znni
