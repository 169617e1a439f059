#include "server/rpc/calls/receive_turns.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <thread>

namespace znni::rpc {
namespace {

TEST(ReceiveTurns, SoManyAtATime) {
  ReceiveTurns turns(2);
  std::optional<Result<ReceiveTurns::Turn>> first = turns.wait({});
  const Result<ReceiveTurns::Turn> second = turns.wait({});
  ASSERT_TRUE(*first && second);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(turns.wait(stop.get_token()).error().code, ErrorCode::cancelled);
  first.reset();
  EXPECT_TRUE(turns.wait(stop.get_token()));
}

TEST(ReceiveTurns, OneClientLeavesATurnToOthers) {
  ReceiveTurns turns(2, 1);
  std::optional<Result<ReceiveTurns::Turn>> first = turns.wait({}, "a");
  ASSERT_TRUE(*first);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(turns.wait(stop.get_token(), "a"));
  EXPECT_TRUE(turns.wait(stop.get_token(), "b"));
  first.reset();
  EXPECT_TRUE(turns.wait(stop.get_token(), "a"));
}

// The first of those that wait has its share.
TEST(ReceiveTurns, ATurnGoesToOneWhoMayHaveIt) {
  ReceiveTurns turns(2, 1);
  std::optional<Result<ReceiveTurns::Turn>> of_a = turns.wait({}, "a");
  std::optional<Result<ReceiveTurns::Turn>> of_b = turns.wait({}, "b");
  std::stop_source stop;
  const std::jthread again([&] { EXPECT_FALSE(turns.wait(stop.get_token(), "a")); });
  const std::jthread third([&] {
    EXPECT_TRUE(turns.wait({}, "c"));
    stop.request_stop();
  });
  of_b.reset();
}

TEST(ReceiveTurns, AStopEndsTheWait) {
  ReceiveTurns turns(0);
  std::stop_source stop;
  const std::jthread stopper([&stop] { stop.request_stop(); });
  EXPECT_FALSE(turns.wait(stop.get_token()));
}

TEST(ReceiveTurns, ATurnGivenBackIsTakenByWhoeverWaits) {
  ReceiveTurns turns(1);
  std::optional<Result<ReceiveTurns::Turn>> turn = turns.wait({});
  const std::jthread gives_back([&turn] { turn.reset(); });
  EXPECT_TRUE(turns.wait({}));
}

}  // namespace
}  // namespace znni::rpc
