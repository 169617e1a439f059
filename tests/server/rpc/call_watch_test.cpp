#include "server/rpc/call_watch.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <optional>
#include <thread>

namespace znni::rpc {
namespace {

const Error stopped{ErrorCode::cancelled, "the job was stopped"};

// Blocks until the token asks to stop.
void wait_for_stop(const std::stop_token& token) {
  std::latch latch(1);
  const std::stop_callback callback(token, [&latch] { latch.count_down(); });
  latch.wait();
}

TEST(CallWatch, StopsTheCallWhoseCallerGaveUp) {
  CallWatch watch;
  std::atomic<bool> gone = false;
  const WatchedCall stays = watch.watch([]() -> std::optional<Error> { return std::nullopt; });
  const WatchedCall call = watch.watch([&gone]() -> std::optional<Error> {
    if (!gone) return std::nullopt;
    return Error{ErrorCode::deadline_exceeded, "too late"};
  });
  EXPECT_FALSE(call.token().stop_requested());
  gone = true;
  wait_for_stop(call.token());
  EXPECT_EQ(call.reason(stopped).code, ErrorCode::deadline_exceeded);
  EXPECT_EQ(call.reason(stopped).message, "too late");
  EXPECT_FALSE(stays.token().stop_requested());
}

TEST(CallWatch, AsksLongCallsLessOften) {
  using std::chrono::milliseconds;
  EXPECT_EQ(pause_between_probes(milliseconds(0)), milliseconds(10));
  EXPECT_EQ(pause_between_probes(milliseconds(600)), milliseconds(30));
  EXPECT_EQ(pause_between_probes(milliseconds(1'000'000)), milliseconds(50));
}

TEST(CallWatch, WithoutAReasonTheErrorStands) {
  CallWatch watch;
  const WatchedCall call = watch.watch([]() -> std::optional<Error> { return std::nullopt; });
  EXPECT_EQ(call.reason(stopped).message, stopped.message);
}

TEST(CallWatch, WhomAProbeWakesHearsItsReason) {
  CallWatch watch;
  std::latch woken(1);
  const WatchedCall call = watch.watch([&woken] {
    woken.count_down();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return std::optional<Error>(Error{ErrorCode::deadline_exceeded, "too late"});
  });
  woken.wait();
  EXPECT_EQ(call.reason(stopped).message, "too late");
}

TEST(CallWatch, TheFirstReasonCounts) {
  CallWatch watch;
  std::atomic<int> asked = 0;
  const WatchedCall call = watch.watch([&asked] {
    return std::optional<Error>(Error{ErrorCode::cancelled, std::to_string(asked++)});
  });
  wait_for_stop(call.token());
  EXPECT_EQ(call.reason(stopped).message, "0");
}

TEST(CallWatch, NothingIsAskedOfACallThatEnded) {
  CallWatch watch;
  for (int round = 0; round < 100; ++round) {
    // The probe's target dies with the call; the sanitizers would see a late question.
    auto alive = std::make_unique<std::atomic<bool>>(true);
    const WatchedCall call = watch.watch([&alive]() -> std::optional<Error> {
      if (*alive) return std::nullopt;
      return stopped;
    });
    std::this_thread::yield();
  }
}

}  // namespace
}  // namespace znni::rpc
