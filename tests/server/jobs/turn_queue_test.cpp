#include "server/jobs/turn_queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/server/jobs/wait_until.hpp"

namespace znni {
namespace {

using test::wait_until;
using testing::HasSubstr;

TEST(TurnQueue, TurnsComeInTheOrderTheyWereAskedFor) {
  TurnQueue queue("the device", 100);
  std::vector<int> order;  // written by the job that has the turn
  std::vector<std::jthread> threads;
  {
    const Result<Turn> first = queue.wait({});
    ASSERT_TRUE(first);
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&, i] {
        const Result<Turn> turn = queue.wait({});
        order.push_back(i);
      });
      ASSERT_TRUE(wait_until([&] { return queue.waiting() == i + 1; }));
    }
  }
  threads.clear();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(queue.waiting(), 0);
}

TEST(TurnQueue, WhoIsInLineIsToldSoAndWhoIsRefusedIsNot) {
  TurnQueue queue("the device", 1);
  std::atomic<int> told = 0;
  const auto in_line = [&told] { ++told; };
  std::optional<Result<Turn>> first = queue.wait({}, 0, in_line);
  ASSERT_TRUE(*first);
  EXPECT_EQ(told, 1);
  std::jthread second([&] { EXPECT_TRUE(queue.wait({}, 0, in_line)); });
  ASSERT_TRUE(wait_until([&] { return told == 2; }));
  EXPECT_EQ(queue.waiting(), 1);
  EXPECT_FALSE(queue.wait({}, 0, in_line));
  EXPECT_EQ(told, 2);
  std::jthread third([&] { EXPECT_TRUE(queue.come_back({}, 0, in_line)); });
  ASSERT_TRUE(wait_until([&] { return told == 3; }));
  first.reset();
}

TEST(TurnQueue, OnlyOneHasTheTurn) {
  TurnQueue queue("the device", 100);
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 6; ++i) {
      threads.emplace_back([&] {
        for (int repeat = 0; repeat < 200; ++repeat) {
          const Result<Turn> turn = queue.wait({});
          most = std::max(most.load(), ++inside);
          --inside;
        }
      });
    }
  }
  EXPECT_EQ(most, 1);
}

TEST(TurnQueue, AFreeTurnIsTakenAtOnceOrNotAtAll) {
  TurnQueue queue("the device", 100);
  {
    const std::optional<Turn> first = queue.take_if_free();
    EXPECT_TRUE(first);
    EXPECT_TRUE(queue.taken());
    EXPECT_FALSE(queue.take_if_free());
  }
  EXPECT_TRUE(queue.wait({}));
  EXPECT_TRUE(queue.take_if_free());
}

TEST(TurnQueue, RefusesAtOnceWhenTooManyWait) {
  TurnQueue queue("model 'net'", 1);
  const Result<Turn> first = queue.wait({});
  ASSERT_TRUE(first);
  std::stop_source stop;
  std::jthread second([&] { EXPECT_FALSE(queue.wait(stop.get_token())); });
  ASSERT_TRUE(wait_until([&] { return queue.waiting() == 1; }));
  const Result<Turn> third = queue.wait({});
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, ErrorCode::unavailable);
  EXPECT_THAT(third.error().message, HasSubstr("model 'net' is full: 1 jobs wait, at most 1 may"));
  stop.request_stop();
}

TEST(TurnQueue, WithNoPlaceToWaitOneStillMayHaveTheTurn) {
  TurnQueue queue("model 'net'", 0);
  {
    const Result<Turn> first = queue.wait({});
    ASSERT_TRUE(first);
    EXPECT_FALSE(queue.wait({}));
  }
  EXPECT_TRUE(queue.wait({}));
}

TEST(TurnQueue, WhoeverStopsWaitingLeavesThePlaceToTheNext) {
  TurnQueue queue("the device", 100);
  Result<Turn> first = queue.wait({});
  ASSERT_TRUE(first);
  std::stop_source stop;
  std::jthread second([&] {
    const Result<Turn> turn = queue.wait(stop.get_token());
    EXPECT_FALSE(turn);
    EXPECT_EQ(turn.error().code, ErrorCode::cancelled);
  });
  ASSERT_TRUE(wait_until([&] { return queue.waiting() == 1; }));
  std::atomic<bool> third_ran = false;
  std::jthread third([&] { third_ran = queue.wait({}).has_value(); });
  ASSERT_TRUE(wait_until([&] { return queue.waiting() == 2; }));
  stop.request_stop();
  ASSERT_TRUE(wait_until([&] { return queue.waiting() == 1; }));
  EXPECT_FALSE(third_ran);
  { const Turn ended = std::move(*first); }
  EXPECT_TRUE(wait_until([&] { return third_ran.load(); }));
}

TEST(TurnQueue, SmallerRanksComeFirst) {
  TurnQueue queue("the device", 100);
  std::vector<int> order;  // written by the job that has the turn
  std::vector<std::jthread> threads;
  {
    const Result<Turn> first = queue.wait({});
    ASSERT_TRUE(first);
    for (const int rank : {3, 2, 3, 1}) {
      threads.emplace_back([&, rank] {
        const Result<Turn> turn = queue.wait({}, rank);
        order.push_back(rank);
      });
      ASSERT_TRUE(wait_until([&] { return queue.waiting() == static_cast<std::int64_t>(threads.size()); }));
    }
    EXPECT_TRUE(queue.wanted(1));
    EXPECT_FALSE(queue.wanted(0));
  }
  threads.clear();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 3}));
}

TEST(TurnQueue, PassingGoesToTheEndOfOnesRank) {
  TurnQueue queue("the device", 100);
  Result<Turn> mine = queue.wait({}, 2);
  ASSERT_TRUE(mine);
  ASSERT_TRUE(queue.pass(*mine, {}, 2)) << "no job waits: at once";
  std::atomic<bool> ran = false;
  std::jthread other([&] {
    const Result<Turn> turn = queue.wait({}, 2);
    ran = true;
  });
  ASSERT_TRUE(wait_until([&] { return queue.waiting() == 1; }));
  ASSERT_TRUE(queue.pass(*mine, {}, 1)) << "no job as urgent waits: at once";
  EXPECT_FALSE(ran);
  ASSERT_TRUE(queue.pass(*mine, {}, 2));
  EXPECT_TRUE(ran);
  EXPECT_EQ(queue.waiting(), 0);
}

TEST(TurnQueue, WhoComesBackIsNeverTooMany) {
  TurnQueue queue("the device", 0);
  Result<Turn> first = queue.wait({});
  ASSERT_TRUE(first);
  EXPECT_FALSE(queue.wait({}));
  std::jthread back([&] { EXPECT_TRUE(queue.come_back({}, 0)); });
  ASSERT_TRUE(wait_until([&] { return queue.waiting() == 1; }));
  { const Turn ended = std::move(*first); }
}

TEST(TurnQueue, AStoppedCallerGetsNoTurnEvenIfItIsFree) {
  TurnQueue queue("the device", 100);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(queue.wait(stop.get_token()).error().code, ErrorCode::cancelled);
  EXPECT_TRUE(queue.wait({}));
}

}  // namespace
}  // namespace znni
