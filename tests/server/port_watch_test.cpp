#include "server/port_watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace znni {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

const Error closed = {ErrorCode::unavailable, "127.0.0.1:8001: connect: Connection refused"};

TEST(PortWatch, APortThatWasNotAskedIsNotDeaf) { EXPECT_EQ(PortWatch(seconds(0)).deaf_reason(), std::nullopt); }

TEST(PortWatch, SilenceIsDeafnessAfterAWhile) {
  const PortWatch::Clock::time_point start = PortWatch::Clock::now();
  PortWatch watch(seconds(15));
  watch.note({}, start);
  EXPECT_EQ(watch.deaf_reason(start + seconds(100)), std::nullopt) << "no question failed";
  watch.note(closed, start + seconds(5));
  EXPECT_EQ(watch.deaf_reason(start + seconds(14)), std::nullopt);
  watch.note(closed, start + seconds(10));
  EXPECT_EQ(watch.deaf_reason(start + seconds(16)),
            "the gRPC port has not answered the daemon itself for 16 s: 127.0.0.1:8001: connect: Connection refused");
  watch.note({}, start + seconds(17));
  EXPECT_EQ(watch.deaf_reason(start + seconds(17)), std::nullopt);
}

TEST(PortWatch, APortThatNeverAnsweredIsDeafToo) {
  const PortWatch::Clock::time_point start = PortWatch::Clock::now();
  PortWatch watch(seconds(15));
  watch.note(closed, start);
  EXPECT_EQ(watch.deaf_reason(start), std::nullopt);
  watch.note(closed, start + seconds(15));
  EXPECT_TRUE(watch.deaf_reason(start + seconds(15)));
}

TEST(PortWatch, AsksAgainAndAgainAndNoProbeWaitsForAnAnswer) {
  PortWatch watch(seconds(0));
  std::atomic<int> asked = 0;
  std::atomic<bool> may_answer = false;
  std::jthread asking([&](const std::stop_token& stop) {
    const auto ask = [&]() -> Result<void> {
      ++asked;
      while (!may_answer) std::this_thread::yield();
      return closed;
    };
    watch.run(ask, std::chrono::milliseconds(0), stop);
  });
  while (asked < 1) std::this_thread::yield();
  EXPECT_EQ(watch.deaf_reason(), std::nullopt) << "while a question is open";
  may_answer = true;
  while (asked < 3) std::this_thread::yield();
  const std::optional<std::string> reason = watch.deaf_reason();
  ASSERT_TRUE(reason);
  EXPECT_THAT(*reason, HasSubstr("Connection refused"));
}

}  // namespace
}  // namespace znni
