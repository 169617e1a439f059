#include "server/pipeline/split/handoff.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

namespace znni {
namespace {

const Error broken{ErrorCode::device_failure, "it broke"};

TEST(Handoff, ItemsPassInOrderAndThenTheEnd) {
  Handoff handoff;
  const std::jthread producer([&] {
    for (std::int64_t item = 0; item < 100; ++item) {
      ASSERT_TRUE(handoff.wait_for_room({}));
      handoff.deliver(item);
    }
    handoff.end();
  });
  for (std::int64_t item = 0; item < 100; ++item) EXPECT_EQ(handoff.take({}).value(), item);
  EXPECT_EQ(handoff.take({}).value(), std::nullopt);
}

// The producer starts on item i + 1 when item i was taken, not before: two are the most that exist at once.
TEST(Handoff, NoThirdItemIsStarted) {
  Handoff handoff;
  std::atomic<int> alive = 0;
  std::atomic<int> most = 0;
  const std::jthread producer([&] {
    for (std::int64_t item = 0; item < 50; ++item) {
      ASSERT_TRUE(handoff.wait_for_room({}));
      const int now = ++alive;
      most = std::max(most.load(), now);
      std::this_thread::yield();
      handoff.deliver(item);
    }
    handoff.end();
  });
  while (handoff.take({}).value()) {
    std::this_thread::yield();
    --alive;
  }
  EXPECT_LE(most, 2);
}

TEST(Handoff, AProducersErrorFollowsWhatItDelivered) {
  Handoff handoff;
  ASSERT_TRUE(handoff.wait_for_room({}));
  handoff.deliver(7);
  handoff.end(broken);
  EXPECT_EQ(handoff.take({}).value(), 7);
  const auto taken = handoff.take({});
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().message, broken.message);
}

TEST(Handoff, AConsumersErrorReachesTheProducer) {
  Handoff handoff;
  ASSERT_TRUE(handoff.wait_for_room({}));
  handoff.deliver(0);
  const std::jthread consumer([&] { handoff.refuse(broken); });
  const Result<void> room = handoff.wait_for_room({});
  ASSERT_FALSE(room);
  EXPECT_EQ(room.error().code, ErrorCode::device_failure);
}

TEST(Handoff, AConsumerWithNothingToDoStopsWhatTheProducerWaitsFor) {
  Handoff handoff;
  std::stop_source first;
  handoff.stop_when_idle(first);
  EXPECT_FALSE(first.stop_requested()) << "the consumer is busy";
  std::optional<std::int64_t> taken;
  std::jthread consumer([&] { taken = handoff.take({}).value(); });
  while (!first.stop_requested()) std::this_thread::yield();
  std::stop_source second;
  handoff.stop_when_idle(second);
  EXPECT_TRUE(second.stop_requested()) << "it waits already";
  ASSERT_TRUE(handoff.wait_for_room({}));
  handoff.deliver(3);
  consumer.join();
  EXPECT_EQ(taken, 3);
}

TEST(Handoff, AStopWakesBothSides) {
  Handoff handoff;
  ASSERT_TRUE(handoff.wait_for_room({}));
  std::stop_source stop;
  const auto waiting = [&](auto wait) {
    Result<void> ended;
    std::jthread waiter([&] { ended = wait(); });
    stop.request_stop();
    waiter.join();
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().code, ErrorCode::cancelled);
  };
  waiting([&]() -> Result<void> {
    const auto taken = handoff.take(stop.get_token());
    return taken ? Result<void>() : Result<void>(taken.error());
  });
  handoff.deliver(0);
  waiting([&] { return handoff.wait_for_room(stop.get_token()); });
}

TEST(Handoff, CountsHowLongEachSideWaited) {
  using Clock = std::chrono::steady_clock;
  Handoff handoff;
  Seconds waited = 0;  // by the consumer, at least
  const std::jthread producer([&] {
    std::stop_source waits;
    handoff.stop_when_idle(waits);
    while (!waits.stop_requested()) std::this_thread::yield();
    const Clock::time_point start = Clock::now();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    waited = std::chrono::duration<Seconds>(Clock::now() - start).count();
    handoff.deliver(0);
    static_cast<void>(handoff.wait_for_room({}));
    handoff.end();
  });
  EXPECT_EQ(handoff.take({}).value(), 0);
  EXPECT_EQ(handoff.take({}).value(), std::nullopt);
  EXPECT_GE(handoff.idle().consumer, waited);
  EXPECT_GE(handoff.idle().producer, 0.0);
}

TEST(HandoffDeathTest, DeliveringWithoutRoomStopsTheProgram) {
  Handoff handoff;
  handoff.deliver(0);
  EXPECT_DEATH(handoff.deliver(1), "where there is room");
}

}  // namespace
}  // namespace znni
