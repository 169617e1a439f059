#include "server/rpc/calls/call_gate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <thread>

namespace znni::rpc {
namespace {

TEST(CallGate, LetsInSoManyAndNoMore) {
  CallGate gate(2);
  const Result<CallPass> first = gate.enter();
  std::optional<Result<CallPass>> second = gate.enter();
  ASSERT_TRUE(first && *second);
  const Result<CallPass> third = gate.enter();
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, ErrorCode::unavailable);
  EXPECT_THAT(third.error().message, testing::HasSubstr("at most 2"));
  second.reset();
  EXPECT_TRUE(gate.enter());
}

TEST(CallGate, OneClientLeavesRoomForOthers) {
  CallGate gate(3, 1);
  std::optional<Result<CallPass>> first = gate.enter("a");
  const Result<CallPass> second = gate.enter("a");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::over_budget);
  EXPECT_EQ(second.error().message,
            "1 requests of the client a are in flight, at most 1 of one client are taken; wait until one has ended");
  const Result<CallPass> other = gate.enter("b");
  EXPECT_TRUE(other);
  first.reset();
  EXPECT_TRUE(gate.enter("a"));
}

TEST(CallGate, AMovedPassLeavesOnce) {
  CallGate gate(1);
  {
    Result<CallPass> pass = gate.enter();
    const CallPass moved = *std::move(pass);
    EXPECT_FALSE(gate.enter());
  }
  EXPECT_TRUE(gate.enter());
}

TEST(CallGate, ClosedItKeepsThoseInside) {
  CallGate gate(2);
  std::optional<Result<CallPass>> inside = gate.enter();
  gate.close();
  EXPECT_TRUE(gate.closed());
  EXPECT_EQ(gate.enter().error().code, ErrorCode::unavailable);
  EXPECT_FALSE(gate.wait_empty(0));
  const std::jthread leaves([&inside] { inside.reset(); });
  EXPECT_TRUE(gate.wait_empty(600));
}

TEST(CallGate, AnEmptyGateNeedsNoWait) { EXPECT_TRUE(CallGate(1).wait_empty(0)); }

}  // namespace
}  // namespace znni::rpc
